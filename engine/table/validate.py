"""What others may not have done to a table between the time when a statement read it and its commit.

Pure rules over two versions of a table's metadata. Those of statements that change single rows: row_conflicts.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import NestedField, walk
from bergsql.engine.table.datafile import EntryStatus, ManifestContent
from bergsql.engine.table.history import AGAIN, History, StatementConflict

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.producer import Selection


def check_nothing_changed(history: History, selection: Selection) -> None:
    """Serializable: nobody may have added rows to what a statement replaces, nor taken rows away.

    Those that were added would vanish unseen; those that were taken away may be among the statement's own, if it read
    the table itself.

    :raises StatementConflict: naming the file and the snapshot.
    """
    for content, status, did in _CHANGES:
        for snapshot, entry in history.changes(content, status, of=lambda m: selection.may_hold(m, history.current)):
            if selection.meets(entry.data_file, history.current):
                raise StatementConflict(
                    f"Another writer {did} what this statement replaces (file {entry.data_file.path}, "
                    f"snapshot {snapshot.snapshot_id})."
                )


_CHANGES = (
    (ManifestContent.DATA, EntryStatus.ADDED, "added rows to"),
    (ManifestContent.DATA, EntryStatus.DELETED, "removed rows from"),
    (ManifestContent.DELETES, EntryStatus.ADDED, "deleted rows of"),
)


def check_not_replaced(history: History) -> None:
    """The table must not have been defined anew, with no data (CREATE OR REPLACE TABLE).

    The rows were made for the columns that it had. What is told of a table without snapshots by its history is told by
    its columns: those that were there must be there, called and ordered as before.

    :raises StatementConflict: saying which snapshot is gone, or that the columns are others.
    """
    if history.to.head(history.base) is not None:
        try:
            history.snapshots_since()
        except StatementConflict:
            if history.was_replaced():
                raise
        return
    then = [(f.field_id, f.name) for f in walk(history.base.schema.fields)]
    written = {field_id for field_id, _ in then}
    if [(f.field_id, f.name) for f in walk(history.current.schema.fields) if f.field_id in written] != then:
        raise StatementConflict("The table had no rows, and was given other columns meanwhile.")


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


def _changed(name: str, schema: Schema, field: NestedField, how: str) -> StatementConflict:
    column = schema.name_of(field.field_id) or field.name
    return StatementConflict(f"Column '{column}' of table {name} {how} meanwhile.")
