"""The real Spark and bergsql over one Hive metastore read and write the same tables, also at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bergsql.engine.session import Session, SessionConfig
from tests.interop.conftest import Both
from tests.support.services.hive import Hive
from tests.support.spark import Spark

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def session(both: Both, hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """With the catalog ``hms``, which Spark has, too."""
    place: Path = tmp_path_factory.mktemp("hive")
    both.spark.add_catalog("hms", place, hive.uri)
    opened = Session(SessionConfig(home=place / "home"))
    options = f"'type'='iceberg', 'catalog-type'='hive', 'uri'='{hive.uri}', 'warehouse'='{place}'"
    do(opened, f"CREATE CATALOG hms WITH ({options})", "CREATE DATABASE hms.both")
    yield opened
    opened.close()


def do(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).close()


def same(session: Session, spark: Spark, query: str) -> list[list[object]]:
    """The rows of a query, which both engines give alike."""
    rows = sorted(list(row) for row in session.execute(query).rows())
    assert sorted(spark.rows(query)) == rows
    return rows


def test_each_reads_and_changes_what_the_other_made(session: Session, both: Both) -> None:
    spark = both.spark
    do(
        session,
        "CREATE TABLE hms.both.Ours (id BIGINT, v STRING)",
        "INSERT INTO hms.both.ours VALUES (1, 'a'), (2, '中')",
    )
    spark.sql("INSERT INTO hms.both.ours VALUES (3, 'c')")
    spark.sql("ALTER TABLE hms.both.ours ADD COLUMN more INT")
    do(session, "DELETE FROM hms.both.ours WHERE id = 1", "INSERT INTO hms.both.ours VALUES (4, 'd', 5)")
    assert same(session, spark, "SELECT id, more FROM hms.both.ours") == [[2, None], [3, None], [4, 5]]
    spark.sql("ALTER TABLE hms.both.ours RENAME TO hms.both.renamed")
    assert len(same(session, spark, "SELECT id FROM hms.both.renamed")) == 3
    spark.sql("CREATE TABLE hms.both.theirs (id INT, d DATE) USING iceberg PARTITIONED BY (months(d))")
    do(
        session,
        "INSERT INTO hms.both.theirs VALUES (1, DATE '2024-02-29')",
        "ALTER TABLE hms.both.theirs RENAME TO known",
    )
    spark.sql("UPDATE hms.both.known SET id = 7")
    assert same(session, spark, "SELECT id FROM hms.both.known") == [[7]]
    do(session, "DROP TABLE hms.both.renamed")
    assert spark.rows("SHOW TABLES IN hms.both") == [["both", "known", False]]


def test_both_write_at_once(session: Session, both: Both) -> None:
    retries = "WITH ('commit.retry.num-retries'='50')"
    do(session, f"CREATE TABLE hms.both.shared (id INT) {retries}")
    with ThreadPoolExecutor(1) as pool:
        theirs = [pool.submit(both.spark.sql, f"INSERT INTO hms.both.shared VALUES ({n})") for n in range(5)]
        for n in range(5, 20):
            do(session, f"INSERT INTO hms.both.shared VALUES ({n})")
        for each in theirs:
            each.result()
    assert same(session, both.spark, "SELECT id FROM hms.both.shared") == [[n] for n in range(20)]
