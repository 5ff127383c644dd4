"""The command line's options."""

from __future__ import annotations

import pytest

from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.options import OPTIONS, UsageError, help_text, parse_options
from bergsql.shell.render.formats import FORMATS


def test_all_options() -> None:
    options = parse_options(
        [
            *("-f", "a.sql", "-e", "SELECT 1", "-f", "b.sql", "-i", "x.sql", "-i", "y.sql"),
            *("-D", "A=1", "-DB=2=3", "--conf", "k=v", "--conf=l=", "--dialect", "SPARK", "--format", "csv"),
            *("--output", "out", "--warehouse", "/w", "--no-config", "--continue-on-error", "--quiet", "--debug"),
        ]
    )
    assert options.scripts == [("-f", "a.sql"), ("-e", "SELECT 1"), ("-f", "b.sql")]
    assert options.inits == ["x.sql", "y.sql"]
    assert options.variables == {"A": "1", "B": "2=3"}
    assert options.conf == {"k": "v", "l": ""}
    assert (options.dialect, options.format, options.output) == (Flavour.SPARK, "csv", "out")
    assert options.warehouse == "/w"
    assert (options.no_config, options.continue_on_error, options.quiet, options.debug) == (True,) * 4


def test_options_of_flinks_and_sparks_clients() -> None:
    options = parse_options(
        [
            *("embedded", "--file", "a.sql", "-u", "INSERT", "--update=UPDATE", "--init", "i.sql", "-hist", "h"),
            *("-d", "A=1", "--define", "B=2", "--hivevar", "C=3", "--hiveconf", "hive.x=y", "--database", "d"),
            *("-S", "-v", "--timing", "--safe", "--catalog-store", "store"),
        ]
    )
    assert options.scripts == [("-f", "a.sql"), ("-e", "INSERT"), ("-e", "UPDATE")]
    assert (options.inits, options.history) == (["i.sql"], "h")
    assert (options.variables, options.conf) == ({"A": "1", "B": "2", "C": "3"}, {"hive.x": "y"})
    assert (options.database, options.catalog_store) == ("d", "store")
    assert (options.quiet, options.verbose, options.timing, options.safe) == (True,) * 4
    assert options.notes == []


@pytest.mark.parametrize(
    "arguments", [["-j", "a.jar"], ["-la"], ["--jars=a"], ["-s", "x"], ["--master", "local"], ["--executor-cores", "2"]]
)
def test_what_means_nothing_here_is_told(arguments: list[str]) -> None:
    (note,) = parse_options(arguments).notes
    assert "is ignored" in note


@pytest.mark.parametrize("sql", ["-- a comment\nSELECT 1", "--c", "-1", "-f", ""])
def test_sql_may_begin_with_a_dash(sql: str) -> None:
    assert parse_options(["-e", sql, "--quiet"]).scripts == [("-e", sql)]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--formt", "csv"], "There is no option --formt.", "Did you mean '--format'?"),
        (["--form", "csv"], "There is no option --form.", "Did you mean '--format'?"),
        (["--zzz=1"], "There is no option --zzz.", "--help lists the options."),
        (["-x"], "There is no option -x.", "--help lists the options."),
        (["a.sql"], "There is no argument 'a.sql'.", "A script is run by -f a.sql"),
        (["--format", "cvs"], "There is no format 'cvs'.", "Did you mean 'csv'?"),
        (["--dialect", "oracle"], "There is no dialect 'oracle'.", "Dialects: flink, spark."),
        (["-D", "novalue"], "NAME=VALUE is what this option takes, not 'novalue'.", None),
        (["--conf", "=v"], "KEY=VALUE is what this option takes, not '=v'.", None),
        (["-f"], "-f needs a value: -f, --file FILE", None),
        (["--output"], "--output needs a value: --output FILE", None),
        (["--output", ""], "--output needs a value: --output FILE", None),
        (["--output="], "--output needs a value: --output FILE", None),
        (["-f", ""], "-f needs a value: -f, --file FILE", None),
        (["-i", ""], "-i needs a value: -i, --init INIT", None),
        (["--warehouse", ""], "--warehouse needs a value: --warehouse DIR", None),
        (["--quiet=yes"], "--quiet takes no value.", None),
        (
            ["gateway"],
            "There is no SQL gateway to connect to yet.",
            "Without 'gateway', statements run in this process.",
        ),
        (
            ["--endpoint", "h:1"],
            "There is no SQL gateway to connect to yet.",
            "Without --endpoint, statements run in this process.",
        ),
        (["--properties-file", "x"], "A file of properties is not read.", "Use --conf KEY=VALUE, or config.toml."),
        (["--pakages", "x"], "There is no option --pakages.", "Did you mean '--packages'?"),
        (["--jar"], "--jar needs a value: -j, --jar VALUE", None),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(arguments: list[str], message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as error:
        parse_options(arguments)
    assert (error.value.message, error.value.hint) == (message, hint)


def test_help_names_every_option_and_format() -> None:
    text = help_text()
    assert all(option.usage in text and option.doc in text for option in OPTIONS)
    assert all(each.doc in text for each in FORMATS.values())
    assert max(map(len, text.split("\n"))) <= 120
