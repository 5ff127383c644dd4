"""Which snapshot is read, and with which schema: pure rules on metadata that no file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import BRANCH, TAG, Snapshot, SnapshotLogEntry, SnapshotRef
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.types import IntegerType, NestedField
from bergsql.engine.table.read_point import as_of, at_reference, at_snapshot, between, current

OLD = Schema(0, (NestedField(1, "a", IntegerType(), False),))
NEW = Schema(1, (NestedField(1, "b", IntegerType(), False),))


def table(
    history: Sequence[tuple[int, int | None, str | None]],
    refs: Mapping[str, tuple[int, str]] | None = None,
    now: int | None = None,
) -> TableMetadata:
    """A table whose column was renamed after its last snapshot. ``history``: id, parent and operation of each; each is
    of the time ``id * 1000``."""
    snapshots = tuple(
        Snapshot(number, parent, number, number * 1000, f"s{number}", {"operation": did} if did else {}, 0)
        for number, parent, did in history
    )
    ids = [s.snapshot_id for s in snapshots]
    head = now if now is not None else ids[-1] if ids else None
    made = new_table_metadata(OLD, UNPARTITIONED, UNSORTED, "/nowhere", {})
    on_main = []
    at = head
    while at in ids and at not in on_main:
        on_main.append(at)
        at = next(s.parent_id for s in snapshots if s.snapshot_id == at)
    return replace(
        made,
        schemas=(OLD, NEW),
        current_schema_id=1,
        snapshots=snapshots,
        current_snapshot_id=head,
        snapshot_log=tuple(SnapshotLogEntry(n * 1000, n) for n in reversed(on_main)),
        refs={
            **({"main": SnapshotRef(head)} if head is not None else {}),
            **{name: SnapshotRef(number, kind) for name, (number, kind) in (refs or {}).items()},
        },
    )


APPENDS = [(1, None, "append"), (2, 1, "append"), (3, 2, "append")]
EMPTY = table([])


def found(raised: pytest.ExceptionInfo[BergError]) -> tuple[str, str | None]:
    return raised.value.message, raised.value.hint


def test_now_is_read_with_the_current_schema() -> None:
    assert current(table(APPENDS)).schema is NEW
    assert current(EMPTY).snapshot is None


def test_a_snapshot_is_read_with_its_own_schema() -> None:
    metadata = table(APPENDS)
    point = at_snapshot(metadata, 2)
    assert point.snapshot is metadata.snapshot(2)
    assert point.schema is OLD


def test_a_snapshot_that_does_not_say_its_schema_has_the_current_one() -> None:
    metadata = table(APPENDS)
    metadata = replace(metadata, snapshots=tuple(replace(s, schema_id=None) for s in metadata.snapshots))
    assert at_snapshot(metadata, 2).schema is NEW


def test_a_branch_is_read_with_the_current_schema_and_a_tag_with_its_own() -> None:
    metadata = table(APPENDS, {"dev": (2, BRANCH), "old": (2, TAG)})
    assert at_reference(metadata, "dev") == at_snapshot(metadata, 2)._replace(schema=NEW, reference="branch_dev")
    assert at_reference(metadata, "old") == at_snapshot(metadata, 2)._replace(reference="tag_old")
    assert at_reference(metadata, "main") == current(metadata)._replace(reference="branch_main")


def test_main_is_there_before_there_is_data() -> None:
    assert at_reference(EMPTY, "main") == current(EMPTY)
    with pytest.raises(BergError) as raised:
        at_reference(EMPTY, "dev")
    assert found(raised) == ("The table has no branch or tag 'dev'.", "The table has 'main'.")


def test_an_unknown_reference_names_the_nearest() -> None:
    with pytest.raises(BergError) as raised:
        at_reference(table(APPENDS, {"audited": (1, TAG)}), "audit", "tag")
    assert found(raised) == ("The table has no tag 'audit'.", "Did you mean 'audited'?")


def test_a_reference_to_a_snapshot_that_is_not_there_is_damage() -> None:
    with pytest.raises(BergError, match="points to snapshot 9, which the table does not have") as raised:
        at_reference(table(APPENDS, {"dev": (9, BRANCH)}), "dev")
    assert raised.value.code is ErrorCode.CORRUPT


def test_an_unknown_snapshot_and_an_expired_one() -> None:
    metadata = table([(2, 1, "append"), (3, 2, "append")])
    with pytest.raises(BergError) as raised:
        at_snapshot(metadata, 7)
    assert found(raised) == ("The table has no snapshot 7.", "It has 2 snapshots; the current one is 3.")
    with pytest.raises(BergError, match="The snapshot 1 of the table is expired"):
        at_snapshot(metadata, 1)


@pytest.mark.parametrize(("millis", "snapshot"), [(1000, 1), (1999, 1), (2000, 2), (3000, 3), (10**18, 3)])
def test_a_time_reads_what_was_current_then(millis: int, snapshot: int) -> None:
    metadata = table(APPENDS)
    assert as_of(metadata, millis) == at_snapshot(metadata, snapshot)


def test_a_time_does_not_see_other_branches() -> None:
    metadata = table([(1, None, "append"), (2, 1, "append"), (3, 1, "append")], {"dev": (2, BRANCH)})
    assert as_of(metadata, 2500) == at_snapshot(metadata, 1)


def test_a_time_sees_what_was_rolled_back_later() -> None:
    metadata = table(APPENDS, now=1)
    log = tuple(SnapshotLogEntry(at, number) for at, number in ((1000, 1), (2000, 2), (5000, 1)))
    metadata = replace(metadata, snapshot_log=log)
    assert as_of(metadata, 3000) == at_snapshot(metadata, 2)
    assert as_of(metadata, 5000) == at_snapshot(metadata, 1)


def test_without_a_log_the_ancestors_tell() -> None:
    metadata = replace(table(APPENDS), snapshot_log=())
    assert as_of(metadata, 2500) == at_snapshot(metadata, 2)


def test_a_time_before_the_first_snapshot_names_the_oldest() -> None:
    with pytest.raises(BergError) as raised:
        as_of(table(APPENDS), 999)
    assert found(raised) == (
        "The table has no snapshot as old as 1970-01-01 00:00:00.999+00:00.",
        "Its oldest is of 1970-01-01 00:00:01.000+00:00.",
    )
    with pytest.raises(BergError, match="nothing was ever written"):
        as_of(EMPTY, 999)
    with pytest.raises(BergError, match="as old as -9223372036854775808 ms since 1970"):
        as_of(table(APPENDS), -(1 << 63))


# --- what was appended -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "appended"),
    [(None, None, {1, 2, 3}), (1, None, {2, 3}), (1, 2, {2}), (None, 2, {1, 2}), (3, None, set()), (2, 2, set())],
)
def test_what_was_appended_between(start: int | None, end: int | None, appended: set[int]) -> None:
    metadata = table(APPENDS)
    point = between(metadata, start, end)
    assert point.appended == frozenset(appended)
    assert point.snapshot is metadata.snapshot(end or 3)
    assert point.schema is NEW


def test_a_replace_passes_and_adds_nothing() -> None:
    metadata = table([(1, None, "append"), (2, 1, "replace"), (3, 2, "append")])
    assert between(metadata, 1).appended == frozenset({3})


@pytest.mark.parametrize("did", ["overwrite", "delete", None])
def test_more_than_an_append_is_refused_by_name(did: str | None) -> None:
    metadata = table([(1, None, "append"), (2, 1, did), (3, 2, "append")])
    with pytest.raises(BergError) as raised:
        between(metadata, 1)
    message, hint = found(raised)
    assert message.startswith(f"Snapshot 2 is of '{did}'" if did else "Snapshot 2 does not say what it did")
    assert hint == "Read until 1, or from 2 on."
    assert between(metadata, 2).appended == frozenset({3})
    assert between(metadata, None, 1).appended == frozenset({1})


def test_an_expired_start_is_enough_while_its_child_is_there() -> None:
    metadata = table([(2, 1, "append"), (3, 2, "append")])
    assert between(metadata, 1).appended == frozenset({2, 3})


def test_a_start_before_what_was_expired_is_refused() -> None:
    metadata = table([(3, 2, "append"), (4, 3, "append")])
    with pytest.raises(BergError) as raised:
        between(metadata, 1)
    assert found(raised) == (
        "Snapshot 1 may be expired: the oldest that leads to snapshot 4 is 3.",
        "From 2 on, what was appended is known.",
    )
    logged = replace(metadata, snapshot_log=(SnapshotLogEntry(1000, 1), *metadata.snapshot_log))
    with pytest.raises(BergError, match="Snapshot 1 is expired: the oldest"):
        between(logged, 1)
    with pytest.raises(BergError, match="The table's first snapshots may be expired"):
        between(metadata, None)


def test_a_start_that_is_no_ancestor_is_refused() -> None:
    metadata = table([(1, None, "append"), (2, 1, "append"), (3, 1, "append")], {"dev": (2, BRANCH)})
    for start, end in ((2, 3), (3, 1)):
        with pytest.raises(BergError, match=f"Snapshot {start} is not an ancestor of snapshot {end}") as raised:
            between(metadata, start, end)
        assert raised.value.code is ErrorCode.INVALID


def test_a_start_or_end_that_never_was_is_refused() -> None:
    with pytest.raises(BergError, match="The table has no snapshot 9"):
        between(table(APPENDS), 9)
    with pytest.raises(BergError, match="The table has no snapshot 9"):
        between(table(APPENDS), 1, 9)
    with pytest.raises(BergError, match="The table has no snapshot 9"):
        between(EMPTY, 9)
    assert between(EMPTY, None).appended is None


def test_snapshots_that_are_their_own_ancestors_end() -> None:
    with pytest.raises(BergError, match="may be expired"):
        between(table([(1, 2, "append"), (2, 1, "append")]), 7)
