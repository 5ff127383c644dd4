"""What is configured for every run: ``$BERGSQL_HOME`` and the ``config.toml`` in it.

::

    dialect = "spark"
    format = "csv"

    [settings]
    "table.local-time-zone" = "UTC"
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.render.formats import FORMATS
from bergsql.shell.sources import unreadable

FILE_NAME = "config.toml"

KEYS = ("dialect", "format", "settings")


class Config(NamedTuple):
    """The configuration file's choices; the command line's go before them."""

    dialect: Flavour | None = None
    format: str | None = None
    settings: Mapping[str, str] = {}


def home_directory() -> Path:
    """``$BERGSQL_HOME``, else the platform's folder for user data. It need not exist."""
    given = os.environ.get("BERGSQL_HOME")
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("bergsql")


def load_config(home: Path) -> Config:
    """The configuration in ``home``, empty when there is none.

    :raises BergError: CONFIG, naming the file and what is wrong in it.
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
        values = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BergError(ErrorCode.CONFIG, f"{path} is not TOML: {error}.") from error
    for key in values:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"Known: {', '.join(KEYS)}."
            raise BergError(ErrorCode.CONFIG, f"{path}: there is no option '{key}'.", hint=hint)
    return Config(
        dialect=Flavour(flavour) if (flavour := _choice(path, values, "dialect", tuple(Flavour))) else None,
        format=_choice(path, values, "format", tuple(FORMATS)),
        settings=dict(_settings(path, values.get("settings", {}))),
    )


def _choice(path: Path, values: Mapping[str, object], key: str, known: tuple[str, ...]) -> str | None:
    value = values.get(key)
    if value is None or value in known:
        return value if value is None else str(value)
    hint = did_you_mean(str(value), known) or f"Known: {', '.join(known)}."
    raise BergError(ErrorCode.CONFIG, f"{path}: {key} cannot be {value!r}.", hint=hint)


def _settings(path: Path, table: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The settings of a TOML table: a dotted key may be quoted or not."""
    if not isinstance(table, dict):
        raise BergError(ErrorCode.CONFIG, f"{path}: settings must be a table.", hint="Begin it with [settings].")
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict):
            yield from _settings(path, value, name + ".")
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, str | int | float):
            yield name, str(value)
        else:
            raise BergError(ErrorCode.CONFIG, f"{path}: the setting '{name}' must be a string, a number or a boolean.")
