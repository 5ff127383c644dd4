"""The command line's options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from bergsql.catalog.errors import BergError, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.render.formats import FORMATS, check_format

_DESCRIPTION = "SQL for Apache Iceberg tables, in the grammars of Flink SQL and Spark SQL."
_EPILOG = """\
With neither -f nor -e: the prompt on a terminal, else the statements on standard input.
-f, -e and -i may be given more than once and run in their order. A run stops at the first
statement that fails. Results go to standard output, everything else to standard error.

exit codes: 0 all went well, 1 a statement failed, 2 the command line is wrong,
3 a configuration, an init file or a connection is wrong, 130 interrupted by Ctrl-C
"""
_SHORT_WITH_VALUE = ("-f", "-e", "-i", "-D")


class UsageError(Exception):
    """The command line is wrong: one sentence, and perhaps a hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(slots=True)
class Options:
    """What the command line says. None: it does not say."""

    scripts: list[tuple[str, str]] = field(default_factory=list)
    """``("-f", path)`` and ``("-e", sql)``, in their order."""
    inits: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    dialect: Flavour | None = None
    format: str | None = None
    output: str | None = None
    warehouse: Path | None = None
    no_config: bool = False
    continue_on_error: bool = False
    quiet: bool = False
    debug: bool = False
    version: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options in ``arguments``. ``--help`` prints the help and leaves.

    :raises UsageError: for anything that is not an option, with the nearest one.
    """
    options = Options()
    parser = _parser()
    _, unknown = parser.parse_known_args(_glued(arguments), namespace=options)
    if unknown:
        raise _unknown(unknown[0], parser)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bergsql",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("-f", action=_Script, metavar="FILE", help="run the statements in FILE (- is standard input)")
    add("-e", action=_Script, metavar="SQL", help="run these statements")
    add("-i", action="append", dest="inits", metavar="INIT", help="run the statements in INIT first")
    add("-D", action=_Pair, dest="variables", metavar="NAME=VALUE", help="a variable for ${NAME}; sets a setting too")
    add("--conf", action=_Pair, dest="conf", metavar="KEY=VALUE", help="a setting, as SET 'KEY' = 'VALUE' does")
    add("--dialect", type=_dialect, metavar="flink|spark", help="the flavour of SQL (default: flink)")
    add("--format", type=_format, metavar="FMT", help="; ".join(f"{f.name}: {f.doc}" for f in FORMATS.values()))
    add("--output", metavar="FILE", help="write results to FILE")
    add("--warehouse", type=_directory, metavar="DIR", help="where default_catalog keeps its tables")
    add("--no-config", action="store_true", help="do not read config.toml in $BERGSQL_HOME")
    add("--continue-on-error", action="store_true", help="go on after a failure; the exit code still tells of it")
    add("--quiet", action="store_true", help="no [INFO] lines")
    add("--debug", action="store_true", help="show where in the program an error arose")
    add("--version", action="store_true", help="show the version and leave")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(_sentence(message))


class _Script(argparse.Action):
    """-f and -e share one list, so that their order is kept."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ARG002
        namespace.scripts.append((option_string, values))


class _Pair(argparse.Action):
    """KEY=VALUE into a dictionary."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ARG002
        key, equals, value = values.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option_string} takes {self.metavar}, not '{values}'.")
        getattr(namespace, self.dest)[key.strip()] = value


def _dialect(text: str) -> Flavour:
    try:
        return Flavour(text.lower())
    except ValueError:
        hint = did_you_mean(text, Flavour) or f"Dialects: {', '.join(Flavour)}."
        raise UsageError(f"There is no dialect '{text}'.", hint) from None


def _format(text: str) -> str:
    try:
        return check_format(text)
    except BergError as error:
        raise UsageError(error.message, error.hint) from None


def _directory(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _glued(arguments: Sequence[str]) -> list[str]:
    """``arguments`` with the values of short options glued to them: SQL may begin with ``--``, a comment."""
    glued: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return [*glued, argument, *rest]
        value = next(rest, None) if argument in _SHORT_WITH_VALUE else None
        glued.append(argument if value is None else argument + value)
    return glued


def _unknown(argument: str, parser: argparse.ArgumentParser) -> UsageError:
    if not argument.startswith("-") or argument == "-":
        return UsageError(f"There is no argument '{argument}'.", f"A script is run by -f {argument}")
    name = argument.partition("=")[0]
    known = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    return UsageError(f"There is no option {name}.", did_you_mean(name, known) or "--help lists the options.")


def _sentence(message: str) -> str:
    """argparse's message as a sentence: ``argument -f: expected one argument``."""
    found = re.fullmatch(r"argument ([^:]+): expected one argument", message)
    return f"{found[1]} needs a value." if found else message[:1].upper() + message[1:] + "."
