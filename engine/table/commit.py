"""The only place where a change to a table's files meets the catalog: optimistic, retried, cleaned up, never half done.

Files are deleted only when the commit certainly failed. When its outcome is unknown the own snapshot is looked for; if
it cannot be found out, all files stay and the error says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.metadata.updates import apply_updates
from bergsql.engine.table.destination import MAIN, Destination
from bergsql.engine.table.history import History, StatementConflict
from bergsql.engine.table.producer import Producer
from bergsql.engine.table.properties import CommitProperties, PropertyError
from bergsql.engine.table.snapshot_writer import SnapshotWriter
from bergsql.engine.table.staging import delete_files
from bergsql.engine.table.validate import check_files_fit, check_same_table

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
    from bergsql.catalog.metadata.changes import TableUpdate
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Committed:
    """A table with the snapshot that a commit gave it."""

    table: LoadedTable
    snapshot: Snapshot


def commit_snapshot(
    catalog: Catalog,
    base: LoadedTable,
    producer: Producer,
    storage: Storage,
    *,
    to: Destination = MAIN,
    alone: bool = False,
) -> Committed:
    """Make the snapshot of ``producer``, whose statement read the table at ``base``, in the place ``to``.

    When others were faster it is made anew on the table as it is now, up to ``commit.retry.num-retries`` times; the
    data files are used again. If it fails for certain, they are deleted with everything else that was written.

    :param alone: the table was read just now, and probably nobody else writes to it: the first try takes it as it is.
    :raises StatementConflict: when others did what makes the statement wrong as it was planned.
    :raises BergError: CONFLICT when others were faster each time, or removed the table or the branch;
        UNKNOWN_OUTCOME when it is not known whether the snapshot was made.
    """

    def attempt(maker: SnapshotWriter) -> Attempt:
        nonlocal alone
        current, alone = base if alone else catalog.load_table(base.ident), False
        check_files_fit(base.metadata, current.metadata, base.full_name)
        if current.metadata_location != base.metadata_location:
            producer.validate(History(base.metadata, current.metadata, to, storage))
        metadata = current.metadata
        if producer.updates:
            metadata = apply_updates(metadata, producer.updates, now_ms())
        snapshot = maker.make(metadata, to.head(metadata))
        updates = [*producer.updates, *to.updates(metadata, snapshot)]
        return Attempt(snapshot, lambda: catalog.commit(current, updates))

    try:
        return run_attempts(catalog, base.ident, base.metadata, producer, storage, attempt)
    except StatementConflict as conflict:
        conflict.table_uuid = base.metadata.table_uuid
        raise
    except BergError as error:
        if error.code is ErrorCode.NOT_FOUND:  # files of a table that was dropped meanwhile are not there
            check_same_table(base.metadata, catalog.load_table(base.ident).metadata, base.full_name)
        raise


@dataclass(frozen=True, slots=True)
class Attempt:
    """A snapshot whose files are written, and what commits it."""

    snapshot: Snapshot
    commit: Callable[[], LoadedTable]


def run_attempts(
    catalog: Catalog,
    ident: TableIdent,
    metadata: TableMetadata,
    producer: Producer,
    storage: Storage,
    attempt: Callable[[SnapshotWriter], Attempt],
) -> Committed:
    """Make attempts until one is committed; clean up when none can be. ``metadata`` gives the properties."""
    try:
        properties = CommitProperties.of(metadata.properties, metadata.location)
    except BergError:
        delete_files(storage, producer.written, metadata.location)
        raise
    maker = SnapshotWriter(storage, producer, properties)
    try:
        committed = _retried(lambda: _commit(maker, attempt, storage, properties), maker.drop_attempt, properties)
    except CommitStateUnknown as unknown:
        return _find_out(catalog, ident, properties, maker.snapshot_id, unknown)
    except BaseException as failure:
        # Ctrl-C may have come in the moment behind the commit: then nothing may be deleted.
        certain = isinstance(failure, CommitConflict | StatementConflict)
        late = None if certain else _look(catalog, ident, maker.snapshot_id)
        if isinstance(late, Committed):
            return late
        if late is not _Unseen.UNKNOWN:
            # The data files first: a table dropped meanwhile must leave no directory, which would look like a database.
            delete_files(storage, producer.written, metadata.location)
            maker.discard()
        raise
    maker.drop_unlisted()
    return committed


def _commit(
    maker: SnapshotWriter,
    attempt: Callable[[SnapshotWriter], Attempt],
    storage: Storage,
    properties: CommitProperties,
) -> Committed:
    with storage.turn(properties.metadata_location):
        made = attempt(maker)
        return Committed(made.commit(), made.snapshot)


def commit_updates(
    catalog: Catalog, base: LoadedTable, updates_for: Callable[[LoadedTable], Sequence[TableUpdate]]
) -> LoadedTable:
    """Commit changes of metadata alone, computed anew for the table as it is now whenever others were faster.

    :raises BergError: CONFLICT when the table was dropped and made anew meanwhile, or others were faster each time.
    """
    try:
        properties = CommitProperties.of(base.metadata.properties, base.metadata.location)
    except PropertyError:  # the change may be what mends it
        changed = apply_updates(base.metadata, updates_for(base), now_ms())
        properties = CommitProperties.of(changed.properties, changed.location)

    def attempt() -> LoadedTable:
        with catalog.storage().turn(properties.metadata_location):
            current = catalog.load_table(base.ident)
            check_same_table(base.metadata, current.metadata, base.full_name)
            return catalog.commit(current, updates_for(current))

    return _retried(attempt, lambda: None, properties)


def _retried(attempt: Callable[[], T], after_conflict: Callable[[], None], properties: CommitProperties) -> T:
    """What the first attempt gives that meets no conflict."""
    deadline = monotonic() + properties.total_timeout
    retries = 0
    while True:
        try:
            return attempt()
        except CommitConflict as conflict:
            if retries >= properties.retries or monotonic() >= deadline:
                times = "once" if retries == 0 else f"{retries + 1} times"
                raise CommitConflict(
                    f"The commit failed {times}: {conflict.message}",
                    hint="Run the statement again, or raise the table property 'commit.retry.num-retries'.",
                ) from conflict
        after_conflict()
        sleep(retry_wait(properties.min_wait, properties.max_wait, retries))
        retries += 1


def retry_wait(least: float, most: float, retries: int) -> float:
    """Seconds until the next try: doubling, and spread so that writers who collided do not meet again."""
    from random import uniform

    return uniform(0.5, 1.0) * min(most, least * 2.0 ** min(retries, 60))


# --- outcomes that are not known --------------------------------------------------------------------------------------


class _Unseen(Enum):
    """The own snapshot was not seen."""

    ABSENT = 0  # the table was read, and has no such snapshot
    UNKNOWN = 1  # the table could not be read


def _look(catalog: Catalog, ident: TableIdent, snapshot_id: int) -> Committed | _Unseen:
    """Whether the table has the snapshot."""
    try:
        table = catalog.load_table(ident)
    except BergError as error:
        return _Unseen.ABSENT if error.code is ErrorCode.NOT_FOUND else _Unseen.UNKNOWN
    snapshot = table.metadata.snapshot(snapshot_id)
    return _Unseen.ABSENT if snapshot is None else Committed(table, snapshot)


def _find_out(
    catalog: Catalog, ident: TableIdent, properties: CommitProperties, snapshot_id: int, unknown: CommitStateUnknown
) -> Committed:
    """Look for the own snapshot some times. Not to find it proves nothing: the commit may still be under way."""
    for retries in range(properties.status_checks + 1):
        if retries:
            sleep(retry_wait(properties.status_min_wait, properties.status_max_wait, retries - 1))
        seen = _look(catalog, ident, snapshot_id)
        if isinstance(seen, Committed):
            return seen
    raise CommitStateUnknown(
        f"It is not known whether the statement changed {ident}: {unknown.message}",
        hint=f"If the table has the snapshot {snapshot_id} later, it did. No file was deleted.",
    ) from unknown
