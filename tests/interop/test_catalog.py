"""Spark and the catalog's own API on one warehouse: each goes on where the other stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.base import TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    SetCurrentSchema,
    SetDefaultSpec,
    SetProperties,
)
from bergsql.catalog.metadata.evolve import add_column, drop_column, rename_column
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import PartitionBy, build_spec
from bergsql.catalog.metadata.partition_evolve import AddField, DropField, SpecChange, evolve_spec
from bergsql.catalog.metadata.partition_text import escape, value_text
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import DESC, NULLS_LAST, UNSORTED, SortField, SortOrder
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import DAY, HOUR, IDENTITY, MONTH, YEAR, Transform, bucket, truncate
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import (
    DecimalType,
    DoubleType,
    FloatType,
    NestedField,
)
from bergsql.catalog.metadata.values import from_bytes, to_bytes
from tests.interop.conftest import Both
from tests.support.spark import Spark

pytestmark = pytest.mark.interop

NAMESPACE = ("api",)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def spark(both: Both, warehouse: Path) -> Spark:
    both.spark.add_catalog("api", warehouse)
    return both.spark


def column(field_id: int, name: str, type_: Any) -> NestedField:
    return NestedField(field_id, name, parse_type(type_), required=False)


SCHEMA = Schema(
    0,
    (
        NestedField(1, "id", parse_type("int"), required=True, doc="用户ID"),
        column(2, "name", "string"),
        column(3, "ts", "timestamptz"),
        column(4, "price", "decimal(9, 2)"),
        column(5, "tags", {"type": "list", "element-id": 6, "element": "string", "element-required": False}),
    ),
    (1,),
)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_spark_opens_and_writes_what_the_api_made(spark: Spark, warehouse: Path, version: int) -> None:
    catalog = HadoopCatalog("h", f"file://{warehouse}")
    ident = TableIdent(NAMESPACE, f"made_v{version}")
    spec = build_spec(
        SCHEMA,
        [PartitionBy("id", bucket(4)), PartitionBy("name", truncate(2)), PartitionBy("ts", DAY)],
    )
    order = SortOrder(1, (SortField(IDENTITY, 1, DESC, NULLS_LAST),))
    location = catalog.default_table_location(ident)
    made = new_table_metadata(SCHEMA, spec, order, location, {"owner": "me"}, version)
    table = catalog.create_table(ident, made)
    wider = add_column(table.metadata.schema, column(0, "extra", "date"), table.metadata.last_column_id, after="id")
    table = catalog.commit(table, [AddSchema(wider), SetCurrentSchema(), SetProperties({"k": "v"})])
    described = {row[0]: row[1] for row in spark.rows(f"DESCRIBE api.api.made_v{version}")}
    assert described["extra"] == "date"
    assert described["Part 0"] == "bucket(4, id)"
    assert described["Part 2"] == "days(ts)"
    spark.sql(
        f"INSERT INTO api.api.made_v{version} "
        "VALUES (1, DATE'2024-01-01', 'zs', TIMESTAMP'2024-05-06 07:08:09', 1.50, array('a'))"
    )
    after = catalog.load_table(ident)
    assert after.metadata_location.endswith("/v3.metadata.json")
    assert after.metadata.schema == table.metadata.schema
    assert after.metadata.properties == table.metadata.properties
    raw = json.loads((warehouse / "api" / ident.name / "metadata" / "v3.metadata.json").read_bytes())
    assert after.metadata.to_json() == raw
    data = warehouse / "api" / ident.name / "data"
    (file,) = data.rglob("*.parquet")
    assert str(file.parent.relative_to(data)) == "id_bucket=0/name_trunc=zs/ts_day=2024-05-06"
    again = catalog.commit(after, [SetProperties({"k": "w"})])
    assert spark.rows(f"SELECT id, name, extra FROM api.api.made_v{version}") == [[1, "zs", "2024-01-01"]]
    assert ["k", "w"] in spark.rows(f"SHOW TBLPROPERTIES api.api.made_v{version}")
    assert again.metadata.current_snapshot() == after.metadata.current_snapshot()


STEPS: list[tuple[str, Sequence[SpecChange]]] = [
    ("ADD PARTITION FIELD name", [AddField("name", IDENTITY)]),
    ("ADD PARTITION FIELD bucket(4, id)", [AddField("id", bucket(4))]),
    ("ADD PARTITION FIELD bucket(8, id)", [AddField("id", bucket(8))]),
    ("ADD PARTITION FIELD truncate(2, name)", [AddField("name", truncate(2))]),
    ("DROP PARTITION FIELD name", [DropField("name")]),
    ("ADD PARTITION FIELD years(ts)", [AddField("ts", YEAR)]),
    ("ADD PARTITION FIELD hours(ts) AS h", [AddField("ts", HOUR, "h")]),
    ("DROP PARTITION FIELD years(ts)", [DropField("ts", YEAR)]),
    ("ADD PARTITION FIELD name", [AddField("name", IDENTITY)]),
    ("REPLACE PARTITION FIELD h WITH months(ts)", [DropField("h"), AddField("ts", MONTH)]),
    ("DROP PARTITION FIELD id_bucket_4", [DropField("id_bucket_4")]),
    ("ADD PARTITION FIELD bucket(4, id) AS again", [AddField("id", bucket(4), "again")]),
    ("ADD PARTITION FIELD years(ts)", [AddField("ts", YEAR)]),
]


def specs(metadata: TableMetadata) -> list[list[tuple[int, str, str, int]]]:
    return [[(f.field_id, f.name, str(f.transform), f.source_id) for f in s.fields] for s in metadata.specs]


@pytest.mark.parametrize("version", [1, 2])
def test_partitions_evolve_to_the_same_ids_and_names(spark: Spark, warehouse: Path, version: int) -> None:
    catalog = HadoopCatalog("h", f"file://{warehouse}")
    theirs, ours = (TableIdent(NAMESPACE, f"{who}_v{version}") for who in ("theirs", "ours"))
    spark.sql(
        f"CREATE TABLE api.{theirs} (id INT, name STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts)) "
        f"TBLPROPERTIES ('format-version'='{version}')"
    )
    schema = Schema(0, (column(1, "id", "int"), column(2, "name", "string"), column(3, "ts", "timestamptz")))
    spec = build_spec(schema, [PartitionBy("ts", DAY)])
    location = catalog.default_table_location(ours)
    catalog.create_table(ours, new_table_metadata(schema, spec, UNSORTED, location, {}, version))
    for sql, changes in STEPS:
        spark.sql(f"ALTER TABLE api.{theirs} {sql}")
        base = catalog.load_table(ours)
        catalog.commit(base, [AddPartitionSpec(evolve_spec(base.metadata, changes)), SetDefaultSpec()])
        left, right = catalog.load_table(ours).metadata, catalog.load_table(theirs).metadata
        assert specs(left) == specs(right), sql
        assert left.default_spec_id == right.default_spec_id, sql
        assert left.last_partition_id == right.last_partition_id, sql


def test_schemas_evolve_to_the_same_ids(spark: Spark, warehouse: Path) -> None:
    catalog = HadoopCatalog("h", f"file://{warehouse}")
    theirs = TableIdent(NAMESPACE, "schema_theirs")
    spark.sql(f"CREATE TABLE api.{theirs} (id INT, s STRUCT<a: INT, b: STRING>) USING iceberg")
    first = catalog.load_table(theirs).metadata
    for sql in (
        "ADD COLUMN m MAP<STRING, STRUCT<x: INT>> AFTER id",
        "ADD COLUMN s.c ARRAY<INT> FIRST",
        "RENAME COLUMN s.a TO aa",
        "DROP COLUMN s.b",
    ):
        spark.sql(f"ALTER TABLE api.{theirs} {sql}")
    new = column(
        0,
        "m",
        {
            "type": "map",
            "key-id": 0,
            "key": "string",
            "value-id": 0,
            "value": {"type": "struct", "fields": [{"id": 0, "name": "x", "required": False, "type": "int"}]},
            "value-required": False,
        },
    )
    items = column(0, "c", {"type": "list", "element-id": 0, "element": "int", "element-required": False})
    schema = add_column(first.schema, new, first.last_column_id, after="id")
    schema = add_column(schema, items, schema.highest_field_id, parent=("s",), after="")
    schema = rename_column(schema, ("s", "a"), "aa")
    schema = drop_column(schema, ("s", "b"))
    assert catalog.load_table(theirs).metadata.schema.same_columns(schema)


@pytest.mark.parametrize(
    ("type_", "transform", "values"),
    [
        ("double", IDENTITY, ["1e10", "0.0001", "-0.0", "-Infinity", "NaN", "0.1"]),
        ("float", IDENTITY, ["16777216", "0.1", "1e-10"]),
        ("decimal(38, 10)", IDENTITY, ["0", "0.0000000001", "-12.5"]),
        ("decimal(20, 10)", truncate(50), ["0.0000000049", "0.0000000051", "-0.0000000001", "123456789"]),
        ("int", truncate(10), ["-2147483648", "2147483647", "-1"]),
        ("int", truncate(2**31 - 1), ["-2147483648", "2147483647", "2147483646", "-3"]),
        ("int", truncate(1_500_000_000), ["2000000000", "1400000000", "-3"]),
        ("bigint", truncate(7), ["-9223372036854775808", "9223372036854775807"]),
        ("bigint", truncate(2**31 - 1), ["-9223372036854775808"]),
    ],
    ids=str,
)
def test_partition_values_read_as_sparks(
    spark: Spark, warehouse: Path, type_: str, transform: Transform, values: Sequence[str]
) -> None:
    t = parse_type("long" if type_ == "bigint" else type_)
    spec = "c" if transform is IDENTITY else f"truncate({transform.width}, c)"
    name = "".join(filter(str.isalnum, f"text {type_} {transform}"))
    spark.sql(f"CREATE TABLE api.api.{name} (c {type_}) USING iceberg PARTITIONED BY ({spec})")
    spark.sql(f"INSERT INTO api.api.{name} VALUES " + ", ".join(f"(CAST('{v}' AS {type_}))" for v in values))
    data = warehouse / "api" / name / "data"
    theirs = {p.parent.name.partition("=")[2] for p in data.rglob("*.parquet")}

    def ours(text: str) -> str:
        if isinstance(t, DecimalType):
            value: object = Decimal(text)
        else:
            value = float(text) if isinstance(t, FloatType | DoubleType) else int(text)
        # A float is what its four bytes hold.
        internal = from_bytes(t, to_bytes(t, value))
        return escape(value_text(transform, t, transform.apply(internal, t)))

    assert theirs == {ours(v) for v in values}
