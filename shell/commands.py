"""The commands that only the client knows: HELP, QUIT, CLEAR, SOURCE and ``!``. They stand among statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.shell.exits import ExitCode

if TYPE_CHECKING:
    from bergsql.engine.sql.splitter import SourceStatement
    from bergsql.shell.runner import Runner
    from bergsql.shell.sources import Source


class Quit(Exception):
    """QUIT was given, or a signal asked for the end. ``code`` is how the run has gone so far."""

    def __init__(self, code: ExitCode = ExitCode.OK) -> None:
        self.code = code


class Call(NamedTuple):
    """A command that was given: who runs it, what stands behind its word and where, and where it all comes from."""

    runner: Runner
    argument: str
    span: Span
    statement: SourceStatement
    source: Source
    announce: bool


class Command(NamedTuple):
    """A command. ``usage`` None: it is its word alone."""

    names: tuple[str, ...]
    doc: str
    run: Callable[[Call], ExitCode]
    usage: str | None = None
    optional: bool = False
    """Its argument may be left out."""

    @property
    def form(self) -> str:
        """How it is written."""
        if self.names == ("!",):
            return f"!{self.usage}"
        return " ".join(f"{name} {self.usage};" if self.usage else f"{name};" for name in self.names)


def _quit(call: Call) -> ExitCode:  # noqa: ARG001 - a command's signature
    raise Quit


def _clear(call: Call) -> ExitCode:
    out = call.runner.screen.out
    if out.isatty():
        out.write("\x1b[H\x1b[2J\x1b[3J")
        out.flush()
    return ExitCode.OK


def _help(call: Call) -> ExitCode:
    from bergsql.shell.help import command_help, topic_help

    out = call.runner.screen.out
    out.write(topic_help(call.argument, call.span) if call.argument else command_help(COMMANDS))
    out.flush()
    return ExitCode.OK


def _source(call: Call) -> ExitCode:
    from bergsql.shell.nesting import run_source

    return run_source(call)


def _shell(call: Call) -> ExitCode:
    from bergsql.shell.nesting import run_shell

    return run_shell(call)


COMMANDS = (
    Command(("HELP",), "this text, or of a statement: HELP CREATE TABLE;", _help, "[statement]", optional=True),
    Command(("SOURCE",), "run the statements in a file, whose name is relative to that of this one", _source, "file"),
    Command(("!",), "run a command of the system's shell; it goes to the end of the line", _shell, "command"),
    Command(("CLEAR",), "clear the terminal", _clear),
    Command(("QUIT", "EXIT"), "leave", _quit),
)
_BY_NAME = {name: command for command in COMMANDS for name in command.names}

_NOISE = r"--[^\n]*|/\*(?!\+).*?\*/|\s+"
_FIRST = frozenset({"-", "/", *(name[0] for name in _BY_NAME)})
"""What a command or a comment before it begins with."""
_LONGEST = 5_000
"""A command with its comments is not longer; statements are, and need not be looked at."""


def bare(text: str) -> str:
    """``text`` without blanks and comments, for telling whether anything else is in it."""
    return re.sub(_NOISE, "", text, flags=re.DOTALL)


def command_in(text: str) -> Command | None:
    """The command that ``text`` is, with or without its semicolon, among comments."""
    found = _found(text)
    return found[0] if found else None


def run_command(runner: Runner, statement: SourceStatement, source: Source, announce: bool) -> ExitCode | None:
    """Run ``statement`` if it is a command; None for a statement of SQL.

    :raises BergError: with its place, when it cannot be run.
    :raises Quit: for QUIT.
    """
    found = _found(statement.text)
    if found is None:
        return None
    command, span = found
    argument = statement.text[span.start : span.end]
    if not argument and command.usage and not command.optional:
        word = command.names[0]
        message = f"{word} needs a {command.usage}."
        raise BergError(ErrorCode.SYNTAX, message, span=Span(0, len(statement.text)), hint=f"Write {command.form}")
    return command.run(Call(runner, argument, span, statement, source, announce))


def _found(text: str) -> tuple[Command, Span] | None:
    if len(text) > _LONGEST or text.lstrip()[:1].upper() not in _FIRST:
        return None
    parts = re.match(rf"(?s)(?:{_NOISE})*(!|\w+)(.*)", text)
    command = _BY_NAME.get(parts[1].upper()) if parts else None
    if parts is None or command is None:
        return None
    behind = parts[2]
    if parts[1] != "!" and not bare(behind).strip(";"):
        return command, Span(len(text), len(text))
    if command.usage is None or (parts[1] != "!" and not behind[:1].isspace()):
        return None  # CLEAR CACHE is a statement, and that nothing follows EXIT is for the parser to say
    blank = re.match(r"\s*" if parts[1] == "!" else rf"(?s)(?:{_NOISE})*", behind)
    first = parts.start(2) + (blank.end() if blank else 0)
    argument = text[first:].rstrip().rstrip(";").rstrip()
    return command, Span(first, first + len(argument))
