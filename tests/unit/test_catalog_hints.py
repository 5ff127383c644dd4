"""Which known word a mistyped one may have meant."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import did_you_mean


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("nam", "name"),
        ("tpye", "type"),
        ("ADN", "AND"),
        ("typ", "type"),
        ("FORM", "FROM"),
        ("WHER", "WHERE"),
        ("warehous", "warehouse"),
        ("passwrod", "password"),
        ("icberg", "iceberg"),
        ("suum", "sum"),
        ("table.local-time-zon", "table.local-time-zone"),
    ],
)
def test_a_slip_is_understood(word: str, known: str) -> None:
    assert did_you_mean(word, ["q", known, "zzzzzz"]) == f"Did you mean '{known}'?"


@pytest.mark.parametrize(
    ("word", "known"),
    [("version", "sin"), ("foo", "for"), ("c", "cc"), ("version", "vers"), ("abc", "abs"), ("upper_case", "uuid")],
)
def test_few_letters_in_common_are_no_slip(word: str, known: str) -> None:
    assert did_you_mean(word, [known]) is None


def test_the_nearest_word_is_named() -> None:
    assert did_you_mean("table_nam", ["tab", "table_names", "table_name"]) == "Did you mean 'table_name'?"
