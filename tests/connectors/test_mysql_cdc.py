"""Tables of MariaDB read with their changes: whatever is written meanwhile, what was given makes the table."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

import pytest

from bergsql.engine.connectors.mysql.client import Server
from bergsql.engine.sql.types import BIGINT, BYTES, DataType, Kind
from bergsql.engine.sql.types import INT as INT_
from bergsql.engine.sql.types import STRING as STRING_
from tests.support.mysql_streams import Reading, options, reading, rows_of, source
from tests.support.services.mariadb import MariaDB

CHUNK = "scan.incremental.snapshot.chunk.size"
_numbers = count()


class Case(NamedTuple):
    """A table's columns as DDL and as declared, and a key of it by a number."""

    ddl: str
    columns: Mapping[str, DataType]
    key: Callable[[int], Sequence[Any]]


def _text(n: int) -> list[str]:
    """Texts that are ordered, and are the same, as no program would guess."""
    parts = ["a", "B", "ä", "ß", "ss", "Z", "é", "E", "中", "文", "_", "-", "1", "o", "Ö"]
    found = ""
    while True:
        n, digit = divmod(n, len(parts))
        found += parts[digit]
        if n == 0:
            return [found + " " * (len(found) % 2)]


CASES = {
    "int": Case("k INT PRIMARY KEY, v VARCHAR(90)", {"k": INT_, "v": STRING_}, lambda n: [n - 300]),
    "unsigned": Case(
        "k BIGINT UNSIGNED PRIMARY KEY, v VARCHAR(90)",
        {"k": DataType(Kind.DECIMAL, 20, 0), "v": STRING_},
        lambda n: [2**64 - 1 - n * 10**16],
    ),
    "text": Case(
        "k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v VARCHAR(90)", {"k": STRING_, "v": STRING_}, _text
    ),
    "latin1 char": Case(
        "k CHAR(8) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY, v VARCHAR(90)",
        {"k": STRING_, "v": STRING_},
        lambda n: [_text(n)[0].replace("中", "x").replace("文", "y")[:8]],
    ),
    "composite": Case(
        "v VARCHAR(90), b VARCHAR(9) COLLATE utf8mb4_unicode_ci, a BIGINT, PRIMARY KEY (a, b)",
        {"a": BIGINT, "b": STRING_, "v": STRING_},
        lambda n: [n // 20, _text(n % 20)[0]],
    ),
    "decimal": Case(
        "k DECIMAL(20,4) PRIMARY KEY, v VARCHAR(90)",
        {"k": DataType(Kind.DECIMAL, 20, 4), "v": STRING_},
        lambda n: [f"{(n - 300) / 16:.4f}"],
    ),
    "binary": Case(
        "k BINARY(16) PRIMARY KEY, v VARCHAR(90)",
        {"k": BYTES, "v": STRING_},
        lambda n: [bytes([n * 7 % 256, 0, n // 256])],
    ),
    "datetime": Case(
        "k DATETIME(3) PRIMARY KEY, v VARCHAR(90)",
        {"k": DataType(Kind.TIMESTAMP, 3), "v": STRING_},
        lambda n: [f"20{n % 30 + 10}-01-{n // 30 % 28 + 1:02} 10:00:00.{n // 3}"],
    ),
}


class Made(NamedTuple):
    database: str
    table: str
    names: Sequence[str]

    @property
    def full(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def select(self) -> str:
        return f"SELECT {', '.join(self.names)} FROM {self.full}"


def made(server: MariaDB, case: Case, rows: int, table: str = "t") -> Made:
    """The table with its first rows, in a database of its own."""
    database = f"m1_{next(_numbers)}"
    server.run(f"CREATE DATABASE {database}", f"CREATE TABLE {database}.{table} ({case.ddl})")
    found = Made(database, table, list(case.columns))
    keys = [name for name in case.columns if name != "v"]
    marks = ", ".join(["%s"] * (len(keys) + 1))
    sql = f"INSERT IGNORE INTO {found.full} ({', '.join(keys)}, v) VALUES ({marks})"
    if rows:
        server.run_many(sql, [(*case.key(n), f"first {n}") for n in range(rows)])
    return found


@contextmanager
def writer(server: MariaDB, case: Case, table: Made, seed: int) -> Iterator[None]:
    """Somebody who inserts, updates, moves and deletes rows, in transactions of several statements."""
    stop = threading.Event()
    keys = [name for name in case.columns if name != "v"]
    where = " AND ".join(f"{name} = %s" for name in keys)
    marks = ", ".join(["%s"] * (len(keys) + 1))

    def run() -> None:
        import pymysql

        choice = random.Random(seed)
        with server.connect(autocommit=False) as connection, connection.cursor() as cursor:
            while not stop.wait(0.003):
                for _ in range(choice.randrange(1, 6)):
                    key, other = case.key(choice.randrange(700)), case.key(choice.randrange(700))
                    value = f"{choice.random()}"
                    with suppress(pymysql.err.IntegrityError):
                        match choice.randrange(5):
                            case 0:
                                cursor.execute(f"DELETE FROM {table.full} WHERE {where}", key)
                            case 1:
                                sql = f"REPLACE INTO {table.full} ({', '.join(keys)}, v) VALUES ({marks})"
                                cursor.execute(sql, [*key, value])
                            case 2:
                                sets = ", ".join(f"{name} = %s" for name in keys)
                                cursor.execute(f"UPDATE {table.full} SET {sets} WHERE {where}", [*other, *key])
                            case _:
                                cursor.execute(f"UPDATE {table.full} SET v = %s WHERE {where}", [value, *key])
                if choice.random() < 0.1:
                    connection.rollback()
                connection.commit()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is taken for a MySQL: it does not tell the place of a snapshot."""
    monkeypatch.setattr(Server, "tells_places", False)


@pytest.mark.parametrize(
    ("name", "exact"), [*((name, True) for name in CASES), ("int", False), ("text", False), ("binary", False)]
)
def test_a_snapshot_and_what_is_written_meanwhile(
    mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch, name: str, exact: bool
) -> None:
    """Rows are given once, each that goes is there, and at the end all is as in the table; stopped at any time."""
    if not exact:
        without_places(monkeypatch)
    case = CASES[name]
    table = made(mariadb, case, 500)
    choice = random.Random(len(name))
    given = options(mariadb, table.database, table.table, {CHUNK: "40"})
    with reading(source(given, case.columns), max_rows=25) as run:
        with writer(mariadb, case, table, 7):
            polls = 0
            while polls < 60 or "left" in str(run.reader.offset):
                polls += 1
                run.poll()
                if choice.random() < 0.3:
                    run.checkpoint()
                if choice.random() < 0.08:
                    run.restart()
        run.until_rows(lambda: rows_of(mariadb, table.select))
        assert len(str(run.reader.offset)) < 300


def test_a_table_without_a_key_is_read_in_one_go(mariadb: MariaDB) -> None:
    case = Case("k INT, v VARCHAR(90)", CASES["int"].columns, CASES["int"].key)
    table = made(mariadb, case, 500)
    mariadb.run(f"INSERT INTO {table.full} SELECT * FROM {table.full}")
    with reading(source(options(mariadb, table.database, "t"), case.columns)) as run, writer(mariadb, case, table, 3):
        run.until(lambda: run.reader.holds)
        run.checkpoint()
        assert run.kept == (0, None)
        run.restart()
        run.until(lambda: "left" not in str(run.reader.offset))
        assert not run.reader.holds
    with reading(source(options(mariadb, table.database, "t"), case.columns)) as run:
        run.until_rows(lambda: rows_of(mariadb, table.select))


def test_several_tables_and_one_that_comes_later(mariadb: MariaDB) -> None:
    from bergsql.engine.connectors.base import TableColumn

    case = CASES["int"]
    table = made(mariadb, case, 100, "t_1")
    database = table.database
    mariadb.run(f"CREATE TABLE {database}.t_2 LIKE {table.full}", f"INSERT INTO {database}.t_2 VALUES (1, 'two')")
    mariadb.run(f"CREATE TABLE {database}.other (k INT)")
    names = [TableColumn("tab", STRING_, True, "table_name"), TableColumn("kind", STRING_, True, "row_kind")]
    of = source(options(mariadb, f"{database[:-1]}.", r"t_\d+", {CHUNK: "30"}), case.columns, names)
    with reading(of) as run:
        run.until(lambda: len(run.changes) == 101)
        mariadb.run(
            f"CREATE TABLE {database}.t_3 LIKE {table.full}",
            f"INSERT INTO {database}.t_3 VALUES (5, 'three')",
            f"UPDATE {database}.t_2 SET v = 'zwei'",
            f"INSERT INTO {database}.other VALUES (1)",
        )
        run.until(lambda: len(run.changes) == 104)
        assert run.changes[101:] == [
            ("+I", 5, "three", "t_3", "+I"),
            ("-U", 1, "two", "t_2", "-U"),
            ("+U", 1, "zwei", "t_2", "+U"),
        ]


def _begun(run: Reading, changes: int) -> None:
    run.until(lambda: len(run.changes) >= changes)
    run.checkpoint()


def test_a_big_transaction_is_taken_up_in_its_middle(mariadb: MariaDB) -> None:
    case = CASES["int"]
    table = made(mariadb, case, 0)
    with reading(source(options(mariadb, table.database, "t"), case.columns), max_rows=50) as run:
        run.until(lambda: "left" not in str(run.reader.offset))
        mariadb.run_many(f"INSERT INTO {table.full} VALUES (%s, %s)", [(n, "x" * 80) for n in range(3000)])
        _begun(run, 500)
        assert "'row'" in str(run.kept[1])
        run.restart()
        run.until_rows(lambda: rows_of(mariadb, table.select))
        assert len(run.changes) == 3000
