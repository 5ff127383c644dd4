"""Iceberg tables as streams: where they start, what comes, what stops them, and how they are taken up again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.changes import RemoveSnapshotRef, SetSnapshotRef
from bergsql.catalog.metadata.snapshots import TAG, SnapshotRef
from bergsql.engine.plan.read_options import read_options
from bergsql.engine.relations import SessionRelations
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.statements import Option, TableHint
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.sources.base import Json
from bergsql.engine.table.manifest_memory import forget_memory
from tests.support.iceberg_streams import (
    Stream,
    change,
    expire,
    metadata_of,
    planned,
    rewrite_nothing,
    roll_back,
    snapshot_ids,
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    run(opened, "CREATE TABLE t (id BIGINT, x STRING)")
    yield opened
    opened.close()


def run(session: Session, *statements: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    for sql in statements:
        result = session.execute(sql)
        found = [list(row) for rows in result.chunks for row in rows]
    return found


def insert(session: Session, *ids: int, name: str = "t") -> int:
    """Insert rows in one commit; the id of the snapshot comes back."""
    run(session, f"INSERT INTO {name} VALUES " + ", ".join(f"({i}, 'v{i}')" for i in ids))
    return snapshot_ids(session, name)[-1]


def stream(session: Session, options: dict[str, str] | None = None, offset: Json = None, **how: Any) -> Stream:
    limits = {k: how.pop(k) for k in ("max_rows", "max_bytes") if k in how}
    return Stream(planned(session, options, **how), session.duck, offset, **limits)


def ids(rows: Sequence[Sequence[Any]]) -> list[int]:
    return [row[0] for row in rows]


# --- where it starts --------------------------------------------------------------------------------------------------


def test_a_full_scan_and_then_what_comes(session: Session) -> None:
    insert(session, 1, 2)
    insert(session, 3)
    following = stream(session)
    assert following.rows() == [(1, "v1"), (2, "v2"), (3, "v3")]
    assert following.poll() is None
    insert(session, 4)
    insert(session, 5)
    assert following.rows() == [(4, "v4"), (5, "v5")]
    assert following.poll() is None
    assert following.reader.lag == 0
    assert not following.reader.finished


def test_a_table_that_is_empty_yet(session: Session) -> None:
    following = stream(session)
    assert following.poll() is None
    insert(session, 1)
    assert following.rows() == [(1, "v1")]


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({}, [1, 2, 3, 4]),
        ({"starting-strategy": "TABLE_SCAN_THEN_INCREMENTAL"}, [1, 2, 3, 4]),
        ({"starting-strategy": "INCREMENTAL_FROM_LATEST_SNAPSHOT"}, [3, 4]),
        ({"starting-strategy": "incremental_from_latest_snapshot_exclusive"}, [4]),
        ({"starting-strategy": "INCREMENTAL_FROM_EARLIEST_SNAPSHOT"}, [1, 2, 3, 4]),
        ({"starting-strategy": "INCREMENTAL_FROM_SNAPSHOT_ID", "start-snapshot-id": "{1}"}, [2, 3, 4]),
        ({"starting-strategy": "INCREMENTAL_FROM_SNAPSHOT_ID", "start-tag": "second"}, [2, 3, 4]),
        ({"start-snapshot-id": "{1}"}, [3, 4]),
        ({"start-tag": "second"}, [3, 4]),
        ({"starting-strategy": "INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP", "start-snapshot-timestamp": "{t1}"}, [2, 3, 4]),
        ({"start-snapshot-timestamp": "{t1}"}, [2, 3, 4]),
        ({"start-snapshot-timestamp": "0"}, [1, 2, 3, 4]),
        ({"stream-from-timestamp": "{t1}"}, [2, 3, 4]),
        ({"stream-from-timestamp": "0"}, [1, 2, 3, 4]),
    ],
)
def test_starting_strategies(session: Session, options: dict[str, str], read: list[int]) -> None:
    for i in (1, 2, 3):
        insert(session, i)
        while now_ms() <= metadata_of(session).last_updated_ms:
            pass  # no two snapshots are to be of one millisecond
    snapshots = metadata_of(session).snapshots
    change(session, SetSnapshotRef("second", SnapshotRef(snapshots[1].snapshot_id, TAG)))
    known = {"{1}": snapshots[1].snapshot_id, "{t1}": snapshots[1].timestamp_ms}
    following = stream(session, {k: str(known.get(v, v)) for k, v in options.items()})
    found = ids(following.rows())
    insert(session, 4)
    assert found + ids(following.rows()) == read


@pytest.mark.parametrize("strategy", ["INCREMENTAL_FROM_LATEST_SNAPSHOT", "INCREMENTAL_FROM_EARLIEST_SNAPSHOT"])
def test_an_empty_table_has_no_snapshot_to_start_at(session: Session, strategy: str) -> None:
    following = stream(session, {"starting-strategy": strategy})
    insert(session, 1)
    assert ids(following.rows()) == [1]


def test_a_time_that_is_to_come(session: Session) -> None:
    insert(session, 1)
    later = str(metadata_of(session).snapshots[0].timestamp_ms + 86_400_000)
    following = stream(session, {"stream-from-timestamp": later})
    insert(session, 2)
    assert following.rows() == []
    with pytest.raises(BergError, match=r"The table has no snapshot of .* or later") as caught:
        stream(session, {"start-snapshot-timestamp": later})
    assert caught.value.hint is not None


def test_an_expired_start(session: Session) -> None:
    first, second, _, _ = (insert(session, i) for i in (1, 2, 3, 4))
    expire(session, first)
    assert ids(stream(session, {"start-snapshot-id": str(first)}).rows()) == [2, 3, 4]
    expire(session, second)
    for options in (
        {"start-snapshot-id": str(first)},
        {"start-snapshot-id": str(second), "starting-strategy": "INCREMENTAL_FROM_SNAPSHOT_ID"},
    ):
        with pytest.raises(
            BergError, match=r"The table has no snapshot \d+: those before snapshot \d+ are expired"
        ) as caught:
            stream(session, options)
        assert "Start at a snapshot that is there" in (caught.value.hint or "")
    with pytest.raises(BergError, match="is expired: its oldest snapshot is"):
        stream(session, {"start-snapshot-timestamp": "0"})
    assert ids(stream(session, {"stream-from-timestamp": "0"}).rows()) == [3, 4]
    earliest = {"starting-strategy": "INCREMENTAL_FROM_EARLIEST_SNAPSHOT"}
    assert ids(stream(session, earliest).rows()) == [3, 4]
    assert ids(stream(session).rows()) == [1, 2, 3, 4]


def test_a_start_that_is_not_there(session: Session) -> None:
    insert(session, 1)
    for options, message in (
        ({"start-snapshot-id": "7"}, "The table has no snapshot 7"),
        ({"start-tag": "mian"}, "The table has no tag 'mian'"),
        ({"branch": "mian"}, "The table has no branch 'mian'"),
    ):
        with pytest.raises(BergError, match=message) as caught:
            stream(session, options)
        assert caught.value.code is ErrorCode.NOT_FOUND


def test_a_stream_that_ends(session: Session) -> None:
    first, _, third, _ = (insert(session, i) for i in (1, 2, 3, 4))
    change(session, SetSnapshotRef("last", SnapshotRef(third, TAG)))
    change(session, SetSnapshotRef("start", SnapshotRef(first, TAG)))
    for options in (
        {"start-tag": "start", "end-tag": "last"},
        {"start-snapshot-id": str(first), "end-snapshot-id": str(third)},
    ):
        following = stream(session, options)
        assert following.source.bounded
        assert ids(following.rows()) == [2, 3]
        assert following.reader.finished
    with pytest.raises(BergError, match="The stream does not come to snapshot"):
        stream(session, {"start-tag": "last", "end-tag": "start"})


# --- branches ---------------------------------------------------------------------------------------------------------


def test_branches(session: Session) -> None:
    first = insert(session, 1)
    change(session, SetSnapshotRef("b", SnapshotRef(first)))
    by_option, by_name = stream(session, {"branch": "b"}), stream(session, name="t.branch_b")
    main = stream(session)
    insert(session, 2)
    run(session, "INSERT INTO t.branch_b VALUES (3, 'v3')")
    assert ids(by_option.rows()) == ids(by_name.rows()) == [1, 3]
    assert ids(main.rows()) == [1, 2]
    change(session, RemoveSnapshotRef("b"))
    with pytest.raises(BergError, match=r"Branch 'b' of table .* is not there any more"):
        by_option.poll()


def test_the_branch_that_is_audited(session: Session) -> None:
    run(session, "CREATE TABLE w (id BIGINT, x STRING) WITH ('write.wap.enabled'='true')")
    insert(session, 1, name="w")
    run(session, "SET 'spark.wap.branch' = 'audit'")
    insert(session, 2, name="w")
    audited = stream(session, name="w")
    assert ids(audited.rows()) == [1, 2]
    run(session, "RESET 'spark.wap.branch'")
    insert(session, 3, name="w")
    assert audited.poll() is None


@pytest.mark.parametrize("name", ["t.tag_x", "t$snapshots"])
def test_what_never_changes_is_no_stream(session: Session, name: str) -> None:
    change(session, SetSnapshotRef("x", SnapshotRef(insert(session, 1), TAG)))
    with pytest.raises(BergError, match=r"a stream reads on|is not read as a stream"):
        planned(session, name=name)


# --- what is in the way -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "operation"),
    [("DELETE FROM t WHERE id = 1", "delete"), ("INSERT OVERWRITE t VALUES (9, 'n')", "overwrite")],
)
def test_a_snapshot_that_took_rows_away(session: Session, sql: str, operation: str) -> None:
    insert(session, 1)
    skipping = {f"streaming-skip-{operation}-snapshots": "true"}
    following, lenient = stream(session), stream(session, skipping)
    assert ids(following.rows()) == ids(lenient.rows()) == [1]
    insert(session, 2)
    run(session, sql)
    named = snapshot_ids(session)[-1]
    insert(session, 3)
    assert ids(following.poll() or []) == [2]  # what came before it is not held back
    for _ in range(2):
        with pytest.raises(BergError, match=f"Snapshot {named} of table .* is of '{operation}'") as caught:
            following.poll()
        assert caught.value.code is ErrorCode.INVALID
        for way in (next(iter(skipping)), "read.changelog", f"'start-snapshot-id' = '{named}'"):
            assert way in (caught.value.hint or "")
    assert ids(lenient.rows()) == [2, 3]
    again = stream(session, skipping, following.reader.offset)
    assert ids(again.rows()) == [3]
    assert ids(stream(session, {"start-snapshot-id": str(named)}).rows()) == [3]


def test_a_rewrite_passes(session: Session) -> None:
    following = stream(session)
    insert(session, 1)
    rewrite_nothing(session)
    insert(session, 2)
    assert ids(following.rows()) == [1, 2]
    rewrite_nothing(session)
    assert following.poll() is None
    assert following.reader.lag == 0


def test_history_that_is_gone(session: Session) -> None:
    insert(session, 1)
    following = stream(session)
    assert ids(following.rows()) == [1]
    second, third, _ = (insert(session, i) for i in (2, 3, 4))
    expire(session, second, third)
    with pytest.raises(BergError, match=r"Snapshots of table .* were expired before they were read") as caught:
        following.poll()
    assert "without its saved state" in (caught.value.hint or "")


def test_what_is_expired_while_it_is_read(session: Session) -> None:
    """Files that are gone between the look at the table and the reading of a snapshot."""
    following = stream(session, {"max-planning-snapshot-count": "1", "monitor-interval": "1 h"})
    numbers = [insert(session, i) for i in (1, 2, 3)]
    assert ids(following.poll() or []) == [1]
    second = metadata_of(session).snapshot(numbers[1])
    assert second is not None
    expire(session, *numbers[:2])
    Path((second.manifest_list or "").removeprefix("file:")).unlink()
    forget_memory()
    with pytest.raises(BergError, match=r"Snapshots of table .* were expired before they were read"):
        following.poll()


def test_what_was_read_may_be_expired(session: Session) -> None:
    first = insert(session, 1)
    second = insert(session, 2)
    following = stream(session)
    assert ids(following.rows()) == [1, 2]
    insert(session, 3)
    expire(session, first, second)
    assert ids(stream(session, offset=following.reader.offset).rows()) == [3]
    assert ids(following.rows()) == [3]


def test_a_rollback_behind_what_was_read(session: Session) -> None:
    first = insert(session, 1)
    second = insert(session, 2)
    following = stream(session)
    assert ids(following.rows()) == [1, 2]
    roll_back(session, first)
    with pytest.raises(
        BergError, match=f"rolled back or replaced: its history does not hold snapshot {second}"
    ) as caught:
        following.poll()
    assert caught.value.code is ErrorCode.CONFLICT
    roll_back(session, second)
    insert(session, 3)
    assert ids(stream(session, offset=following.reader.offset).rows()) == [3]


def test_a_rollback_of_what_was_not_read(session: Session) -> None:
    first = insert(session, 1)
    following = stream(session)
    assert ids(following.rows()) == [1]
    insert(session, 2)
    roll_back(session, first)
    insert(session, 3)
    assert ids(following.rows()) == [3]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["DROP TABLE t"], "is not there any more: it was dropped or renamed"),
        (["DROP TABLE t", "CREATE TABLE t (id BIGINT, x STRING)"], "it was dropped and made anew"),
        (["CREATE OR REPLACE TABLE t AS SELECT CAST(1 AS BIGINT) AS id, 'a' AS x"], "was rolled back or replaced"),
    ],
)
def test_a_table_that_is_not_the_same(session: Session, statements: list[str], message: str) -> None:
    insert(session, 1)
    following = stream(session)
    assert ids(following.rows()) == [1]
    run(session, *statements)
    with pytest.raises(BergError, match=message):
        following.poll()
    if len(statements) > 1:
        with pytest.raises(BergError, match=message):
            Stream(following.source, session.duck, following.reader.offset)


# --- schemas ----------------------------------------------------------------------------------------------------------


def test_columns_are_the_same_by_their_ids(session: Session) -> None:
    insert(session, 1)
    following = stream(session)
    assert following.rows() == [(1, "v1")]
    run(session, "ALTER TABLE t ADD (n INT FIRST)", "ALTER TABLE t RENAME x TO y", "INSERT INTO t VALUES (7, 2, 'v2')")
    assert following.rows() == [(2, "v2")]
    assert stream(session).rows() == [(None, 1, "v1"), (7, 2, "v2")]
    # Taken up by a query that is planned anew.
    run(session, "INSERT INTO t VALUES (8, 3, 'v3')")
    assert stream(session, offset=following.reader.offset).rows() == [(8, 3, "v3")]


@pytest.mark.parametrize(
    ("made", "statement", "how"),
    [
        ("(id BIGINT, x STRING)", "ALTER TABLE s DROP x", "Column 'x' of table .* was dropped"),
        ("(id INT, x STRING)", "ALTER TABLE s MODIFY id BIGINT", "Column 'id' of table .* became long"),
        ("(id INT NOT NULL, x STRING)", "ALTER TABLE s MODIFY id INT", "Column 'id' of table .* may be NULL since"),
    ],
)
def test_columns_that_do_not_fit_any_more(session: Session, made: str, statement: str, how: str) -> None:
    run(session, f"CREATE TABLE s {made}")
    following = stream(session, name="s")
    narrow = Stream(following.source.reading(frozenset({1 if "id" in how else 0})), session.duck)
    run(session, statement, "INSERT INTO s (id) VALUES (1)")
    with pytest.raises(BergError, match=how) as caught:
        following.poll()
    assert "planned with the columns that the table has now" in (caught.value.hint or "")
    assert narrow.poll() is not None  # it does not read that column
    assert len(stream(session, name="s", offset=following.reader.offset).rows()) == 1


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "limits", "sizes"),
    [
        ({}, {}, [3, 6]),
        ({"streaming-max-files-per-micro-batch": "1"}, {}, [1, 1, 1, 2, 2, 2]),
        ({"streaming-max-rows-per-micro-batch": "4"}, {}, [3, 4, 2]),
        ({"max-planning-snapshot-count": "1"}, {}, [3, 2, 2, 2]),
        ({}, {"max_rows": 2}, [2, 1, 2, 2, 2]),
        ({}, {"max_bytes": 1}, [1, 1, 1, 2, 2, 2]),
    ],
)
def test_how_much_a_batch_holds(
    session: Session, options: dict[str, str], limits: dict[str, int], sizes: list[int]
) -> None:
    """Whatever the batches, from each of their offsets a new reader goes on exactly."""
    for i in (1, 2, 3):
        insert(session, i)
    following = stream(session, options, **limits)
    batches = following.batches()
    for i in (4, 6, 8):
        insert(session, i, i + 1)
    batches += following.batches()
    assert [len(b) for b in batches] == sizes
    read = [row[0] for batch in batches for row in batch]
    assert read == list(range(1, 10))
    offset: Json = None
    again: list[int] = []
    while True:
        reader = stream(session, options, offset, **limits)
        rows = reader.poll()
        if rows is None:
            break
        again += ids(rows)
        offset = reader.reader.offset
    assert again == list(range(1, 10))


def test_a_scan_goes_on_at_its_own_snapshot(session: Session) -> None:
    for i in (1, 2, 3):
        insert(session, i)
    one_file = {"streaming-max-files-per-micro-batch": "1"}
    following = stream(session, one_file)
    assert ids(following.poll() or []) == [1]
    scanned = snapshot_ids(session)[-1]
    insert(session, 4)
    again = stream(session, one_file, following.reader.offset)
    assert ids(again.rows()) == [2, 3, 4]
    expire(session, scanned)
    with pytest.raises(BergError, match=f"Snapshot {scanned} of table .* was expired before it was read"):
        stream(session, one_file, following.reader.offset)


def test_deletes_are_carried_out_in_the_scan(session: Session) -> None:
    run(session, "CREATE TABLE m (id BIGINT, x STRING) WITH ('write.delete.mode'='merge-on-read')")
    insert(session, 1, 2, 3, name="m")
    run(session, "DELETE FROM m WHERE id = 2")
    assert ids(stream(session, name="m").rows()) == [1, 3]


def test_a_limit(session: Session) -> None:
    insert(session, 1, 2)
    following = stream(session, {"limit": "3"})
    assert ids(following.rows()) == [1, 2]
    insert(session, 3, 4)
    again = stream(session, {"limit": "3"}, following.reader.offset)
    assert ids(again.rows()) == ids(following.rows()) == [3]
    assert again.reader.finished
    run(session, "SET 'connector.iceberg.limit' = '1'")
    assert ids(stream(session).rows()) == [1]


def test_only_the_columns_that_are_used_are_read(session: Session) -> None:
    insert(session, 1)
    source = planned(session)
    assert Stream(source.reading(frozenset({1})), session.duck).rows() == [(None, "v1")]
    assert Stream(source.reading(frozenset()), session.duck).rows() == [(None, None)]


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_look_that_finds_nothing_waits_for_the_interval(session: Session) -> None:
    insert(session, 1)
    following = stream(session, {"monitor-interval": "200 ms"})
    assert ids(following.rows()) == [1]
    assert following.poll() is None
    assert 0 < following.reader.wait <= 0.2
    insert(session, 2)
    deadline = time.monotonic() + 10
    while (rows := following.poll()) is None:
        assert time.monotonic() < deadline
    assert ids(rows) == [2]


def test_the_session_sets_what_a_hint_may(session: Session) -> None:
    run(
        session,
        "SET 'connector.iceberg.monitor-interval' = '3 s'",
        "SET 'connector.iceberg.starting-strategy' = 'INCREMENTAL_FROM_LATEST_SNAPSHOT'",
        "SET 'connector.iceberg.max-planning-snapshot-count' = '2'",
        "SET 'connector.iceberg.max-allowed-planning-failures' = '7'",
        "SET 'connector.iceberg.watermark-column' = 'ID'",
        "SET 'connector.iceberg.watermark-column-time-unit' = 'seconds'",
    )
    hint = TableHint(0, (Option("streaming", "true", Span(0, 1)),), Span(0, 1))
    asked = read_options([hint], SessionRelations(session), None)
    assert asked.stream is not None
    found = asked.stream
    assert (found.monitor_interval_ms, found.max_snapshots, found.max_failures) == (3000, 2, 7)
    assert (found.strategy, found.watermark_column, found.watermark_unit) == (
        "INCREMENTAL_FROM_LATEST_SNAPSHOT",
        "ID",
        "SECONDS",
    )
    assert planned(session).watermarks is not None
    run(session, "SET 'connector.iceberg.case-sensitive' = 'true'")
    with pytest.raises(BergError, match="The table has no column 'ID' to take watermarks from"):
        planned(session)


def test_looks_that_fail(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    insert(session, 1)
    catalog = session.catalog("default_catalog")
    streams = {n: stream(session, {"max-allowed-planning-failures": n}) for n in ("0", "2", "-1")}
    for following in streams.values():
        following.rows()

    def fail(_: object) -> None:
        raise BergError(ErrorCode.IO, "The disk does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(catalog, "load_table", fail)
        for most, following in streams.items():
            for _ in range(5 if most == "-1" else int(most)):
                assert following.poll() is None
            if most != "-1":
                with pytest.raises(BergError, match="The disk does not answer"):
                    following.poll()
    insert(session, 2)
    assert ids(streams["-1"].rows()) == [2]
    assert "could not be looked at" in streams["-1"].context.notes[0]


def test_the_lag_is_the_age_of_what_is_not_read_yet(session: Session) -> None:
    following = stream(session, {"max-planning-snapshot-count": "1"})
    for i in (1, 2):
        insert(session, i)
    following.poll()
    deadline = time.monotonic() + 10
    while (following.reader.lag or 0) < 20:
        assert time.monotonic() < deadline
    following.poll()
    assert following.reader.lag == 0


def test_watermarks_from_statistics(session: Session) -> None:
    run(session, "CREATE TABLE w (at TIMESTAMP(6), n BIGINT)")
    for second in (30, 10, 20):
        run(
            session,
            f"INSERT INTO w VALUES (TIMESTAMP '1970-01-01 00:00:{second}', {second}), (TIMESTAMP '1970-01-01 00:01:00', 60)",
        )
    by_time = stream(session, {"watermark-column": "at", "streaming-max-files-per-micro-batch": "1"}, name="w")
    assert [c.rowtime for c in by_time.source.columns] == [True, False]
    assert by_time.reader.watermark is None
    found: list[tuple[Any, Any]] = []
    while (rows := by_time.poll()) is not None:
        found.append((rows[0][1], by_time.reader.watermark))
    # Files of the scan come by their least time.
    assert found == [(10, 9_999_999), (20, 19_999_999), (30, 29_999_999)]
    assert stream(session, {"watermark-column": "at"}, by_time.reader.offset, name="w").reader.watermark == 29_999_999
    by_number = {"watermark-column": "n", "watermark-column-time-unit": "SECONDS"}
    counted = stream(session, by_number, name="w")
    counted.rows()
    assert counted.reader.watermark == 29_999_999  # the same in one batch
    for options, message in (
        ({"watermark-column": "m"}, "The table has no column 'm' to take watermarks from"),
        ({"watermark-column": "x"}, "Watermarks are taken from a TIMESTAMP or a BIGINT, and 'x' is string"),
    ):
        with pytest.raises(BergError, match=message):
            planned(session, options)


def test_watermarks_from_rows_where_there_are_no_statistics(session: Session) -> None:
    run(session, "CREATE TABLE w (at TIMESTAMP_LTZ(6)) WITH ('write.metadata.metrics.default'='none')")
    run(session, "SET 'table.local-time-zone' = 'UTC'", "INSERT INTO w VALUES (TIMESTAMP '1970-01-01 00:00:05')")
    following = stream(session, {"watermark-column": "at"}, name="w")
    following.rows()
    assert following.reader.watermark == 4_999_999


def test_a_look_that_finds_nothing_reads_no_manifest(session: Session) -> None:
    insert(session, 1)
    following = stream(session)
    following.rows()
    manifests = list(Path(metadata_of(session).location).rglob("*.avro"))
    assert manifests
    for manifest in manifests:
        manifest.unlink()
    for _ in range(3):
        assert following.poll() is None


# --- other names of a table -------------------------------------------------------------------------------------------


def test_a_table_of_the_connector_form(session: Session, tmp_path: Path) -> None:
    insert(session, 1)
    run(
        session,
        "CREATE TEMPORARY TABLE p (id BIGINT, x STRING) WITH ('connector'='iceberg', 'catalog-name'='c',"
        f" 'catalog-type'='hadoop', 'warehouse'='{tmp_path / 'wh'}', 'catalog-database'='default_database',"
        " 'catalog-table'='t')",
    )
    following = stream(session, name="p")
    assert ids(following.rows()) == [1]
    insert(session, 2)
    assert ids(following.rows()) == [2]
    run(
        session,
        "CREATE TEMPORARY TABLE q (id BIGINT) WITH ('connector'='iceberg', 'catalog-name'='c',"
        f" 'catalog-type'='hadoop', 'warehouse'='{tmp_path / 'wh'}', 'catalog-database'='default_database')",
    )
    with pytest.raises(BergError, match="is not there yet"):
        planned(session, name="q")


# --- changes ----------------------------------------------------------------------------------------------------------

CHANGELOG = {"read.changelog": "true"}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"])
def test_changes_of_rows(session: Session, version: int, mode: str, key: str) -> None:
    if version == 1 and mode == "merge-on-read":
        mode = "copy-on-write"
    modes = ", ".join(f"'write.{w}.mode'='{mode}'" for w in ("delete", "update", "merge"))
    run(session, f"CREATE TABLE m (id BIGINT NOT NULL, x STRING{key}) WITH ('format-version'='{version}', {modes})")
    insert(session, 1, 2, 3, 4, name="m")
    following = stream(session, CHANGELOG, name="m")
    assert following.source.mode is ChangelogMode.RETRACT
    assert following.source.key == ((0,) if key else ())
    assert following.batches() == [[(i, f"v{i}", 0) for i in (1, 2, 3, 4)]]
    run(session, "DELETE FROM m WHERE id = 2", "UPDATE m SET x = 'n' WHERE id = 3", "DELETE FROM m WHERE id = 4")
    insert(session, 5, name="m")
    paired = bool(key) or version == 3
    updated = [(3, "v3", 1), (3, "n", 2)] if paired else [(3, "v3", 3), (3, "n", 0)]
    assert following.batches() == [[(2, "v2", 3)], updated, [(4, "v4", 3)], [(5, "v5", 0)]]


def test_changes_by_upserts(session: Session) -> None:
    run(
        session,
        "CREATE TABLE u (id BIGINT NOT NULL, x STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('format-version'='2',"
        " 'write.upsert.enabled'='true')",
    )
    insert(session, 1, 2, name="u")
    following = stream(session, CHANGELOG, name="u")
    following.batches()
    run(session, "INSERT INTO u VALUES (2, 'new'), (3, 'v3'), (1, 'v1')")
    assert following.batches() == [[(2, "v2", 1), (2, "new", 2), (3, "v3", 0)]]
    # What is not read does not change.
    narrow = Stream(following.source.reading(frozenset()), session.duck, following.reader.offset)
    run(session, "INSERT INTO u VALUES (2, 'newer')")
    assert [row for batch in narrow.batches() for row in batch] == []
    assert following.batches() == [[(2, "new", 1), (2, "newer", 2)]]


def test_changes_after_the_snapshot_before_is_expired(session: Session) -> None:
    run(session, "CREATE TABLE m (id BIGINT, x STRING) WITH ('write.delete.mode'='merge-on-read')")
    first = insert(session, 1, 2, name="m")
    following = stream(session, CHANGELOG, name="m")
    following.batches()
    run(session, "DELETE FROM m WHERE id = 2")
    expire(session, first, name="m")
    assert following.batches() == [[(2, "v2", 3)]]


def test_an_overwrite_of_the_whole_table(session: Session) -> None:
    insert(session, 1, 2)
    following = stream(session, CHANGELOG)
    following.batches()
    run(session, "INSERT OVERWRITE t VALUES (2, 'v2'), (3, 'v3')")
    rewrite_nothing(session)
    assert following.batches() == [[(1, "v1", 3), (3, "v3", 0)]]
