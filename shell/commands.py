"""The commands that only the client knows. They end with a semicolon like statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from bergsql.shell.exits import ExitCode
from bergsql.shell.screen import Screen


class Quit(Exception):
    """QUIT was given, or a signal asked for the end. ``code`` is how the run has gone so far."""

    def __init__(self, code: ExitCode = ExitCode.OK) -> None:
        self.code = code


class Command(NamedTuple):
    """A command of one word."""

    names: tuple[str, ...]
    doc: str
    run: Callable[[Screen], None]


def _quit(screen: Screen) -> None:  # noqa: ARG001 - a command's signature
    raise Quit


def _clear(screen: Screen) -> None:
    if screen.out.isatty():
        screen.out.write("\x1b[H\x1b[2J\x1b[3J")
        screen.out.flush()


def _help(screen: Screen) -> None:
    width = max(len(names) for names, _ in _rows())
    lines = ["Commands of this shell:", *(f"  {names:<{width}}  {doc}" for names, doc in _rows()), "", *_ABOUT]
    screen.out.write("\n".join(lines) + "\n")


def _rows() -> list[tuple[str, str]]:
    return [(" ".join(f"{name};" for name in command.names), command.doc) for command in COMMANDS]


_ABOUT = (
    "Everything else is SQL, in Flink's or Spark's grammar, and ends with a semicolon:",
    "  catalogs    CREATE CATALOG c WITH ('type'='iceberg', …); USE CATALOG c; SHOW CATALOGS; DROP CATALOG c;",
    "  databases   CREATE DATABASE d; USE d; SHOW DATABASES; DROP DATABASE d;",
    "  tables      CREATE TABLE t (…); ALTER TABLE t …; SHOW TABLES; DESCRIBE t; SHOW CREATE TABLE t; DROP TABLE t;",
    "  rows        INSERT INTO t …; INSERT OVERWRITE t …; SELECT …; EXPLAIN SELECT …;",
    "  settings    SET; SET 'key' = 'value'; RESET 'key';   SET 'sql.dialect' = 'spark'; changes the flavour",
    "At the prompt: Ctrl-C clears the input or cancels the statement, Ctrl-D leaves, Ctrl-R searches the history.",
)

COMMANDS = (
    Command(("HELP",), "this text", _help),
    Command(("CLEAR",), "clear the terminal", _clear),
    Command(("QUIT", "EXIT"), "leave", _quit),
)
_BY_NAME = {name: command for command in COMMANDS for name in command.names}

_NOISE = r"--[^\n]*|/\*(?!\+).*?\*/|\s+"
_FIRST = frozenset({"-", "/", *(name[0] for name in _BY_NAME)})
"""What a command or a comment before it begins with."""
_LONGEST = 500
"""A command with its comments is not longer; statements are, and need not be looked at."""


def bare(text: str) -> str:
    """``text`` without blanks and comments, for telling whether anything else is in it."""
    return re.sub(_NOISE, "", text, flags=re.DOTALL)


def command_in(text: str) -> Command | None:
    """The command that ``text`` is, with or without its semicolon, among comments."""
    if len(text) > _LONGEST or text.lstrip()[:1].upper() not in _FIRST:
        return None
    return _BY_NAME.get(bare(text).rstrip(";").upper())
