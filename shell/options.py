"""The command line's options, as data: parsing and ``--help`` go by one table.

Not argparse: values here are SQL, which may begin with dashes, and -f and -e share one order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bergsql.catalog.errors import BergError, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.exits import MEANINGS
from bergsql.shell.render.formats import FORMATS, check_format


class UsageError(Exception):
    """The command line is wrong: one sentence, and perhaps a hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Options:
    """What the command line says. None: it does not say."""

    def __init__(self) -> None:
        self.scripts: list[tuple[str, str]] = []
        """``("-f", path)`` and ``("-e", sql)``, in their order."""
        self.inits: list[str] = []
        self.variables: dict[str, str] = {}
        self.conf: dict[str, str] = {}
        self.dialect: Flavour | None = None
        self.format: str | None = None
        self.output: str | None = None
        self.warehouse: str | None = None
        self.database: str | None = None
        self.history: str | None = None
        self.catalog_store: str | None = None
        self.notes: list[str] = []
        """What to tell of options that mean nothing here."""
        self.no_config = False
        self.no_color = False
        self.safe = False
        self.timing = False
        self.verbose = False
        self.continue_on_error = False
        self.detach = False
        self.quiet = False
        self.debug = False
        self.version = False
        self.help = False


class Option(NamedTuple):
    """One option: what it is called, what its value is called (None: it has none), what it does."""

    name: str
    value: str | None
    doc: str
    apply: Callable[[Options, str], None]
    short: str | None = None
    text: bool = False
    """Its value is text, and UTF-8 whatever the locale is; others are names of files, whose bytes may be any."""
    blank: bool = False
    """Its value may be empty."""
    also: tuple[str, ...] = ()
    """Other names that Flink's or Spark's client has for it."""

    @property
    def usage(self) -> str:
        names = ", ".join(name for name in (self.short, self.name, *self.also) if name)
        return f"{names} {self.value}" if self.value else names


def _flag(attribute: str) -> Callable[[Options, str], None]:
    return lambda options, _: setattr(options, attribute, True)


def _text(attribute: str) -> Callable[[Options, str], None]:
    return lambda options, value: setattr(options, attribute, value)


def _pair(attribute: str, usage: str) -> Callable[[Options, str], None]:
    def apply(options: Options, value: str) -> None:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{usage} is what this option takes, not '{value}'.")
        getattr(options, attribute)[key.strip()] = text

    return apply


def _dialect(options: Options, value: str) -> None:
    try:
        options.dialect = Flavour(value.lower())
    except ValueError:
        hint = did_you_mean(value, Flavour) or f"Dialects: {', '.join(Flavour)}."
        raise UsageError(f"There is no dialect '{value}'.", hint) from None


def _format(options: Options, value: str) -> None:
    try:
        options.format = check_format(value)
    except BergError as error:
        raise UsageError(error.message, error.hint) from None


def _script(options: Options, value: str) -> None:
    options.scripts.append(("-f", value))


def _sql(options: Options, value: str) -> None:
    options.scripts.append(("-e", value))


OPTIONS = (
    Option("-f", "FILE", "run the statements in FILE (-: standard input)", _script, also=("--file",)),
    Option("-e", "SQL", "run these statements", _sql, text=True, blank=True, short="-u", also=("--update",)),
    Option("-i", "INIT", "run the statements in INIT first", lambda o, value: o.inits.append(value), also=("--init",)),
    Option(
        "-D",
        "NAME=VALUE",
        "a variable for ${NAME}, and the setting NAME if there is one",
        _pair("variables", "NAME=VALUE"),
        text=True,
        short="-d",
        also=("--define", "--hivevar"),
    ),
    Option(
        "--conf",
        "KEY=VALUE",
        "a setting, as by SET 'KEY' = 'VALUE'",
        _pair("conf", "KEY=VALUE"),
        text=True,
        also=("--hiveconf",),
    ),
    Option("--database", "NAME", "the current database, after the init files: [catalog.]database", _text("database")),
    Option("--dialect", "flink|spark", "the flavour of SQL; flink is the default", _dialect),
    Option("--format", "FMT", f"how results are printed: {', '.join(FORMATS)}", _format),
    Option("--output", "FILE", "write results to FILE", _text("output")),
    Option("--warehouse", "DIR", "where default_catalog keeps its tables", _text("warehouse")),
    Option(
        "--catalog-store", "DIR", "keep the catalogs that are made in DIR, and have those in it", _text("catalog_store")
    ),
    Option("--history", "FILE", "where the prompt keeps its history", _text("history"), also=("-hist",)),
    Option(
        "--safe", None, "read and write no file outside of the warehouses; no SOURCE, no ! and no Python", _flag("safe")
    ),
    Option("--timing", None, "tell the time that each statement took", _flag("timing")),
    Option("--verbose", None, "show each statement before it runs", _flag("verbose"), short="-v"),
    Option("--no-color", None, "no colours at the prompt, as with NO_COLOR in the environment", _flag("no_color")),
    Option("--no-config", None, "do not read config.toml in $BERGSQL_HOME", _flag("no_config")),
    Option(
        "--continue-on-error",
        None,
        "go on after a failure; the exit code still tells of it",
        _flag("continue_on_error"),
    ),
    Option("--detach", None, "do not wait for the jobs that were started, at the end of the input", _flag("detach")),
    Option("--quiet", None, "no [INFO] lines; results are as always", _flag("quiet"), short="-S", also=("--silent",)),
    Option("--debug", None, "show where in the program an error arose", _flag("debug")),
    Option("--version", None, "show the version and leave", _flag("version")),
    Option("--help", None, "show this and leave", _flag("help"), short="-h"),
)
_BY_NAME = {name: option for option in OPTIONS for name in (option.name, option.short, *option.also) if name}


def parse_options(arguments: Sequence[str]) -> Options:
    """The options in ``arguments``: ``--name value``, ``--name=value``, ``-n value`` or ``-nvalue``.

    :raises UsageError: for anything that is not an option, with the nearest one.
    """
    options = Options()
    rest = iter(arguments)
    for argument in rest:
        if argument == "embedded":
            continue  # the mode of Flink's client that this is
        option, value = _option(argument)
        if option.value is None:
            if value is not None:
                raise UsageError(f"{option.name} takes no value.")
        else:
            value = _value(option, next(rest, None) if value is None else value)
        option.apply(options, value or "")
    return options


def _value(option: Option, given: str | None) -> str:
    """The value of an option, checked as far as all options are alike."""
    if given is None or not (given or option.blank):
        raise UsageError(f"{option.name} needs a value: {option.usage}")
    if not option.text or given.isascii():
        return given
    try:
        return os.fsencode(given).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UsageError(f"The value of {option.name} is not UTF-8 text (byte 0x{byte:02x}).") from None


def _option(argument: str) -> tuple[Option, str | None]:
    """The option that ``argument`` names, and the value in it."""
    if argument in _BY_NAME:
        return _BY_NAME[argument], None
    if argument.startswith("--"):
        name, equals, value = argument.partition("=")
        given = value if equals else None
    else:
        name, given = argument[:2], argument[2:] or None
    option = _BY_NAME.get(name)
    if option is not None:
        return option, given
    from bergsql.shell.foreign_options import GATEWAY, foreign_option
    from bergsql.shell.foreign_options import OPTIONS as FOREIGN

    if argument == "gateway":
        raise UsageError(GATEWAY, "Without 'gateway', statements run in this process.")
    if not argument.startswith("-") or argument in ("-", "--"):
        raise UsageError(f"There is no argument '{argument}'.", f"A script is run by -f {argument}")
    option = foreign_option(argument) or foreign_option(name)
    if option is not None:
        return option, None if argument in (option.name, option.short) else given
    names = (*_BY_NAME, *(option.name for option in FOREIGN))
    near = did_you_mean(name, (each for each in names if each.startswith("--")))
    raise UsageError(f"There is no option {name}.", near or "--help lists the options.")


_WIDEST_USAGE = 24


def help_text() -> str:
    """What ``--help`` prints."""
    return "\n".join(_help_lines()) + "\n"


def _help_lines() -> Iterator[str]:
    from textwrap import wrap

    yield "usage: bergsql [OPTION]…"
    yield "       bergsql jobs {list | stop ID… | resume {ID… | --all}}"
    yield ""
    yield "SQL for Apache Iceberg tables, in the grammars of Flink SQL and Spark SQL."
    yield ""
    for option in OPTIONS:
        if len(option.usage) > _WIDEST_USAGE:
            yield f"  {option.usage}"
            yield f"  {'':<{_WIDEST_USAGE}}  {option.doc}"
        else:
            yield f"  {option.usage:<{_WIDEST_USAGE}}  {option.doc}"
    yield ""
    yield from wrap(
        "With neither -f nor -e: the prompt on a terminal, else the statements on standard input. -f, -e and -i may be "
        "given more than once and run in their order. A run stops at the first statement that fails. Results go to "
        "standard output, everything else to standard error.",
        100,
    )
    yield ""
    from bergsql.shell.foreign_options import OPTIONS as FOREIGN

    names = ", ".join(option.usage.removesuffix(" VALUE") for option in FOREIGN if option.value == "VALUE")
    text = f"Of Flink's and Spark's clients, with a note that they mean nothing here: {names}; and the word embedded."
    yield from wrap(text, 100, break_on_hyphens=False)
    yield ""
    yield "formats:"
    for each in FORMATS.values():
        yield f"  {each.name:<24}  {each.doc}"
    yield ""
    yield "exit codes:"
    for code, meaning in MEANINGS.items():
        yield f"  {code:<24}  {meaning}"
