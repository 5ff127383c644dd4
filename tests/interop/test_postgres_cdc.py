"""Rows of PostgreSQL go into Iceberg tables, and the real Spark reads them."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.oracle import as_multiset
from tests.support.postgres_cdc import options
from tests.support.postgres_types import CASES, COLUMNS, ROWS, made_table
from tests.support.services.postgres import Postgres

pytestmark = pytest.mark.interop


def test_spark_reads_every_type(both: Both, postgres: Postgres) -> None:
    table = made_table(postgres)
    with_ = options(postgres, "none", table) + ", 'scan.startup.mode'='snapshot'"
    # Spark knows no TIME.
    items = [f"CAST(v{n} AS STRING)" if c.declared.startswith("TIME(") else f"v{n}" for n, c in enumerate(CASES)]
    target = COLUMNS.replace(" TIME(6)", " STRING")
    both.run(
        [
            "CREATE DATABASE both.postgres",
            f"CREATE TABLE p ({COLUMNS}) WITH ({with_})",
            f"CREATE TABLE both.postgres.t ({target}) WITH ('format-version'='2')",
            f"INSERT INTO both.postgres.t SELECT id, {', '.join(items)} FROM p",
        ],
        dialect="flink",
    )
    query = "SELECT * FROM both.postgres.t"
    rows = both.spark.rows(query)
    assert len(rows) == ROWS
    assert as_multiset(both.rows(query)) == as_multiset(rows)
    first = next(row for row in rows if row[0] == 0)
    assert None not in first, [case for case, value in zip(CASES, first[1:], strict=True) if value is None]
