"""Connector postgres-cdc and its slot: what the server may forget, and going on from a place that it forgot."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.change_reader import ChangeReader
from tests.support.postgres_cdc import dropped, own_name, source
from tests.support.services.postgres import Postgres
from tests.support.services.server import until

COLUMNS = "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
AT_ONCE = "'scan.lsn-commit.checkpoints-num-delay'='0', 'heartbeat.interval.ms'='50'"


class Followed:
    """A table, and who reads it by a slot."""

    def __init__(self, server: Postgres, with_: str = AT_ONCE) -> None:
        self.server, self.table, self.slot = server, own_name("followed"), own_name("slot")
        server.run(
            f"CREATE TABLE {self.table} (id int PRIMARY KEY, v text)",
            f"ALTER TABLE {self.table} REPLICA IDENTITY FULL",
            f"INSERT INTO {self.table} VALUES (1, 'a'), (2, 'b')",
        )
        self.reader = ChangeReader(source(server, self.slot, self.table, COLUMNS, with_))

    def rows(self) -> list[tuple[object, ...]]:
        return self.server.run(f"SELECT id, v FROM {self.table}")

    def confirmed(self) -> int:
        """Up to where the server may forget."""
        return self._number(f"confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{self.slot}'")

    def sent(self) -> int:
        """Up to where the reader said that it heard."""
        return self._number(
            f"write_lsn - '0/0' FROM pg_stat_replication WHERE application_name = 'bergsql {self.slot}'"
        )

    def end(self) -> int:
        return self._number("pg_current_wal_insert_lsn() - '0/0'")

    def _number(self, what: str) -> int:
        ((found,),) = self.server.run(f"SELECT {what}")
        return int(found or 0)

    def change(self) -> None:
        self.server.run(f"UPDATE {self.table} SET v = v || 'c' WHERE id = 1")

    def others(self) -> None:
        """What is no change of the table."""
        self.server.run("SELECT pg_logical_emit_message(false, 'x', repeat('y', 1000))")


@pytest.fixture
def followed(postgres: Postgres) -> Iterator[Followed]:
    made = Followed(postgres)
    yield made
    dropped(postgres, made.slot)


def refused(reader: ChangeReader) -> BergError:
    with pytest.raises(BergError) as told, reader.opened():
        reader.until(lambda: False)
    assert told.value.code is ErrorCode.INVALID
    assert "start a new job" in str(told.value.hint)
    return told.value


def test_a_place_that_the_slot_is_past_is_refused(followed: Followed) -> None:
    reader = followed.reader
    with reader.opened():
        reader.until_rows(followed.rows)
        older = reader.kept
        followed.change()
        reader.until_rows(followed.rows)
        changed = followed.end()
        followed.others()
        reader.until(lambda: followed.confirmed() >= changed)
    newer, reader.kept = reader.kept, older
    assert "is past the place where the job goes on" in refused(reader).message
    reader.kept = newer
    with reader.opened():
        reader.until_rows(followed.rows)


def test_a_slot_that_was_made_again_is_refused(followed: Followed) -> None:
    reader = followed.reader
    with reader.opened():
        reader.until_rows(followed.rows)
    dropped(followed.server, followed.slot)
    followed.server.run(
        f"DELETE FROM {followed.table} WHERE id = 2",
        f"SELECT pg_create_logical_replication_slot('{followed.slot}', 'pgoutput')",
    )
    assert "is past the place where the job goes on" in refused(reader).message


def test_a_server_whose_log_ends_before_the_place_is_refused(followed: Followed) -> None:
    reader = followed.reader
    with reader.opened():
        reader.until_rows(followed.rows)
    assert isinstance(reader.kept, dict)
    reader.kept["log"] = [followed.end() + (1 << 30), None, 0]
    assert "ends before the place where the job goes on" in refused(reader).message


def test_the_slot_never_moves_past_what_is_kept(followed: Followed) -> None:
    reader = followed.reader
    with reader.opened():
        reader.until_rows(followed.rows)
        kept = reader.kept
        followed.others()
        end = followed.end()
        until("an answer", lambda: followed.sent() >= end)  # what the server says of itself is no checkpoint
        assert isinstance(kept, dict)
        assert followed.confirmed() <= kept["log"][0]  # type: ignore[index, operator]
    with reader.opened():
        followed.server.run(f"DELETE FROM {followed.table} WHERE id = 2")
        reader.until_rows(followed.rows)


@pytest.mark.parametrize("publication", ["", "CREATE PUBLICATION pub_{slot} FOR TABLE {other}"])
def test_a_slot_that_is_older_than_its_publication_is_refused(followed: Followed, publication: str) -> None:
    slot, other = followed.slot, own_name("other")
    followed.server.run(
        f"CREATE TABLE {other} (id int PRIMARY KEY)",
        publication.format(slot=slot, other=other) or "SELECT 1",
        f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')",
    )
    followed.change()
    with_ = f"{AT_ONCE}, 'scan.startup.mode'='committed-offset'"
    reader = ChangeReader(source(followed.server, slot, followed.table, COLUMNS, with_))
    assert f"does not hold public.{followed.table}" in refused(reader).message


def test_a_publication_that_tells_of_the_whole_instead_of_its_partitions_is_refused(followed: Followed) -> None:
    whole, slot = own_name("whole"), followed.slot
    followed.server.run(
        f"CREATE TABLE {whole} (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        f"CREATE TABLE {whole}_p PARTITION OF {whole} FOR VALUES FROM (0) TO (9)",
        f"ALTER TABLE {whole}_p REPLICA IDENTITY FULL",
        f"CREATE PUBLICATION pub_{slot} FOR TABLE {whole} WITH (publish_via_partition_root)",
    )
    reader = ChangeReader(source(followed.server, slot, f"{whole}_p", COLUMNS, AT_ONCE))
    with pytest.raises(BergError, match="as those of the table that it is a partition of") as told, reader.opened():
        pass
    assert told.value.code is ErrorCode.INVALID
    followed.server.run(f"ALTER PUBLICATION pub_{slot} SET (publish_via_partition_root = false)")
    with reader.opened():
        followed.server.run(f"INSERT INTO {whole} VALUES (1, 'a')")
        reader.until_rows(lambda: [(1, "a")])


@pytest.mark.parametrize("with_", ["'scan.lsn-commit.checkpoints-num-delay'='1000'", AT_ONCE])
def test_a_server_that_is_stopped_in_order_does_not_wait_for_a_reader(with_: str) -> None:
    server = Postgres()
    try:
        server.start()
        followed = Followed(server, with_)
        reader = followed.reader
        with reader.opened():
            reader.until_rows(followed.rows)
            followed.change()
            reader.until_rows(followed.rows)
            pid_file = server.folder / "data" / "postmaster.pid"
            assert pid_file.exists()
            os.kill(server.pid, signal.SIGINT)
            until("an end", lambda: not pid_file.exists(), 30)
            with pytest.raises(BergError) as told:
                reader.until(lambda: False)
            assert told.value.code is ErrorCode.CONNECTION
        server.stop()
        server.start()
        followed.change()
        with reader.opened():
            reader.until_rows(followed.rows)
    finally:
        server.close()


def test_a_slot_that_is_gone_or_in_use(followed: Followed) -> None:
    with followed.reader.opened():
        followed.reader.until_rows(followed.rows)
        with (
            pytest.raises(BergError, match="is in use") as told,
            ChangeReader(source(followed.server, followed.slot, followed.table, COLUMNS, AT_ONCE)).opened(),
        ):
            pass
        assert told.value.code is ErrorCode.CONNECTION
    dropped(followed.server, followed.slot)
    with pytest.raises(BergError, match="is not there") as told, followed.reader.opened():
        pass
    assert told.value.code is ErrorCode.INVALID
    assert "start a new job" in str(told.value.hint)


def test_a_publication_that_lost_its_table(followed: Followed) -> None:
    with followed.reader.opened():
        followed.reader.until_rows(followed.rows)
    followed.server.run(
        f"ALTER PUBLICATION pub_{followed.slot} DROP TABLE {followed.table}",
        f"INSERT INTO {followed.table} VALUES (7, 'unseen')",
    )
    with pytest.raises(BergError, match="does not hold public") as told, followed.reader.opened():
        pass
    assert told.value.code is ErrorCode.INVALID


def test_the_slot_follows_what_is_committed_and_idle_time(followed: Followed) -> None:
    with followed.reader.opened():
        followed.reader.until_rows(followed.rows)
        before = followed.confirmed()
        followed.server.run("SELECT pg_logical_emit_message(false, 'x', repeat('y', 100000))")
        followed.reader.until(lambda: followed.confirmed() > before + 100_000)
