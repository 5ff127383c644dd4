"""The formats that results can be printed in, as data: ``--format`` and the configuration choose from this table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean

if TYPE_CHECKING:
    from bergsql.shell.render.layout import Layout


class Format(NamedTuple):
    """A format: its name, the module beside this one that has its ``draw``, and what it is."""

    name: str
    module: str
    doc: str
    binary: bool = False
    """Its output is bytes, which a terminal cannot show."""
    one_result: bool = False
    """It is a file of one query's rows: it needs --output, and takes no second result."""


FORMATS = {
    f.name: f
    for f in (
        Format(
            "tableau", "tableau", "a box of aligned columns with a footer, as Flink's client draws it (the default)"
        ),
        Format("vertical", "vertical", "a line a column; at the prompt also what is wider than the terminal"),
        Format("csv", "csv", "RFC 4180 with a header line; NULL is empty, an empty string is quoted"),
        Format("tsv", "tsv", "fields between tabs with a header line; NULL is \\N"),
        Format("json", "json", "one array of objects"),
        Format("jsonl", "jsonl", "one JSON object a row"),
        Format("markdown", "markdown", "a table of GitHub's Markdown"),
        Format("arrow", "arrow", "an Arrow IPC stream; binary, for a pipe or --output", binary=True),
        Format("parquet", "parquet", "a Parquet file of one query; needs --output", binary=True, one_result=True),
    )
}

DEFAULT_FORMAT = "tableau"


def check_format(name: str) -> str:
    """``name``, when there is such a format.

    :raises BergError: OPTION, with the nearest name.
    """
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"Formats: {', '.join(FORMATS)}."
        raise BergError(ErrorCode.OPTION, f"There is no format '{name}'.", hint=hint)
    return name


def layout(name: str) -> Layout:
    """The function that draws results in that format."""
    draw: Layout = import_module(f"bergsql.shell.render.{FORMATS[check_format(name)].module}").draw
    return draw
