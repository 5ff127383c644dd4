"""Numbers in read options, and in names of states."""

from __future__ import annotations

import pytest

from bergsql.engine.plan.read_options import long_of


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-1", -1),
        ("+7", 7),
        ("0000000000000000000000000000000000000012", 12),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**63), None),
        (str(-(2**63) - 1), None),
        ("9" * 5000, None),
        ("0" * 5000, None),
        ("²", None),
        ("٣", None),
        ("1_000", None),
        (" 1", None),
        ("1\n", None),
        ("1.5", None),
        ("", None),
        ("-", None),
    ],
)
def test_a_number_is_of_ascii_digits_and_64_bits(text: str, number: int | None) -> None:
    assert long_of(text) == number
