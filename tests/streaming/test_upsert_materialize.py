"""Rows that the key of a sink does not tell apart: the last one is there, and the one before comes back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.catalog.errors import BergError
from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import StreamPlan, UpsertMaterializeNode
from bergsql.engine.streaming.planner import explain
from bergsql.engine.streaming.runner import Runner
from tests.support.stream_queries import batch_rows, run, session_at
from tests.support.streams import BIGINT, STRING, Change, Driver, fold, stream

_SAME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def materialize() -> UpsertMaterializeNode:
    changes = stream(BIGINT, STRING, mode=ChangelogMode.RETRACT)
    return UpsertMaterializeNode(
        uid="upsert-materialize-1", inputs=(changes,), columns=changes.columns, mode=ChangelogMode.RETRACT, key=(0,)
    )


def test_each_kind_of_change(tmp_path: Path) -> None:
    with Driver(materialize(), tmp_path) as driver:
        assert driver.round([("+I", 1, "a"), ("+I", 1, "b"), ("+I", 2, "x")]).changes == [
            ("+I", 1, "b"),
            ("+I", 2, "x"),
        ]
        assert driver.round([("+I", 1, "c"), ("-U", 2, "x"), ("+U", 2, "y")]).changes == [
            ("-U", 1, "b"),
            ("+U", 1, "c"),
            ("-U", 2, "x"),
            ("+U", 2, "y"),
        ]
        assert driver.round([("-D", 1, "a")]).changes == []
        assert driver.round([("-D", 1, "c")]).changes == [("-U", 1, "c"), ("+U", 1, "b")]
        assert driver.round([("-D", 1, "b"), ("-D", 2, "not there")]).changes == [("-D", 1, "b")]
        assert driver.round([("-D", 2, "y"), ("+I", 2, "y")]).changes == []
        driver.round([("-D", 2, "y")])
        assert driver.entries() == 1  # the number of the last arrival


class Model:
    """The rows of each key, in order of arrival."""

    def __init__(self, rows: dict[int, list[str | None]] | None = None) -> None:
        self.rows = {key: list(values) for key, values in (rows or {}).items()}

    def take(self, kind: str, key: int, value: str | None) -> None:
        values = self.rows.setdefault(key, [])
        if kind in ("+I", "+U"):
            values.append(value)
        elif value in values:
            values.remove(value)

    def there(self) -> Counter[Change]:
        return Counter((key, values[-1]) for key, values in self.rows.items() if values)


_CHANGES = some.tuples(
    some.sampled_from(["+I", "+U", "-U", "-D"]), some.integers(0, 2), some.sampled_from(["a", "b", "c" * 60, None])
)


@given(
    rounds=some.lists(
        some.tuples(some.lists(_CHANGES, max_size=8), some.sampled_from(["", "checkpoint", "restart"])), max_size=8
    )
)
@_SAME
def test_the_last_row_of_each_key_is_there(
    rounds: list[tuple[list[Change], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    model, saved = Model(), (Model(), Counter[Change]())
    rows: Counter[Change] = Counter()
    with Driver(materialize(), tmp_path_factory.mktemp("state")) as driver:
        for changes, then in rounds:
            for change in changes:
                model.take(*change)
            given_changes = driver.round(changes).changes
            assert all(n == 2 for n in Counter(c[1] for c in given_changes if c[0] in ("-U", "+U")).values())
            fold(given_changes, rows)
            assert rows == model.there()
            if then == "checkpoint":
                driver.checkpoint()
                saved = Model(model.rows), Counter(rows)
            elif then == "restart":
                driver.restart()
                model, rows = Model(saved[0].rows), Counter(saved[1])


@given(changes=some.lists(_CHANGES, max_size=20), size=some.integers(1, 7))
@_SAME
def test_where_batches_end_is_all_one(
    changes: list[Change], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ends = []
    for step in (size, len(changes) or 1):
        with Driver(materialize(), tmp_path_factory.mktemp("state")) as driver:
            rows: Counter[Change] = Counter()
            for at in range(0, len(changes), step):
                fold(driver.round(changes[at : at + step]).changes, rows)
            ends.append(rows)
    assert ends[0] == ends[1]


def test_keys_that_do_not_change_are_forgotten(tmp_path: Path) -> None:
    with Driver(materialize(), tmp_path, {"table.exec.state.ttl": "1 min"}) as driver:
        driver.round([("+I", 1, "a"), ("+I", 2, "b"), ("+I", 2, "c")], now=0)
        driver.round([("+I", 2, "d")], now=50_000)
        assert driver.round([("-D", 1, "a"), ("-D", 2, "d")], now=70_000).changes == [("-U", 2, "d"), ("+U", 2, "c")]


def test_a_change_costs_the_same_however_many_rows_its_key_has(tmp_path: Path) -> None:
    def cost(driver: Driver, changes: list[Any]) -> int:
        before = driver.accesses.all
        driver.round(changes)
        return driver.accesses.all - before

    with Driver(materialize(), tmp_path) as driver:
        driver.round([("+I", 1, str(n)) for n in range(3000)] + [("+I", n, "a") for n in range(2, 3000)])
        assert cost(driver, [("-D", 1, "2999"), ("+I", 1, "new"), ("-D", 7, "a")]) <= 24


# --- whole queries ----------------------------------------------------------------------------------------------------

_CHANGED = (
    ("+I", 1, "a", 10),
    ("+I", 2, "a", 20),
    ("+U", 2, "a", 25),
    ("-D", 2, "a", 25),
    ("+I", 3, "a", 30),
    ("+U", 1, "b", 10),
    ("+U", 3, "b", 31),
    ("-D", 3, "b", 31),
    ("-D", 1, "b", 10),
)
_DATA = "\n".join(json.dumps(dict(zip(("op", "id", "cust", "v"), row, strict=True))) for row in _CHANGED)
_SETUP = f"""
CREATE TABLE o (id INT, cust STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='values','changelog-mode'='upsert','batch-size'='1','data'='{_DATA}');
CREATE TABLE kinds (kind STRING) WITH ('connector'='values','data'='{{"kind":"x"}}');
CREATE TABLE last_of (cust STRING NOT NULL, id INT, v INT, PRIMARY KEY (cust) NOT ENFORCED) WITH ('format-version'='2');
CREATE TABLE upserted (cust STRING NOT NULL, id INT, v INT, PRIMARY KEY (cust) NOT ENFORCED) WITH ('format-version'='2', 'write.upsert.enabled'='true');
CREATE TABLE by_id (id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('format-version'='2');
CREATE TABLE printed (cust STRING, id INT, v INT, PRIMARY KEY (cust) NOT ENFORCED) WITH ('connector'='print');
CREATE TABLE files (cust STRING, id INT, v INT, PRIMARY KEY (cust) NOT ENFORCED) WITH ('connector'='filesystem','path'='FOLDER','format'='json');
"""  # fmt: skip


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return session_at(tmp_path / "home", setup=_SETUP.replace("FOLDER", str(tmp_path / "files")))


def insert(session: Session, text: str) -> StreamPlan:
    statement = parse(text, session.flavour)
    assert isinstance(statement, st.Insert)
    return plan_insert_jobs(session, [statement])


_QUERIES = [
    "SELECT cust, id, v FROM o",
    "SELECT o.cust, o.id, o.v FROM o JOIN kinds ON kinds.kind > o.cust",
    "SELECT cust, id, MAX(v) FROM o GROUP BY id, cust",
]


@pytest.mark.parametrize("query", _QUERIES)
@pytest.mark.parametrize("table", ["last_of", "upserted"])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_table_has_the_last_row_of_each_key(
    session: Session, tmp_path: Path, query: str, table: str, restarts: bool
) -> None:
    plan = insert(session, f"INSERT INTO {table} {query}")
    seen: list[Counter[Change]] = []

    def look(runner: Runner) -> None:
        runner.checkpoint()
        seen.append(batch_rows(session, f"SELECT * FROM {table}"))

    run(session, plan, tmp_path / "state", between=look, restarts=restarts)
    # Of an update of a row that only changes its key, the model has the same order: it goes and comes anew.
    model = Model()
    held: dict[int, Change] = {}
    for (op, id_, cust, v), found in zip(_CHANGED, seen, strict=False):
        key = 1 if cust == "a" else 2
        if id_ in held:
            before = held.pop(id_)
            model.take("-U", 1 if before[0] == "a" else 2, repr(before))
        if op != "-D":
            held[id_] = (cust, id_, v)
            model.take(op, key, repr(held[id_]))
        assert Counter(repr(row) for row in found.elements()) == Counter(row for _, row in model.there())
    assert seen[-1] == Counter()


def test_when_rows_are_kept(session: Session) -> None:
    def plan(text: str) -> str:
        return "\n".join(explain(insert(session, f"INSERT INTO {text}")))

    shown = plan("last_of SELECT cust, id, v FROM o")
    assert "UpsertMaterialize by cust  changelogMode=[I,UB,UA,D], upsertKey=[cust]" in shown
    assert "state: all rows, per (cust) in the order in which they came" in shown
    made = insert(session, "INSERT INTO last_of SELECT cust, id, v FROM o").nodes()
    assert "upsert-materialize-1" in {node.uid for node in made}
    assert "UpsertMaterialize" in plan("printed SELECT cust, id, v FROM o")
    for text in (
        "by_id SELECT id, v FROM o",  # the key tells the rows apart
        "by_id SELECT COUNT(*), 1 FROM o",  # one row
        "last_of SELECT kind, 1, 2 FROM kinds",  # rows only come
        "last_of SELECT cust, 1, COUNT(*) FROM o GROUP BY cust",
    ):
        assert "UpsertMaterialize" not in plan(text), text
    session.execute("SET 'table.exec.sink.upsert-materialize' = 'force'").close()
    assert "UpsertMaterialize by id" in plan("by_id SELECT id, v FROM o")
    session.execute("SET 'table.exec.sink.upsert-materialize' = 'NONE'").close()
    assert "UpsertMaterialize" not in plan("last_of SELECT cust, id, v FROM o")
    with pytest.raises(BergError, match="takes new rows only"):
        plan("files SELECT cust, id, v FROM o")
    with pytest.raises(BergError):
        session.execute("SET 'table.exec.sink.upsert-materialize' = 'SOME'")
