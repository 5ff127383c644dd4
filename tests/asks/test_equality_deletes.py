"""What people reported of other tools, group F: equality deletes. Numbers as in the collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.berg import Berg
from tests.support.equality_table import CAT, ID, Table, V, opt, with_schemas

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"
DIALECTS = pytest.mark.parametrize("dialect", ["flink", "spark"])


def folder(berg: Berg) -> Path:
    made = berg.warehouse / "db" / "t"
    made.mkdir(parents=True)
    return made


def rows(berg: Berg, query: str, dialect: str) -> list[list[object]]:
    answers = berg.answers([CATALOG, query], "--dialect", dialect, "--format", "jsonl")
    assert not answers[-1].errors
    return sorted((list(row.values()) for row in answers[-1].json_rows()), key=str)


@DIALECTS
def test_42_null_deletes_null_only_and_each_file_by_its_own_ids(dialect: str, berg: Berg) -> None:
    table = Table(folder(berg))
    table.data(1, [(1, "a", 1), (2, None, 2), (None, "c", 3), (None, None, 4), (5, "e", 5), (6, "f", 6)])
    table.delete(2, [1], [(1,)])
    table.delete(2, [2], [("e",)])
    table.delete(2, [1, 2], [(None, "c"), (6, None)])
    table.publish()
    assert rows(berg, "SELECT v FROM c.db.t", dialect) == [[2], [4], [6]]


@DIALECTS
def test_42_a_column_added_later_is_null_in_older_files(dialect: str, berg: Berg) -> None:
    extra = opt(4, "x", CAT.type)
    table = with_schemas(folder(berg), [ID, CAT, V], [ID, CAT, V, extra])
    table.data(1, [(1, "a", 1)])
    table.data(2, [(2, "b", 2, "gone"), (3, "c", 3, None)], fields=[ID, CAT, V, extra])
    table.delete(3, [4], [("gone",)], fields=[extra])
    table.publish()
    assert rows(berg, "SELECT id, x FROM c.db.t", dialect) == [[1, None], [3, None]]


@DIALECTS
def test_43_keys_need_not_be_selected_or_filtered(dialect: str, berg: Berg) -> None:
    table = Table(folder(berg))
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, "c", 3)])
    table.delete(2, [1], [(2,)])
    table.publish()
    assert rows(berg, "SELECT v FROM c.db.t", dialect) == [[1], [3]]
    assert rows(berg, "SELECT v FROM c.db.t WHERE cat >= 'b'", dialect) == [[3]]
    assert rows(berg, "SELECT COUNT(*) AS n, SUM(v) AS s FROM c.db.t", dialect) == [[2, 4]]
