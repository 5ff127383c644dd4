"""Values of every type go through each operator as they are: what comes out is what the batch query gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stream_queries import batch_rows, folded, plan_of, run, session_at

VALUES = {
    "HUGEINT": "v",
    "TINYINT": "CAST(id AS TINYINT)",
    "DECIMAL": "CAST(id AS DECIMAL(38, 10)) / 7",
    "BOOLEAN": "id > 1",
    "FLOAT": "CAST(id AS FLOAT) / 3",
    "CHAR": "CAST('a' AS CHAR(5))",
    "VARCHAR": "CAST('ab' AS VARCHAR(5))",
    "BYTES": "CAST('ab' AS BYTES)",
    "BINARY": "CAST('ab' AS BINARY(2))",
    "DATE": "DATE '2024-02-29'",
    "TIME": "TIME '12:34:56.789'",
    "TIMESTAMP": "TIMESTAMP '2024-02-29 12:34:56.123456'",
    "NANOS": "CAST('2024-02-29 12:34:56.123456789' AS TIMESTAMP(9))",
    "LTZ": "CAST(TIMESTAMP '2024-02-29 12:34:56.123456' AS TIMESTAMP_LTZ(6))",
    "DAYS": "INTERVAL '3' DAY",
    "MONTHS": "INTERVAL '3' MONTH",
    "ARRAY": "ARRAY[v, NULL]",
    "ROW": "ROW(v, TIMESTAMP '2024-02-29 12:34:56.123456', 'x')",
    "MAP": "MAP['a', v]",
    "NESTED": "ARRAY[ROW(MAP['a', ARRAY[TIME '12:34:56']])]",
}  # fmt: skip

QUERIES = {
    "select": "SELECT id, {x} FROM {t} AS a",
    "union": "SELECT id, {x} FROM {t} AS a UNION ALL SELECT id, {x} FROM {t} AS a",
    "join": "SELECT b.id, {x} FROM {t} AS b LEFT JOIN {t} AS a ON a.id = b.id AND b.id > 1",
    "rank": "SELECT id, {x} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS n FROM {t}) AS a WHERE n = 1",
    "keys": "SELECT COUNT(*), {x} FROM {t} AS a GROUP BY {x}",
    "distinct": "SELECT DISTINCT {x} FROM {t} AS a",
    "limit": "SELECT id, {x} FROM {t} AS a ORDER BY id LIMIT 2",
}  # fmt: skip

_SHOWN = {
    "HUGEINT": "x{} * x{}",  # which no DECIMAL(38, 0) holds the type of
    "DAYS": "TIMESTAMP '2024-02-29 00:00:00' + x{}",
    "MONTHS": "TIMESTAMP '2024-02-29 00:00:00' + x{}",
}
_LINES = "\n".join(f'{{"id":{n},"k":1}}' for n in range(1, 4))
SETUP = f"""
SET 'table.local-time-zone' = 'UTC';
CREATE TABLE t0 (id INT, k INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='values','changelog-mode'='MODE','batch-size'='2','data'='{_LINES}');
"""  # fmt: skip


@pytest.mark.parametrize("mode", ["retract", "upsert"])
@pytest.mark.parametrize("name", QUERIES)
def test_each_type_through_each_operator(tmp_path: Path, mode: str, name: str) -> None:
    session = session_at(tmp_path / "home", setup=SETUP.replace("MODE", mode))
    own = ", ".join(f"{sql} AS x{kind}" for kind, sql in VALUES.items())
    named = ", ".join(f"a.x{kind}" for kind in VALUES)
    shown = ", ".join(f"CAST({_SHOWN.get(k, 'x{}').replace('{}', k)} AS STRING)" for k in VALUES)
    now = "(SELECT id, 1 AS k FROM (VALUES (1), (2), (3)) AS r(id))"
    asked, wanted = (
        f"SELECT {shown} FROM ({QUERIES[name]})".replace("{x}", named).replace(
            "{t}", f"(SELECT id, k, {own} FROM (SELECT id, k, SUM(CAST(k AS BIGINT)) AS v FROM {table} GROUP BY id, k))"
        )
        for table in ("t0", now)
    )
    changes = run(session, plan_of(session, asked), tmp_path / "state")
    assert folded(changes) == batch_rows(session, wanted)
