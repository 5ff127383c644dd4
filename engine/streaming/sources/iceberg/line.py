"""The line of snapshots that a stream reads: where it starts, what of it was not read yet, and why it may break off."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH
from bergsql.engine.plan.streaming_options import Strategy, StreamingOptions
from bergsql.engine.table.read_point import ancestors, at_reference, at_snapshot, utc_text

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata

_AGAIN = "Start the query again without its saved state, to read what the table holds now."
_START = "Start at a snapshot that is there ('start-snapshot-id'), or without that option: with what the table holds."


class Place(NamedTuple):
    """Where a stream begins: behind the snapshot ``after`` (None: before the first one), or with all rows of
    ``scanned``."""

    after: int | None
    scanned: int | None = None


def head_of(metadata: TableMetadata, branch: str) -> Snapshot | None:
    """The last snapshot of a branch. Raises NOT_FOUND where the branch is not there."""
    return at_reference(metadata, branch, "branch").snapshot if branch != MAIN_BRANCH else metadata.current_snapshot()


def start_of(metadata: TableMetadata, branch: str, options: StreamingOptions) -> Place:
    """Where a stream over a branch starts.

    :raises BergError: NOT_FOUND for what is not there (any more), INVALID for a snapshot of another branch; at the
        option.
    """
    place = options.branch
    try:
        head = head_of(metadata, branch)
        place = options.start
        return _start(metadata, head, options)
    except BergError as error:
        raise error.at(place.span if place is not None else options.span) from None


def _start(metadata: TableMetadata, head: Snapshot | None, options: StreamingOptions) -> Place:
    match options.strategy:
        case Strategy.INCREMENTAL_FROM_SNAPSHOT_ID:
            return Place(_named_start(metadata, head, options))
        case Strategy.INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP:
            return Place(_timed_start(metadata, head, options))
    if head is None:
        return Place(None)
    match options.strategy:
        case Strategy.INCREMENTAL_FROM_LATEST_SNAPSHOT:
            return Place(head.parent_id)
        case Strategy.INCREMENTAL_FROM_LATEST_SNAPSHOT_EXCLUSIVE:
            return Place(head.snapshot_id)
        case Strategy.INCREMENTAL_FROM_EARLIEST_SNAPSHOT:
            *_, oldest = ancestors(metadata, head)
            return Place(oldest.parent_id)
    return Place(None, head.snapshot_id)


def _named_start(metadata: TableMetadata, head: Snapshot | None, options: StreamingOptions) -> int | None:
    """The snapshot behind which the one starts that an option names."""
    assert options.start is not None
    value = options.start.value
    if options.start.key == "start-tag":
        tagged = at_reference(metadata, value, "tag").snapshot
        assert tagged is not None
        snapshot_id = tagged.snapshot_id
    else:
        snapshot_id = int(value)
    oldest: Snapshot | None = None
    for snapshot in ancestors(metadata, head):
        if snapshot.snapshot_id == snapshot_id:
            return snapshot.parent_id if options.inclusive else snapshot_id
        if snapshot.parent_id == snapshot_id and not options.inclusive:
            return snapshot_id  # which may be expired: nothing of it is read
        oldest = snapshot
    if metadata.snapshot(snapshot_id) is None and oldest is not None and oldest.parent_id is not None:
        message = f"The table has no snapshot {snapshot_id}: those before snapshot {oldest.snapshot_id} are expired."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=_START)
    at_snapshot(metadata, snapshot_id)
    message = f"Snapshot {snapshot_id} is not on the branch that is read."
    raise BergError(ErrorCode.INVALID, message, hint=_START)


def _timed_start(metadata: TableMetadata, head: Snapshot | None, options: StreamingOptions) -> int | None:
    """The snapshot behind which the first one of a time, or after it, stands.

    Of Spark's ``stream-from-timestamp`` that may be yet to come, and where what is older is expired it is the oldest
    (``SparkMicroBatchStream``); Flink's ``start-snapshot-timestamp`` must be there.
    """
    assert options.start is not None
    millis = int(options.start.value)
    lenient = options.start.key == "stream-from-timestamp"
    after: Snapshot | None = None
    for snapshot in ancestors(metadata, head):
        if snapshot.timestamp_ms < millis:
            if after is None and not lenient:
                break
            return snapshot.snapshot_id
        after = snapshot
    if after is None:
        if lenient:
            return None
        latest = "It has none." if head is None else f"Its latest is of {_shown(head.timestamp_ms)}."
        message = f"The table has no snapshot of {_shown(millis)} or later."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=latest)
    if after.parent_id is not None and not lenient:
        message = f"What the table was at {_shown(millis)} is expired: its oldest snapshot is {after.snapshot_id}."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=_START)
    return after.parent_id


def _shown(millis: int) -> str:
    try:
        return utc_text(millis)
    except (OverflowError, ValueError):  # a year that Python has not
        return f"{millis} ms since 1970"


def unread(metadata: TableMetadata, head: Snapshot | None, after: int | None, name: str) -> list[Snapshot]:
    """The snapshots of a branch behind ``after``, which may be expired, oldest first. ``name`` is the table's.

    :raises BergError: NOT_FOUND where some of them are expired; CONFLICT where the branch does not lead there any more.
    """
    if head is not None and head.snapshot_id == after:
        return []
    way: list[Snapshot] = []
    for snapshot in ancestors(metadata, head):
        way.append(snapshot)
        if snapshot.parent_id == after:
            return way[::-1]
    if not way and after is None:
        return []
    raise _broken_off(metadata, way[-1] if way else None, after, name)


def _broken_off(metadata: TableMetadata, oldest: Snapshot | None, after: int | None, name: str) -> BergError:
    expired = oldest is not None and oldest.parent_id is not None
    known = None if after is None else metadata.snapshot(after)
    newer = known is not None and oldest is not None and known.timestamp_ms >= oldest.timestamp_ms
    if after is not None and (newer or not expired):
        message = f"Table {name} was rolled back or replaced: its history does not hold snapshot {after} any more."
        hint = f"What was read until {after} is not in the table. {_AGAIN}"
        return BergError(ErrorCode.CONFLICT, message, hint=hint)
    assert oldest is not None
    behind = "the first one" if after is None else f"{after}"
    message = (
        f"Snapshots of table {name} were expired before they were read: the oldest that is left is"
        f" {oldest.snapshot_id}, and the stream was at {behind}."
    )
    return BergError(ErrorCode.NOT_FOUND, message, hint=f"{_AGAIN} Let snapshots live longer than a stream may stand.")


def last_of(metadata: TableMetadata, options: StreamingOptions) -> int | None:
    """The snapshot at which a stream ends. Raises NOT_FOUND at the option."""
    if options.end is None:
        return None
    try:
        if options.end.key == "end-tag":
            tagged = at_reference(metadata, options.end.value, "tag").snapshot
            return None if tagged is None else tagged.snapshot_id
        at_snapshot(metadata, int(options.end.value))
    except BergError as error:
        raise error.at(options.end.span) from None
    return int(options.end.value)


def appends(snapshot: Snapshot, name: str, options: StreamingOptions) -> bool:
    """Whether a snapshot is read: False for one that changed no row, and for those that are to be left out.

    :raises BergError: INVALID for one that took rows away, which says what may be done.
    """
    operation = snapshot.operation
    if operation == "append":
        return True
    if operation == "replace":
        return False
    if (operation == "overwrite" and options.skip_overwrites) or (operation == "delete" and options.skip_deletes):
        return False
    did = f"is of '{operation}'" if operation else "does not say what it did"
    message = (
        f"Snapshot {snapshot.snapshot_id} of table {name} {did}: it did more than append, and a stream gives appended"
        " rows only."
    )
    passes = f"'streaming-skip-{operation}-snapshots' = 'true' leaves such snapshots out" if operation else ""
    hint = "'read.changelog' = 'true' reads what they change"
    hint = f"{passes}, {hint}" if passes else hint
    raise BergError(
        ErrorCode.INVALID, message, hint=f"{hint}, and 'start-snapshot-id' = '{snapshot.snapshot_id}' starts behind it."
    )
