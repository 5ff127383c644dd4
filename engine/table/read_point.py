"""What of a table's history is read: a snapshot, and the schema that it is read with.

A snapshot or tag is read with the schema that the snapshot was written with, a branch with the table's current one
(Iceberg, "Spark Queries", "Time travel"). What some snapshots appended is read with the current schema too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata


class ReadPoint(NamedTuple):
    """``snapshot`` is None for a table without data.

    ``appended``: only the files that these snapshots, ancestors of ``snapshot``, appended are read.
    """

    snapshot: Snapshot | None
    schema: Schema
    appended: frozenset[int] | None = None
    reference: str = ""
    """The branch or tag that was asked for, as a table's name has it: ``branch_b``."""


def current(metadata: TableMetadata) -> ReadPoint:
    """The table as it is now."""
    return ReadPoint(metadata.current_snapshot(), metadata.schema)


def at_snapshot(metadata: TableMetadata, snapshot_id: int) -> ReadPoint:
    """The table as a snapshot left it. Raises NOT_FOUND."""
    snapshot = _snapshot(metadata, snapshot_id)
    return ReadPoint(snapshot, metadata.schema_for(snapshot))


def utc_text(millis: int) -> str:
    """A time in milliseconds since 1970 as text."""
    shown = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return shown.isoformat(sep=" ", timespec="milliseconds")


def as_of(metadata: TableMetadata, millis: int, show: Callable[[int], str] = utc_text) -> ReadPoint:
    """The table as it was at a time in milliseconds since 1970: at the last snapshot that was current by then.

    A snapshot that was only on another branch, or staged, was never current. ``show`` writes a time in a message.
    Raises NOT_FOUND for a time before the first snapshot.
    """
    log = [(e.timestamp_ms, e.snapshot_id) for e in metadata.snapshot_log]
    if not log:  # which not every writer keeps
        log = [(s.timestamp_ms, s.snapshot_id) for s in ancestors(metadata, metadata.current_snapshot())][::-1]
    found = None
    for since, snapshot_id in log:
        if since <= millis:
            found = snapshot_id
    if found is not None:
        return at_snapshot(metadata, found)
    if not log:
        raise BergError(ErrorCode.NOT_FOUND, "The table has no snapshot: nothing was ever written to it.")
    oldest = show(min(since for since, _ in log))
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"The table has no snapshot as old as {_shown(millis, show)}.",
        hint=f"Its oldest is of {oldest}.",
    )


def at_reference(metadata: TableMetadata, name: str, kind: str = "branch or tag") -> ReadPoint:
    """The table at a branch, with its current schema, or at a tag, with that of the snapshot. Raises NOT_FOUND.

    ``kind`` is what the person takes it for.
    """
    ref = metadata.refs.get(name)
    if ref is None:
        if name == MAIN_BRANCH:  # of a table without data
            return current(metadata)
        known = list(metadata.refs) or [MAIN_BRANCH]
        shown = ", ".join(f"'{n}'" for n in sorted(known)[:8]) + (", …" if len(known) > 8 else "")
        hint = did_you_mean(name, known) or f"The table has {shown}."
        raise BergError(ErrorCode.NOT_FOUND, f"The table has no {kind} '{name}'.", hint=hint)
    snapshot = metadata.snapshot(ref.snapshot_id)
    if snapshot is None:
        message = f"The {ref.type} '{name}' points to snapshot {ref.snapshot_id}, which the table does not have."
        raise BergError(ErrorCode.CORRUPT, message)
    schema = metadata.schema if ref.is_branch else metadata.schema_for(snapshot)
    return ReadPoint(snapshot, schema, reference=f"{ref.type.lower()}_{name}")


def between(metadata: TableMetadata, start: int | None, end: int | None = None) -> ReadPoint:
    """What was appended after the snapshot ``start`` (None: from the beginning) until ``end`` (None: the current one).

    Raises NOT_FOUND for a snapshot that there is not, INVALID where ``start`` is no ancestor of ``end`` and where a
    snapshot between them did more than append: those are named. A ``replace`` changes no row and passes.
    """
    last = metadata.current_snapshot() if end is None else _snapshot(metadata, end)
    if last is None:
        if start is not None:
            _snapshot(metadata, start)
        return ReadPoint(None, metadata.schema)
    way: list[Snapshot] = []
    if last.snapshot_id != start:
        for snapshot in ancestors(metadata, last):
            way.append(snapshot)
            if snapshot.parent_id == start:  # which may be expired: nothing of it is read
                break
        else:
            raise _not_behind(metadata, start, last, way[-1])
    for snapshot in reversed(way):
        if snapshot.operation not in ("append", "replace"):
            raise _more_than_append(snapshot)
    return ReadPoint(last, metadata.schema, frozenset(s.snapshot_id for s in way if s.operation == "append"))


def ancestors(metadata: TableMetadata, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """A snapshot, its parent, and so on, as far as the table still has them."""
    seen: set[int] = set()
    while snapshot is not None and snapshot.snapshot_id not in seen:
        seen.add(snapshot.snapshot_id)
        yield snapshot
        snapshot = None if snapshot.parent_id is None else metadata.snapshot(snapshot.parent_id)


def _snapshot(metadata: TableMetadata, snapshot_id: int) -> Snapshot:
    snapshot = metadata.snapshot(snapshot_id)
    if snapshot is not None:
        return snapshot
    if _was_there(metadata, snapshot_id):
        message = f"The snapshot {snapshot_id} of the table is expired: it is not there any more."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=_kept(metadata))
    raise BergError(ErrorCode.NOT_FOUND, f"The table has no snapshot {snapshot_id}.", hint=_kept(metadata))


def _was_there(metadata: TableMetadata, snapshot_id: int) -> bool:
    return any(e.snapshot_id == snapshot_id for e in metadata.snapshot_log) or any(
        s.parent_id == snapshot_id for s in metadata.snapshots
    )


def _kept(metadata: TableMetadata) -> str:
    count, now = len(metadata.snapshots), metadata.current_snapshot_id
    if not count:
        return "Nothing was ever written to it."
    have = f"It has {count} snapshots" if count > 1 else "It has one snapshot"
    return f"{have}; the current one is {now}." if now is not None else f"{have}, none of them current."


def _shown(millis: int, show: Callable[[int], str]) -> str:
    try:
        return show(millis)
    except (OverflowError, ValueError):  # a year that Python has not
        return f"{millis} ms since 1970"


def _not_behind(metadata: TableMetadata, start: int | None, last: Snapshot, oldest: Snapshot) -> BergError:
    """Why the way from ``last`` back to ``oldest`` does not lead to ``start``."""
    if start is not None and metadata.snapshot(start) is not None:
        message = f"Snapshot {start} is not an ancestor of snapshot {last.snapshot_id}."
        hint = "They are on different branches, or the other way around."
        return BergError(ErrorCode.INVALID, message, hint=hint)
    if start is not None and oldest.parent_id is None:
        return BergError(ErrorCode.NOT_FOUND, f"The table has no snapshot {start}.", hint=_kept(metadata))
    what = "The table's first snapshots" if start is None else f"Snapshot {start}"
    message = f"{what} may be expired: the oldest that leads to snapshot {last.snapshot_id} is {oldest.snapshot_id}."
    if start is not None and _was_there(metadata, start):
        message = message.replace("may be expired", "is expired")
    return BergError(
        ErrorCode.NOT_FOUND,
        message,
        hint=f"From {oldest.parent_id} on, what was appended is known." if oldest.parent_id is not None else None,
    )


def _more_than_append(snapshot: Snapshot) -> BergError:
    did = f"is of '{snapshot.operation}'" if snapshot.operation else "does not say what it did"
    return BergError(
        ErrorCode.INVALID,
        f"Snapshot {snapshot.snapshot_id} {did}: only what was appended can be read between snapshots.",
        hint=f"Read until {snapshot.parent_id}, or from {snapshot.snapshot_id} on."
        if snapshot.parent_id is not None
        else f"Read from {snapshot.snapshot_id} on.",
    )
