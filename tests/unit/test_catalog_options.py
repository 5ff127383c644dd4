"""Options as data, and keeping secrets out of sight."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.options import (
    OptionSpec,
    check_options,
    check_value,
    parse_bool,
    parse_duration,
    parse_int,
    parse_memory,
    resolve_env,
)

SPECS = (
    OptionSpec("warehouse", required=True, doc="A directory."),
    OptionSpec("clients", "int"),
    OptionSpec("mode", "enum", values=("static", "dynamic")),
    OptionSpec("hadoop.*"),
)


def test_known_options_pass() -> None:
    check_options({"warehouse": "/w", "clients": "5", "mode": "STATIC", "hadoop.fs.x": "y"}, SPECS, "A catalog")
    check_options({"warehouse": "/w", "clients": "${env:CLIENTS}"}, SPECS, "A catalog")


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ({"warehous": "/w"}, "A catalog has no option 'warehous'.", "Did you mean 'warehouse'?"),
        ({"zzz": ""}, "A catalog has no option 'zzz'.", "Its options are warehouse, clients, mode, hadoop.*."),
        ({}, "A catalog needs the option 'warehouse'.", "A directory."),
        ({"warehouse": ""}, "A catalog needs the option 'warehouse'.", "A directory."),
        ({"warehouse": "/w", "clients": "many"}, "'many' is not a value of 'clients': it takes a whole number.", None),
        (
            {"warehouse": "/w", "mode": "dynamik"},
            "'dynamik' is not a value of 'mode': it takes 'static' or 'dynamic'.",
            "Did you mean 'dynamic'?",
        ),
    ],
)
def test_others_do_not(given: dict[str, str], says: str, hint: str | None) -> None:
    with pytest.raises(BergError) as caught:
        check_options(given, SPECS, "A catalog")
    assert caught.value.code is ErrorCode.OPTION
    assert caught.value.message == says
    assert caught.value.hint == hint


def test_values_get_their_canonical_spelling() -> None:
    assert check_value(OptionSpec("m", "enum", values=("ANSI",)), "ansi") == "ANSI"
    assert check_value(OptionSpec("b", "bool"), "TRUE") == "true"
    assert check_value(OptionSpec("i", "int"), "+7") == "7"
    assert check_value(OptionSpec("d", "duration"), "10 s") == "10 s"
    with pytest.raises(BergError) as caught:
        check_value(OptionSpec("b", "bool"), "yes", Span(3, 6))
    assert caught.value.span == Span(3, 6)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500", 500),
        ("500 ms", 500),
        ("10s", 10_000),
        ("1.5 s", 1500),
        ("1 min", 60_000),
        ("2 h", 7_200_000),
        ("1d", 86_400_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1024", 1024),
        ("1 kb", 1024),
        ("512mb", 512 << 20),
        ("1 GB", 1 << 30),
        ("1GiB", 1 << 30),
        ("1.5g", 3 << 29),
        ("2t", 2 << 40),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "x", "1 parsec", "-1 s", "1 2", "1e3"])
def test_amounts_that_are_none(text: str) -> None:
    for parse in (parse_duration, parse_memory):
        with pytest.raises(BergError, match="such as"):
            parse(text)


def test_numbers_and_truth() -> None:
    assert parse_int("-12") == -12
    assert parse_bool("False") is False
    for parse, text in ((parse_int, "1.0"), (parse_int, "9" * 30), (parse_bool, "1")):
        with pytest.raises(BergError, match="it takes"):
            parse(text)


def test_the_environment_is_asked_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERG_TEST_PASSWORD", "geheim")
    monkeypatch.delenv("BERG_TEST_PASWORD", raising=False)
    assert resolve_env("jdbc://u:${env:BERG_TEST_PASSWORD}@h") == "jdbc://u:geheim@h"
    assert resolve_env("plain ${OTHER}") == "plain ${OTHER}"
    with pytest.raises(BergError) as caught:
        resolve_env("${env:BERG_TEST_PASWORD}")
    assert caught.value.code is ErrorCode.OPTION
    assert caught.value.hint == "Did you mean 'BERG_TEST_PASSWORD'?"
    assert "geheim" not in str(caught.value)
