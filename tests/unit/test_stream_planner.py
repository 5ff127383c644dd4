"""Plans of streams as text: ``data/stream_plans.txt`` has queries and what EXPLAIN says of each.

``BERGSQL_REWRITE=1 pytest tests/unit/test_stream_planner.py`` writes what they are now; read it over.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session
from bergsql.engine.streaming.planner import signature
from bergsql.engine.streaming.planner.sql_columns import moved, reads, rewritten
from bergsql.engine.streaming.planner.types_of import from_duckdb
from tests.support.stream_queries import explained, plan_of, session_at

PLANS = Path(__file__).parent / "data/stream_plans.txt"
SETUP = """
CREATE TABLE t (id BIGINT, k INT, v INT, s STRING) WITH ('connector'='datagen');
CREATE TABLE u (k INT, n STRING, d DOUBLE) WITH ('connector'='datagen');
CREATE TABLE ev (id INT, k INT, ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector'='datagen');
CREATE TABLE ups (k INT, v INT, ts TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, WATERMARK FOR ts AS ts) WITH ('connector'='values','changelog-mode'='upsert','bounded'='false','data'='{"k":1}');
CREATE TABLE dim (k INT, label STRING);
CREATE TEMPORARY VIEW big AS SELECT id, k, v FROM t WHERE v > 100;
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return session_at(tmp_path_factory.mktemp("home"), setup=SETUP)


def cases() -> list[tuple[str, str]]:
    """Queries and the text behind each."""
    found = []
    for part in PLANS.read_text(encoding="utf-8").split("\n\n"):
        query, _, plan = part.strip().partition("\n----\n")
        if query and not query.startswith("#"):
            found.append((query, plan))
    return found


def told(session: Session, query: str) -> str:
    """The plan, or the error with what it points at."""
    try:
        return explained(session, query)
    except BergError as error:
        at = query[error.span.start : error.span.end] if error.span is not None else ""
        hint = f"\nHint: {error.hint}" if error.hint else ""
        return f"{error.code.value} at [{at}]: {error.message}{hint}"


@pytest.mark.parametrize(("query", "plan"), cases(), ids=lambda value: value.split("\n")[0][:60])
def test_plans(session: Session, query: str, plan: str) -> None:
    assert told(session, query) == plan


if os.environ.get("BERGSQL_REWRITE"):

    @pytest.fixture(scope="module", autouse=True)
    def rewritten_plans(session: Session) -> None:
        head = PLANS.read_text(encoding="utf-8").partition("\n\n")[0]
        parts = [f"{query}\n----\n{told(session, query)}" for query, _ in cases()]
        PLANS.write_text("\n\n".join([head, *parts]) + "\n", encoding="utf-8")


def test_the_same_query_has_the_same_uids_and_signatures(session: Session) -> None:
    query = "SELECT t.k, COUNT(*) FROM t JOIN u ON t.k = u.k GROUP BY t.k"
    first, second = plan_of(session, query).nodes(), plan_of(session, query).nodes()
    assert [n.uid for n in first] == [n.uid for n in second]
    assert [signature(n) for n in first] == [signature(n) for n in second]
    assert len({n.uid for n in first}) == len(first)
    assert {"source-1", "source-2", "join-1", "aggregate-1", "collect-1"} <= {n.uid for n in first}


def test_a_source_that_is_read_twice_is_one(session: Session) -> None:
    nodes = plan_of(session, "SELECT a.id, b.v FROM t AS a JOIN t AS b ON a.k = b.k").nodes()
    assert [n.uid for n in nodes if n.uid.startswith("source")] == ["source-1"]


def test_columns_are_found_by_token() -> None:
    sql = """('i.c1' || i.c2 || "i.c3" || x.i.c4 || l.c12)"""
    assert reads(sql) == {("i", 2), ("l", 12)}
    assert moved(sql, {2: 7}) == """('i.c1' || i.c7 || "i.c3" || x.i.c4 || l.c12)"""
    assert rewritten("l.c0 = r.c1", lambda s, n: f"i.c{n + (10 if s == 'r' else 0)}") == "i.c0 = i.c11"


@pytest.mark.parametrize(
    "name",
    ["INTEGER", "DECIMAL(10,2)", "VARCHAR[]", "MAP(VARCHAR, INTEGER[])", 'STRUCT("a b" INTEGER, c STRUCT(d DOUBLE))'],
)
def test_types_by_duckdbs_names(name: str) -> None:
    from bergsql.engine.sql.type_names import duckdb_name

    assert duckdb_name(from_duckdb(name)).replace('"', "").replace(" ", "") == name.replace('"', "").replace(" ", "")
