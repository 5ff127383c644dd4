"""Tables that appear or are replaced together with their rows, in one commit: CREATE TABLE … AS, REPLACE TABLE … AS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import TableUpdate
from bergsql.catalog.metadata.updates import apply_updates
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import Attempt, Committed, run_attempts
from bergsql.engine.table.destination import MAIN, Destination
from bergsql.engine.table.history import AGAIN
from bergsql.engine.table.producer import Operation, Producer
from bergsql.engine.table.properties import CommitProperties
from bergsql.engine.table.snapshot_writer import SnapshotWriter

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile

Definition = Callable[["LoadedTable"], Sequence[TableUpdate]]
"""Gives the updates that make a table what it is to become, without rows (see ``replacement_updates``)."""


@dataclass(frozen=True)
class ReplaceTable(Producer):
    """The files of a table that is replaced: they are all that its new state holds."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE


def create_filled(
    catalog: Catalog,
    ident: TableIdent,
    metadata: TableMetadata,
    files: Sequence[DataFile],
    storage: Storage,
    *,
    to: Destination = MAIN,
    properties: Mapping[str, str] = {},
) -> Committed:
    """Make the table of ``metadata``, which nobody sees yet, with the ``files`` that were written for it.

    ``properties`` go into the summary of its snapshot, which goes ``to`` a branch.

    :raises BergError: ALREADY_EXISTS when someone else made a table of this name meanwhile.
    """

    def attempt(maker: SnapshotWriter) -> Attempt:
        storage.mkdir(CommitProperties.of(metadata.properties, metadata.location).metadata_location)
        snapshot = maker.make(metadata, None)
        filled = apply_updates(metadata, to.updates(metadata, snapshot), snapshot.timestamp_ms)
        return Attempt(snapshot, lambda: catalog.create_table(ident, filled))

    return run_attempts(catalog, ident, metadata, Append(files, properties=properties), storage, attempt)


def replaced_metadata(base: LoadedTable, definition: Definition) -> TableMetadata:
    """The metadata that a replaced table will have, for writing its new files."""
    return apply_updates(base.metadata, definition(base), now_ms())


def replace_filled(
    catalog: Catalog,
    base: LoadedTable,
    definition: Definition,
    files: Sequence[DataFile],
    storage: Storage,
    *,
    to: Destination = MAIN,
    properties: Mapping[str, str] = {},
) -> Committed:
    """Replace a table by the ``files`` written with :func:`replaced_metadata`; its history stays.

    Where its snapshot goes ``to`` another branch, the main branch is left without rows, as in Spark.

    What others commit meanwhile is replaced too, unless they change the table's columns or partitioning: the files were
    written for those.

    :raises BergError: CONFLICT in that case.
    """

    def attempt(maker: SnapshotWriter) -> Attempt:
        current = catalog.load_table(base.ident)
        _check_definition_unchanged(base, current)
        updates = list(definition(current))
        replaced = apply_updates(current.metadata, updates, now_ms())
        to.head(replaced)  # refuses a branch that others dropped, or made a tag
        snapshot = maker.make(replaced, None)
        updates += to.updates(replaced, snapshot)
        return Attempt(snapshot, lambda: catalog.commit(current, updates))

    producer = ReplaceTable(files, properties=properties)
    return run_attempts(catalog, base.ident, base.metadata, producer, storage, attempt)


def _check_definition_unchanged(base: LoadedTable, current: LoadedTable) -> None:
    before, now = base.metadata, current.metadata
    same = (
        before.table_uuid == now.table_uuid
        and before.format_version == now.format_version
        and before.last_column_id == now.last_column_id
        and before.current_schema_id == now.current_schema_id
        and before.schemas == now.schemas
        and before.specs == now.specs
    )
    if not same:
        raise BergError(
            ErrorCode.CONFLICT,
            f"Another writer changed the definition of table {base.full_name} meanwhile.",
            hint=AGAIN,
        )
