"""Values: internal, Python's, binary (manifest bounds) and JSON (defaults)."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.exact import civil_from_days, days_from_civil, decimal_of, unscaled_decimal
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import (
    IntegerType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
)
from bergsql.catalog.metadata.value_json import value_from_json, value_to_json
from bergsql.catalog.metadata.values import from_bytes, to_bytes, to_internal, to_python

ID = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")

BINARY = [
    ("boolean", False, "00"),
    ("boolean", True, "01"),
    ("int", -2, "feffffff"),
    ("long", 1, "0100000000000000"),
    ("date", date(1969, 12, 31), "ffffffff"),
    ("time", time(0, 0, 1), "40420f0000000000"),
    ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 1), "0100000000000000"),
    ("timestamptz", datetime(1970, 1, 1, 8, tzinfo=timezone(timedelta(hours=8))), "0000000000000000"),
    ("timestamp_ns", datetime(1970, 1, 1, 0, 0, 0, 1), "e803000000000000"),
    ("timestamptz_ns", 5, "0500000000000000"),
    ("float", -1.5, "0000c0bf"),
    ("double", 1.0, "000000000000f03f"),
    ("string", "é世", "c3a9e4b896"),
    ("uuid", ID, "f79c3e09677c4bbda4793f349cb785e7"),
    ("fixed[2]", b"\x00\xff", "00ff"),
    ("binary", b"", ""),
    ("decimal(9, 2)", Decimal("14.20"), "058c"),
    ("decimal(9, 2)", Decimal("-0.01"), "ff"),
    ("decimal(9, 2)", Decimal("1.28"), "0080"),
    ("decimal(38, 0)", Decimal(-(10**38) + 1), "b4c4b357a5793b85f675ddc000000001"),
]


@pytest.mark.parametrize(("type_", "value", "hexed"), BINARY)
def test_the_binary_form(type_: str, value: object, hexed: str) -> None:
    t = parse_type(type_)
    assert to_bytes(t, value).hex() == hexed
    assert from_bytes(t, bytes.fromhex(hexed)) == to_internal(t, value)


def test_bounds_from_before_a_promotion_are_promoted() -> None:
    assert from_bytes(parse_type("long"), to_bytes(parse_type("int"), -7)) == -7
    assert from_bytes(parse_type("double"), to_bytes(parse_type("float"), 1.5)) == 1.5
    days = to_bytes(parse_type("date"), date(2020, 1, 2))
    moment = datetime(2020, 1, 2)
    assert from_bytes(parse_type("timestamp"), days) == to_internal(parse_type("timestamp"), moment)
    assert from_bytes(parse_type("timestamp_ns"), days) == to_internal(parse_type("timestamp_ns"), moment)


@pytest.mark.parametrize(("type_", "hexed"), [("int", "00"), ("long", "0000"), ("string", "ff"), ("uuid", "00")])
def test_bytes_that_are_no_value(type_: str, hexed: str) -> None:
    with pytest.raises(BergError) as caught:
        from_bytes(parse_type(type_), bytes.fromhex(hexed))
    assert caught.value.code is ErrorCode.CORRUPT


@pytest.mark.parametrize(
    ("type_", "value"),
    [("int", "1"), ("int", True), ("boolean", 1), ("string", 1), ("date", datetime(2020, 1, 1)), ("timestamp", 1.5)],
)
def test_values_of_another_type_are_refused(type_: str, value: object) -> None:
    with pytest.raises(BergError, match="is not a value of type"):
        to_internal(parse_type(type_), value)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("date", date(1, 1, 1)),
        ("date", date(9999, 12, 31)),
        ("time", time(23, 59, 59, 999_999)),
        ("timestamp", datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        ("timestamptz", datetime(2038, 1, 19, 3, 14, 8)),
        ("decimal(38, 10)", Decimal("1234567890123456789012345678.0123456789")),
    ],
)
def test_python_and_back(type_: str, value: object) -> None:
    t = parse_type(type_)
    assert to_python(t, to_internal(t, value)) == value


def test_nested_python_values() -> None:
    day = parse_type("date")
    t = StructType(
        (
            NestedField(1, "l", ListType(2, day, False), required=False),
            NestedField(3, "m", MapType(4, StringType(), 5, day, False), required=False),
        )
    )
    assert to_python(t, ([0, None], [("a", 1)])) == (
        [date(1970, 1, 1), None],
        [("a", date(1970, 1, 2))],
    )
    assert to_python(t, (None, None)) == (None, None)


def test_years_beyond_pythons_calendar() -> None:
    with pytest.raises(BergError, match="outside the years 1 to 9999"):
        to_python(parse_type("date"), 10**7)


@given(st.dates())
def test_days_are_the_gregorian_calendar(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert civil_from_days(days) == (day.year, day.month, day.day)
    assert days_from_civil(day.year, day.month, day.day) == days


@given(st.integers(-(10**9), 10**9))
def test_days_of_any_year(days: int) -> None:
    assert days_from_civil(*civil_from_days(days)) == days


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_decimals_are_exact(unscaled: int, scale: int) -> None:
    assert unscaled_decimal(decimal_of(unscaled, scale), scale) == unscaled
    t = parse_type(f"decimal(38, {scale})")
    assert from_bytes(t, to_bytes(t, decimal_of(unscaled, scale))) == decimal_of(unscaled, scale)


def test_decimals_lose_no_digit() -> None:
    assert unscaled_decimal(Decimal("1.5"), 3) == 1500
    assert unscaled_decimal(Decimal("1E+3"), 1) == 10_000
    with pytest.raises(ValueError, match="more than 1 digits"):
        unscaled_decimal(Decimal("1.55"), 1)
    with pytest.raises(ValueError, match="not a number"):
        unscaled_decimal(Decimal("NaN"), 1)


JSON: list[tuple[str, Any, Any]] = [
    ("boolean", True, True),
    ("int", 5, 5),
    ("double", 1.5, 1.5),
    ("decimal(9, 2)", Decimal("14.20"), "14.20"),
    ("decimal(9, 0)", Decimal("100"), "100"),
    ("date", date(2017, 11, 16), "2017-11-16"),
    ("time", time(22, 31, 8, 123_456), "22:31:08.123456"),
    ("timestamp", datetime(2017, 11, 16, 22, 31, 8, 123_456), "2017-11-16T22:31:08.123456"),
    ("timestamptz", datetime(2017, 11, 16, 22, 31, 8), "2017-11-16T22:31:08.000000+00:00"),
    ("timestamp_ns", 1_510_871_468_123_456_789, "2017-11-16T22:31:08.123456789"),
    ("string", "x", "x"),
    ("uuid", ID, str(ID)),
    ("fixed[4]", b"\x00\x01\x02\x0f", "0001020F"),
    ("binary", b"", ""),
]


@pytest.mark.parametrize(("type_", "value", "json"), JSON)
def test_json_values(type_: str, value: object, json: object) -> None:
    t = parse_type(type_)
    internal = to_internal(t, value)
    assert value_to_json(t, internal) == json
    assert value_from_json(t, json) == internal


def test_nested_json_values() -> None:
    t = StructType(
        (
            NestedField(7, "l", ListType(8, IntegerType(), False), required=False),
            NestedField(9, "m", MapType(10, StringType(), 11, IntegerType(), False), required=False),
            NestedField(12, "d", IntegerType(), required=False, initial_default=4),
        )
    )
    value = ([1, None], [("a", 1), ("b", None)], 3)
    json = {"7": [1, None], "9": {"keys": ["a", "b"], "values": [1, None]}, "12": 3}
    assert value_to_json(t, value) == json
    assert value_from_json(t, json) == value
    assert value_from_json(t, {"7": None}) == (None, None, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2017-11-16T14:31:08-08:00", datetime(2017, 11, 16, 22, 31, 8)),
        ("2017-11-17T06:31:08+08:00", datetime(2017, 11, 16, 22, 31, 8)),
        ("2017-11-16T22:31:08Z", datetime(2017, 11, 16, 22, 31, 8)),
        ("2017-11-16T22:31", datetime(2017, 11, 16, 22, 31)),
    ],
)
def test_other_forms_of_an_instant(text: str, expected: datetime) -> None:
    t = parse_type("timestamptz")
    assert to_python(t, value_from_json(t, text)) == expected


@pytest.mark.parametrize(
    ("type_", "json"),
    [
        ("int", "5"),
        ("int", True),
        ("date", "2017-02-30"),
        ("date", "2017-13-01"),
        ("time", "24:00:00"),
        ("timestamp", "yesterday"),
        ("decimal(9, 2)", "x"),
        ("decimal(9, 2)", "1.234"),
        ("uuid", "x"),
        ("binary", "0g"),
    ],
)
def test_json_that_is_no_value(type_: str, json: object) -> None:
    with pytest.raises(BergError, match="is not a value of type") as caught:
        value_from_json(parse_type(type_), json)
    assert caught.value.code is ErrorCode.CORRUPT
