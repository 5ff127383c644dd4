"""Data files some of whose rows go: what is deleted of them already, and which delete files are theirs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.engine.table.delete_index import is_vector, positional, referenced_path, without_positional
from bergsql.engine.table.deleted_positions import deleted_positions
from bergsql.engine.table.file_streams import count_rows

if TYPE_CHECKING:
    import duckdb
    from pyroaring import BitMap

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile, ManifestEntry
    from bergsql.engine.table.planning import FileTask

_NAME = "touched"


@dataclass(frozen=True, slots=True)
class Touched:
    """A data file and its positions that go; ``dead`` are those and the ones that were deleted by place before."""

    task: FileTask
    gone: BitMap
    dead: BitMap
    whole: bool
    """Whether no other row is left."""

    @property
    def rest(self) -> FileTask:
        """What reads the other rows."""
        return replace(self.task, deletes=without_positional(self.task.deletes), gone=self.dead)


def touched_files(
    cursor: duckdb.DuckDBPyConnection,
    tasks: Sequence[FileTask],
    gone: Mapping[int, BitMap],
    metadata: TableMetadata,
    storage: Storage,
) -> list[Touched]:
    """The files of ``tasks`` that ``gone`` names by their index. NOT_FOUND or CORRUPT name a file that is not read."""
    those = [tasks[i] for i in gone]
    before = _deleted_before(cursor, those, metadata, storage)
    found = []
    for i, (task, positions) in enumerate(zip(those, gone.values(), strict=True)):
        dead = positions | before[i] if i in before else positions
        found.append(Touched(task, positions, dead, _is_whole(task, dead, storage)))
    return found


def own_deletes(task: FileTask) -> list[DataFile]:
    """The deletion vector and the position delete files that are about this data file alone: without it, of none."""
    return [d.data_file for d in _own(task)]


def deleted_by_own(
    cursor: duckdb.DuckDBPyConnection, touched: Touched, metadata: TableMetadata, storage: Storage
) -> BitMap:
    """The positions that go, and those that the data file's own delete files name."""
    own = _own(touched.task)
    if not own:
        return touched.gone
    if len(own) == len(positional(touched.task.deletes)):
        return touched.dead
    only = replace(touched.task, deletes=tuple(own))
    (before,) = deleted_positions(cursor, storage, metadata, [only], _NAME)
    return before | touched.gone


def _own(task: FileTask) -> list[ManifestEntry]:
    path = task.data_file.path
    return [d for d in positional(task.deletes) if is_vector(d) or referenced_path(d.data_file) == path]


def _deleted_before(
    cursor: duckdb.DuckDBPyConnection, tasks: Sequence[FileTask], metadata: TableMetadata, storage: Storage
) -> dict[int, BitMap]:
    """What was deleted by place, by the index of the file, of those files that have such deletes."""
    which = [i for i, task in enumerate(tasks) if positional(task.deletes)]
    if not which:
        return {}
    found = deleted_positions(cursor, storage, metadata, [tasks[i] for i in which], _NAME)
    return dict(zip(which, found, strict=True))


def _is_whole(task: FileTask, dead: BitMap, storage: Storage) -> bool:
    file = task.data_file
    if len(dead) < file.record_count:
        return False
    # Rows would be lost if the manifest said too few; and what was deleted may lie behind the last row.
    rows = count_rows(storage, file)
    return rows == 0 or dead.rank(rows - 1) >= rows
