"""Writing to a database whose connection breaks: what is not known to be there is not written twice without saying so."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.sink import JdbcSink
from bergsql.engine.duck import Duck
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, STRING
from tests.support.databases import Place, place_in
from tests.support.services.server import until
from tests.support.sinks import HandContext, changes, checkpoint
from tests.support.wire_proxy import WireProxy, proxied

PAIR = (("id", INT), ("name", STRING))
ROWS = "SELECT id, name FROM {t} ORDER BY id, name"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    yield made
    made.close()


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck()
    yield made
    made.close()


@pytest.fixture(params=["mariadb", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_in(request.param, request, tmp_path)


@pytest.fixture
def proxy(place: Place) -> Iterator[WireProxy]:
    protocol = {"mariadb": "mysql", "postgres": "postgres"}[place.kind]
    with proxied(protocol, int(re.findall(r":(\d+)/", place.url)[0])) as made:
        yield made


def behind(proxy: WireProxy, place: Place) -> dict[str, str]:
    return {"url": re.sub(r"127\.0\.0\.1:\d+", proxy.address, place.url)}


@pytest.mark.parametrize("after", [True, False])
def test_a_lost_commit_without_a_key_is_not_done_again(
    place: Place, proxy: WireProxy, session: Session, after: bool
) -> None:
    """Whether the server has heard it cannot be told from here."""
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10))")
    session.execute(f"CREATE TABLE t (id INT, name STRING) {place.clause('t', behind(proxy, place))}").close()
    fault = proxy.arm("^COMMIT", after=after)
    with pytest.raises(BergError, match="It is not known whether the rows came to ") as told:
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')").close()
    assert fault.fired.is_set()
    assert told.value.code == "UNKNOWN_OUTCOME"
    assert "whether they are there" in (told.value.hint or "")
    if after:
        until("rows", lambda: place.run(ROWS) == [(1, "a"), (2, "b")])
    else:
        assert place.run(ROWS) == []


def test_what_may_be_done_again_is(place: Place, proxy: WireProxy, session: Session) -> None:
    """Rows of a key whose COMMIT was lost, and rows without one whose INSERT was."""
    place.run(
        "CREATE TABLE {t} (id INT, name VARCHAR(10))",
        "CREATE TABLE {k} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10))",
    )
    way = behind(proxy, place)
    session.execute(f"CREATE TABLE t (id INT, name STRING) {place.clause('t', way)}").close()
    key = "PRIMARY KEY (id) NOT ENFORCED"
    session.execute(f"CREATE TABLE k (id INT, name STRING, {key}) {place.clause('k', way)}").close()
    for table, label in (("k", "^COMMIT"), ("t", "^INSERT")):
        fault = proxy.arm(label, after=True)
        session.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')").close()
        assert fault.fired.is_set()
        assert place.run(ROWS.replace("{t}", f"{{{table}}}")) == [(1, "a"), (2, "b")]


def test_a_lost_commit_of_a_job_is_found_done(place: Place, proxy: WireProxy, duck: Duck) -> None:
    """What is noted beside the rows tells that they are there."""
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10))")
    context = HandContext(duck)
    writer = JdbcSink(place.table("t", PAIR, (), behind(proxy, place))).writer(context, 0)
    writer.write(changes(("+I", 1, "a")))
    fault = proxy.arm("^COMMIT", after=True)
    assert checkpoint(writer, 1)
    assert fault.fired.is_set()
    assert [note.rpartition(". ")[2] for note in context.notes] == ["It is tried again."]
    assert place.run(ROWS) == [(1, "a")]
    writer.close()


@pytest.mark.parametrize("place", ["mariadb"], indirect=True)
def test_rows_that_nothing_takes_back_are_not_written_again(place: Place, proxy: WireProxy, session: Session) -> None:
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10) CHECK (name <> 'bad')) ENGINE = MyISAM")
    session.execute(f"CREATE TABLE t (id INT, name STRING) {place.clause('t', behind(proxy, place))}").close()
    proxy.arm("^INSERT", after=True)
    with pytest.raises(BergError) as told:
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')").close()
    assert told.value.code == "UNKNOWN_OUTCOME"
    assert place.run(ROWS) == [(1, "a"), (2, "b")]
    with pytest.raises(BergError, match="does not fit") as told:
        session.execute("INSERT INTO t VALUES (3, 'c'), (4, 'bad')").close()
    assert "are there" in (told.value.hint or "")
    assert place.run(ROWS)[2:] == [(3, "c")]


def test_a_checkpoint_that_stands_meanwhile_is_done(place: Place, duck: Duck) -> None:
    """The first one is written again while the database has not yet ended the transaction that was given up."""
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10))")
    context = HandContext(duck)
    sinks = [JdbcSink(place.table("t", PAIR, (), {"sink.max-retries": "0"})) for _ in range(2)]
    writer, other = (sink.writer(context, 0) for sink in sinks)
    writer.write(changes(("+I", 1, "a")))
    kept = writer.prepare(1)
    failed: list[BergError] = []

    def commit() -> None:
        try:
            other.commit(1, kept)
        except BergError as error:
            failed.append(error)

    database = sinks[0].database
    again = threading.Thread(target=commit)
    with database.connected() as connection:
        from bergsql.engine.connectors.jdbc.commits import Commits

        sink = sinks[0].settings
        assert Commits(sink.schema, context.job_id, context.sink_id).claim(connection, 1)
        connection.exec_driver_sql(f"INSERT INTO {place.prefix}t VALUES (1, 'a')")
        again.start()
        until("wait for the other", lambda: place.run(_WAITING[place.kind]))
        connection.commit()
    again.join(30)
    assert not failed
    assert place.run(ROWS) == [(1, "a")]
    for each in (writer, other):
        each.close()
    database.close()


_WAITING = {
    "mariadb": "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
    "postgres": "SELECT pid FROM pg_locks WHERE NOT granted",
}


def test_a_batch_leaves_the_sink_as_it_is(place: Place) -> None:
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10))")
    sink = JdbcSink(place.table("t", PAIR))
    assert not sink.at_once().tracks
    assert sink.tracks
