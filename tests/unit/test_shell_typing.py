"""What the prompt makes of typed text, as far as no terminal is needed: history, colours, commands, names, widths."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.commands import command_in
from bergsql.shell.highlight import painted_lines
from bergsql.shell.history import StatementHistory
from bergsql.shell.render.display import cut, escape, right, width
from bergsql.shell.render.layout import unique


def history(path: Path) -> StatementHistory:
    return StatementHistory(path, lambda: Flavour.FLINK)


def entries(path: Path) -> list[str]:
    """The entries of the file, oldest first, as a new session finds them."""
    return list(history(path).load_history_strings())[::-1]


def test_history_holds_whole_statements_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "history"
    typed = history(path)
    typed.append_string("SELECT 'a;b',\n  2; SHOW TABLES")
    typed.append_string("SHOW TABLES;")
    assert entries(path) == ["SELECT 'a;b',\n  2;", "SHOW TABLES;"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_history_keeps_secrets_for_the_session_only(tmp_path: Path) -> None:
    path = tmp_path / "history"
    typed = history(path)
    secret = "CREATE TABLE t (a INT) WITH ('password'='hunter2');"
    typed.append_string(f"{secret} SELECT 1;")
    typed.append_string("CREATE CATALOG c WITH ('uri'='jdbc:mysql://u:hunter2@h/db')")
    typed.append_string("CREATE CATALOG c WITH ('warehouse'='/tmp/x?sig=hunter2')")
    typed.append_string("SET 'fs.azure.sas.c' = 'hunter2'; SET spark.h = Bearer hunter2;")
    assert typed.get_strings()[:2] == [secret, "SELECT 1;"]
    assert entries(path) == ["SELECT 1;"]
    assert "hunter2" not in path.read_text()


def test_history_makes_an_open_file_private(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("")
    path.chmod(0o644)
    history(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_colours() -> None:
    text = "SELECT 'it''s', \"x\" -- c\nFROM `t` /*+ OPTIONS('a'='b') */ LIMIT 10; /* open"
    lines = painted_lines(text, Flavour.FLINK)
    assert "\n".join("".join(piece for _, piece, *_ in line) for line in lines) == text
    styles = {piece: style.removeprefix("class:sql.") for line in lines for style, piece, *_ in line}
    assert styles["SELECT"] == styles["FROM"] == styles["LIMIT"] == "keyword"
    assert styles["'it''s'"] == "string"
    assert styles['"x"'] == styles["`t`"] == "name"
    assert styles["-- c"] == styles["/* open"] == "comment"
    assert styles["/*+ OPTIONS('a'='b') */"] == "hint"
    assert styles["10"] == "number"
    (line,) = painted_lines('"x"', Flavour.SPARK)
    assert line == [("class:sql.string", '"x"')]


@given(st.text(alphabet="aS1 '\"`-/*+\\\n中;", max_size=30), st.sampled_from(Flavour))
def test_colours_lose_no_character(text: str, flavour: Flavour) -> None:
    lines = painted_lines(text, flavour)
    assert "\n".join("".join(piece for _, piece, *_ in line) for line in lines) == text


@pytest.mark.parametrize("text", ["quit;", "  EXIT ;", "help", "-- bye\nquit /* x */;", "Clear;"])
def test_commands(text: str) -> None:
    assert command_in(text) is not None


@pytest.mark.parametrize("text", ["", "quit now;", "SELECT 1", "'quit'", "/*+ quit */", "qu/**/it2"])
def test_what_is_no_command(text: str) -> None:
    assert command_in(text) is None


@given(st.characters(min_codepoint=32, exclude_categories=["Cc", "Cs"]))
def test_a_character_has_the_width_that_wcwidth_says(char: str) -> None:
    assert width(char) == max(wcwidth(char), 0)


@given(st.text(alphabet="ab中文é\u0301😀\u200dﾊ", max_size=60), st.integers(1, 40))
def test_cutting_keeps_to_the_limit(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert width(short) <= limit
    assert short == text if width(text) <= limit else short.endswith("...") or limit < 3
    assert width(right(short, limit)) == limit


@given(st.text())
def test_escaped_text_moves_no_cursor(text: str) -> None:
    escaped = escape(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in escaped)


@given(st.lists(st.sampled_from(["a", "a_1", "a_2", "b"]), max_size=8))
def test_unique_names(names: list[str]) -> None:
    found = unique(names)
    assert len(set(found)) == len(names)
    assert all(f == n or f.startswith(n + "_") for f, n in zip(found, names, strict=True))
