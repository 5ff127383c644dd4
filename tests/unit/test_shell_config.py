"""The configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.store import Definition
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.config import Config, home_directory, load_config
from tests.support.berg import Berg

LAKE = {"type": "iceberg", "catalog-type": "hadoop", "warehouse": "/w", "cache-enabled": "false"}
HEAD = "[catalogs.a]\ntype='iceberg'\ncatalog-type='hadoop'\nwarehouse='/w'\n[catalogs.lake]\ntype='iceberg'\n"
"""A catalog that is right, and the beginning of one in lines 5 and 6."""


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
    catalog-type = "hadoop"
    warehouse = "/w"
    comment = "the lake"
    cache-enabled = false
    """
    place = str(tmp_path / "config.toml")
    assert config(tmp_path, text) == Config(
        settings={"shell.null-mark": "-", "shell.timing": "true"},
        history="h",
        prompt="{catalog}> ",
        catalogs={"lake": Definition(LAKE, "the lake", place)},
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
        (
            f"{HEAD}",
            ":5: the catalog 'lake': An Iceberg catalog needs the option 'catalog-type'.",
            "Write 'catalog-type'='hadoop' for tables in directories.",
        ),
        (f"{HEAD}catalog-type='hadoop'\nwarehouse=5", ":8: the option 'warehouse' must be text in quotes.", None),
        (
            f"{HEAD}catalog-type='hadoop'\nwarehous='/w'",
            ":8: the catalog 'lake': A Hadoop catalog has no option 'warehous'.",
            "Did you mean 'warehouse'?",
        ),
        (
            f"{HEAD}catalog-type='hadop'",
            ":5: the catalog 'lake': There is no catalog type 'hadop'.",
            "Did you mean 'hadoop'?",
        ),
        (
            f"{HEAD}catalog-type='hadoop'\nwarehouse='/w'\nclients='many'",
            ":9: the catalog 'lake': 'many' is not a value of 'clients': it takes a whole number.",
            None,
        ),
        (f"{HEAD}catalog-type='hadoop'\nwarehouse=['/w']", ":8: the option 'warehouse' must be a string,", None),
        (
            f"{HEAD}catalog-type='hadoop'\nwarehouse='/w'\ncomment=1",
            ":9: the option 'comment' must be text in quotes.",
            None,
        ),
        (
            "[catalogs]\nb = {type='generic_in_memory', nope='x'}",
            ":2: the catalog 'b': A catalog in memory has no option 'nope'.",
            None,
        ),
        (
            "[catalogs.default_catalog]\nwarehouse = '/w'",
            ":1: default_catalog is there always and has no options.",
            "--warehouse says where its tables are.",
        ),
        ("format = 'csv'\n[settings]\n'shell.timing' = 'maybe'", ":3: 'maybe' is not a value of 'shell.timing'", None),
        ("[settings]\nshell.timing = 3", ":2: '3' is not a value of 'shell.timing'", None),
        (
            "[settings]\n'table.local-time-zon' = 'UTC'",
            ":2: There is no setting",
            "Did you mean 'table.local-time-zone'?",
        ),
        ("[settings]\n'table.local-time-zone' = 'Mars'", ":2: ", None),
        ("catalogs = 1", ":1: catalogs must be tables.", "Begin each with [catalogs.NAME]."),
    ],
)
def test_a_wrong_file_is_named(text: str, message: str, hint: str | None, tmp_path: Path) -> None:
    with pytest.raises(BergError) as error:
        config(tmp_path, text)
    assert error.value.code is ErrorCode.CONFIG
    assert str(tmp_path / "config.toml") in error.value.message
    assert message in error.value.message
    assert hint is None or error.value.hint == hint


def test_a_wrong_catalog_or_setting_ends_the_start(berg: Berg) -> None:
    path = berg.home / "config.toml"
    for text, told in (
        ("[catalogs.lake]\ntype = 'iceberg'\n", "config.toml:1: the catalog 'lake': An Iceberg catalog needs"),
        ("[settings]\n'engine.memory-limit' = 'much'\n", "config.toml:2: 'much' is not a value of"),
    ):
        path.write_text(text)
        done = berg.run("-e", "SELECT 1")
        assert (done.code, done.out) == (3, "")
        assert f"[ERROR] {berg.home}/{told}" in done.err
        assert berg.run("--no-config", "-e", "SELECT 1").code == 0


def test_a_catalog_whose_options_are_in_the_environment_is_not_looked_at_before_it_is_used(berg: Berg) -> None:
    text = "[catalogs.lake]\ntype = 'iceberg'\ncatalog-type = 'hadoop'\nwarehouse = '${env:NOT_THERE}'\n"
    (berg.home / "config.toml").write_text(text)
    assert berg.run("-e", "SELECT 1").code == 0
    assert "'NOT_THERE' is not set" in berg.run("-e", "USE CATALOG lake").err


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BERGSQL_HOME", str(tmp_path))
    assert home_directory() == tmp_path
    monkeypatch.delenv("BERGSQL_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert home_directory() == tmp_path / "data" / "bergsql"
