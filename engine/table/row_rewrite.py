"""From row changes to files: the other rows of the touched data files anew, or delete files; and the rows that come.

What is written so is not durable, and no snapshot holds it: a :class:`~bergsql.engine.table.row_delta.RowDelta` commits
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.duck import Duck
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.row_changes import RowChanges
    from bergsql.engine.table.row_level_properties import Mode


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """What is to be committed: data files and delete files that are added, and those that go.

    ``rows_written`` counts the rows in the files added, those that stay as they were too; ``rows_deleted`` the rows of
    the table that go, updated ones too.
    """

    added: Sequence[DataFile]
    deletes: Sequence[DataFile]
    removed: Sequence[DataFile]
    removed_deletes: Sequence[DataFile]
    rows_written: int
    rows_deleted: int

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.added or self.deletes or self.removed or self.removed_deletes)


def write_changes(
    duck: Duck,
    changes: RowChanges,
    *,
    whole: Sequence[FileTask],
    table: LoadedTable,
    schema: Schema,
    storage: Storage,
    mode: Mode,
    properties: Mapping[str, str] | None = None,
) -> ChangedFiles:
    """Write what a statement does to a table, whose rows get ``schema``.

    ``whole`` are data files that go with all their rows, beside those of ``changes``. ``properties`` go before the
    table's own. On any failure, an interruption too, no file stays.

    :raises BergError: what :func:`~bergsql.engine.table.writer.write_rows` raises; OPTION for merge-on-read in format
        version 1; NOT_FOUND or CORRUPT naming a delete file.
    """
    raise NotImplementedError
