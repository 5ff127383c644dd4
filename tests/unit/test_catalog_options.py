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
from bergsql.catalog.secrets import MASK, is_secret_key, mask_text, mask_url, mask_value

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
        ({"zzz": ""}, "A catalog has no option 'zzz'.", None),
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


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "jdbc.password",
        "connection.PASSWORD",
        "credential",
        "token",
        "s3.secret-access-key",
        "fs.azure.account.key.account-key",
        "client-secret",
        "apiKey",
        "properties.sasl.jaas.config",
        "ssl.keystore.password",
        "header.Authorization",
    ],
)
def test_secret_keys(key: str) -> None:
    assert is_secret_key(key)
    assert mask_value(key, "geheim") == MASK
    assert mask_value(key, "${env:X}") == "${env:X}"


@pytest.mark.parametrize(
    "key",
    ["url", "user", "warehouse", "key.format", "token-refresh-enabled", "key.fields", "s3.access-key-id", "primary"],
)
def test_keys_that_are_none(key: str) -> None:
    assert not is_secret_key(key)
    assert mask_value(key, "x") == "x"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:mysql://u:p@h:3306/db?useSSL=false", f"jdbc:mysql://u:{MASK}@h:3306/db?useSSL=false"),
        ("jdbc:mysql://h/db?user=u&password=p&x=1", f"jdbc:mysql://h/db?user=u&password={MASK}&x=1"),
        ("mongodb://u:a:b@c@h/db", f"mongodb://u:{MASK}@h/db"),
        ("jdbc:sqlserver://h;user=u;password=p;x=y", f"jdbc:sqlserver://h;user=u;password={MASK};x=y"),
        ("https://h/cb?access_token=abc#top", f"https://h/cb?access_token={MASK}#top"),
        ("postgres://u:${env:PW}@h/db", "postgres://u:${env:PW}@h/db"),
        ("http://h:8080/a@b", "http://h:8080/a@b"),
        ("s3://bucket/key=1/x", "s3://bucket/key=1/x"),
        ("a = 1", "a = 1"),
    ],
)
def test_urls(url: str, shown: str) -> None:
    assert mask_url(url) == shown
    assert mask_value("url", url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WITH ('user'='u', 'password'='p''q')", f"WITH ('user'='u', 'password'='{MASK}')"),
        ("SET 'a.token' = 'x y';", f"SET 'a.token' = '{MASK}';"),
        ('"password" = "p\\"q", x = 1', f'"password" = "{MASK}", x = 1'),
        ("SET spark.x.secret=abc", f"SET spark.x.secret={MASK}"),
        ("'password' = 'never closed", f"'password' = '{MASK}"),
        ("'password'='${env:PW}'", "'password'='${env:PW}'"),
        ("'url'='jdbc:mysql://u:p@h/db?password=x'", f"'url'='jdbc:mysql://u:{MASK}@h/db?password={MASK}'"),
        ("SELECT * FROM t WHERE name = 'token'", "SELECT * FROM t WHERE name = 'token'"),
    ],
)
def test_statements(text: str, shown: str) -> None:
    assert mask_text(text) == shown
    assert mask_text(shown) == shown
