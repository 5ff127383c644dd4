"""The reference tables that Spark and Flink wrote: bergsql gives the same rows for every query and every snapshot.

All statements of all tables run in one session of one process; a few run in processes of their own too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import Answer
from tests.support.berg import Berg, fresh_berg
from tests.support.oracle import as_multiset, in_order
from tests.support.reference_tables import CATALOG, description, descriptions, laid_out

Rows = list[list[Any]]

OURS = {
    "show tblproperties hadoop_prod.fx.eq_deletes_partitioned_flink_upsert": "identifier fields in the order of the key",
    "show tblproperties hadoop_prod.fx.identifier_fields": "identifier fields in the order of the key",
    # Spark writes one bucket as CLUSTERED BY and loses the others.
    "show create table hadoop_prod.fx.partition_evolved": "bucket(…) among the partition fields, as it was written",
    "show create table hadoop_prod.fx.partition_transforms": "bucket(…) among the partition fields, as it was written",
    "show create table hadoop_prod.fx.sorted_table": "bucket(…) among the partition fields, as it was written",
    "show create table hadoop_prod.fx.v2_mor_update_merge": "bucket(…) among the partition fields, as it was written",
    "show create table hadoop_prod.fx.uuid_fixed": "a UUID is a type of its own",
    "describe hadoop_prod.fx.uuid_fixed": "a UUID is a type of its own",
    "describe hadoop_prod.fx.v3_defaults": "DEFAULT values are told",
    "show create table hadoop_prod.fx.v3_defaults": "DEFAULT values are told",
    "show create table hadoop_prod.fx.identifier_fields": "identifier fields in the order of the key",
    "show create table hadoop_prod.fx.eq_deletes_partitioned_flink_upsert": "identifier fields in the order of the key",
}
"""Statements whose text bergsql means to differ in, and how."""

SPECIFIED: dict[str, dict[str, Rows]] = {
    # Spark fails when a column that equality deletes need was renamed or dropped. 'b' is deleted (spec, "Equality
    # Delete Files": a column that is dropped later is still used).
    "eq_deletes_schema_evolved": {
        "select * from {t}": [[10000000001, 1], [10000000003, 3], [4, 4]],
        "select * from {t} version as of 5303865264814595103": [[10000000001, "a", 1], [10000000003, "c", 3]],
        "select * from {t} version as of 9014210203554431246": [[10000000001, 1], [10000000003, 3], [4, 4]],
    },
    # Spark has no type for times and the unknown type: rows that Iceberg's own Java readers gave.
    "time_and_ns_types": {
        "select * from {t}": [
            [1, "23:59:59.999999", "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56.123456"],
            [2, "00:00:00", None, None],
            [3, None, None, None],
        ]
    },
    "v3_many_types": {"select * from {t}": []},
}
"""Where Spark failed and Flink does not say either: what the specification says."""
NO_BOUNDS = {"append_types": (".files", ".all_data_files"), "uuid_fixed": (".files", ".all_data_files", ".entries")}
"""Metadata tables that Spark fails on because it cannot show a bound: compared with Spark's other answers below."""


@dataclass(frozen=True)
class Asked:
    """A statement on a table with the rows that are right."""

    table: str
    sql: str
    rows: Rows
    cast: bool
    """Whether timestamps are Spark's own text, and readable metrics its JSON."""


TABLES = descriptions()


def asked_of(name: str) -> list[Asked]:
    """All statements of a table: the engine's rows, Flink's where Spark failed, else the specification's."""
    told = description(TABLES[name])
    found = []
    specified = {sql.format(t=told["table"]): rows for sql, rows in SPECIFIED.get(name, {}).items()}
    for query in [*told["queries"], *told.get("time_travel", ())]:
        sql = query["sql"]
        rows = query.get("flink", {}).get("rows") if "error" in query else query["rows"]
        if sql in OURS or sql.endswith(NO_BOUNDS.get(name, "-")):
            continue
        rows = specified.pop(sql, rows)
        assert rows is not None, f"nobody says what is right: {sql}"
        found.append(Asked(name, sql, rows, "rows_cast" in query))
    return [*found, *(Asked(name, sql, rows, False) for sql, rows in specified.items())]


ASKED = {name: asked_of(name) for name in TABLES}


@pytest.fixture(scope="module")
def berg() -> Iterator[Berg]:
    laid_out(*TABLES)
    with fresh_berg("--dialect", "spark") as berg:
        yield berg


@pytest.fixture(scope="module")
def answers(berg: Berg) -> dict[str, Answer]:
    """What one session says to all statements."""
    statements = [a.sql for asked in ASKED.values() for a in asked]
    return dict(zip(statements, berg.answers(statements, *CATALOG), strict=True))


def as_spark_text(value: Any) -> Any:
    """Timestamps of microseconds as Spark writes them in text: without zeros at the end."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", value):
        return value.rstrip("0").rstrip(".")
    return value


def counts_only(metrics: Any) -> Any:
    """Readable metrics, Spark's JSON text or ours, without the bounds, which stand in columns of their own too."""
    told = json.loads(metrics) if isinstance(metrics, str) else metrics
    return {
        column: {k: v for k, v in figures.items() if v is not None and not k.endswith("_bound")}
        for column, figures in told.items()
    }


def comparable(asked: Asked, rows: Rows) -> list[str]:
    if asked.cast and asked.sql.endswith(("files", "entries")):
        rows = [[*row[:-1], counts_only(row[-1])] for row in rows]
    elif asked.cast:
        rows = [[as_spark_text(value) for value in row] for row in rows]
    return (in_order if " order by " in asked.sql.lower() else as_multiset)(rows)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_rows_are_the_engines(name: str, answers: dict[str, Answer]) -> None:
    for a in ASKED[name]:
        rows = [list(row.values()) for row in answers[a.sql].json_rows()]
        assert comparable(a, rows) == comparable(a, a.rows), a.sql


def test_how_much_is_compared() -> None:
    statements = [a for asked in ASKED.values() for a in asked]
    assert len(TABLES) == 41
    assert len([a for a in statements if " version as of " in a.sql.lower()]) >= 125
    assert len(statements) == 718
    assert len([a for a in statements if a.sql.startswith(("describe ", "show "))]) == 75


@pytest.mark.parametrize("sql", sorted(OURS))
def test_what_is_told_otherwise(sql: str, berg: Berg) -> None:
    """It is answered, and not as Spark does."""
    (told,) = (q["rows"] for name in TABLES for q in description(TABLES[name])["queries"] if q["sql"] == sql)
    (answer,) = berg.answers([sql], *CATALOG)
    rows = [list(row.values()) for row in answer.json_rows()]
    assert rows
    assert rows != told


@pytest.mark.parametrize("name", sorted(NO_BOUNDS))
def test_metadata_tables_that_spark_fails_on(name: str, berg: Berg) -> None:
    """The files are those of ``manifests``, and each table shows the same ones."""
    told = description(TABLES[name])
    manifests = next(q["rows"] for q in told["queries"] if q["sql"].endswith(".manifests"))
    queries = [
        f"select content, file_path, file_format, record_count, file_size_in_bytes from {told['table']}.files",
        f"select content, file_path, file_format, record_count, file_size_in_bytes from {told['table']}.all_data_files",
        "select data_file.content, data_file.file_path, data_file.file_format, data_file.record_count, "
        f"data_file.file_size_in_bytes from {told['table']}.entries",
    ]
    seen = [as_multiset([list(row.values()) for row in a.json_rows()]) for a in berg.answers(queries, *CATALOG)]
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == sum(row[5] for row in manifests)
    for row in map(json.loads, seen[0]):
        assert (row[0], row[2], row[4]) == (0, "PARQUET", Path(row[1].removeprefix("file:")).stat().st_size)


@pytest.mark.parametrize("name", ["v3_deletion_vectors", "upsert_partitioned", "schema_evolved"])
def test_a_process_for_each_statement(name: str, berg: Berg) -> None:
    """The contract of the command line: one statement, its rows on standard output, exit code 0."""
    for a in ASKED[name][:3]:
        done = berg.run("--no-config", *CATALOG, "-e", a.sql)
        assert (done.code, done.err) == (0, "")
        rows = [list(json.loads(line).values()) for line in done.out.splitlines()]
        assert comparable(a, rows) == comparable(a, a.rows)
