"""The property of all streams: what is there in the end is what the batch query gives over all input.

Rows come, change and go at random, in batches of random sizes; each query runs as a stream over these changes, and as
a batch over what is left of them. Some of the streams are stopped and go on from a checkpoint behind each batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.session import Session
from tests.support.stream_queries import batch_rows, folded, plan_of, run, session_at

EXAMPLES = int(os.environ.get("BERGSQL_STREAM_EXAMPLES", "3"))
"""How many random inputs each query has; ``-m long`` takes more."""

RANKED = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM {t}"
"""What ``{rn}`` stands for in a query."""

QUERIES = [
    "SELECT * FROM {t}",
    "SELECT id, v * 2 AS w FROM {t} WHERE v > 3 AND s IS NOT NULL",
    "SELECT k, s FROM {t} UNION ALL SELECT k, n FROM {u}",
    "SELECT k FROM {t} UNION SELECT k FROM {u}",
    "SELECT k FROM {t} INTERSECT SELECT k FROM {u}",
    "SELECT k FROM {t} EXCEPT SELECT k FROM {u}",
    "SELECT DISTINCT k, v FROM {t}",
    "SELECT k, COUNT(*) AS c, COUNT(v) AS cv, SUM(v) AS sv, MIN(v) AS mn, MAX(v) AS mx, AVG(v) AS a FROM {t} GROUP BY k",
    "SELECT k, COUNT(DISTINCT v), SUM(DISTINCT v), COUNT(DISTINCT s) FROM {t} GROUP BY k",
    "SELECT k, SUM(CAST(v AS DECIMAL(20, 3))), AVG(CAST(v AS DECIMAL(10, 2))) FROM {t} GROUP BY k",
    "SELECT k, MIN(s), MAX(s), COUNT(*) FILTER (WHERE v > 2) FROM {t} GROUP BY k",
    "SELECT COUNT(*), SUM(v), MAX(id) FROM {t}",
    "SELECT COUNT(*) FROM {t} WHERE v > 1000",
    "SELECT k, COUNT(*) FROM {t} GROUP BY k HAVING COUNT(*) > 1 AND MAX(v) > 2",
    "SELECT k + 1 AS k1, s, COUNT(*) + 1 FROM {t} GROUP BY k + 1, s",
    "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k) GROUP BY c",
    "SELECT MAX(c), SUM(c) FROM (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k)",
    "SELECT CASE WHEN v > 3 THEN 'hi' ELSE 'lo' END AS b, COUNT(*) FROM {t} GROUP BY CASE WHEN v > 3 THEN 'hi' ELSE 'lo' END",
    "SELECT t.id, u.n FROM {t} AS t JOIN {u} AS u ON t.k = u.k",
    "SELECT t.id, u.n FROM {t} AS t LEFT JOIN {u} AS u ON t.k = u.k",
    "SELECT t.id, u.n FROM {t} AS t RIGHT JOIN {u} AS u ON t.k = u.k",
    "SELECT t.id, u.n FROM {t} AS t FULL JOIN {u} AS u ON t.k = u.k",
    "SELECT t.id, u.n FROM {t} AS t LEFT JOIN {u} AS u ON t.k = u.k AND t.v > 2 AND u.n <> 'b'",
    "SELECT t.id, u.n FROM {t} AS t FULL JOIN {u} AS u ON t.k = u.k AND t.v > u.uid",
    "SELECT t.id, u.n FROM {t} AS t JOIN {u} AS u ON t.k + 1 = u.k AND t.v < 5",
    "SELECT t.id, u.uid FROM {t} AS t, {u} AS u WHERE t.k = u.k AND t.v > 1 AND u.n IS NOT NULL",
    "SELECT t.id, u.uid FROM {t} AS t CROSS JOIN {u} AS u WHERE t.v > u.uid",
    "SELECT k, id, n FROM {t} JOIN {u} USING (k)",
    "SELECT k, id, n FROM {t} FULL JOIN {u} USING (k)",
    "SELECT a.id, b.id, c.n FROM {t} AS a JOIN {t} AS b ON a.k = b.k JOIN {u} AS c ON b.k = c.k WHERE a.id < b.id",
    "SELECT t.id, m.c FROM {t} AS t JOIN (SELECT k, COUNT(*) AS c FROM {u} GROUP BY k) AS m ON t.k = m.k",
    "SELECT m.k, m.c, u.n FROM (SELECT k, SUM(v) AS c FROM {t} GROUP BY k) AS m LEFT JOIN {u} AS u ON m.k = u.k",
    "SELECT u.k, COUNT(t.id), SUM(t.v) FROM {u} AS u LEFT JOIN {t} AS t ON t.k = u.k GROUP BY u.k",
    "SELECT id FROM {t} WHERE k IN (SELECT k FROM {u})",
    "SELECT id FROM {t} WHERE k NOT IN (SELECT k FROM {u} WHERE k IS NOT NULL)",
    "SELECT id FROM {t} WHERE k NOT IN (SELECT k FROM {u})",
    "SELECT id FROM {t} AS t WHERE EXISTS (SELECT 1 FROM {u} AS u WHERE u.k = t.k AND u.uid > 1)",
    "SELECT id FROM {t} AS t WHERE NOT EXISTS (SELECT 1 FROM {u} AS u WHERE u.k = t.k)",
    "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE uid > 2)",
    "SELECT id FROM {t} WHERE v > (SELECT AVG(v) FROM {t})",
    "SELECT id, (SELECT COUNT(*) FROM {u}) AS n FROM {t}",
    "SELECT * FROM (SELECT id, k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM {t}) WHERE rn <= 2",
    "SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id DESC) AS rn FROM {t}) WHERE rn = 1",
    "SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn FROM {t}) WHERE rn BETWEEN 2 AND 3",
    "SELECT * FROM (SELECT k, c, ROW_NUMBER() OVER (ORDER BY c DESC, k) AS rn FROM (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k)) WHERE rn <= 2",
    "SELECT id, v FROM {t} ORDER BY v DESC, id LIMIT 3",
    "SELECT id, v FROM {t} ORDER BY v, id LIMIT 2 OFFSET 1",
    "SELECT k, COUNT(*) AS c FROM {t} GROUP BY k ORDER BY c DESC, k LIMIT 2",
    "SELECT id, x FROM {t} CROSS JOIN UNNEST(ARRAY[v, k]) AS a(x)",
    "SELECT x, COUNT(*) FROM {t} CROSS JOIN UNNEST(ARRAY[v, k]) AS a(x) GROUP BY x",
    "WITH g AS (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k) SELECT a.k, a.c, b.c FROM g AS a JOIN g AS b ON a.c = b.c",
    "SELECT UPPER(s) AS us, COUNT(*), MAX(CHAR_LENGTH(s)) FROM {t} GROUP BY UPPER(s)",
    "SELECT id FROM {t} WHERE s LIKE '%a%' OR v IS NULL",
    "SELECT k, STDDEV_POP(v) IS NULL, COUNT(*) FROM {t} GROUP BY k",
    "SELECT k, SUM(w) FROM (SELECT k, v AS w FROM {t} UNION ALL SELECT k, uid FROM {u}) GROUP BY k",
    "SELECT k, s, GROUPING(k), COUNT(*), SUM(v) FROM {t} GROUP BY GROUPING SETS ((k), (s), (k, s))",
    "SELECT k, s, COUNT(*) FROM {t} GROUP BY k, ROLLUP (s) HAVING COUNT(*) > 1",
    "SELECT DISTINCT k FROM (SELECT k, v FROM {t} WHERE v > 1 UNION SELECT k, uid FROM {u})",
    "SELECT t.k, COUNT(DISTINCT u.n) FROM {t} AS t JOIN {u} AS u ON t.k = u.k GROUP BY t.k HAVING COUNT(*) > 1",
    "SELECT a.k, a.c, b.m FROM (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k) AS a FULL JOIN (SELECT k, MAX(n) AS m FROM {u} GROUP BY k) AS b ON a.k = b.k",
    "SELECT t.id, u.uid, w.uid FROM {t} AS t LEFT JOIN {u} AS u ON t.k = u.k LEFT JOIN {u} AS w ON u.n = w.n",
    "SELECT id FROM (SELECT *, {rn}) WHERE 2 >= rn",
    "SELECT id, rn FROM (SELECT *, {rn}) WHERE rn < 3 AND rn > 1 AND v > 2",
    "SELECT id, rn FROM (SELECT *, {rn}) WHERE rn IN (1)",
    "SELECT id, rn FROM (SELECT *, {rn}) WHERE rn IN (1, 3)",
    "SELECT id, rn FROM (SELECT *, {rn}) WHERE rn < 1",
    "SELECT id, rn FROM (SELECT *, {rn}) WHERE rn = 1 AND rn = 2",
    "SELECT x, n + 1 FROM (SELECT id AS x, rn AS n FROM (SELECT *, {rn}) WHERE v > 2) WHERE n <= 2 AND x > 0",
    "SELECT r.id, u.n FROM {u} AS u JOIN (SELECT *, {rn}) AS r ON u.k = r.k WHERE r.rn = 1",
    "SELECT r.id, r.rn, u.n FROM (SELECT *, {rn}) AS r JOIN {u} AS u ON u.k = r.k WHERE r.rn <= 2 AND u.n > 'a'",
    "SELECT r.id, u.n FROM {u} AS u LEFT JOIN (SELECT *, {rn}) AS r ON u.k = r.k WHERE rn BETWEEN 1 AND 2",
    "SELECT r.id, u.n FROM {u} AS u LEFT JOIN (SELECT *, {rn}) AS r ON u.k = r.k AND r.rn = 1",
    "SELECT r.id, u.n FROM (SELECT *, {rn}) AS r FULL JOIN {u} AS u ON u.k = r.k WHERE r.rn = 1",
    "SELECT r.id, u.n FROM (SELECT *, {rn}) AS r RIGHT JOIN {u} AS u ON u.k = r.k AND rn IN (2)",
    "SELECT a.id, b.id FROM (SELECT *, {rn}) AS a, (SELECT *, {rn}) AS b WHERE a.k = b.k AND a.rn = 1 AND b.rn = 2",
    "SELECT u.n FROM {u} AS u WHERE u.k IN (SELECT k FROM (SELECT *, {rn}) WHERE rn = 1 AND v > 3)",
    "SELECT id, uid FROM (SELECT t.id, u.uid, t.k, ROW_NUMBER() OVER (PARTITION BY t.k ORDER BY t.v DESC, t.id, u.uid) AS rn FROM {t} AS t JOIN {u} AS u ON t.k = u.k) WHERE rn <= 2",
    "SELECT t.id, u.uid FROM {t} AS t LEFT JOIN {u} AS u ON t.k IS NOT DISTINCT FROM u.k AND t.s = u.n",
    "SELECT id FROM {t} AS t WHERE NOT EXISTS (SELECT 1 FROM {u} AS u WHERE u.k = t.k AND u.uid > t.v)",
]
"""``t(id, k, v, s)`` and ``u(uid, k, n)``; every kind of node is there at least twice."""


class Table:
    """A random history of a table: its changes, and the rows that are left."""

    def __init__(self, names: Sequence[str], changes: list[tuple[str, tuple[Any, ...]]], left: list[tuple[Any, ...]]):
        self.names, self.changes, self.left = names, changes, left


@some.composite
def histories(draw: some.DrawFn, names: Sequence[str], values: some.SearchStrategy[tuple[Any, ...]]) -> Table:
    """Rows with an id of their own come, and some of them change or go."""
    changes: list[tuple[str, tuple[Any, ...]]] = []
    there: dict[int, tuple[Any, ...]] = {}
    fresh = 1
    for _ in range(draw(some.integers(0, 14))):
        what = draw(some.sampled_from("iiiud"))
        if what == "i" or not there:
            row = (fresh, *draw(values))
            changes.append(("+I", row))
            there[fresh] = row
            fresh += 1
            continue
        key = draw(some.sampled_from(sorted(there)))
        if what == "d":
            changes.append(("-D", there.pop(key)))
            continue
        row = (key, *draw(values))
        changes += [("-U", there[key]), ("+U", row)]
        there[key] = row
    return Table(names, changes, list(there.values()))


KEYS = some.one_of(some.none(), some.integers(1, 3))
TEXTS = some.sampled_from([None, "a", "b", "ab"])
T = histories(("id", "k", "v", "s"), some.tuples(KEYS, some.one_of(some.none(), some.integers(-2, 6)), TEXTS))
U = histories(("uid", "k", "n"), some.tuples(KEYS, TEXTS))
TYPES = {"s": "STRING", "n": "STRING"}


def declare(session: Session, name: str, table: Table, size: int) -> None:
    """The table as a stream of its changes, ``name``, and as what is left, ``name_now``."""
    lines = "\n".join(json.dumps({"op": op, **dict(zip(table.names, row, strict=True))}) for op, row in table.changes)
    columns = ", ".join(f"{n} {TYPES.get(n, 'INT')}" for n in table.names)
    if lines:
        options = f"'connector'='values','changelog-mode'='retract','batch-size'='{size}','data'='{lines}'"
        session.execute(f"CREATE TABLE {name} ({columns}) WITH ({options})").close()
    else:
        empty = ", ".join(f"CAST(NULL AS {TYPES.get(n, 'INT')}) AS {n}" for n in table.names)
        session.execute(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM (SELECT {empty}) AS e WHERE 1 = 0").close()
    casts = ", ".join(f"CAST({n} AS {TYPES.get(n, 'INT')}) AS {n}" for n in table.names)
    rows = ", ".join(f"({', '.join(_sql(v) for v in row)})" for row in table.left) or _nothing(len(table.names))
    where = "" if table.left else " WHERE 1 = 0"
    select = f"SELECT {casts} FROM (VALUES {rows}) AS v({', '.join(table.names)}){where}"
    session.execute(f"CREATE TEMPORARY VIEW {name}_now AS {select}").close()


def _nothing(width: int) -> str:
    return f"({', '.join(['1'] * width)})"


def _sql(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def check(query: str, t: Table, u: Table, sizes: tuple[int, int], *, restarts: bool) -> None:
    query = query.replace("{rn}", RANKED)
    with TemporaryDirectory(prefix="stream-") as directory:
        session = session_at(Path(directory) / "home")
        declare(session, "t", t, sizes[0])
        declare(session, "u", u, sizes[1])
        plan = plan_of(session, query.format(t="t", u="u"))
        changes = run(session, plan, Path(directory) / "state", restarts=restarts)
        assert folded(changes) == batch_rows(session, query.format(t="t_now", u="u_now")), changes


SIZES = some.tuples(some.integers(1, 5), some.integers(1, 5))
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
@settings(max_examples=EXAMPLES, derandomize=True, **QUIET)  # type: ignore[arg-type]
@given(t=T, u=U, sizes=SIZES, restarts=some.booleans())
def test_a_stream_ends_as_the_batch(query: str, t: Table, u: Table, sizes: tuple[int, int], restarts: bool) -> None:
    check(query, t, u, sizes, restarts=restarts)


@pytest.mark.long
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
@settings(max_examples=100, **QUIET)  # type: ignore[arg-type]
@given(t=T, u=U, sizes=SIZES, restarts=some.booleans())
def test_a_stream_ends_as_the_batch_many_times(
    query: str, t: Table, u: Table, sizes: tuple[int, int], restarts: bool
) -> None:
    check(query, t, u, sizes, restarts=restarts)
