"""What people reported of other tools, group E: definitions, INSERT and OVERWRITE. Numbers as in the collection."""

from __future__ import annotations

import re

import pytest

from tests.support.answers import Answer
from tests.support.berg import Berg

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"
JSON = ("--format", "jsonl")


def last(berg: Berg, *statements: str, dialect: str = "flink") -> Answer:
    """The answer of the last statement; those before it must succeed."""
    answers = berg.answers([CATALOG, "CREATE DATABASE c.db", *statements], "--dialect", dialect, *JSON)
    for statement, answer in zip(statements, answers[2:-1], strict=False):
        assert not answer.errors, (statement, answer.errors)
    return answers[-1]


MADE = "CREATE TABLE c.db.t (a INT, b STRING, c DOUBLE)"


def test_26_without_a_column_list_values_go_by_place(berg: Berg) -> None:
    answer = last(berg, MADE, "INSERT INTO c.db.t SELECT 1 AS c, 'x' AS a, 2.5 AS b", "SELECT * FROM c.db.t")
    assert answer.json_rows() == [{"a": 1, "b": "x", "c": 2.5}]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_26_without_a_column_list_types_are_checked(dialect: str, berg: Berg) -> None:
    answer = last(berg, MADE, "INSERT INTO c.db.t SELECT 'x', 1, 2.5", dialect=dialect)
    assert len(answer.errors) == 1
    assert "'a'" in answer.errors[0].message
    assert answer.errors[0].line is not None


def test_26_a_column_list_counts_in_any_order_and_the_rest_is_null(berg: Berg) -> None:
    answer = last(berg, MADE, "INSERT INTO c.db.t (c, a) SELECT 2.5, 1", "SELECT * FROM c.db.t")
    assert answer.json_rows() == [{"a": 1, "b": None, "c": 2.5}]


def test_26_spark_takes_a_whole_list_only(berg: Berg) -> None:
    whole = "INSERT INTO c.db.t (c, b, a) SELECT 2.5, 'x', 1"
    answer = last(berg, MADE, whole, "SELECT * FROM c.db.t", dialect="spark")
    assert answer.json_rows() == [{"a": 1, "b": "x", "c": 2.5}]
    part = last_again(berg, "INSERT INTO c.db.t (c, a) SELECT 2.5, 1")
    assert len(part.errors) == 1
    assert "b" in part.errors[0].message


def last_again(berg: Berg, statement: str) -> Answer:
    return berg.answers([CATALOG, statement], "--dialect", "spark", *JSON)[-1]


def test_26_by_name_counts_names(berg: Berg) -> None:
    insert = "INSERT INTO c.db.t BY NAME SELECT 2.5D AS c, 'x' AS b, 1 AS a"
    answer = last(berg, MADE, insert, "SELECT * FROM c.db.t", dialect="spark")
    assert answer.json_rows() == [{"a": 1, "b": "x", "c": 2.5}]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_28_transforms_are_declared_and_given_back(dialect: str, berg: Berg) -> None:
    create = "CREATE TABLE c.db.p (id BIGINT, ts TIMESTAMP) PARTITIONED BY (days(ts), bucket(4, id))"
    answer = last(berg, create, "SHOW CREATE TABLE c.db.p", dialect=dialect)
    (row,) = answer.json_rows()
    (text,) = row.values()
    assert "PARTITIONED BY (days(" in str(text).replace("`", "")
    assert "bucket(4, id)" in str(text).replace("`", "")
    again = str(text).replace(".p (", ".q (").replace("`p`", "`q`")
    again = re.sub(r"(?m)^LOCATION.*\n", "", again).replace("'current-snapshot-id' = 'none',\n", "")
    copy = berg.answers([CATALOG, again, "SHOW CREATE TABLE c.db.q"], "--dialect", dialect, *JSON)
    (other,) = copy[-1].json_rows()
    assert str(next(iter(other.values()))).replace("q", "p") == str(text).replace("q", "p")


def test_29_a_procedure_is_refused_by_name_in_flink_too(berg: Berg) -> None:
    answer = last(berg, MADE, "CALL c.system.create_tag('db.t', 'g')")
    assert len(answer.errors) == 1
    assert answer.errors[0].message.startswith("CALL")
    assert (answer.errors[0].line, answer.errors[0].column) == (1, 1)


PARTS = (
    "CREATE TABLE c.db.p (id INT, part STRING) PARTITIONED BY (part)",
    "INSERT INTO c.db.p VALUES (1, 'a'), (2, 'b'), (3, 'c')",
)
WHOLE = ("CREATE TABLE c.db.u (id INT)", "INSERT INTO c.db.u VALUES (1), (2)")
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"


@pytest.mark.parametrize(
    ("dialect", "before", "kept"),
    [("flink", (), [1, 3, 9]), ("spark", (), [9]), ("spark", (DYNAMIC,), [1, 3, 9])],
    ids=["flink", "spark static", "spark dynamic"],
)
def test_32_what_an_overwrite_replaces(dialect: str, before: tuple[str, ...], kept: list[int], berg: Berg) -> None:
    overwrite = "INSERT OVERWRITE c.db.p SELECT 9, 'b'"
    answers = berg.answers(
        [CATALOG, "CREATE DATABASE c.db", *PARTS, *before, overwrite, "SELECT id FROM c.db.p ORDER BY id"],
        "--dialect",
        dialect,
        *JSON,
    )
    assert [row["id"] for row in answers[-1].json_rows()] == kept
    told = "\n".join(answers[-2].lines)
    gone = 4 - len(kept)
    many = "s" if gone > 1 else ""
    assert f"{gone} row{many} removed with {gone} file{many}, {gone} partition{many} changed" in told


@pytest.mark.parametrize("before", [(), (DYNAMIC,)], ids=["static", "dynamic"])
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_32_an_unpartitioned_table_is_replaced_whole(dialect: str, before: tuple[str, ...], berg: Berg) -> None:
    answer = last(berg, *WHOLE, *before, "INSERT OVERWRITE c.db.u VALUES (9)", "SELECT id FROM c.db.u", dialect=dialect)
    assert answer.json_rows() == [{"id": 9}]


@pytest.mark.parametrize(
    ("dialect", "before", "kept"),
    [("flink", (), [1, 2]), ("spark", (), []), ("spark", (DYNAMIC,), [1, 2])],
    ids=["flink", "spark static", "spark dynamic"],
)
def test_33_an_overwrite_with_no_rows(dialect: str, before: tuple[str, ...], kept: list[int], berg: Berg) -> None:
    overwrite = "INSERT OVERWRITE c.db.u SELECT id FROM c.db.u WHERE FALSE"
    answer = last(berg, *WHOLE, *before, overwrite, "SELECT id FROM c.db.u ORDER BY id", dialect=dialect)
    assert [row["id"] for row in answer.json_rows()] == kept


def test_33_a_static_partition_is_emptied_in_spark(berg: Berg) -> None:
    overwrite = "INSERT OVERWRITE c.db.p PARTITION (part = 'b') SELECT id FROM c.db.p WHERE FALSE"
    answer = last(berg, *PARTS, overwrite, "SELECT id FROM c.db.p ORDER BY id", dialect="spark")
    assert [row["id"] for row in answer.json_rows()] == [1, 3]
