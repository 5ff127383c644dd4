"""FLOAT and DOUBLE text: values whose text in Java is known, and that the text always gives the number back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bergsql.catalog.metadata.java_floats import double_text, float_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (3.0, "3.0"),
        (0.1, "0.1"),
        (1e-3, "0.001"),
        (9.999e-4, "9.999E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.123, "1.23456789123E8"),
        (-1e-7, "-1.0E-7"),
        (1e21, "1.0E21"),
        (12345678901234567.0, "1.2345678901234568E16"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_as_java_writes_them(value: float, text: str) -> None:
    assert double_text(value) == text


def widened(value: float) -> float:
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    return float(single)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1.1, "1.1"),
        (16777216.0, "1.6777216E7"),
        (123456.79, "123456.79"),
        (3.4028234663852886e38, "3.4028235E38"),
        (1.4e-45, "1.4E-45"),
        (1.17549435e-38, "1.1754944E-38"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
    ],
)
def test_floats_as_java_writes_them(value: float, text: str) -> None:
    assert float_text(widened(value)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_text_gives_the_number_back(value: float) -> None:
    assert float(double_text(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_text_gives_the_number_back(value: float) -> None:
    assert widened(float(float_text(value))) == value
