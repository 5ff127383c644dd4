"""Lookup joins with tables of databases: by keys, kept as the table says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.lookup import JdbcLookup, KeptRows
from bergsql.engine.connectors.jdbc.options import Cache
from bergsql.engine.connectors.jdbc.source import JdbcSource
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, DataType, Kind
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import JoinKind, LookupJoinNode
from tests.support.databases import KINDS, Place, place_in
from tests.support.streams import BIGINT, STRING, Driver, stream

COLUMNS = (("id", INT), ("name", STRING), ("v", DataType(Kind.DECIMAL, 10, 2)))


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made = place_in(request.param, request, tmp_path)
    made.run("CREATE TABLE {t} (id INT, name VARCHAR(10), v DECIMAL(10, 2))")
    return made


def source_of(place: Place, **cache: str) -> JdbcSource:
    more = {f"lookup.partial-cache.{k.replace('_', '-')}": v for k, v in cache.items()}
    return JdbcSource(place.table("t", COLUMNS, (), {**({"lookup.cache": "PARTIAL"} if cache else {}), **more}))


def join(table: JdbcSource, kind: JoinKind = JoinKind.LEFT, *, by: tuple[int, ...] = (0,)) -> LookupJoinNode:
    left = stream(BIGINT, STRING)
    return LookupJoinNode(
        uid="lookup-join-1",
        inputs=(left,),
        columns=(*left.columns, *table.columns),
        mode=ChangelogMode.INSERT_ONLY,
        kind=kind,
        left_keys=by,
        right_keys=by,
        table=table,
    )


def asked(driver: Driver) -> int:
    return driver.operator.figures()["keys looked up"]


def found(driver: Driver, *rows: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    """Names of the table that rows met, by the rows' keys."""
    output = driver.round([("+I", *row) for row in rows])
    return {(change[1], change[4]) for change in output.changes}


def test_only_the_keys_that_come_are_asked(place: Place, tmp_path: Path) -> None:
    place.run(*(f"INSERT INTO {{t}} VALUES ({i}, 'n{i}', {i}.5)" for i in range(20)))
    place.run("INSERT INTO {t} VALUES (3, 'more', NULL)")
    with Driver(join(source_of(place)), tmp_path / "state") as driver:
        assert found(driver, (3, "x"), (3, "y"), (None, "z"), (99, "q")) == {
            (3, "n3"),
            (3, "more"),
            (None, None),
            (99, None),
        }
        assert asked(driver) == 2
        place.run("DELETE FROM {t} WHERE name = 'more'", "UPDATE {t} SET name = 'new' WHERE id = 3")
        assert found(driver, (3, "x")) == {(3, "new")}
        assert asked(driver) == 3


def test_keys_of_several_columns(place: Place, tmp_path: Path) -> None:
    place.run("INSERT INTO {t} VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3), (1, 'A', 4)")
    with Driver(join(source_of(place), JoinKind.INNER, by=(0, 1)), tmp_path / "state") as driver:
        output = driver.round([("+I", 1, "a"), ("+I", 2, "a"), ("+I", 2, "b"), ("+I", 1, None)])
        assert sorted((c[1], c[2], str(c[5])) for c in output.changes) == [(1, "a", "1.00"), (2, "a", "3.00")]
        assert asked(driver) == 3


def test_many_keys_at_once(place: Place, tmp_path: Path) -> None:
    place.run("INSERT INTO {t} VALUES (2400, 'last', 1)")
    with Driver(join(source_of(place), JoinKind.INNER), tmp_path / "state") as driver:
        assert found(driver, *((i, "x") for i in range(2500))) == {(2400, "last")}
        assert asked(driver) == 2500


def test_keys_are_kept(place: Place, tmp_path: Path) -> None:
    place.run("INSERT INTO {t} VALUES (1, 'a', 1)")
    with Driver(join(source_of(place, max_rows="100")), tmp_path / "state") as driver:
        for _ in range(2):
            assert found(driver, (1, "x"), (2, "x")) == {(1, "a"), (2, None)}
        assert asked(driver) == 2
        place.run("UPDATE {t} SET name = 'b' WHERE id = 1", "INSERT INTO {t} VALUES (3, 'c', 1)")
        assert found(driver, (1, "x"), (3, "x")) == {(1, "a"), (3, "c")}
        assert asked(driver) == 3
    with Driver(join(source_of(place, max_rows="1", cache_missing_key="false")), tmp_path / "other") as driver:
        for _ in range(2):
            assert found(driver, (2, "x")) == {(2, None)}
        assert asked(driver) == 2


def test_rows_leave_the_cache_by_age_and_number() -> None:
    kept = KeptRows(Cache(after_access=5, after_write=8, most=2, missing=True))
    kept.put((1,), [("a",)], 0)
    assert kept.get((1,), 4) == [("a",)]
    assert kept.get((1,), 7) == [("a",)]
    assert kept.get((1,), 8) is None  # however often it was asked for
    kept.put((1,), [], 10)
    assert kept.get((1,), 15) is None  # nobody asked
    for key in (1, 2, 3):
        kept.put((key,), [], 20)
    assert kept.get((1,), 20) is None
    assert len(kept) == 2


def test_a_lookup_is_tried_again_when_its_connection_was_lost(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10), v DECIMAL(10, 2))", "INSERT INTO {t} VALUES (1, 'a', 1)")
    source = source_of(place)
    lookup = source.lookup((0,))
    assert isinstance(lookup, JdbcLookup)
    keys = pa.table({"k": [1]})
    assert lookup.rows(keys).to_pydict()["c1"] == ["a"]
    place.run(*(f"KILL {id_}" for (id_,) in place.run(_OTHERS)))
    assert lookup.rows(keys).to_pydict()["c1"] == ["a"]
    lookup.close()


_OTHERS = (
    "SELECT id FROM information_schema.processlist WHERE user = 'cdc' AND id <> CONNECTION_ID() AND command = 'Sleep'"
)


def test_keys_that_a_character_set_has_not(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10) CHARACTER SET gbk, v DECIMAL(10, 2))")
    place.run("INSERT INTO {t} VALUES (1, '汉', 1)")
    with Driver(join(source_of(place), by=(1,)), tmp_path / "state") as driver:
        assert found(driver, (7, "汉"), (8, "😀"), (9, "é")) == {(7, "汉"), (8, None), (9, None)}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_keys_that_no_text_of_postgres_is(place: Place) -> None:
    place.run("INSERT INTO {t} VALUES (1, 'a', 1)")
    lookup = source_of(place, max_rows="9").lookup((1,))
    assert isinstance(lookup, JdbcLookup)
    for _ in range(2):
        assert lookup.rows(pa.table({"k": ["a\0", "a"]})).to_pydict()["c1"] == ["a"]
    lookup.close()


def test_what_is_equal_otherwise_there_is_read_whole(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A FLOAT of MySQL equals no number that is written as it is shown; it is compared here."""
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (f FLOAT)", "INSERT INTO {t} VALUES (0.1)")
    source = JdbcSource(place.table("t", (("f", DataType(Kind.FLOAT)),)))
    assert source.lookup((0,)) is None


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_batch_says_how_it_joins(place: Place, tmp_path: Path) -> None:
    """With the table as it is, in other words than a stream."""
    place.run("INSERT INTO {t} VALUES (1, 'a', 1)")
    session = Session(SessionConfig(home=tmp_path / "home"))
    session.execute(f"CREATE TABLE t (id INT, name STRING) {place.clause('t')}").close()
    query = "SELECT c.name FROM (SELECT id, PROCTIME() AS p FROM t) AS o JOIN t {} AS c ON c.id = o.id"
    lookup = query.format("FOR SYSTEM_TIME AS OF o.p")
    with pytest.raises(BergError, match=r"AS OF a column, in a batch, behind \S+\.t is not supported") as told:
        session.execute(lookup)
    assert "Leave it out" in (told.value.hint or "")
    assert [tuple(row) for row in session.execute(query.format("")).rows()] == [("a",)]
    session.execute("SET 'execution.runtime-mode' = 'streaming'").close()
    assert [tuple(row)[-1] for row in session.execute(lookup).rows()] == ["a"]
    session.close()
