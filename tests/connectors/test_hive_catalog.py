"""A Hive metastore as a catalog: names, tables, commits, locks; Spark reads and writes the same tables."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hive_metastore import ttypes

from bergsql.catalog import hive_owner
from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import BergError, CommitConflict, ErrorCode
from bergsql.catalog.hive import HiveCatalog
from bergsql.catalog.hive_client import HiveClient
from bergsql.catalog.hive_locks import locked
from bergsql.catalog.hive_owner import Owner
from bergsql.engine.session import Session, SessionConfig
from tests.support.services.hive import Hive
from tests.support.services.server import until
from tests.support.wire_proxy import proxied

_databases = count()


@pytest.fixture
def session(hive: Hive, tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    do(made, catalog_sql(hive, tmp_path), "USE CATALOG h")
    yield made
    made.close()


@pytest.fixture
def database(session: Session) -> str:
    name = f"db{next(_databases)}"
    do(session, f"CREATE DATABASE {name}", f"USE {name}")
    return name


def catalog_sql(hive: Hive, warehouse: Path, **more: str) -> str:
    given = {
        "type": "iceberg",
        "catalog-type": "hive",
        "uri": hive.uri,
        "clients": "5",
        "property-version": "1",
        "warehouse": str(warehouse),
        **more,
    }
    options = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    return f"CREATE CATALOG h WITH ({options})"


def do(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).close()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return [tuple(row) for row in result.rows()]
    finally:
        result.close()


def test_tables_and_databases(session: Session, database: str) -> None:
    do(
        session,
        "CREATE TABLE Orders (id BIGINT NOT NULL, what STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('a.b'='c')",
        "INSERT INTO Orders VALUES (1, 'x'), (2, '中')",
        "INSERT INTO orders VALUES (3, NULL)",
    )
    assert sorted(rows(session, "SELECT * FROM ORDERS")) == [(1, "x"), (2, "中"), (3, None)]
    assert rows(session, "SHOW TABLES") == [("orders",)]
    assert (database,) in rows(session, "SHOW DATABASES")
    do(
        session,
        "DELETE FROM orders WHERE id = 1",
        "ALTER TABLE orders RENAME TO bought",
        "ALTER TABLE bought SET ('k'='v')",
    )
    assert rows(session, "SELECT COUNT(*) FROM bought") == [(2,)]
    do(session, "USE `default`")
    with pytest.raises(BergError, match="not empty"):
        do(session, f"DROP DATABASE {database}")
    do(session, f"USE {database}")
    with pytest.raises(BergError, match="already exists"):
        do(session, "CREATE TABLE bought (a INT)")
    with pytest.raises(BergError) as missing:
        rows(session, "SELECT * FROM bougth")
    assert missing.value.code is ErrorCode.NOT_FOUND
    assert missing.value.hint == "Did you mean 'bought'?"
    do(session, "DROP TABLE bought", "USE `default`", f"DROP DATABASE {database}")
    assert (database,) not in rows(session, "SHOW DATABASES")


def test_what_the_metastore_is_told(session: Session, database: str, hive: Hive) -> None:
    do(
        session,
        "CREATE TABLE t (a INT, d DECIMAL(9, 2), l ARRAY<ROW<x BIGINT>>) WITH ('own'='1')",
        "INSERT INTO t (a) VALUES (1)",
    )
    do(session, "ALTER TABLE t RESET ('own')")
    with HiveClient(hive.uri).open() as connection:
        table = connection.get_table(database, "t")
    assert table.tableType == "EXTERNAL_TABLE"
    assert {k: table.parameters.get(k) for k in ("EXTERNAL", "table_type", "numRows", "own")} == {
        "EXTERNAL": "TRUE",
        "table_type": "ICEBERG",
        "numRows": "1",
        "own": None,
    }
    for key in ("metadata_location", "previous_metadata_location"):
        assert Path(table.parameters[key].removeprefix("file:")).exists()
    assert [(c.name, c.type) for c in table.sd.cols] == [
        ("a", "int"),
        ("d", "decimal(9,2)"),
        ("l", "array<struct<x:bigint>>"),
    ]


def test_a_table_of_hive_is_none_of_iceberg(session: Session, database: str, hive: Hive) -> None:
    made = ttypes.Table(dbName=database, tableName="plain", owner="o", partitionKeys=[], parameters={})
    made.sd = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("a", "int", "")], serdeInfo=ttypes.SerDeInfo(), parameters={}
    )
    with HiveClient(hive.uri).open() as connection:
        connection.create_table(made)
    assert rows(session, "SHOW TABLES") == []
    with pytest.raises(BergError, match="is a table of Hive, not of Iceberg"):
        rows(session, "SELECT * FROM plain")
    with pytest.raises(BergError, match=r"not of Iceberg|already exists"):
        do(session, "CREATE TABLE plain (a INT)")
    do(session, "USE `default`", f"DROP DATABASE {database} CASCADE")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"uri": "thrift://127.0.0.1:1"}, "The Hive metastore at thrift://127.0.0.1:1 does not answer"),
        ({"uri": "http://127.0.0.1:1"}, "it takes thrift://host:9083"),
        ({"clientz": "1"}, "has no option 'clientz'"),
    ],
)
def test_what_is_no_metastore(hive: Hive, tmp_path: Path, options: dict[str, str], told: str) -> None:
    session = Session(SessionConfig(home=tmp_path / "home"))
    with pytest.raises(BergError, match=told):
        do(session, catalog_sql(hive, tmp_path, **options), "USE CATALOG h", "SHOW DATABASES")
    session.close()


def _insert(arguments: tuple[str, str, str, int]) -> None:
    uri, home, database, first = arguments
    session = Session(SessionConfig(home=Path(home)))
    do(session, f"CREATE CATALOG h WITH ('type'='iceberg', 'catalog-type'='hive', 'uri'='{uri}')")
    for n in range(5):
        do(session, f"INSERT INTO h.{database}.t VALUES ({first + n})")
    session.close()


def test_several_writers_lose_nothing(session: Session, database: str, hive: Hive, tmp_path: Path) -> None:
    do(session, "CREATE TABLE t (a INT)")
    given = [(hive.uri, str(tmp_path / str(n)), database, 100 * n) for n in range(4)]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(_insert, given)
    wanted = sorted(100 * n + m for n in range(4) for m in range(5))
    assert sorted(a for (a,) in rows(session, "SELECT a FROM t")) == wanted
    assert rows(session, "SELECT COUNT(*) FROM t$snapshots") == [(20,)]


HOLD = """
import sys, time
from bergsql.catalog.base import TableIdent
from bergsql.catalog.hive_client import HiveClient
from bergsql.catalog.hive_locks import locked
from bergsql.catalog.hive_owner import Owner
with locked(HiveClient(sys.argv[1]), TableIdent((sys.argv[2],), "t"), None, 10):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_killed_process_is_found_and_released(session: Session, database: str, hive: Hive) -> None:
    do(session, "CREATE TABLE t (a INT)")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, hive.uri, database], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    client = HiveClient(hive.uri)
    with (
        pytest.raises(BergError, match="is locked in the metastore by"),
        locked(client, TableIdent((database,), "t"), None, 0.5),
    ):
        pass  # it lives
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    do(session, "INSERT INTO t VALUES (1)")
    with client.open() as connection:
        assert not connection.show_locks(ttypes.ShowLocksRequest(dbname=database, tablename="t")).locks


def test_a_lock_whose_answer_was_lost_is_taken_away(session: Session, database: str, hive: Hive) -> None:
    do(session, "CREATE TABLE t (a INT)")
    with proxied("hive", hive.port) as proxy:
        do(
            session,
            f"CREATE CATALOG p WITH ('type'='iceberg', 'catalog-type'='hive', 'uri'='thrift://{proxy.address}')",
        )
        proxy.arm("^lock$", after=True)
        with pytest.raises(BergError) as broken:
            do(session, f"INSERT INTO p.{database}.t VALUES (1)")
        assert broken.value.code is ErrorCode.CONNECTION
        do(session, f"INSERT INTO p.{database}.t VALUES (2)")
    assert rows(session, "SELECT a FROM t") == [(2,)]


def test_nothing_is_changed_under_a_lock_that_was_lost(session: Session, database: str, hive: Hive) -> None:
    do(session, "CREATE TABLE t (a INT)")
    with locked(HiveClient(hive.uri), TableIdent((database,), "t"), None, 10) as held:
        held.confirm()
        with HiveClient(hive.uri).open() as other:
            other.unlock(ttypes.UnlockRequest(lockid=held.number))
        with pytest.raises(CommitConflict):
            held.confirm()


@pytest.mark.parametrize(
    ("change", "dead"), [({}, False), ({"began": 1}, True), ({"pid": 2**22 + 1}, True), ({"machine": "x"}, False)]
)
def test_whose_process_has_died(change: dict[str, Any], dead: bool) -> None:
    """One that lives, another one with its number, one that is not there, one of another machine."""
    parent = os.getppid()
    owner = Owner.here("mark", None)._replace(pid=parent, began=hive_owner.began(parent))._replace(**change)
    assert Owner.told(owner.text()) == owner
    assert owner.is_dead() is dead


def test_who_was_killed_has_no_lock_before_its_parent_knows() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner.here("mark", None)._replace(pid=child.pid, began=hive_owner.began(child.pid))
    assert not owner.is_dead()
    child.kill()
    until("end of the child", owner.is_dead)
    assert child.wait() == -signal.SIGKILL
    assert owner.is_dead()


def test_a_metastore_that_comes_back(tmp_path: Path) -> None:
    own = Hive()
    session = Session(SessionConfig(home=tmp_path / "home"))
    try:
        own.start()
        do(
            session,
            catalog_sql(own, tmp_path),
            "CREATE DATABASE h.d",
            "CREATE TABLE h.d.t (a INT)",
            "INSERT INTO h.d.t VALUES (1)",
        )
        own.kill()
        with pytest.raises(BergError) as gone:
            do(session, "INSERT INTO h.d.t VALUES (2)")
        assert gone.value.code is ErrorCode.CONNECTION
        own.start()
        do(session, "INSERT INTO h.d.t VALUES (3)")
        assert rows(session, "SELECT a FROM h.d.t ORDER BY a") == [(1,), (3,)]
    finally:
        session.close()
        own.close()


def test_readers_see_whole_versions_while_it_is_written(
    session: Session, database: str, hive: Hive, tmp_path: Path
) -> None:
    do(
        session,
        "CREATE TABLE t (a INT) WITH ('write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='1')",
    )
    catalog = HiveCatalog("h", {"uri": hive.uri, "warehouse": str(tmp_path)})

    def read(_: int) -> int:
        snapshot = catalog.load_table(TableIdent((database,), "t")).metadata.current_snapshot()
        return 0 if snapshot is None else int(snapshot.summary["total-records"])

    with ThreadPoolExecutor(1) as pool:
        seen = pool.map(read, range(60))
        for n in range(10):
            do(session, f"INSERT INTO t VALUES ({n})")
        counts = list(seen)
    assert counts == sorted(counts)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "CREATE DATABASE `Sh op`",
            "Creating database h.Sh op failed: the metastore says: Sh op is not a valid database name",
        ),
        (
            "CREATE DATABASE d4 WITH ('location'='/proc/nope')",
            "Creating database h.d4 failed: the metastore says: Unable to create database path",
        ),
        ("CREATE TABLE `Or Der` (id INT)", r"Creating table h\.\w+\.`?Or Der`? failed: the metastore says: "),
        ("ALTER TABLE t RENAME TO `表`", r"failed: the metastore says: "),
    ],
)
def test_what_the_metastore_refuses(session: Session, statement: str, told: str) -> None:
    do(session, "CREATE TABLE t (id INT)")
    with pytest.raises(BergError, match=told) as error:
        do(session, statement)
    assert error.value.code is ErrorCode.EXECUTION
    do(session, "INSERT INTO t VALUES (1)")
