"""What a statement does to the rows of a table: which positions of which data files go, and which rows come.

A statement's query is run once, whatever is written of it afterwards: what it says may hang on chance, or cost much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.duck import set_variables, stream_batches
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.position_runs import MOST_POSITIONS, runs

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyroaring import BitMap

    from bergsql.engine.duck import Duck
    from bergsql.engine.table.planning import FileTask


_FILE, _POSITION, _CLAUSE, _ROW_ID = (f"\ue000{name}" for name in ("file", "position", "clause", "row_id"))
"""What the first columns of the query are called here: as no column of a table can be."""
_TABLE = "row_changes"
_BATCH_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class RowSource:
    """Rows that come: SQL that gives them, to be run by the cursor that ran the statement's query.

    It gives the columns of the schema in order, and behind them the row's number (BIGINT; NULL for a new row).
    ``lineage``: whether some row has a number.
    """

    sql: str
    rows: int
    lineage: bool


@dataclass(slots=True)
class RowChanges:
    """What was found. ``gone`` are positions of the data files of ``tasks``, by their index there.

    ``counts`` is how many rows each clause changes. A context manager: what the rows are read from lives until its end.
    """

    tasks: Sequence[FileTask]
    gone: Mapping[int, BitMap]
    rows: RowSource | None
    counts: tuple[int, ...]
    duck: Duck
    cursor: duckdb.DuckDBPyConnection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the rows."""
        self.duck.done(self.cursor)


def collect_changes(
    duck: Duck,
    sql: str,
    variables: Mapping[str, object],
    *,
    tasks: Sequence[FileTask],
    clauses: Sequence[str],
    unique: bool,
) -> RowChanges:
    """Run a statement's query, and keep what it says. ``clauses`` are "delete", "update" or "insert" each.

    ``sql`` gives, in this order: the index of the row's data file in ``tasks`` (BIGINT; NULL for a new row), its
    position there (BIGINT), the index in ``clauses`` (INTEGER; NULL where nothing happens to the row), the row's number
    (BIGINT) and, where some clause is no "delete", the columns that are written, in order. ``variables`` are what it
    reads. ``unique``: no row of the table may come twice, with a clause or without.

    :raises BergError: CARDINALITY when one does; UNSUPPORTED for a position beyond 2³².
    :raises duckdb.Error: what the query raises.
    """
    cursor = duck.cursor()
    try:
        # Where rows lie means nothing here, and DuckDB would read the files of a UNION ALL one after the other.
        cursor.execute("SET SESSION preserve_insertion_order = false")
        set_variables(cursor, variables)
        source = f"({sql}) AS q({', '.join(map(identifier, (_FILE, _POSITION, _CLAUSE, _ROW_ID)))})"
        if not unique:
            source += f" WHERE {identifier(_CLAUSE)} IS NOT NULL"
        if any(kind != "delete" for kind in clauses):
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_TABLE} AS SELECT * FROM {source}")
            source = f"temp.main.{_TABLE}"
        found = _Found(len(clauses))
        places = ", ".join(map(identifier, (_FILE, _POSITION, _CLAUSE)))
        for batch in stream_batches(cursor, f"SELECT {places} FROM {source}", _BATCH_ROWS):
            found.add(batch)
        if unique and found.doubled:
            raise BergError(
                ErrorCode.CARDINALITY,
                "A row of the target is matched by more than one row of the source.",
                hint="Leave one row of the source for each row of the target, with GROUP BY or ROW_NUMBER().",
            )
        counts = found.counts
        written = [i for i, kind in enumerate(clauses) if kind != "delete" and counts[i]]
        rows = _source(cursor, written, clauses, counts) if written else None
    except BaseException:
        duck.done(cursor)
        raise
    return RowChanges(tasks, found.gone, rows, counts, duck, cursor)


def _source(
    cursor: duckdb.DuckDBPyConnection, written: Sequence[int], clauses: Sequence[str], counts: Sequence[int]
) -> RowSource:
    """The rows of the clauses whose numbers are ``written``."""
    names = [row[0] for row in cursor.execute(f"DESCRIBE {_TABLE}").fetchall()]
    columns = tuple(names[4:])
    which = f"FROM temp.main.{_TABLE} WHERE {identifier(_CLAUSE)} IN ({', '.join(map(str, written))})"
    lineage = False
    if any(clauses[i] == "update" for i in written):
        ((numbered,),) = cursor.execute(f"SELECT count({identifier(_ROW_ID)}) {which}").fetchall()
        lineage = numbered > 0
    items = ", ".join(map(identifier, (*columns, _ROW_ID)))
    return RowSource(f"SELECT {items} {which}", sum(counts[i] for i in written), lineage)


class _Found:
    """Positions as they are found, and how many rows each clause has."""

    def __init__(self, clauses: int) -> None:
        self._clauses = clauses
        self._new = [0] * clauses
        self._places: dict[tuple[int, int], BitMap] = {}
        """By clause (behind the last one, where there is none) and file."""
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows of file, position and clause."""
        import pyarrow as pa
        import pyarrow.compute as pc

        file, _, clause = batch.columns
        if file.null_count:
            for counted in pc.value_counts(clause.filter(file.is_null())).to_pylist():
                if counted["values"] is not None:
                    self._new[counted["values"]] += counted["counts"]
            batch = batch.filter(file.is_valid())
            file, _, clause = batch.columns
        if not batch.num_rows:
            return
        position = batch.column(1)
        if pc.max(position).as_py() >= MOST_POSITIONS:
            raise not_supported(f"Changing rows behind the first {MOST_POSITIONS} of a data file")
        entry = pc.fill_null(clause.cast(pa.int64()), self._clauses)
        self._rows += batch.num_rows
        for key, positions in runs(pa.table({"entry": entry, "file": file, "pos": position.cast(pa.uint32())})):
            known = self._places.get(key)
            self._places[key] = positions if known is None else known | positions

    @property
    def doubled(self) -> bool:
        """Whether some row of a file came twice."""
        return self._rows > sum(map(len, self._by_file(self._clauses + 1).values()))

    @property
    def gone(self) -> dict[int, BitMap]:
        """The positions of rows that have a clause, by file."""
        return self._by_file(self._clauses)

    def _by_file(self, clauses: int) -> dict[int, BitMap]:
        found: dict[int, BitMap] = {}
        for (clause, file), positions in self._places.items():
            if clause < clauses:
                found[file] = found[file] | positions if file in found else positions
        return dict(sorted(found.items()))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many rows each clause changes, a row that came twice being one."""
        counts = list(self._new)
        for (clause, _), positions in self._places.items():
            if clause < self._clauses:
                counts[clause] += len(positions)
        return tuple(counts)
