"""What others may not have done between the time when a statement read its table and its commit.

Pure rules over two versions of a table's metadata; only manifests of snapshots in between are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import NestedField, walk
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.destination import Destination
    from bergsql.engine.table.producer import Selection

AGAIN = "Run the statement again: it will see the table as it is now."
_ADDS_ROWS = frozenset({"append", "overwrite", None})
"""Operations whose added files hold rows that were not in the table before. A replacement only rewrites rows."""


class StatementConflict(BergError):
    """Others did what makes a statement wrong as it was planned. On the table as it is now it may be right.

    Nothing was committed; what was written for it is deleted.
    """

    def __init__(self, message: str, *, hint: str = AGAIN) -> None:
        super().__init__(ErrorCode.CONFLICT, message, hint=hint)


@dataclass(frozen=True, slots=True)
class History:
    """A table when a statement read it (``base``) and now (``current``), and where ``to`` the statement commits."""

    base: TableMetadata
    current: TableMetadata
    to: Destination
    storage: Storage

    def snapshots_since(self) -> tuple[Snapshot, ...]:
        """The snapshots that came to the branch since, the latest first.

        :raises BergError: CONFLICT when the branch was set back or replaced, so that nothing leads from then to now.
        """
        start = self.to.head(self.base)
        found = []
        at = self.to.head(self.current)
        while at is not None and (start is None or at.snapshot_id != start.snapshot_id):
            found.append(at)
            at = None if at.parent_id is None else self.current.snapshot(at.parent_id)
        if start is not None and at is None:
            raise BergError(
                ErrorCode.CONFLICT,
                f"The history of the table was changed meanwhile: snapshot {start.snapshot_id} is no longer in it.",
                hint=AGAIN,
            )
        return tuple(found)

    def added_data_files(self, selection: Selection) -> Iterator[tuple[Snapshot, DataFile]]:
        """The selected data files with new rows that others added since."""
        snapshots = {s.snapshot_id: s for s in self.snapshots_since() if s.operation in _ADDS_ROWS}
        for snapshot in snapshots.values():
            for manifest in read_manifest_list(self.storage, snapshot, self.current):
                own = manifest.added_snapshot_id in (None, snapshot.snapshot_id)
                if manifest.content != ManifestContent.DATA or not own:
                    continue
                if not selection.may_hold(manifest, self.current):
                    continue
                for entry in read_manifest(self.storage, manifest, self.current):
                    added = entry.status == EntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id
                    if added and selection.takes(entry.data_file, self.current):
                        yield snapshot, entry.data_file


def check_no_new_rows(history: History, selection: Selection) -> None:
    """Serializable: nobody may have added rows to what a statement replaces, as it would remove them unseen."""
    for snapshot, file in history.added_data_files(selection):
        raise BergError(
            ErrorCode.CONFLICT,
            f"Another writer added rows to what this statement replaces (file {file.path}, "
            f"snapshot {snapshot.snapshot_id}).",
            hint=AGAIN,
        )


def check_same_table(base: TableMetadata, current: TableMetadata, name: str) -> None:
    """The table must not have been dropped and made anew."""
    if base.table_uuid != current.table_uuid:
        raise BergError(ErrorCode.CONFLICT, f"Table {name} was dropped and created anew meanwhile.", hint=AGAIN)


def check_files_fit(base: TableMetadata, current: TableMetadata, name: str) -> None:
    """The table must be the same, and must not have got columns that the files written for ``base`` do not fit."""
    check_same_table(base, current, name)
    if current.schema is not base.schema and not current.schema.same_columns(base.schema):
        _check_columns(base.schema, current.schema, name, current.format_version)


def _check_columns(written: Schema, current: Schema, name: str, current_version: int) -> None:
    for now in walk(current.fields):
        then = written.field(now.field_id)
        if then is None:
            if now.required and now.initial_default is None:
                raise _changed(name, current, now, "was added as NOT NULL")
        elif not _fits(then, now, current_version):
            raise _changed(name, current, now, f"became {now.type}")
        elif now.required and not then.required:
            raise _changed(name, current, now, "became NOT NULL")


def _fits(then: NestedField, now: NestedField, format_version: int) -> bool:
    from bergsql.catalog.metadata.evolve import can_promote

    if not then.type.is_primitive or not now.type.is_primitive:
        return type(then.type) is type(now.type)  # what is inside is walked too
    return then.type == now.type or can_promote(then.type, now.type, format_version)


def _changed(name: str, schema: Schema, field: NestedField, how: str) -> BergError:
    column = schema.name_of(field.field_id) or field.name
    return BergError(ErrorCode.CONFLICT, f"Column '{column}' of table {name} {how} meanwhile.", hint=AGAIN)
