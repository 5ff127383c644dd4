"""One Spark for all interop tests of a worker, and one warehouse that both engines use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.support.answers import Answer
from tests.support.berg import Berg, fresh_berg
from tests.support.spark import Spark

CATALOG = "CREATE CATALOG both WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"


@dataclass(frozen=True, slots=True)
class Both:
    """bergsql and Spark on one warehouse; the catalog is called ``both`` in each."""

    berg: Berg
    spark: Spark

    def answers(self, statements: Sequence[str], dialect: str = "spark") -> list[Answer]:
        """Run statements in one bergsql."""
        told = self.berg.answers([CATALOG, *statements], "--dialect", dialect, "--format", "jsonl")
        return told[1:]

    def run(self, statements: Sequence[str], dialect: str = "spark") -> None:
        """Run statements that must succeed."""
        for statement, answer in zip(statements, self.answers(statements, dialect), strict=True):
            assert not answer.errors, f"{statement}\n{answer.errors[0]}"

    def rows(self, query: str, dialect: str = "spark") -> list[list[object]]:
        """A query's rows as bergsql gives them."""
        (answer,) = self.answers([query], dialect)
        return [list(row.values()) for row in answer.json_rows()]


@pytest.fixture(scope="session")
def both() -> Iterator[Both]:
    with fresh_berg() as berg, Spark() as spark:
        spark.add_catalog("both", berg.warehouse)
        yield Both(berg, spark)
