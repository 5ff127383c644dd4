"""Partition transforms: the specification's examples, ranges before 1970, and the text of Java's paths."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from urllib.parse import quote_plus
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.partition_text import escape, partition_path, value_text
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    Transform,
    TransformKind,
    bucket,
    bucket_hash,
    truncate,
)
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.metadata.values import to_internal


@pytest.mark.parametrize(
    ("type_", "value", "hashed"),
    [
        ("int", 34, 2017239379),
        ("long", 34, 2017239379),
        ("decimal(9, 2)", Decimal("14.20"), -500754589),
        ("date", date(2017, 11, 16), -653330422),
        ("time", time(22, 31, 8), -662762989),
        ("timestamp", datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("timestamp", datetime(2017, 11, 16, 22, 31, 8, 1), -1207196810),
        ("timestamptz", datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("timestamp_ns", datetime(2017, 11, 16, 22, 31, 8, 1), -1207196810),
        ("timestamptz_ns", 1_510_871_468_000_001_999, -1207196810),
        ("string", "iceberg", 1210000089),
        ("uuid", UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340),
        ("fixed[4]", b"\x00\x01\x02\x03", -188683207),
        ("binary", b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_the_specifications_hashes(type_: str, value: object, hashed: int) -> None:
    t = parse_type(type_)
    assert bucket_hash(to_internal(t, value), t) == hashed
    assert bucket(16).apply(to_internal(t, value), t) == (hashed & 0x7FFFFFFF) % 16


@pytest.mark.parametrize(
    ("transform", "type_", "value", "result", "text"),
    [
        (IDENTITY, "int", 5, 5, "5"),
        (IDENTITY, "boolean", True, True, "true"),
        (IDENTITY, "float", 1.5, 1.5, "1.5"),
        (IDENTITY, "float", 16777216.0, None, "1.6777216E7"),
        (IDENTITY, "float", 0.10000000149011612, None, "0.1"),
        (IDENTITY, "double", 1e10, None, "1.0E10"),
        (IDENTITY, "double", 0.0001, None, "1.0E-4"),
        (IDENTITY, "double", -0.0, None, "-0.0"),
        (IDENTITY, "double", float("-inf"), None, "-Infinity"),
        (IDENTITY, "date", date(999, 1, 2), -354649, "0999-01-02"),
        (IDENTITY, "timestamptz", datetime(2020, 12, 20, 13, 10, 0, 120_000), None, "2020-12-20T13:10:00.12+00:00"),
        (IDENTITY, "timestamp", datetime(1969, 12, 31, 23, 59, 59), -1_000_000, "1969-12-31T23:59:59"),
        (IDENTITY, "timestamp_ns", 1, 1, "1970-01-01T00:00:00.000000001"),
        (IDENTITY, "time", time(13, 5), None, "13:05"),
        (IDENTITY, "decimal(9, 2)", Decimal(100), Decimal("100.00"), "100.00"),
        (IDENTITY, "binary", b"\x00\xff\x10", b"\x00\xff\x10", "AP8Q"),
        (truncate(10), "int", 15, 10, "10"),
        (truncate(10), "int", -1, -10, "-10"),
        (truncate(10), "long", -10, -10, "-10"),
        (truncate(10), "int", -(2**31), 2**31 - 2, "2147483646"),
        (truncate(10), "long", -(2**63), 2**63 - 2, "9223372036854775806"),
        (truncate(2**31 - 1), "long", -(2**63), 9223372034707292163, "9223372034707292163"),
        (truncate(2**31 - 1), "int", -(2**31), 2, "2"),
        (truncate(2**31 - 1), "int", 2**31 - 2, -(2**31) + 1, "-2147483647"),
        (truncate(1_500_000_000), "int", 1_400_000_000, -1_500_000_000, "-1500000000"),
        (truncate(50), "decimal(20, 10)", Decimal("5.1E-9"), Decimal("5.0E-9"), "5.0E-9"),
        (truncate(50), "decimal(20, 10)", Decimal("4.9E-9"), Decimal("0E-10"), "0E-10"),
        (truncate(50), "decimal(9, 2)", Decimal("-12.05"), Decimal("-12.50"), "-12.50"),
        (truncate(50), "decimal(9, 2)", Decimal("10.65"), Decimal("10.50"), "10.50"),
        (truncate(3), "string", "é世界x", "é世界", "é世界"),
        (truncate(2), "binary", b"abc", b"ab", "YWI="),
        (YEAR, "date", date(1969, 12, 31), -1, "1969"),
        (YEAR, "timestamp", datetime(2017, 1, 1), 47, "2017"),
        (MONTH, "date", date(1969, 12, 31), -1, "1969-12"),
        (MONTH, "timestamptz", datetime(2017, 12, 31, 23), 575, "2017-12"),
        (DAY, "timestamp", datetime(1969, 12, 31, 23, 59, 59), -1, "1969-12-31"),
        (DAY, "timestamp_ns", datetime(1970, 1, 2), 1, "1970-01-02"),
        (DAY, "date", date(2017, 12, 1), 17501, "2017-12-01"),
        (HOUR, "timestamptz", datetime(1969, 12, 31, 23, 59, 59), -1, "1969-12-31-23"),
        (HOUR, "timestamp", datetime(2020, 12, 20, 13, 10), 446797, "2020-12-20-13"),
        (VOID, "string", "x", None, "null"),
        (bucket(4), "int", 34, 3, "3"),
    ],
)
def test_results_and_their_text(transform: Transform, type_: str, value: object, result: object, text: str) -> None:
    t = parse_type(type_)
    internal = to_internal(t, value)
    got = transform.apply(internal, t)
    assert got == (internal if result is None and transform is not VOID else result)
    assert value_text(transform, t, got) == text
    assert transform.apply(None, t) is None


@pytest.mark.parametrize("text", ["identity", "bucket[4]", "truncate[10]", "year", "month", "day", "hour", "void"])
def test_names(text: str) -> None:
    transform = Transform.parse(text)
    assert str(transform) == text
    assert transform.kind is not TransformKind.UNKNOWN
    assert Transform.parse(text.upper()) == transform


@pytest.mark.parametrize("text", ["zorder", "bucket[0]", "bucket", "truncate[-1]", "YEARS"])
def test_names_of_the_future_are_kept(text: str) -> None:
    transform = Transform.parse(text)
    assert transform.kind is TransformKind.UNKNOWN
    assert str(transform) == text
    with pytest.raises(BergError, match="is not known here"):
        transform.apply(1, parse_type("int"))


@pytest.mark.parametrize(
    ("transform", "type_"),
    [
        (DAY, "int"),
        (HOUR, "date"),
        (YEAR, "time"),
        (bucket(2), "boolean"),
        (bucket(2), "double"),
        (truncate(2), "date"),
        (truncate(2), "uuid"),
        (IDENTITY, "variant"),
        (IDENTITY, "geometry"),
    ],
)
def test_source_types_that_do_not_fit(transform: Transform, type_: str) -> None:
    with pytest.raises(BergError) as caught:
        transform.check(parse_type(type_))
    assert caught.value.message == f"Invalid source type {type_} for transform: {transform}."


@pytest.mark.parametrize("make", [bucket, truncate])
@pytest.mark.parametrize("width", [0, -1, 2**31])
def test_widths_must_be_positive(make: Any, width: int) -> None:
    with pytest.raises(BergError, match=str(width)):
        make(width)


@given(st.integers(-(2**63) + 2**31, 2**63 - 1), st.integers(1, 2**31 - 1))
def test_truncation_is_the_multiple_below(value: int, width: int) -> None:
    got = truncate(width).apply(value, parse_type("long"))
    assert isinstance(got, int)
    assert got % width == 0
    assert got <= value < got + width


@given(st.datetimes())
def test_time_parts_count_from_1970(moment: datetime) -> None:
    t = parse_type("timestamp")
    micros = to_internal(t, moment)
    assert YEAR.apply(micros, t) == moment.year - 1970
    assert MONTH.apply(micros, t) == (moment.year - 1970) * 12 + moment.month - 1
    day = DAY.apply(micros, t)
    assert value_text(DAY, t, day) == f"{moment:%Y-%m-%d}".rjust(10, "0")
    assert value_text(HOUR, t, HOUR.apply(micros, t)) == f"{value_text(DAY, t, day)}-{moment.hour:02d}"


@given(st.text())
def test_paths_are_escaped_as_java_does(text: str) -> None:
    # Java's URLEncoder and Python's quote_plus differ in two characters.
    assert escape(text) == quote_plus(text, safe="*").replace("~", "%7E")


def test_the_path_of_a_file() -> None:
    schema = Schema(
        0,
        (
            NestedField(1, "birthday", parse_type("date"), required=False),
            NestedField(2, "a b", parse_type("string"), required=False),
        ),
    )
    spec = PartitionSpec(
        0,
        (
            PartitionField(1, 1000, "birthday", IDENTITY),
            PartitionField(2, 1001, "a b", IDENTITY),
            PartitionField(2, 1002, "gone", VOID),
        ),
    )
    assert (
        partition_path(spec, schema, (19024, "北/京", None))
        == "birthday=2022-02-01/a+b=%E5%8C%97%2F%E4%BA%AC/gone=null"
    )
    assert partition_path(spec, schema, (None, "", None)) == "birthday=null/a+b=/gone=null"
    assert partition_path(PartitionSpec(0, ()), schema, ()) == ""
