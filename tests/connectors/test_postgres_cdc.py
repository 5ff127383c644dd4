"""Connector postgres-cdc: rows and changes, stopping anywhere and going on."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.change_reader import ChangeReader
from tests.support.postgres_cdc import dropped, own_name, source
from tests.support.services.postgres import Postgres
from tests.support.services.server import until

COLUMNS = "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
SMALL = "'scan.incremental.snapshot.chunk.size'='50'"


class Place:
    """A table of its own, and its slot."""

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.table, self.slot = own_name("t"), own_name("slot")

    def make(self, rows: int = 200, columns: str = "id int PRIMARY KEY, v text") -> None:
        self.server.run(
            f"CREATE TABLE {self.table} ({columns})",
            f"ALTER TABLE {self.table} REPLICA IDENTITY FULL",
            f"INSERT INTO {self.table} SELECT n, 'v' || n FROM generate_series(1, {rows}) AS n",
        )

    def reader(self, columns: str = COLUMNS, with_: str = SMALL) -> ChangeReader:
        return ChangeReader(source(self.server, self.slot, self.table, columns, with_))

    def rows(self, what: str = "id, v") -> list[tuple[Any, ...]]:
        return self.server.run(f"SELECT {what} FROM {self.table}")

    def run(self, *statements: str) -> None:
        self.server.run(*(s.replace("{t}", self.table) for s in statements))


@pytest.fixture
def place(postgres: Postgres) -> Iterator[Place]:
    made = Place(postgres)
    yield made
    dropped(postgres, made.slot)


class Writer:
    """Changes a table all the time, in transactions of several rows."""

    def __init__(self, place: Place, seed: int) -> None:
        self._place, self._random = place, random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = self._place.server.connect()
        connection.autocommit = False
        try:
            with connection.cursor() as cursor:
                while not self._stop.is_set():
                    for _ in range(self._random.randint(1, 6)):
                        cursor.execute(self._statement())
                    connection.commit() if self._random.random() < 0.8 else connection.rollback()
        finally:
            connection.close()

    def _statement(self) -> str:
        table, key, other = self._place.table, self._random.randint(1, 300), self._random.randint(1, 300)
        match self._random.randint(0, 3):
            case 0:
                return f"INSERT INTO {table} VALUES ({key}, 'n{other}') ON CONFLICT DO NOTHING"
            case 1:
                return f"DELETE FROM {table} WHERE id = {key}"
            case 2:
                return f"UPDATE {table} SET v = v || 'x' WHERE id BETWEEN {key} AND {key + 3}"
        return f"UPDATE {table} SET id = {other} WHERE id = {key} AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = {other})"


@pytest.mark.parametrize("mode", ["all", "upsert"])
@pytest.mark.parametrize("seed", range(3))
def test_changes_while_the_rows_are_read_and_stops_at_any_moment(place: Place, mode: str, seed: int) -> None:
    place.make()
    chance = random.Random(seed)
    reader = place.reader(with_=f"'scan.incremental.snapshot.chunk.size'='20', 'changelog-mode'='{mode}'")
    upsert = mode == "upsert"
    if upsert:
        place.run("ALTER TABLE {t} REPLICA IDENTITY DEFAULT")
    table = Folded(reader, upsert=upsert)
    with Writer(place, seed):
        for _ in range(12):
            with reader.opened():
                table.forget()
                for _ in range(chance.randint(0, 8)):
                    table.poll()
                    if chance.random() < 0.6:
                        table.keep()
    with reader.opened():
        table.forget()
        wanted = sorted(place.rows())
        until("all changes", lambda: table.round() == wanted, 30)
        for _ in range(10):
            table.poll()
        assert sorted(table.rows.items()) == wanted


class Folded:
    """The table that changes make, by key; each change must fit what is there, where old rows are told."""

    def __init__(self, reader: ChangeReader, *, upsert: bool) -> None:
        self._reader, self._upsert = reader, upsert
        self.rows: dict[int, str] = {}
        self._kept: dict[int, str] = {}

    def forget(self) -> None:
        self.rows = dict(self._kept)

    def keep(self) -> None:
        self._reader.keep()
        self._kept = dict(self.rows)

    def round(self) -> list[tuple[int, str]]:
        """The rows after a round and a checkpoint."""
        self.poll()
        self.keep()
        return sorted(self.rows.items())

    def poll(self) -> None:
        for kind, key, value in self._reader.poll_unfolded():
            if kind in ("-U", "-D"):
                found = self.rows.pop(key, None)
                assert self._upsert or found == value, (kind, key, value, found)
            else:
                assert self._upsert or key not in self.rows, (kind, key, value)
                self.rows[key] = value


def test_a_transaction_larger_than_a_batch_is_cut_and_gone_on_with(place: Place) -> None:
    place.make(10)
    reader = place.reader()
    with reader.opened():
        reader.until_rows(place.rows)
    place.run("INSERT INTO {t} SELECT n, 'w' FROM generate_series(1001, 46000) AS n", "DELETE FROM {t} WHERE id = 5")
    for _ in range(3):
        with reader.opened():
            reader.workspace.max_rows = 10_000
            until("a part of it", reader.poll)
            reader.keep()
    assert isinstance(reader.kept, dict)
    assert reader.kept["log"][1] is not None  # type: ignore[index]
    with reader.opened():
        reader.until_rows(place.rows)


def test_new_changes_only(place: Place) -> None:
    place.make()
    reader = place.reader(with_="'scan.startup.mode'='latest-offset'")
    with reader.opened():
        place.run("INSERT INTO {t} VALUES (1000, 'new')")
        reader.until_rows(lambda: [(1000, "new")])
    place.run("UPDATE {t} SET v = 'newer' WHERE id = 1000")
    assert ["was made" in note for note in reader.notes] == [True]
    with reader.opened():
        reader.until_rows(lambda: [(1000, "newer")])


def test_changes_from_where_the_slot_is(place: Place) -> None:
    place.make()
    committed = "'scan.startup.mode'='committed-offset'"
    with pytest.raises(BergError, match="is not there"), place.reader(with_=committed).opened():
        pass
    first = place.reader(with_="'scan.startup.mode'='latest-offset'")
    with first.opened():
        pass
    place.run("INSERT INTO {t} VALUES (1000, 'new')")
    reader = place.reader(with_=committed)
    with reader.opened():
        reader.until_rows(lambda: [(1000, "new")])


def test_the_rows_only(place: Place) -> None:
    place.make()
    reader = place.reader(with_=f"'scan.startup.mode'='snapshot', {SMALL}")
    assert reader.source.bounded
    with reader.opened():
        reader.until(lambda: reader.reader.finished)
        assert sorted(reader.rows) == sorted(place.rows())
    assert place.server.run(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{place.slot}'") == []


def test_a_table_without_a_key_is_read_in_one_go(place: Place) -> None:
    place.make(30_000, "id int, v text")
    place.run("INSERT INTO {t} VALUES (1, 'v1')")
    reader = place.reader("id INT, v STRING")
    before = None
    with reader.opened():
        before = reader.kept
        while not reader.poll():
            pass
        assert reader.reader.holds
        reader.keep()
        assert reader.kept == before
    with reader.opened():
        reader.until(lambda: not reader.reader.holds and reader.rows.total() == 30_001)
        place.run("DELETE FROM {t} WHERE id = 1", "INSERT INTO {t} VALUES (NULL, NULL)")
        reader.until_rows(place.rows)


def test_keys_of_texts_in_the_order_of_their_collation(place: Place) -> None:
    place.server.run(
        "CREATE COLLATION IF NOT EXISTS upside (provider = icu, locale = 'en-u-kf-upper')",
        f"CREATE TABLE {place.table} (a text COLLATE upside, b char(3), v text, PRIMARY KEY (a, b))",
        f"ALTER TABLE {place.table} REPLICA IDENTITY FULL",
        f"INSERT INTO {place.table} SELECT chr(64 + n) || x, y, 'v' FROM generate_series(1, 26) AS n, "
        "unnest(ARRAY['', 'a', 'B', 'é', '中', '''\\', '%']) AS x, unnest(ARRAY['1', 'zz']) AS y",
    )
    columns = "a STRING, b STRING, v STRING, PRIMARY KEY (a, b) NOT ENFORCED"
    reader = place.reader(columns, "'scan.incremental.snapshot.chunk.size'='40'")
    for _ in range(5):
        with reader.opened():
            reader.poll()
            reader.keep()
        place.run("UPDATE {t} SET v = v || 'x'")
    with reader.opened():
        reader.until_rows(lambda: place.rows("a, b, v"))


def test_tables_by_patterns_and_what_is_told_of_rows(place: Place) -> None:
    server, name = place.server, place.table
    for end in "ab":
        server.run(
            f"CREATE TABLE {name}_{end} (id int PRIMARY KEY, more int, v varchar(9))",
            f"ALTER TABLE {name}_{end} REPLICA IDENTITY FULL",
            f"INSERT INTO {name}_{end} VALUES (1, 1, '{end}')",
        )
    columns = (
        "id INT, v STRING, t STRING METADATA FROM 'table_name', s STRING METADATA FROM 'schema_name', "
        "d STRING METADATA FROM 'database_name', k STRING METADATA FROM 'row_kind', "
        "at TIMESTAMP_LTZ(3) METADATA FROM 'op_ts'"
    )
    reader = ChangeReader(source(server, place.slot, f"{name}_[ab]", columns))
    with reader.opened():
        until("the rows", lambda: reader.poll_unfolded() and len(reader.changes) == 2)
        server.run(f"UPDATE {name}_b SET v = 'c'", f"DELETE FROM {name}_a")
        until("the changes", lambda: reader.poll_unfolded() and len(reader.changes) == 5)
    found: list[Any] = reader.changes
    public = ("public", "postgres")
    assert [row[:7] for row in found] == [
        ("+I", 1, "a", f"{name}_a", *public, "+I"),
        ("+I", 1, "b", f"{name}_b", *public, "+I"),
        ("-U", 1, "b", f"{name}_b", *public, "-U"),
        ("+U", 1, "c", f"{name}_b", *public, "+U"),
        ("-D", 1, "a", f"{name}_a", *public, "-D"),
    ]
    assert [row[7].year for row in found[:2]] == [1970, 1970]
    assert all(row[7].year > 2000 for row in found[2:])


def test_a_large_value_that_was_not_touched(place: Place) -> None:
    place.make(1)
    place.run("ALTER TABLE {t} ALTER v SET STORAGE EXTERNAL", "UPDATE {t} SET v = repeat('xyz', 10000)")
    place.run("ALTER TABLE {t} ADD n int DEFAULT 0")
    columns = "id INT, v STRING, n INT, PRIMARY KEY (id) NOT ENFORCED"
    reader = place.reader(columns)
    with reader.opened():
        reader.until_rows(lambda: place.rows("id, v, n"))
        place.run("UPDATE {t} SET n = 1")
        reader.until_rows(lambda: place.rows("id, v, n"))
        place.run("ALTER TABLE {t} REPLICA IDENTITY DEFAULT", "UPDATE {t} SET n = 2")
        with pytest.raises(BergError, match="without the row as it was"):
            reader.until(lambda: False)
    upsert = place.reader(columns, "'changelog-mode'='upsert', 'scan.startup.mode'='committed-offset'")
    with upsert.opened(), pytest.raises(BergError, match="leaves out the large value of column 'v'"):
        until("the error", upsert.poll_unfolded)


def test_columns_that_come_and_go(place: Place) -> None:
    place.make(3)
    reader = place.reader()
    with reader.opened():
        reader.until_rows(place.rows)
        place.run("ALTER TABLE {t} ADD w int", "INSERT INTO {t} VALUES (9, 'nine', 9)")
        reader.until_rows(place.rows)
        assert any("new column w" in note for note in reader.notes)
        assert not any("another type" in note for note in reader.notes)
        place.run("ALTER TABLE {t} ALTER id TYPE bigint", "INSERT INTO {t} VALUES (10, 'ten', 9)")
        reader.until_rows(place.rows)
        assert ["Column 'id' of public" in note for note in reader.notes if "another type" in note] == [True]
        place.run("ALTER TABLE {t} DROP v", "INSERT INTO {t} VALUES (11, 9)")
        with pytest.raises(BergError, match="Column 'v' is not in public") as told:
            reader.until(lambda: False)
        assert told.value.code is ErrorCode.NOT_FOUND


def test_a_truncated_table_ends_the_job(place: Place) -> None:
    place.make(3)
    reader = place.reader()
    with reader.opened():
        reader.until_rows(place.rows)
        place.run("TRUNCATE {t}")
        with pytest.raises(BergError, match="was truncated"):
            reader.until(lambda: False)


def test_a_table_that_comes_later_or_is_made_again(place: Place) -> None:
    place.make(3)
    columns = "id INT, v STRING"
    reader = ChangeReader(source(place.server, place.slot, f"{place.table}(_later)?", columns))
    with reader.opened():
        reader.until_rows(place.rows)
    place.run("CREATE TABLE {t}_later (id int, v text)", "ALTER TABLE {t} RENAME COLUMN v TO w")
    place.run("ALTER TABLE {t} RENAME COLUMN w TO v")
    with reader.opened():
        assert "_later of 127.0.0.1" in reader.notes[-1]
        reader.until_rows(place.rows)
    place.run("DROP TABLE {t}")
    with pytest.raises(BergError, match="is not there any more"), reader.opened():
        pass


def test_rows_that_a_policy_hides_are_not_left_out(place: Place) -> None:
    place.make(3)
    user = f"{place.table}_reader"
    place.run(
        f"CREATE ROLE {user} LOGIN REPLICATION",
        f"GRANT SELECT ON {{t}} TO {user}",
        "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY higher ON {{t}} TO {user} USING (id > 1)",
    )
    reader = place.reader(with_=f"'scan.startup.mode'='snapshot', 'username'='{user}'")
    with reader.opened(), pytest.raises(BergError, match="row-level security") as told:
        reader.until(lambda: False)
    assert told.value.code is ErrorCode.CONFIG


@pytest.mark.parametrize("wrong", ["identity", "column", "type", "table", "upsert", "generated"])
def test_tables_that_cannot_be_read_are_refused_at_the_start(place: Place, wrong: str) -> None:
    place.make(3)
    columns, with_ = COLUMNS, SMALL
    match wrong:
        case "identity":
            place.run("ALTER TABLE {t} REPLICA IDENTITY DEFAULT")
            text = f"ALTER TABLE public.{place.table} REPLICA IDENTITY FULL"
        case "column":
            columns, text = "id INT, w STRING", "has no column 'w'"
        case "type":
            columns, text = "id INT, v INT", "cannot be a INT"
        case "table":
            place.run("DROP TABLE {t}")
            text = "has a name that matches"
        case "generated":
            place.run("ALTER TABLE {t} ADD g int GENERATED ALWAYS AS (id + 1) STORED")
            columns, text = "id INT, g INT", "is generated there"
        case _:
            place.run("ALTER TABLE {t} DROP CONSTRAINT {t}_pkey", "ALTER TABLE {t} REPLICA IDENTITY DEFAULT")
            with_, text = "'changelog-mode'='upsert'", "does not tell which row changes"
    with pytest.raises(BergError) as told, place.reader(columns, with_).opened():
        pass
    assert text in f"{told.value.message} {told.value.hint}"
    assert place.server.run(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{place.slot}'") == []


def test_a_server_that_is_killed_and_comes_back() -> None:
    server = Postgres()
    server.start()
    try:
        place = Place(server)
        place.make(500)
        reader = place.reader(with_="'scan.incremental.snapshot.chunk.size'='100', 'connect.max-retries'='1'")
        with reader.opened():
            reader.poll()
            reader.keep()
            server.kill()
            with pytest.raises(BergError) as told:
                reader.until(lambda: False)
            assert told.value.code is ErrorCode.CONNECTION
            assert "secret-of-postgres" not in f"{told.value} {told.value.hint}"
        with pytest.raises(BergError) as told, reader.opened():
            pass
        assert told.value.code is ErrorCode.CONNECTION
        server.start()
        place.run("UPDATE {t} SET v = 'x' WHERE id < 300")
        with reader.opened():
            reader.until_rows(place.rows)
            server.kill()
            with pytest.raises(BergError) as told:
                reader.until(lambda: False)
            assert told.value.code is ErrorCode.CONNECTION
        server.start()
        place.run("DELETE FROM {t} WHERE id > 400")
        with reader.opened():
            reader.until_rows(place.rows)
    finally:
        server.close()
