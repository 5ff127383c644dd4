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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bergsql.catalog.default_names import DEFAULT_CATALOG
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
        settings = dict(self._pairs(values.get("settings", {}), ("settings",)))
        self._check_settings(settings)
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

    def _wrong(self, key: str, message: str, hint: str | None = None, within: Sequence[str] = ()) -> BergError:
        """An error at the line of ``key``, a key or the name of a table, which stands in the tables ``within``."""
        end = None
        for name in (*within, key):
            word = rf"[\"']?{re.escape(name)}[\"']?"
            places = re.compile(rf"(?m)(?:^[ \t]*\[?[ \t]*|[.{{,][ \t]*){word}[ \t]*[=.\]]")
            found = places.search(self._text, end or 0)
            end = found.end() - 1 if found else end  # a dot or a bracket may begin what follows
        where = str(self._path) if end is None else f"{self._path}:{self._text.count(chr(10), 0, end) + 1}"
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

    def _pairs(self, table: object, within: Sequence[str], prefix: str = "") -> Iterator[tuple[str, str]]:
        """The settings or options of a TOML table: a dotted key may be quoted or not."""
        if not isinstance(table, dict):
            raise self._wrong("settings", "settings must be a table.", "Begin it with [settings].")
        what = "setting" if within == ("settings",) else "option"
        for key, value in table.items():
            name = prefix + str(key)
            if isinstance(value, dict):
                yield from self._pairs(value, within, name + ".")
            else:
                yield name, self._text_of(key, value, f"the {what} '{name}'", within)

    def _check_settings(self, settings: Mapping[str, str]) -> None:
        """Refuse what SET would refuse, at its line."""
        from bergsql.engine.settings import Settings

        known = Settings()
        for key, value in settings.items():
            try:
                known.set(key, value)
            except BergError as error:
                raise self._told(error, (key, key.rpartition(".")[2]), ("settings",)) from None

    def _told(self, error: BergError, keys: Sequence[str], within: Sequence[str]) -> BergError:
        """``error`` as one of the first of ``keys`` that has a line in the tables ``within``, or of them."""
        if not keys:
            *within, key = within
            return self._wrong(key, error.message, error.hint, within)
        key = next((key for key in keys if re.search(rf"{re.escape(key)}[\"']?[ \t]*=", self._text)), keys[0])
        return self._wrong(key, error.message, error.hint, within)

    def _catalogs(self, table: object) -> Iterator[tuple[str, Definition]]:
        from bergsql.catalog.store import Definition

        if not isinstance(table, dict):
            raise self._wrong("catalogs", "catalogs must be tables.", "Begin each with [catalogs.NAME].")
        for name, options in table.items():
            if not isinstance(options, dict):
                raise self._wrong(name, f"the catalog '{name}' must be a table.", f"Begin it with [catalogs.{name}].")
            if name == DEFAULT_CATALOG:
                raise self._wrong(
                    name,
                    f"{DEFAULT_CATALOG} is there always and has no options.",
                    "--warehouse says where its tables are.",
                    ("catalogs",),
                )
            pairs = dict(self._pairs(options, ("catalogs", name)))
            comment = pairs.pop("comment", None)
            self._check_catalog(name, options, pairs)
            yield name, Definition(pairs, comment, str(self._path))

    def _check_catalog(self, name: str, given: Mapping[str, object], pairs: Mapping[str, str]) -> None:
        """Refuse what CREATE CATALOG would refuse, and a number where an option is text, at its line."""
        from bergsql.catalog.registry import check_catalog, option_specs

        within = ("catalogs", name)
        try:
            kind = check_catalog(pairs)
        except BergError as error:
            keys = [key for key in pairs if f"'{key}'" in error.message]
            error.message = f"the catalog '{name}': {error.message}"
            raise self._told(error, keys[:1], within) from None
        texts = ("comment", *(spec.key for spec in option_specs(kind) if spec.type == "str"))
        for key in texts:
            if key in given and not isinstance(given[key], str):
                raise self._wrong(key, f"the option '{key}' must be text in quotes.", None, within)

    def _text_of(self, key: str, value: object, what: str, within: Sequence[str]) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | float):
            return str(value)
        raise self._wrong(key, f"{what} must be a string, a number or a boolean.", None, within)
