"""Joins by time, OVER and deduplication, from SQL to the rows that come out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.stream_queries import folded, plan_of, run, session_at

SETUP = """
CREATE TABLE o (id INT, k INT, v INT, ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector'='values','batch-size'='3','data'='
{"id":1,"k":1,"v":10,"ts":"2026-01-01 00:00:01"}
{"id":2,"k":2,"v":20,"ts":"2026-01-01 00:00:02"}
{"id":3,"k":1,"v":30,"ts":"2026-01-01 00:00:05"}
{"id":4,"k":1,"v":40,"ts":"2026-01-01 00:00:04"}
{"id":5,"k":3,"v":50,"ts":"2026-01-01 00:00:09"}
{"id":6,"k":1,"v":60,"ts":"2026-01-01 00:00:10"}
{"id":7,"k":1,"v":70,"ts":"2026-01-01 00:00:11"}');
CREATE TABLE s (sid INT, k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='values','batch-size'='2','data'='
{"sid":1,"k":1,"ts":"2026-01-01 00:00:02"}
{"sid":2,"k":1,"ts":"2026-01-01 00:00:06"}
{"sid":3,"k":2,"ts":"2026-01-01 00:00:09"}
{"sid":4,"k":1,"ts":"2026-01-01 00:00:11"}');
CREATE TABLE rates (k INT PRIMARY KEY NOT ENFORCED, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='values','changelog-mode'='upsert','batch-size'='10','data'='
{"op":"+I","k":1,"rate":100,"ts":"2026-01-01 00:00:00"}
{"op":"+I","k":2,"rate":200,"ts":"2026-01-01 00:00:00"}
{"op":"+U","k":1,"rate":101,"ts":"2026-01-01 00:00:04"}
{"op":"+U","k":1,"rate":102,"ts":"2026-01-01 00:00:10"}');
CREATE TABLE ratelog (k INT, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='values','batch-size'='10','data'='
{"k":1,"rate":100,"ts":"2026-01-01 00:00:00"}
{"k":2,"rate":200,"ts":"2026-01-01 00:00:00"}
{"k":1,"rate":101,"ts":"2026-01-01 00:00:04"}
{"k":1,"rate":102,"ts":"2026-01-01 00:00:10"}');
CREATE VIEW versioned AS SELECT k, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM ratelog) WHERE rn = 1;
CREATE TABLE dim (k INT, name STRING);
INSERT INTO dim VALUES (1,'one'),(2,'two');
"""

QUERIES: list[tuple[str, list[tuple[int | str | None, ...]]]] = [
    (
        "SELECT o.id, s.sid FROM o JOIN s ON o.k = s.k AND s.ts BETWEEN o.ts - INTERVAL '1' SECOND AND o.ts + INTERVAL '2' SECOND",
        [(1, 1), (3, 2), (4, 2), (6, 4), (7, 4)],
    ),
    (
        "SELECT o.id, s.sid FROM o FULL JOIN s ON o.k = s.k AND s.ts BETWEEN o.ts - INTERVAL '1' SECOND AND o.ts + INTERVAL '2' SECOND",
        [(1, 1), (2, None), (3, 2), (4, 2), (5, None), (6, 4), (7, 4), (None, 3)],
    ),
    (
        "SELECT o.id, r.rate FROM o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k",
        [(1, 100), (2, 200), (3, 101), (4, 101), (5, None), (6, 102), (7, 102)],
    ),
    (
        "SELECT o.id, r.rate FROM o JOIN versioned FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k",
        [(1, 100), (2, 200), (3, 101), (4, 101), (6, 102), (7, 102)],
    ),
    (
        "SELECT o.id, d.name FROM o LEFT JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k",
        [(1, "one"), (2, "two"), (3, "one"), (4, "one"), (5, None), (6, "one"), (7, "one")],
    ),
    # The row 4 is late: the row 3 has been there, and moved the watermark to its time.
    (
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts), AVG(v) OVER (PARTITION BY k ORDER BY ts) FROM o",
        [(1, 10, 10), (2, 20, 20), (3, 40, 20), (5, 50, 50), (6, 100, 33), (7, 170, 42)],
    ),
    (
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM o",
        [(1, 10), (2, 20), (3, 40), (5, 50), (6, 90), (7, 130)],
    ),
    (
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW) FROM o",
        [(1, 10), (2, 20), (3, 30), (5, 50), (6, 60), (7, 130)],
    ),
    (
        "SELECT id, LAG(v) OVER (PARTITION BY k ORDER BY ts) FROM o",
        [(1, None), (2, None), (3, 10), (5, None), (6, 30), (7, 60)],
    ),
    (
        "SELECT id, SUM(v) OVER (ORDER BY pt) FROM o",
        [(1, 10), (2, 30), (3, 60), (4, 100), (5, 150), (6, 210), (7, 280)],
    ),
    (
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS rn FROM o) WHERE rn = 1",
        [(2,), (5,), (7,)],
    ),
    (
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt) AS rn FROM o) WHERE rn = 1",
        [(1,), (2,), (5,)],
    ),
    ("SELECT id, v FROM o ORDER BY v DESC LIMIT 2", [(7, 70), (6, 60)]),
    ("SELECT id FROM o LIMIT 4", [(1,), (2,), (3,), (4,)]),
    ("SELECT o.id, d.name FROM o JOIN dim d ON o.k = d.k WHERE o.v < 30", [(1, "one"), (2, "two")]),
]


@pytest.mark.parametrize(("query", "rows"), QUERIES)
def test_rows(query: str, rows: list[tuple[int | str | None, ...]], tmp_path: Path) -> None:
    session = session_at(tmp_path / "home", setup=SETUP)
    try:
        assert folded(run(session, plan_of(session, query), tmp_path / "state")) == Counter(rows)
    finally:
        session.close()


def test_rows_are_sorted_by_time(tmp_path: Path) -> None:
    session = session_at(tmp_path / "home", setup=SETUP)
    try:
        changes = run(session, plan_of(session, "SELECT id FROM o ORDER BY ts"), tmp_path / "state")
        assert changes == [("+I", n) for n in (1, 2, 3, 5, 6, 7)]
    finally:
        session.close()


def test_a_lookup_sees_what_the_table_has_become(tmp_path: Path) -> None:
    session = session_at(tmp_path / "home", setup=SETUP)
    try:
        plan = plan_of(session, "SELECT o.id, d.name FROM o JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k")
        done = False

        def change(_: object) -> None:
            nonlocal done
            if not done:
                done = True
                session.execute("INSERT INTO dim VALUES (3, 'three')").close()
                session.execute("DELETE FROM dim WHERE k = 1").close()

        changes = run(session, plan, tmp_path / "state", between=change)
        assert changes == [("+I", 1, "one"), ("+I", 2, "two"), ("+I", 3, "one"), ("+I", 5, "three")]
    finally:
        session.close()
