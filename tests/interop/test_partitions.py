"""Each partition transform over each type: the real Spark reads bergsql's table, and bergsql reads Spark's."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.interop.partition_cases import CASES, PartitionCase
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop
OURS, THEIRS = "ours", "theirs"


def ids(case: PartitionCase) -> str:
    return case.table


@pytest.fixture(scope="session")
def our_tables(both: Both) -> str:
    """All tables, made by one bergsql; their namespace."""
    statements = [s for case in CASES for s in case.statements("both", OURS)]
    for statement, answer in zip(statements, both.answers(statements), strict=True):
        assert not answer.errors, (statement, answer.errors)
    return OURS


@pytest.fixture(scope="session")
def our_answers(both: Both, our_tables: str) -> dict[str, tuple[list[list[object]], list[list[object]]]]:
    """By table: the rows and the rows found by filters, as bergsql reads them."""
    return read_all(both, our_tables)


def read_all(both: Both, namespace: str) -> dict[str, tuple[list[list[object]], list[list[object]]]]:
    queries = [q for c in CASES for q in (f"select * from both.{namespace}.{c.table}", c.lookups("both", namespace))]
    answers = [[list(row.values()) for row in a.json_rows()] for a in both.answers(queries)]
    return {case.table: (answers[2 * n], answers[2 * n + 1]) for n, case in enumerate(CASES)}


@pytest.fixture(scope="session")
def their_answers(both: Both) -> dict[str, tuple[list[list[object]], list[list[object]]]]:
    """By table: the same of Spark's tables, as bergsql reads them."""
    for case in CASES:
        for statement in case.statements("both", THEIRS):
            both.spark.sql(statement)
    return read_all(both, THEIRS)


def every_value_once(case: PartitionCase) -> list[str]:
    return as_multiset([[n, n] for n in range(len(case.values) + 1)])


@pytest.mark.usefixtures("our_tables")
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_spark_finds_our_rows_and_partition_values(case: PartitionCase, both: Both) -> None:
    table = f"both.{OURS}.{case.table}"
    computed = case.expression.format(catalog="both")
    wrong = both.spark.rows(
        f"select id, c, _partition, {computed} from {table} where not (_partition.{case.column} <=> {computed})"
    )
    assert wrong == []
    assert as_multiset(both.spark.rows(case.lookups("both", OURS))) == every_value_once(case)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_we_read_what_spark_reads(
    case: PartitionCase,
    both: Both,
    our_answers: dict[str, tuple[list[list[object]], list[list[object]]]],
    their_answers: dict[str, tuple[list[list[object]], list[list[object]]]],
) -> None:
    told = as_multiset(both.spark.rows(f"select * from both.{THEIRS}.{case.table}"))
    for rows, found in (our_answers[case.table], their_answers[case.table]):
        assert as_multiset(rows) == told
        assert as_multiset(found) == every_value_once(case)


@pytest.mark.usefixtures("our_tables", "their_answers")
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_our_table_is_laid_out_as_sparks(case: PartitionCase, both: Both) -> None:
    """The same partition folders: other tools read partition values off them."""

    def folders(namespace: str) -> list[str]:
        data = both.berg.warehouse / namespace / case.table / "data"
        return sorted({str(p.parent.relative_to(data)) for p in data.rglob("*.parquet")})

    assert folders(OURS) == folders(THEIRS)
