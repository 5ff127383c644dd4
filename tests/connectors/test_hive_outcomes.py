"""What a metastore was asked and did not answer: the outcome is looked for and told truly, and nothing is lost by it."""

from __future__ import annotations

import socketserver
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hive_metastore import ttypes

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.hive_client import HiveClient
from bergsql.catalog.hive_owner import Owner
from bergsql.engine.execute.destination import destination
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.statements import Name
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.sinks.iceberg import iceberg_sink
from tests.support.services.hive import Hive
from tests.support.services.server import until
from tests.support.sinks import HandContext, changes, checkpoint
from tests.support.wire_proxy import WireProxy, proxied

_databases = count()
CATALOG = "CREATE CATALOG {} WITH ('type'='iceberg', 'catalog-type'='hive', 'uri'='thrift://{}', 'warehouse'='{}')"
ONCE = "WITH ('commit.status-check.num-retries'='0')"
"""Of a table whose writers look once for what was not answered."""


@pytest.fixture
def proxy(hive: Hive) -> Iterator[WireProxy]:
    with proxied("hive", hive.port) as made:
        yield made


@pytest.fixture
def session(hive: Hive, proxy: WireProxy, tmp_path: Path) -> Iterator[Session]:
    """With a catalog that leads to the metastore, ``h``, and one through the proxy, ``p``."""
    made = Session(SessionConfig(home=tmp_path / "home"))
    do(made, CATALOG.format("h", hive.address, tmp_path), CATALOG.format("p", proxy.address, tmp_path))
    yield made
    made.close()


@pytest.fixture
def database(session: Session) -> str:
    name = f"outcome{next(_databases)}"
    do(session, f"CREATE DATABASE h.{name}", f"USE p.{name}")
    return name


def do(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).close()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return sorted(tuple(row) for row in result.rows())
    finally:
        result.close()


CHANGES = [
    ("create_database", "CREATE DATABASE {}_new", "DESCRIBE DATABASE h.{}_new", "_new"),
    ("alter_database", "ALTER DATABASE {} SET ('a'='bcd')", "DESCRIBE DATABASE EXTENDED h.{}", "bcd"),
    ("drop_database", "DROP DATABASE {}_none", "SHOW DATABASES IN h LIKE '{}_none'", "[]"),
    ("create_table", "CREATE TABLE made (a INT)", "SELECT COUNT(*) FROM h.{}.made", "[(0,)]"),
    ("create_table", "CREATE TABLE made AS SELECT 1 AS a", "SELECT * FROM h.{}.made", "[(1,)]"),
    ("alter_table", "INSERT INTO t VALUES (1)", "SELECT * FROM h.{}.t", "[(1,)]"),
    ("alter_table", "ALTER TABLE t SET ('a'='bcd')", "SHOW CREATE TABLE h.{}.t", "bcd"),
    ("alter_table", "ALTER TABLE t RENAME TO u", "SHOW TABLES IN h.{}", "[('u',)]"),
    ("drop_table", "DROP TABLE t", "SHOW TABLES IN h.{}", "[]"),
]


@pytest.mark.parametrize("late", [False, True], ids=["answer lost", "request late"])
@pytest.mark.parametrize(("call", "statement", "query", "wanted"), CHANGES, ids=[c[1] for c in CHANGES])
def test_the_outcome_is_told(
    session: Session, database: str, proxy: WireProxy, late: bool, call: str, statement: str, query: str, wanted: str
) -> None:
    do(session, f"CREATE TABLE t (a INT) {ONCE}", f"CREATE DATABASE {database}_none")
    fault = proxy.arm(f"^{call}", after=not late, late=late)
    before = len(proxy.seen)
    change = statement.format(database)
    if late:
        with pytest.raises(BergError) as unknown:
            do(session, change)
        assert unknown.value.code is ErrorCode.UNKNOWN_OUTCOME
        fault.let_through()
    else:
        do(session, change)
    assert len([each for each in proxy.seen[before:] if each.startswith(call)]) == 1
    assert wanted in str(rows(session, query.format(database)))


@pytest.mark.usefixtures("database")
def test_what_a_commit_asks_for(session: Session, proxy: WireProxy) -> None:
    """Each question costs a commit some milliseconds, and a new connection more than all of them."""
    do(session, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    proxy.seen.clear()
    connections = proxy.taken
    do(session, "INSERT INTO t VALUES (2)")
    alter = "alter_table_with_environment_context"
    planned, attempt = "get_table", "get_table"
    assert proxy.seen == [planned, attempt, "lock", "get_table", "check_lock", alter, "unlock"]
    assert proxy.taken == connections


def test_what_a_checkpoint_asks_for(session: Session, database: str, proxy: WireProxy) -> None:
    """A job whose table nobody else writes to takes it as it read it; else it looks again."""
    do(session, "CREATE TABLE t (a INT)")
    sink = iceberg_sink(destination(session, Name(("p", database, "t"), Span(0, 1))), upserts=False)
    sink.check(ChangelogMode.INSERT_ONLY, sink.key)
    writer = sink.writer(HandContext(session.duck), 0)
    alter = "alter_table_with_environment_context"
    written, committed, tried = "get_table", "get_table", "get_table"
    commit = ["lock", "get_table", "check_lock", alter, "unlock"]
    for number in range(1, 5):
        writer.write(changes(("+I", number)))
        proxy.seen.clear()
        assert checkpoint(writer, number)
        others = number in (1, 4)
        assert proxy.seen == [written, committed, *([tried] if others else []), *commit]
        if number == 3:
            do(session, f"INSERT INTO h.{database}.t VALUES (0)")
    assert rows(session, "SELECT a FROM t") == [(0,), (1,), (2,), (3,), (4,)]


@pytest.mark.parametrize(
    ("call", "statement"),
    [
        ("get_all_databases", "SHOW DATABASES IN p"),
        ("get_database", "DESCRIBE DATABASE p.`default`"),
        ("get_all_tables", "SHOW TABLES"),
        ("get_table_objects_by_name", "SHOW TABLES"),
        ("get_table", "DESCRIBE t"),
        ("lock", "INSERT INTO t VALUES (1)"),
        ("check_lock", "INSERT INTO t VALUES (1)"),
    ],
)
@pytest.mark.usefixtures("database")
def test_a_broken_connection_is_told_in_one_way(session: Session, proxy: WireProxy, call: str, statement: str) -> None:
    do(session, "CREATE TABLE t (a INT)")
    proxy.arm(f"^{call}$")
    with pytest.raises(BergError) as broken:
        rows(session, statement)
    assert broken.value.code is ErrorCode.CONNECTION
    uri = f"thrift://{proxy.address}"
    assert broken.value.message in (
        f"The Hive metastore at {uri} does not answer: Connection reset by peer.",
        f"The Hive metastore at {uri} does not answer: the connection was closed.",
    )
    assert rows(session, "SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers there is no metastore"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "what answers there is no metastore"),
        (b"", "the connection was closed"),
    ],
    ids=["http", "tls", "nothing"],
)
def test_something_else_answers(session: Session, tmp_path: Path, answer: bytes, why: str) -> None:
    class Other(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(4096)
            self.request.sendall(answer)

    with socketserver.TCPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        do(session, CATALOG.format("other", address, tmp_path))
        with pytest.raises(BergError) as told:
            do(session, "SHOW DATABASES IN other")
        server.shutdown()
    assert told.value.code is ErrorCode.CONNECTION
    assert told.value.message == f"The Hive metastore at thrift://{address} does not answer: {why}."


def locks(hive: Hive, database: str) -> list[Any]:
    with HiveClient(hive.uri).open() as connection:
        return list(connection.show_locks(ttypes.ShowLocksRequest(dbname=database, tablename="t")).locks or [])


def inserted_behind(session: Session, database: str, hive: Hive, let: Callable[[], None]) -> None:
    """Insert 2, which waits for a lock; when it has looked for it in vain, do ``let``."""
    looks: set[int] = set()

    def waits() -> bool:
        looks.update(each.lastheartbeat for each in locks(hive, database) if not each.acquiredat)
        return len(looks) > 3

    with ThreadPoolExecutor(1) as pool:
        insert = pool.submit(do, session, f"INSERT INTO h.{database}.t VALUES (2)")
        until("writer that waits", lambda: insert.done() or waits())
        let()
        insert.result()


def test_a_late_change_is_waited_for(session: Session, database: str, proxy: WireProxy, hive: Hive) -> None:
    do(session, f"CREATE TABLE t (a INT) {ONCE}")
    fault = proxy.arm("^alter_table", late=True)
    with pytest.raises(BergError, match="It is not known whether the statement changed"):
        do(session, "INSERT INTO t VALUES (1)")
    inserted_behind(session, database, hive, fault.let_through)
    assert rows(session, f"SELECT a FROM h.{database}.t") == [(1,), (2,)]
    assert locks(hive, database) == []


INSERT = """
import sys
from pathlib import Path
from bergsql.engine.session import Session, SessionConfig
session = Session(SessionConfig(home=Path(sys.argv[1])))
for statement in sys.argv[2:]:
    session.execute(statement).close()
"""


@pytest.mark.parametrize("alive", [False, True], ids=["killed", "alive"])
def test_a_late_change_of_another_process_is_waited_for(
    session: Session, database: str, proxy: WireProxy, hive: Hive, tmp_path: Path, alive: bool
) -> None:
    do(session, "CREATE TABLE t (a INT) WITH ('commit.status-check.min-wait-ms'='60000')")
    statements = [CATALOG.format("p", proxy.address, tmp_path), f"INSERT INTO p.{database}.t VALUES (1)"]
    process = subprocess.Popen([sys.executable, "-c", INSERT, str(tmp_path / "other"), *statements])
    try:
        fault = proxy.arm("^alter_table", late=True, kill=None if alive else lambda: process.pid)
        assert fault.fired.wait(60)
        inserted_behind(session, database, hive, fault.let_through)
    finally:
        process.kill()
        process.wait()
    assert rows(session, f"SELECT a FROM h.{database}.t") == [(1,), (2,)]


def test_a_change_that_never_came_keeps_the_lock_for_a_time(
    session: Session, database: str, proxy: WireProxy, hive: Hive, tmp_path: Path
) -> None:
    options = "'iceberg.hive.lock-timeout-ms'='6000')"
    do(session, f"CREATE TABLE t (a INT) {ONCE}", CATALOG.format("q", proxy.address, tmp_path)[:-1] + f", {options}")
    proxy.arm("^alter_table")
    with pytest.raises(BergError) as unknown:
        do(session, f"INSERT INTO q.{database}.t VALUES (1)")
    assert unknown.value.code is ErrorCode.UNKNOWN_OUTCOME
    assert len(locks(hive, database)) == 1
    inserted_behind(session, database, hive, lambda: None)
    assert rows(session, f"SELECT a FROM h.{database}.t") == [(2,)]


def test_whose_lock_it_is_finds_room_in_the_metastore() -> None:
    owner = Owner.here("f" * 16, "/somewhere")._replace(pid=2**22, began=2**40)
    assert len(owner.text()) <= 128
    assert Owner.told(owner.text()) == owner
    assert Owner.told("bergsql:{}") is None
    assert Owner.told("Unknown") is None
