"""Queries over time run whole: windows, OVER, joins by time; and INSERTs of streams into tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.nodes import SourceNode
from tests.support.stream_queries import batch_rows, folded, plan_of, run, session_at

SETUP = """
SET 'table.local-time-zone' = 'UTC';
CREATE TABLE ev (id INT, k INT, ts AS TIMESTAMP '2024-01-01 00:00:00' + id * INTERVAL '1' SECOND, pt AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='datagen','number-of-rows'='30','fields.id.kind'='sequence','fields.id.start'='0','fields.id.end'='29','fields.k.min'='7','fields.k.max'='7');
CREATE TABLE late (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector'='values','batch-size'='1','data'='{"id":1,"ts":"2024-01-01 00:00:01"}
{"id":2,"ts":"2024-01-01 00:00:09"}
{"id":3,"ts":"2024-01-01 00:00:04"}
{"id":4,"ts":"2024-01-01 00:00:30"}
{"id":5,"ts":"2024-01-01 00:00:02"}');
CREATE TABLE rates (cur STRING, rate INT, ts TIMESTAMP(3), PRIMARY KEY (cur) NOT ENFORCED, WATERMARK FOR ts AS ts) WITH ('connector'='values','changelog-mode'='upsert','batch-size'='1','data'='{"op":"+I","cur":"eur","rate":10,"ts":"2024-01-01 00:00:00"}
{"op":"+U","cur":"eur","rate":12,"ts":"2024-01-01 00:00:10"}');
CREATE TABLE orders (cur STRING, amt INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='values','data'='{"cur":"eur","amt":1,"ts":"2024-01-01 00:00:05"}
{"cur":"eur","amt":2,"ts":"2024-01-01 00:00:15"}
{"cur":"usd","amt":3,"ts":"2024-01-01 00:00:15"}');
CREATE TABLE dim (id INT, label STRING);
INSERT INTO dim VALUES (1, 'one'), (3, 'three');
CREATE TABLE app (id INT, k INT NOT NULL, note STRING);
CREATE TABLE parted (id INT, k INT) PARTITIONED BY (k);
CREATE TABLE counts (k INT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('format-version' = '2');
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return session_at(tmp_path / "home", setup=SETUP)


def of_window(function: str) -> str:
    select = "SELECT window_start, window_end, window_time, k, COUNT(*), SUM(id) FROM TABLE"
    return f"{select}({function}) GROUP BY window_start, window_end, window_time, k"


@pytest.mark.parametrize(
    "query",
    [
        of_window("TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL '10' SECONDS)"),
        of_window("TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL '10' SECONDS, INTERVAL '3' SECONDS)"),
        of_window("HOP(TABLE ev, DESCRIPTOR(ts), INTERVAL '5' SECONDS, INTERVAL '10' SECONDS)"),
        of_window("CUMULATE(TABLE ev, DESCRIPTOR(ts), INTERVAL '5' SECONDS, INTERVAL '15' SECONDS)"),
        "SELECT id, SUM(id) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM ev",
        "SELECT id, COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW) FROM ev",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY ts), LAG(id, 2) OVER (ORDER BY ts) FROM ev",
        "SELECT a.id, b.id FROM ev AS a JOIN ev AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' SECOND",
        "SELECT a.id, b.id FROM ev AS a LEFT JOIN ev AS b ON a.k = b.k AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '1' SECOND",
        "SELECT a.id, b.id FROM ev AS a FULL JOIN ev AS b ON a.id = b.id + 3 AND b.ts BETWEEN a.ts - INTERVAL '4' SECOND AND a.ts",
        "SELECT id FROM ev WHERE id < 9 ORDER BY ts",
    ],
)  # fmt: skip
def test_time_gives_what_the_batch_gives(session: Session, tmp_path: Path, query: str) -> None:
    changes = run(session, plan_of(session, query), tmp_path / "state")
    assert {change[0] for change in changes} == {"+I"}
    assert folded(changes) == batch_rows(session, query)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECONDS)) GROUP BY window_start, window_end, k", [(7, 30)]),
        ("SELECT CAST(TUMBLE_START(ts, INTERVAL '10' SECOND) AS STRING), COUNT(*) FROM ev GROUP BY TUMBLE(ts, INTERVAL '10' SECOND) HAVING MAX(id) > 20", [("2024-01-01 00:00:20.000", 10)]),
        ("SELECT COUNT(*), MIN(id) FROM ev GROUP BY k, SESSION(ts, INTERVAL '10' SECOND)", [(30, 0)]),
        ("SELECT CAST(window_end AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE late, DESCRIPTOR(ts), INTERVAL '10' SECONDS)) GROUP BY window_start, window_end", [("2024-01-01 00:00:10.000", 3), ("2024-01-01 00:00:40.000", 1)]),
        ("SELECT o.amt, r.rate FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur", [(1, 10), (2, 12), (3, None)]),
        ("SELECT e.id, d.label FROM ev AS e JOIN dim FOR SYSTEM_TIME AS OF e.pt AS d ON e.id = d.id", [(1, "one"), (3, "three")]),
        ("SELECT id, CURRENT_WATERMARK(ts) IS NULL FROM late WHERE id < 3", [(1, True), (2, False)]),
        ("SELECT cur, rate FROM rates", [("eur", 12)]),
        ("SELECT k, n, RAND() < 2, at IS NOT NULL FROM (SELECT k, COUNT(*) AS n, CURRENT_TIMESTAMP AS at FROM ev GROUP BY k)", [(7, 30, True, True)]),
    ],
)  # fmt: skip
def test_what_only_streams_have(session: Session, tmp_path: Path, query: str, rows: list[tuple[object, ...]]) -> None:
    assert folded(run(session, plan_of(session, query), tmp_path / "state")) == Counter(rows)


# --- INSERT -----------------------------------------------------------------------------------------------------------


def inserts(session: Session, *texts: str) -> list[st.Insert]:
    found = [parse(text, session.flavour) for text in texts]
    return [each for each in found if isinstance(each, st.Insert)]


def test_inserts_go_where_they_should(session: Session, tmp_path: Path) -> None:
    plan = plan_insert_jobs(
        session,
        inserts(
            session,
            "INSERT INTO app (k, id) SELECT k, id FROM ev WHERE id < 2",
            "INSERT INTO parted PARTITION (k = 5) SELECT id FROM ev WHERE id < 3",
            "INSERT INTO counts SELECT k, COUNT(*) FROM ev GROUP BY k",
        ),
    )
    assert sum(isinstance(node, SourceNode) for node in plan.nodes()) == 1
    run(session, plan, tmp_path / "state")
    assert batch_rows(session, "SELECT * FROM app") == Counter([(0, 7, None), (1, 7, None)])
    assert batch_rows(session, "SELECT * FROM parted") == Counter([(0, 5), (1, 5), (2, 5)])
    assert batch_rows(session, "SELECT * FROM counts") == Counter([(7, 30)])


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("INSERT OVERWRITE app SELECT id, k, 'x' FROM ev", "INSERT OVERWRITE cannot take a stream", "app"),
        ("INSERT INTO parted SELECT k, COUNT(*) FROM ev GROUP BY k", "has no primary key", "parted"),
        ("INSERT INTO counts SELECT k, id, COUNT(*) FROM ev GROUP BY k, id", "too many columns", "SELECT"),
        ("INSERT INTO app (id) SELECT id FROM ev", "no value for column 'k'", "id"),
        ("INSERT INTO app SELECT id, k, ARRAY[1] FROM ev", "cannot be stored in 'note'", "SELECT"),
    ],
)
def test_inserts_are_refused_at_once(session: Session, text: str, message: str, at: str) -> None:
    with pytest.raises(BergError, match=message) as refused:
        plan_insert_jobs(session, inserts(session, text))
    span = refused.value.span
    assert span is not None
    assert text[span.start :].startswith(at)


def test_a_statement_set_tells_which_insert_is_wrong(session: Session) -> None:
    both = inserts(session, "INSERT INTO app SELECT id, k, 'x' FROM ev", "INSERT INTO app SELECT id FROM ev")
    with pytest.raises(BergError) as refused:
        plan_insert_jobs(session, both)
    assert refused.value.message.startswith("INSERT 2 of 2 of the statement set: The query has too few columns")
