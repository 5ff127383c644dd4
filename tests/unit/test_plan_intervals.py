"""Intervals: units are known or refused, and lengths that are computed."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import FLINK, SPARK, ask, plan

FROM = " FROM (VALUES (2, CAST(1.5 AS DECIMAL(2, 1)), 'a')) AS t(x, d, s)"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("INTERVAL x DAY", "2 days, 0:00:00"),
        ("INTERVAL - x DAYS", "-2 days, 0:00:00"),
        ("INTERVAL x WEEK", "14 days, 0:00:00"),
        ("INTERVAL d DAY", "1 day, 12:00:00"),
        ("INTERVAL d HOURS", "1:30:00"),
        ("INTERVAL x QUARTER", 6),
        ("INTERVAL d YEAR", 12),
        ("INTERVAL '1.5' DAY", "1 day, 12:00:00"),
        ("INTERVAL '1' MINUTES", "0:01:00"),
    ],
)
def test_an_interval(written: str, value: Any) -> None:
    assert ask(f"SELECT {written}{FROM}", FLINK).rows == [[value]]


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("INTERVAL x CENTURY", "CENTURY"),
        ("INTERVAL '2' CENTURY", "CENTURY"),
        ("INTERVAL x DECADES", "DECADES"),
    ],
)
def test_an_unknown_unit_is_refused(written: str, word: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(f"SELECT {written}{FROM}", FLINK)
    assert raised.value.code is ErrorCode.INVALID
    assert raised.value.message == f"There is no time unit {word}."
    assert raised.value.span is not None


def test_an_unknown_unit_in_text_is_refused() -> None:
    with pytest.raises(BergError, match="There is no time unit DECADE"):
        plan("SELECT interval '1 day 2 decade'", SPARK)


def test_a_length_is_a_number() -> None:
    with pytest.raises(BergError, match="The length of an interval is a number, not STRING"):
        plan("SELECT INTERVAL s DAY FROM (SELECT CAST('a' AS STRING) AS s) AS t", FLINK)


def test_a_fraction_of_a_month_is_refused() -> None:
    with pytest.raises(BergError, match=r"An interval cannot be 1\.5 MONTHS"):
        plan("SELECT INTERVAL '1.5' MONTH", FLINK)
