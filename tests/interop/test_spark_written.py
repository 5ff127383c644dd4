"""Tables that the real Spark makes here and now: bergsql gives Spark's rows, at every snapshot and reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interop.conftest import Both
from tests.interop.spark_stories import STORIES, Story
from tests.support.answers import Answer
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop

Told = dict[str, dict[str, list[list[Any]]]]


def make(both: Both, name: str, story: Story, files: Path) -> dict[str, list[list[Any]]]:
    """Make a table and ask Spark everything of it: rows by query."""
    spark = both.spark
    table = f"both.stories.{name}"
    for statement in story.made_by:
        spark.sql(statement.format(t=table, cat="both", name=f"stories.{name}", files=files / name))
    columns = "*, _file, _pos, _spec_id"
    if any(row[0] for row in spark.rows(f"select _partition from {table}")):
        columns += ", _partition"  # without partition fields, which Spark shows as {}, there is no such column
    if story.lineage:
        columns += ", _row_id, _last_updated_sequence_number"
    points = [table]
    points += [f"{table} version as of {row[0]}" for row in spark.rows(f"select snapshot_id from {table}.snapshots")]
    points += [f"{table} version as of '{row[0]}'" for row in spark.rows(f"select name from {table}.refs")]
    points += [
        f"{table} timestamp as of '{row[0]}'" for row in spark.rows(f"select made_current_at from {table}.history")
    ]
    queries = [f"select * from {point}" for point in points]
    queries += [f"select count(*) from {point}" for point in points]
    queries.append(f"select {columns} from {table}")
    queries += [f"select * from {table} where {condition}" for condition in story.filters]
    queries += [
        f"select count(*), min({c}), max({c}) from {table}"
        for c in spark.sql(f"select * from {table} limit 0").columns[:1]
    ]
    queries += [f"select * from {table}.{kind}" for kind in ("files", "partitions", "refs", "delete_files")]
    return {query: spark.rows(query) for query in queries}


@pytest.fixture(scope="module")
def told(both: Both, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What Spark says, by story and query."""
    files = tmp_path_factory.mktemp("files")
    both.spark.sql("create namespace if not exists both.stories")
    return {name: make(both, name, story, files) for name, story in STORIES.items()}


@pytest.fixture(scope="module")
def answers(both: Both, told: Told) -> dict[str, Answer]:
    """What one bergsql session says to the same queries."""
    queries = [query for asked in told.values() for query in asked]
    return dict(zip(queries, both.answers(queries), strict=True))


@pytest.mark.parametrize("name", STORIES)
def test_rows_are_sparks(name: str, told: Told, answers: dict[str, Answer]) -> None:
    for query, rows in told[name].items():
        ours = [list(row.values()) for row in answers[query].json_rows()]
        assert as_multiset(ours) == as_multiset(rows), query
