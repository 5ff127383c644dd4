"""Formats of files, one a module; found by name and imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.connectors.formats.base import Format

FORMATS: Final[Mapping[str, str]] = {
    "avro": "arrow_files.Avro",
    "csv": "csv.Csv",
    "json": "json_lines.JsonLines",
    "orc": "arrow_files.Orc",
    "parquet": "parquet.Parquet",
    "raw": "raw.Raw",
}


def format_named(name: str) -> type[Format]:
    """The format of that name, one of :data:`FORMATS`."""
    module, _, kind = FORMATS[name].partition(".")
    found: type[Format] = getattr(import_module(f"bergsql.engine.connectors.formats.{module}"), kind)
    return found
