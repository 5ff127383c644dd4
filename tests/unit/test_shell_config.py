"""The configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.store import Definition
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.config import Config, home_directory, load_config


def config(home: Path, text: str) -> Config:
    (home / "config.toml").write_text(text, encoding="utf-8")
    return load_config(home)


def test_no_file_is_no_configuration(tmp_path: Path) -> None:
    assert load_config(tmp_path / "missing") == Config()


def test_what_a_file_can_say(tmp_path: Path) -> None:
    text = """
    dialect = "spark"
    format = "csv"
    [settings]
    "table.local-time-zone" = "UTC"
    sql-client.display.print-time-cost = false
    table.display.max-column-width = 40
    """
    assert config(tmp_path, text) == Config(
        Flavour.SPARK,
        "csv",
        settings={
            "table.local-time-zone": "UTC",
            "sql-client.display.print-time-cost": "false",
            "table.display.max-column-width": "40",
        },
    )


def test_what_a_file_can_say_of_the_shell(tmp_path: Path) -> None:
    text = """
    null = "-"
    timing = true
    history = "h"
    prompt = "{catalog}> "
    [catalogs.lake]
    type = "iceberg"
    comment = "the lake"
    cache-enabled = false
    """
    place = str(tmp_path / "config.toml")
    assert config(tmp_path, text) == Config(
        settings={"shell.null-mark": "-", "shell.timing": "true"},
        history="h",
        prompt="{catalog}> ",
        catalogs={"lake": Definition({"type": "iceberg", "cache-enabled": "false"}, "the lake", place)},
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("formt = 'csv'", "there is no option 'formt'", "Did you mean 'format'?"),
        ("format = 'cvs'", "format cannot be 'cvs'", "Did you mean 'csv'?"),
        ("dialect = 3", "dialect cannot be 3", "Known: flink, spark."),
        ("settings = 'x'", "settings must be a table", "Begin it with [settings]."),
        ("[settings]\na = [1]", "the setting 'a' must be", None),
        ("format csv", ":1:8 is not TOML: ", None),
        ("format = 'csv'\n\nformt = 1", ":3: there is no option 'formt'", "Did you mean 'format'?"),
        ("prompt = '{db}'", ":1: the prompt knows no {db}.", "It knows {catalog}, {database}, {dialect}."),
        ("\ntiming = 'yes'", ":2: timing must be true or false.", None),
        ("null = 1", ":1: null must be text in quotes.", None),
        ("[catalogs]\nlake = 'x'", ":2: the catalog 'lake' must be a table.", "Begin it with [catalogs.lake]."),
        ("catalogs = 1", ":1: catalogs must be tables.", "Begin each with [catalogs.NAME]."),
    ],
)
def test_a_wrong_file_is_named(text: str, message: str, hint: str | None, tmp_path: Path) -> None:
    with pytest.raises(BergError) as error:
        config(tmp_path, text)
    assert error.value.code is ErrorCode.CONFIG
    assert str(tmp_path / "config.toml") in error.value.message
    assert message in error.value.message
    assert error.value.hint == hint


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BERGSQL_HOME", str(tmp_path))
    assert home_directory() == tmp_path
    monkeypatch.delenv("BERGSQL_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert home_directory() == tmp_path / "data" / "bergsql"
