"""What is configured for every run: ``$BERGSQL_HOME`` and the ``config.toml`` in it.

::

    dialect = "spark"
    format = "csv"
    null = "∅"
    timing = true
    history = "~/.bergsql_history"
    prompt = "{catalog}.{database} {dialect}> "

    [settings]
    "table.local-time-zone" = "UTC"

    [catalogs.lake]
    type = "iceberg"
    catalog-type = "hadoop"
    warehouse = "/data/lake"
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.render.formats import FORMATS
from bergsql.shell.sources import unreadable

if TYPE_CHECKING:
    from bergsql.catalog.store import Definition

FILE_NAME = "config.toml"

_T = TypeVar("_T")

KEYS = ("dialect", "format", "null", "timing", "history", "prompt", "settings", "catalogs")

PROMPT_FIELDS = ("catalog", "database", "dialect")
"""What the prompt's template may name."""


def prompt_text(template: str, *values: str) -> str:
    """The prompt with the values of :data:`PROMPT_FIELDS` in their places."""
    fields = dict(zip(PROMPT_FIELDS, values, strict=True))
    return re.sub(r"\{(\w+)\}", lambda m: fields.get(m[1], m[0]), template)


class Config(NamedTuple):
    """The configuration file's choices; the command line's go before them."""

    dialect: Flavour | None = None
    format: str | None = None
    history: str | None = None
    prompt: str | None = None
    settings: Mapping[str, str] = {}
    """Those of ``null`` and ``timing`` among them."""
    catalogs: Mapping[str, Definition] = {}


def home_directory() -> Path:
    """``$BERGSQL_HOME``, else the platform's folder for user data. It need not exist."""
    given = os.environ.get("BERGSQL_HOME")
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("bergsql")


def load_config(home: Path) -> Config:
    """The configuration in ``home``, empty when there is none.

    :raises BergError: CONFIG, naming the file, the line as far as it is known, and what is wrong there.
    """
    path = home / FILE_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise unreadable(str(path), error) from error
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise BergError(ErrorCode.CONFIG, f"{path} is not UTF-8 text: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, error) from error
    return _File(path, text).config(values)


def _not_toml(path: Path, text: str, error: Exception) -> BergError:
    """The error with its place as every place is written."""
    reason, _, place = str(error).removesuffix(")").partition(" (at ")
    found = re.fullmatch(r"line (\d+), column (\d+)", place)
    # At its end Python's reader tells no line.
    where = f"{found[1]}:{found[2]}" if found else f"{text.count(chr(10)) + 1}"
    return BergError(ErrorCode.CONFIG, f"{path}:{where} is not TOML: {reason}.")


class _File:
    """The configuration file, for what is wrong in it."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def config(self, values: Mapping[str, object]) -> Config:
        for key in values:
            if key not in KEYS:
                hint = did_you_mean(key, KEYS) or f"Known: {', '.join(KEYS)}."
                raise self._wrong(key, f"there is no option '{key}'.", hint)
        settings = dict(self._settings(values.get("settings", {})))
        null, timing = self._value(values, "null", str), self._value(values, "timing", bool)
        if null is not None:
            settings.setdefault("shell.null-mark", null)
        if timing is not None:
            settings.setdefault("shell.timing", str(timing).lower())
        return Config(
            dialect=Flavour(flavour) if (flavour := self._choice(values, "dialect", tuple(Flavour))) else None,
            format=self._choice(values, "format", tuple(FORMATS)),
            history=self._value(values, "history", str),
            prompt=self._prompt(values),
            settings=settings,
            catalogs=dict(self._catalogs(values.get("catalogs", {}))),
        )

    def _wrong(self, key: str, message: str, hint: str | None = None) -> BergError:
        """An error at the line that begins with ``key``, or with a table of that name."""
        word = rf"[\"']?{re.escape(key)}[\"']?"
        found = re.search(rf"(?m)^\s*(?:{word}\s*[=.]|\[\s*{word}\s*[\].])", self._text)
        where = f"{self._path}:{self._text.count(chr(10), 0, found.end()) + 1}" if found else str(self._path)
        return BergError(ErrorCode.CONFIG, f"{where}: {message}", hint=hint)

    def _choice(self, values: Mapping[str, object], key: str, known: tuple[str, ...]) -> str | None:
        value = values.get(key)
        if value is None or value in known:
            return None if value is None else str(value)
        hint = did_you_mean(str(value), known) or f"Known: {', '.join(known)}."
        raise self._wrong(key, f"{key} cannot be {value!r}.", hint)

    def _value(self, values: Mapping[str, object], key: str, type_: type[_T]) -> _T | None:
        value = values.get(key)
        if value is None or isinstance(value, type_):
            return value
        raise self._wrong(key, f"{key} must be {'text in quotes' if type_ is str else 'true or false'}.")

    def _prompt(self, values: Mapping[str, object]) -> str | None:
        template = self._value(values, "prompt", str)
        for name in re.findall(r"\{(.*?)\}", template or ""):
            if name not in PROMPT_FIELDS:
                known = ", ".join(f"{{{field}}}" for field in PROMPT_FIELDS)
                raise self._wrong("prompt", f"the prompt knows no {{{name}}}.", f"It knows {known}.")
        return template

    def _settings(self, table: object, prefix: str = "") -> Iterator[tuple[str, str]]:
        """The settings of a TOML table: a dotted key may be quoted or not."""
        if not isinstance(table, dict):
            raise self._wrong("settings", "settings must be a table.", "Begin it with [settings].")
        for key, value in table.items():
            name = prefix + str(key)
            if isinstance(value, dict):
                yield from self._settings(value, name + ".")
            else:
                yield name, self._text_of(key, value, f"the setting '{name}'")

    def _catalogs(self, table: object) -> Iterator[tuple[str, Definition]]:
        from bergsql.catalog.store import Definition

        if not isinstance(table, dict):
            raise self._wrong("catalogs", "catalogs must be tables.", "Begin each with [catalogs.NAME].")
        for name, options in table.items():
            if not isinstance(options, dict):
                raise self._wrong(name, f"the catalog '{name}' must be a table.", f"Begin it with [catalogs.{name}].")
            pairs = dict(self._settings(options))
            comment = pairs.pop("comment", None)
            yield name, Definition(pairs, comment, str(self._path))

    def _text_of(self, key: str, value: object, what: str) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | float):
            return str(value)
        raise self._wrong(key, f"{what} must be a string, a number or a boolean.")
