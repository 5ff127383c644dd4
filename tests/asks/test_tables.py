"""What people reported of other tools, group E: definitions and names. Numbers as in the collection."""

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


@pytest.mark.parametrize("dialect", ["flink", "spark"])
@pytest.mark.parametrize("name", ["history", "snapshots", "files", "refs"])
def test_54_metadata_tables_by_dot_and_dollar(name: str, dialect: str, berg: Berg) -> None:
    insert = "INSERT INTO c.db.t VALUES (1, 'x', 2.5)"
    written = [f"c.db.t.{name}", f"c.db.`t${name}`", f"c.db.t.{name.upper()}", f"`c`.`db`.`t`.`{name}`"]
    answers = [last(berg, MADE, insert, f"SELECT * FROM {written[0]}", dialect=dialect).json_rows()]
    queries = [f"SELECT * FROM {w}" for w in written[1:]]
    for answer in berg.answers([CATALOG, *queries], "--dialect", dialect, *JSON)[1:]:
        assert not answer.errors, answer.errors[0]
        answers.append(answer.json_rows())
    assert len(answers[0]) == 1
    assert all(rows == answers[0] for rows in answers)
