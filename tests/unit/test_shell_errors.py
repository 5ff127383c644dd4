"""Errors as a person reads them."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.splitter import SourceStatement
from bergsql.shell.render.errors import error_text
from bergsql.shell.sources import Source, statements


def nth(text: str, number: int = 0) -> SourceStatement:
    """A statement of ``text``."""
    return list(statements(iter((text,)), lambda: Flavour.FLINK))[number]


def told(statement: SourceStatement, word: str, name: str | None = None, hint: str | None = None) -> list[str]:
    """The lines of an error at ``word``."""
    start = statement.text.index(word)
    error = BergError(ErrorCode.NOT_FOUND, "It is not there.", span=Span(start, start + len(word)), hint=hint)
    return error_text(error, statement, Source(name)).split("\n")


def test_place_line_caret_and_hint() -> None:
    assert told(nth("SELECT 1;\n  SELECT *\nFROM nope;", 1), "nope", "a.sql", "Did you mean 'note'?") == [
        "[ERROR] It is not there.",
        "  a.sql:3:6",
        "  FROM nope",
        "       ^^^^",
        "Hint: Did you mean 'note'?",
    ]


def test_a_place_without_a_file() -> None:
    assert told(nth("SELECT x"), "x")[1:] == ["  line 1, column 8", "  SELECT x", "         ^"]


def test_a_later_statement_of_a_line_counts_its_column_from_the_line() -> None:
    assert told(nth("SELECT 1; SELECT x;", 1), "x")[1] == "  line 1, column 18"


def test_the_caret_stands_below_wide_characters() -> None:
    lines = told(nth("SELECT '中文' AS a, 列 FROM t"), "列")
    assert lines[1:] == ["  line 1, column 19", "  SELECT '中文' AS a, 列 FROM t", "  " + " " * 20 + "^^"]


def test_control_characters_and_tabs_keep_the_caret_in_place() -> None:
    lines = told(nth("\tSELECT '\x1b[2J',\tx"), "x")
    assert lines[2:] == ["  SELECT '\\x1b[2J', x", " " * 20 + "^"]


def test_a_long_line_is_shown_around_the_caret() -> None:
    lines = told(nth(f"SELECT {'a, ' * 200}x, {'b, ' * 200}c"), "x")
    assert lines[1] == "  line 1, column 608"
    assert lines[2].startswith("  ...")
    assert lines[2].endswith("...")
    assert len(lines[2]) < 220
    assert lines[2][lines[3].index("^")] == "x"


def test_an_error_without_a_place_names_the_statement_of_a_script() -> None:
    error = BergError(ErrorCode.INVALID, "No.")
    assert error_text(error, nth("SELECT 1;\n SELECT 2", 1), Source("a.sql")) == "[ERROR] No.\n  a.sql:2:2"
    assert error_text(error, nth("SELECT 1"), Source()) == "[ERROR] No."


@pytest.mark.parametrize("word", ["tpye", "password", "url"])
def test_secrets_are_masked_and_the_caret_stays(word: str) -> None:
    ddl = "CREATE TABLE t (a INT) WITH ('password' = 'hunter2', 'tpye' = 'x', 'token'='abcdefghijk', 'url'='a')"
    lines = told(nth(ddl), word)
    assert "hunter2" not in lines[2]
    assert "abcdefghijk" not in lines[2]
    first, last = lines[3].index("^"), lines[3].rindex("^")
    assert lines[2][first : last + 1] == word


@pytest.mark.parametrize(
    ("line", "marked", "shown"),
    [
        ("WITH ('warehouse'='/tmp/x','password'='x')", "'password'='x'", "'password'='******'"),
        ("WITH ('password'='x', 'a'='b')", "'password'='x'", "'password'='******'"),
        ("WITH ('password'='a long one indeed', 'token'='y', 'nope'='b')", "'nope'='b'", "'nope'='b'"),
        ("WITH ('password'='a long one indeed', 'token'='y', 'nope'='b')", "'token'='y'", "'token'='******'"),
        ("WITH ('password'='a', 'token'='x', 'password'='a long one')", "'a long one'", "'******'"),
        ("WITH ('password'='it''s', 'nope'='b')", "'nope'='b'", "'nope'='b'"),
        ("WITH ('password'='hunter2')", "hunter2", "******"),
    ],
)
def test_the_caret_stands_below_the_line_as_it_is_shown(line: str, marked: str, shown: str) -> None:
    lines = told(nth(f"CREATE TABLE t (a INT) {line}"), marked)
    first, last = lines[3].index("^"), lines[3].rindex("^")
    assert lines[2][first : last + 1] == shown


def test_secrets_are_masked_in_the_message() -> None:
    error = BergError(ErrorCode.CONNECTION, "No answer from jdbc:mysql://u:hunter2@h/db?password=hunter2.")
    assert "hunter2" not in error_text(error)


def test_the_lines_of_a_secret_are_not_shown_either() -> None:
    assert told(nth("SET 'a.password' = 'one\ntwo hunter2 nope'"), "nope")[2:] == ["  ******", "  ^^^^^^"]


def test_in_a_long_statement_secrets_near_the_place_are_masked() -> None:
    lines = told(nth("x, " * 30_000 + "'password' = 'hunter2', nope" + ", x" * 30_000), "nope")
    assert "hunter2" not in lines[2]
    assert "'password' = '******', nope, x, x" in lines[2]
    assert lines[2][lines[3].index("^") :].startswith("nope")
