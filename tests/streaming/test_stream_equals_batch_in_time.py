"""The property of all streams, for what goes by event time: windows, OVER, joins by time; and LISTAGG.

The times of the rows are random, and so is their order, within the bound by which the watermark lags: nothing is late,
so that the batch query over the same rows is the law.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.session import Session
from bergsql.engine.sql.flavour import Flavour
from tests.support.stream_queries import batch_rows, folded, plan_of, run, session_at

EXAMPLES = int(os.environ.get("BERGSQL_STREAM_EXAMPLES", "3"))
LAG = 20
"""Seconds by which a row may come after a later one."""

TUMBLE = "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
HOP = "TABLE(HOP(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))"
CUMULATE = "TABLE(CUMULATE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))"
SESSION = "TABLE(SESSION(TABLE {t} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND))"
CALLS = "COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT v)"
NEAR = "u.ts BETWEEN t.ts - INTERVAL '3' SECOND AND t.ts + INTERVAL '6' SECOND"

QUERIES = [
    *(f"SELECT k, window_start, window_end, {CALLS} FROM {w} GROUP BY k, window_start, window_end" for w in (TUMBLE, HOP, CUMULATE)),
    *(f"SELECT window_start, window_end, COUNT(*), AVG(v) FROM {w} GROUP BY window_start, window_end" for w in (TUMBLE, HOP, CUMULATE)),
    f"SELECT window_start, window_end, k, COUNT(*) FROM {TUMBLE} WHERE v > 2 GROUP BY window_start, window_end, k HAVING COUNT(*) > 1",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts), COUNT(*) OVER (PARTITION BY k ORDER BY ts) FROM {t}",
    "SELECT id, COUNT(v) OVER (ORDER BY ts), MAX(v) OVER (ORDER BY ts) FROM {t}",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM {t}",
    "SELECT id, MIN(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '7' SECOND PRECEDING AND CURRENT ROW) FROM {t}",
    *(f"SELECT t.id, u.id AS uid FROM {{t}} AS t {kind} JOIN {{u}} AS u ON t.k = u.k AND {NEAR}" for kind in ("", "LEFT", "RIGHT", "FULL")),
    f"SELECT t.id, u.id AS uid FROM {{t}} AS t, {{u}} AS u WHERE t.k = u.k AND {NEAR} AND t.v > u.v",
    "SELECT k, LISTAGG(s) FROM (SELECT DISTINCT k, 'x' AS s FROM {t}) GROUP BY k",
    "SELECT LISTAGG(s, '-') FROM (SELECT s FROM {t} WHERE k = 1 GROUP BY s HAVING s = 'a')",
]  # fmt: skip
"""``t(id, k, v, s, ts)`` and ``u`` of the same columns. No two rows of a table have the same time: ROWS is told by it."""

GAPS = (
    "SELECT *, SUM(first) OVER (PARTITION BY k ORDER BY ts) AS g FROM (SELECT *, CASE WHEN ts <= LAG(ts) OVER "
    "(PARTITION BY k ORDER BY ts) + INTERVAL '4' SECOND THEN 0 ELSE 1 END AS first FROM t_now)"
)
SESSIONS = f"SELECT k, MIN(ts), COUNT(*), MAX(v) FROM ({GAPS}) GROUP BY k, g"
WITH_LAWS = [
    (
        "SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND), COUNT(*) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)",
        f"SELECT k, window_start, COUNT(*) FROM {TUMBLE.format(t='t_now')} GROUP BY k, window_start, window_end",
    ),
    (
        "SELECT k, HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '15' SECOND), SUM(v) FROM t "
        "GROUP BY k, HOP(ts, INTERVAL '5' SECOND, INTERVAL '15' SECOND)",
        f"SELECT k, window_end, SUM(v) FROM {HOP.format(t='t_now')} GROUP BY k, window_start, window_end",
    ),
    (
        "SELECT k, SESSION_START(ts, INTERVAL '4' SECOND), COUNT(*), MAX(v) FROM t GROUP BY k, SESSION(ts, INTERVAL '4' SECOND)",
        SESSIONS,
    ),
    (
        f"SELECT k, window_start, COUNT(*), MAX(v) FROM {SESSION.format(t='t')} GROUP BY k, window_start, window_end",
        SESSIONS,
    ),
]
"""Queries that a batch does not have, and those that say the same."""
BY_VERSION = [
    "SELECT t.id, r.v FROM t JOIN r FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k",
    "SELECT t.id, r.v FROM t LEFT JOIN r FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k",
]
SPARK = [
    "SELECT k, window.start, window.end, COUNT(*), SUM(v) FROM {t} GROUP BY k, window(ts, '10 seconds')",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM {t}",
    f"SELECT t.id, u.id AS uid FROM {{t}} AS t LEFT JOIN {{u}} AS u ON t.k = u.k AND {NEAR}",
    "SELECT k, COUNT(*), SUM(v), COUNT(DISTINCT s) FROM {t} GROUP BY k",
    "SELECT t.id, u.v FROM {t} AS t FULL JOIN {u} AS u ON t.k = u.k",
]

Row = tuple[int, int | None, int | None, str | None, str]


@some.composite
def tables(draw: some.DrawFn) -> list[Row]:
    """Rows in the order in which they come: each at most LAG seconds before the latest."""
    seconds = draw(some.lists(some.integers(0, 90), unique=True, max_size=14))
    delays = draw(some.lists(some.integers(0, LAG - 1), min_size=len(seconds), max_size=len(seconds)))
    coming = [second for _, second in sorted((s + d, s) for s, d in zip(seconds, delays, strict=True))]
    rest = some.tuples(
        some.one_of(some.none(), some.integers(1, 3)),
        some.one_of(some.none(), some.integers(-2, 6)),
        some.sampled_from([None, "a", "b"]),
    )
    return [(n, *draw(rest), f"{datetime(2026, 1, 1) + timedelta(seconds=s)}") for n, s in enumerate(coming)]


@dataclass(frozen=True)
class Given:
    t: list[Row]
    u: list[Row]
    size: int
    restarts: bool


GIVEN = some.builds(Given, tables(), tables(), some.integers(1, 5), some.booleans())
COLUMNS = ("id INT", "k INT", "v INT", "s STRING", "ts TIMESTAMP(3)")
NAMES = [column.split()[0] for column in COLUMNS]
FAR: Row = (1000, None, None, None, "2026-01-01 00:10:00")
"""A row of every table: there is one at least."""


def declare(session: Session, name: str, rows: Sequence[Row], size: int) -> None:
    """The rows as a stream, ``name``, and at once, ``name_now``."""
    lines = "\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows)
    options = f"'connector'='values','batch-size'='{size}','data'='{lines}'"
    columns = f"{', '.join(COLUMNS)}, WATERMARK FOR ts AS ts - INTERVAL '{LAG}' SECOND"
    session.execute(f"CREATE TABLE {name} ({columns}) WITH ({options})").close()
    values = ", ".join(f"({', '.join(_sql(v) for v in row)})" for row in rows)
    casts = ", ".join(f"CAST({n} AS {column.split()[1]}) AS {n}" for n, column in zip(NAMES, COLUMNS, strict=True))
    view = f"CREATE TEMPORARY VIEW {name}_now AS SELECT {casts} FROM (VALUES {values}) AS v({', '.join(NAMES)})"
    session.execute(view).close()


def _sql(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def check(query: str, law: str, given_: Given, flavour: Flavour = Flavour.FLINK) -> None:
    with TemporaryDirectory(prefix="stream-") as directory:
        session = session_at(Path(directory) / "home")
        for name, rows in (("t", given_.t), ("u", given_.u)):
            declare(session, name, [*rows, FAR], given_.size)
        session.execute(
            "CREATE VIEW r AS SELECT k, v, ts FROM "
            "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM u) WHERE rn = 1"
        ).close()
        if flavour is Flavour.SPARK:
            session.execute("SET 'table.sql-dialect' = 'spark'").close()
        try:
            changes = run(session, plan_of(session, query), Path(directory) / "state", restarts=given_.restarts)
            assert folded(changes) == batch_rows(session, law), changes
        finally:
            session.close()


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "derandomize": True}


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
@settings(max_examples=EXAMPLES, **QUIET)  # type: ignore[arg-type]
@given(given_=GIVEN)
def test_what_goes_by_time_ends_as_the_batch(query: str, given_: Given) -> None:
    check(query.format(t="t", u="u"), query.format(t="t_now", u="u_now"), given_)


@pytest.mark.parametrize(("query", "law"), WITH_LAWS, ids=range(len(WITH_LAWS)))
@settings(max_examples=EXAMPLES, **QUIET)  # type: ignore[arg-type]
@given(given_=GIVEN)
def test_windows_that_streams_alone_have(query: str, law: str, given_: Given) -> None:
    check(query, law, given_)


@pytest.mark.parametrize("query", SPARK, ids=range(len(SPARK)))
@settings(max_examples=EXAMPLES, **QUIET)  # type: ignore[arg-type]
@given(given_=GIVEN)
def test_in_the_other_flavour(query: str, given_: Given) -> None:
    check(query.format(t="t", u="u"), query.format(t="t_now", u="u_now"), given_, Flavour.SPARK)


@pytest.mark.parametrize("query", BY_VERSION, ids=range(len(BY_VERSION)))
@settings(max_examples=EXAMPLES, **QUIET)  # type: ignore[arg-type]
@given(given_=GIVEN)
def test_versions_by_time(query: str, given_: Given) -> None:
    """The law: the last version at or before the row's time."""
    kind = "LEFT JOIN" if "LEFT" in query else "JOIN"
    spans = "SELECT k, v, ts, LEAD(ts) OVER (PARTITION BY k ORDER BY ts) AS next FROM u_now"
    at = "t.k = r.k AND r.ts <= t.ts AND (r.next IS NULL OR t.ts < r.next)"
    check(query, f"SELECT t.id, r.v FROM t_now AS t {kind} ({spans}) AS r ON {at}", given_)
