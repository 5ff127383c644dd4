"""Comma-separated values, RFC 4180: a header line, fields quoted where they must be, lines ended by a newline.

NULL is an empty field and the empty string is ``""``, so a reader can tell them; with another mark for NULL, a value of
that text is quoted. Values have the text that a tableau shows, whole and with their control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.result import Result
from bergsql.engine.sql.types import BINARIES, INTERVALS, NUMBERS, STAMPS, Kind
from bergsql.shell.render.layout import Out, View, filled_chunks
from bergsql.shell.render.values import texts, value_writer

_needs_quotes = re.compile('[",\r\n]').search

_NEVER_QUOTED = frozenset(
    {
        *(Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.UUID),
        *(NUMBERS | BINARIES | STAMPS | INTERVALS),
    }
)
"""Kinds whose text has neither comma nor quote."""


def draw(result: Result, out: Out, view: View) -> None:
    """Write ``result`` with its header."""
    null = _mark(view.null or "")
    columns = [
        (value_writer(c.type, view.zone), bool(null) or c.type.kind not in _NEVER_QUOTED) for c in result.columns
    ]
    out.write(",".join(map(_field, (c.name for c in result.columns))) + "\n")
    for chunk in filled_chunks(result):
        cells: list[Iterable[str]] = []
        for values, (write, quoted) in zip(zip(*chunk, strict=True), columns, strict=True):
            if quoted:
                cells.append([null if v is None else _field(write(v), null) for v in values])
            else:
                cells.append(texts(values, write, null))
        out.write("\n".join(map(",".join, zip(*cells, strict=True))) + "\n")
        out.flush()


def _mark(null: str) -> str:
    """The chosen mark for NULL.

    :raises BergError: OPTION, for one that only quotes could hold: they are what tells a value from the mark.
    """
    if _needs_quotes(null):
        raise BergError(
            ErrorCode.OPTION,
            "The mark for NULL, 'shell.null-mark', holds a comma, a quote or a line break, which csv cannot write "
            "without quotes, and quotes are for values.",
            hint="RESET 'shell.null-mark'; makes it an empty field.",
        )
    return null


def _field(text: str, null: str = "") -> str:
    if text != null and text and not _needs_quotes(text):
        return text
    return '"' + text.replace('"', '""') + '"'
