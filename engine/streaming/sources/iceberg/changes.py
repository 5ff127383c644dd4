"""The rows that a snapshot took away and brought, as changes: read from its files, and folded.

Rows went with the data files that were removed, and where a delete file reaches a data file anew; rows came with the
data files that were added, and where a delete file was taken away. A row that both went and came was only moved, as
copy-on-write does: it cancels out. What is left is paired, old row and new row, by the table's key or, without one, by
the numbers that rows have from format version 3 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.engine.duck import arrow_rows
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.streaming.changelog import OP, RowKind, column
from bergsql.engine.table.column_names import scanned_names
from bergsql.engine.table.delete_index import without_positional
from bergsql.engine.table.deleted_positions import deleted_positions, position_deletes
from bergsql.engine.table.equality_pruning import EqualityPruner
from bergsql.engine.table.file_streams import count_rows
from bergsql.engine.table.metadata_columns import DELETED, PLACE_FILE, PLACE_POSITION, PLACE_ROW_ID, PLACE_UPDATED
from bergsql.engine.table.planning import FileTask
from bergsql.engine.table.position_runs import runs

if TYPE_CHECKING:
    from pyroaring import BitMap

    from bergsql.catalog.base import LoadedTable
    from bergsql.engine.streaming.sources.iceberg.rows import RowReading
    from bergsql.engine.table.snapshot_changes import SnapshotChanges, TouchedFile

_ROW_ID = "row_id"
_LINEAGE = frozenset((PLACE_ROW_ID, PLACE_UPDATED))


@dataclass(frozen=True, slots=True)
class ChangeReading:
    """What reads the changes of snapshots; ``key`` are the positions of the table's key among its columns."""

    reading: RowReading
    key: tuple[int, ...]

    def sql(self, table: LoadedTable, changes: SnapshotChanges) -> str:
        """The changes in order, as :class:`Batch` has them: rows that go first, an old row right before its new one."""
        gone, back = self._places(table, changes.touched)
        old = [
            *changes.removed,
            *(_only(t.before, gone[i], self.reading) for i, t in enumerate(changes.touched) if gone[i]),
        ]
        new = [
            *changes.added,
            *(_only(t.after, back[i], self.reading) for i, t in enumerate(changes.touched) if back[i]),
        ]
        if not old or not new:
            tasks, op = (old, RowKind.DELETE) if old else (new, RowKind.INSERT)
            return self._plain(table, tasks, op) if tasks else ""
        lineage = table.metadata.format_version > 2
        sides = [
            self._side(table, old, new if lineage else (), "o", -1),
            self._side(table, new, old if lineage else (), "n", 1),
        ]
        return self._folded(" UNION ALL ".join(sides), numbered=lineage and not self.key)

    def _plain(self, table: LoadedTable, tasks: Sequence[FileTask], op: RowKind) -> str:
        """All rows of the tasks as one kind of change."""
        items = [*self.reading.projection.items("r"), f"CAST({op.value} AS TINYINT) AS {OP}"]
        return f"SELECT {', '.join(items)} FROM ({self.reading.scanned(table, tasks, frozenset(), 'c')}) AS r"

    def _side(
        self, table: LoadedTable, tasks: Sequence[FileTask], others: Sequence[FileTask], part: str, sign: int
    ) -> str:
        """The rows of the tasks with their ``sign``; of a table with row lineage without those that ``others`` hold as
        they are: a row keeps its number as long as it lives, and the time of its last change as long as that stays."""
        items = ", ".join(self.reading.projection.items("r"))
        if not others:
            rows = self.reading.scanned(table, tasks, frozenset(), part)
            return f"SELECT {items}, {sign} AS s FROM ({rows}) AS r"
        names = scanned_names(self.reading.projection.schema)
        row_id, updated = identifier(names[PLACE_ROW_ID]), identifier(names[PLACE_UPDATED])
        rows = self.reading.scanned(table, tasks, _LINEAGE, part)
        known = self.reading.scan(table, others, _LINEAGE, f"{part}i", frozenset()).sql
        return (
            f"SELECT {items}, r.{row_id} AS {_ROW_ID}, {sign} AS s FROM ({rows}) AS r ANTI JOIN ({known}) AS k"
            f" ON k.{row_id} = r.{row_id} AND k.{updated} = r.{updated}"
        )

    def _folded(self, rows: str, *, numbered: bool) -> str:
        """Rows with their sign ``s`` as changes: without those that come as often as they go, in pairs."""
        width = len(self.reading.projection.schema.fields)
        columns = [column(i) for i in range(width)]
        own = ", ".join([*columns, *([_ROW_ID] if numbered else [])])
        left = f"SELECT {own}, sum(s) AS n FROM ({rows}) AS t GROUP BY {own} HAVING sum(s) <> 0"
        left = f"SELECT {own}, n > 0 AS came, unnest(range(abs(n)::BIGINT)) AS i FROM ({left}) AS t"
        if numbered:
            # Writers that number moved rows anew have moved them all the same.
            left = (
                f"SELECT *, row_number() OVER (PARTITION BY {', '.join(columns)}, came ORDER BY {_ROW_ID}) AS k"
                f" FROM ({left}) AS t"
            )
            left = f"SELECT * FROM ({left}) AS t QUALIFY count(*) OVER (PARTITION BY {', '.join(columns)}, k) = 1"
        by = [column(i) for i in self.key] or ([_ROW_ID] if numbered else [])
        shown = ", ".join(columns)
        if not by:
            op = f"CASE WHEN came THEN {RowKind.INSERT.value} ELSE {RowKind.DELETE.value} END"
            return f"SELECT {shown}, CAST({op} AS TINYINT) AS {OP} FROM ({left}) AS t ORDER BY came"
        keys = ", ".join(by)
        paired = f"SELECT *, row_number() OVER (PARTITION BY {keys}, came) AS m FROM ({left}) AS t"
        known = "" if self.key else f" AND {_ROW_ID} IS NOT NULL"
        paired = f"SELECT *, count(*) OVER (PARTITION BY {keys}, m) = 2{known} AS paired FROM ({paired}) AS t"
        op = (
            f"CASE WHEN paired AND came THEN {RowKind.UPDATE_AFTER.value} WHEN paired THEN"
            f" {RowKind.UPDATE_BEFORE.value} WHEN came THEN {RowKind.INSERT.value} ELSE {RowKind.DELETE.value} END"
        )
        order = f"CASE WHEN paired THEN 1 WHEN came THEN 2 ELSE 0 END, {keys}, m, came"
        return f"SELECT {shown}, CAST({op} AS TINYINT) AS {OP} FROM ({paired}) AS t ORDER BY {order}"

    # --- where touched files lost rows, and where they got some back -------------------------------------------------

    def _places(
        self, table: LoadedTable, touched: Sequence[TouchedFile]
    ) -> tuple[Mapping[int, BitMap], Mapping[int, BitMap]]:
        """By the index of a touched file: the positions that may have gone, and those that may have come back.

        Rows that equality deletes deleted before (or delete now) may be among them: whoever reads them applies those.
        """
        before = self._by_place(table, [t.before for t in touched])
        after = self._by_place(table, [t.after for t in touched])
        fresh = self._by_key(table, [replace(t.after, deletes=t.fresh_keys) for t in touched])
        stale = self._by_key(table, [replace(t.before, deletes=t.stale_keys) for t in touched])
        gone = {i: (after[i] | fresh[i]) - before[i] for i in range(len(touched))}
        back = {i: (before[i] | stale[i]) - after[i] for i in range(len(touched))}
        return gone, back

    def _by_place(self, table: LoadedTable, tasks: Sequence[FileTask]) -> list[BitMap]:
        """The positions that are deleted of each of the tasks by place."""
        from pyroaring import BitMap

        found = [BitMap() for _ in tasks]
        which = [i for i, task in enumerate(tasks) if position_deletes(task)]
        if which:
            reading = self.reading
            those = [tasks[i] for i in which]
            positions = deleted_positions(reading.cursor, reading.storage, table.metadata, those, f"{reading.name}p")
            for i, deleted in zip(which, positions, strict=True):
                found[i] = deleted
        return found

    def _by_key(self, table: LoadedTable, tasks: Sequence[FileTask]) -> list[BitMap]:
        """The positions of rows that the equality deletes of each of the tasks delete."""
        from pyroaring import BitMap

        found = [BitMap() for _ in tasks]
        asked = EqualityPruner(table.metadata).pruned([t for t in tasks if t.deletes])
        asked = tuple(t for t in asked if t.deletes)
        if not asked:
            return found
        places = frozenset((PLACE_FILE, PLACE_POSITION, DELETED))
        scan = self.reading.scan(table, asked, places, "k", frozenset())
        names = scanned_names(self.reading.projection.schema)
        file, position, deleted = (identifier(names[n]) for n in (PLACE_FILE, PLACE_POSITION, DELETED))
        sql = (
            f"SELECT 0::BIGINT AS entry, {file} AS file, {position}::UINTEGER AS pos FROM ({scan.sql}) WHERE {deleted}"
        )
        index = {task.data_file.path: i for i, task in enumerate(tasks)}
        rows = arrow_rows(self.reading.cursor, sql)
        for (_, number), positions in runs(rows):
            found[index[scan.plan.tasks[number].data_file.path]] |= positions
        return found


def _only(task: FileTask, positions: BitMap, reading: RowReading) -> FileTask:
    """What reads some rows of a file: none that its equality deletes delete."""
    from pyroaring import BitMap

    rows = count_rows(reading.storage, task.data_file)
    return replace(task, deletes=without_positional(task.deletes), gone=BitMap(range(rows)) - positions)
