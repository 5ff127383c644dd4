"""Each reference table, read and written again by bergsql, is the same to the real Spark."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.metadata.table_metadata import TableMetadata
from tests.interop.conftest import CATALOG as BOTH
from tests.interop.conftest import Both
from tests.support.answers import Answer
from tests.support.oracle import as_multiset
from tests.support.reference_tables import CATALOG, PLACE, description, descriptions, laid_out

pytestmark = pytest.mark.interop

TABLES = descriptions()
NOT_FOR_SPARK = {
    "append_types": "a column of type time",
    "time_and_ns_types": "columns of types time and timestamp_ns",
    "v3_many_types": "a column of type unknown",
}
"""Tables that Spark 3.5 cannot load, by their types: what bergsql wrote is read back by bergsql."""
OTHER_FORMATS = {"all_types_parquet": "avro", "all_types_avro": "parquet", "schema_evolved": "orc"}
"""Tables that are written in another format than the default."""


def source(name: str) -> str:
    return str(description(TABLES[name])["table"])


def version(name: str) -> int:
    """The table's format version, which the copy has too."""
    folder = PLACE / source(name).partition(".")[2].replace(".", "/") / "metadata"
    (newest, *_) = sorted(folder.glob("v*.metadata.json"), key=lambda p: -int(p.name[1:].partition(".")[0]))
    return TableMetadata.parse(newest.read_bytes(), newest.name).format_version


def copying(name: str) -> str:
    file_format = OTHER_FORMATS.get(name, "parquet")
    properties = f"'format-version'='{version(name)}', 'write.format.default'='{file_format}'"
    return f"create table both.copies.{name} using iceberg tblproperties ({properties}) as select * from {source(name)}"


@pytest.fixture(scope="module")
def copies(both: Both) -> dict[str, tuple[Answer, ...]]:
    """What bergsql said to the copying of each table, to reading it, and to reading the copy."""
    laid_out(*TABLES)
    steps = {n: (copying(n), f"select * from {source(n)}", f"select * from both.copies.{n}") for n in TABLES}
    statements = [BOTH, "create database both.copies", *(step for three in steps.values() for step in three)]
    told = both.berg.answers(statements, "--dialect", "spark", *CATALOG)[2:]
    return {name: tuple(told[3 * i : 3 * i + 3]) for i, name in enumerate(steps)}


def rows(answer: Answer) -> list[list[Any]]:
    return [list(row.values()) for row in answer.json_rows()]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_copy_is_the_table(name: str, both: Both, copies: dict[str, tuple[Answer, ...]]) -> None:
    copied, original, again = copies[name]
    assert not copied.errors, copied.errors
    assert as_multiset(rows(again)) == as_multiset(rows(original))
    if name in NOT_FOR_SPARK:
        return
    columns = "*"
    if "rows_cast" in description(TABLES[name])["queries"][0]:
        # Spark's Python cannot hold these years: text, as the oracle has it.
        columns = ", ".join(
            f"cast({c} as string) as {c}" if t.startswith("timestamp") else c
            for c, t in [r[:2] for r in both.spark.rows(f"describe both.copies.{name}")]
        )
    told = both.spark.sql(f"select {columns} from both.copies.{name}")
    known = next(q for q in description(TABLES[name])["queries"] if q["sql"] == f"select * from {source(name)}")
    expected = known["rows"] if "rows" in known else rows(original)
    assert as_multiset(told.rows) == as_multiset(expected)
    assert told.columns == known["columns"]
