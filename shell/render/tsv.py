r"""Tab-separated values, as PostgreSQL's and MySQL's text formats have them: a header line, nothing is quoted.

Inside a field a tab is ``\t``, a line break ``\n``, a carriage return ``\r`` and a backslash ``\\``; NULL is ``\N``,
which no other value is written as, unless another mark is chosen.
"""

from __future__ import annotations

import re

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.result import Result
from bergsql.engine.sql.types import BINARIES, INTERVALS, NUMBERS, STAMPS, Kind
from bergsql.shell.render.layout import Out, View, filled_chunks
from bergsql.shell.render.values import texts, value_writer

NULL = r"\N"

_needs_escapes = re.compile(r"[\t\n\r\\]").search
_ESCAPES = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r", "\\": r"\\"})
_PLAIN = frozenset({*(Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.UUID), *(NUMBERS | BINARIES | STAMPS | INTERVALS)})
"""Kinds whose text has none of those."""


def draw(result: Result, out: Out, view: View) -> None:
    """Write ``result`` with its header."""
    null = NULL if view.null is None else _mark(view.null)
    columns = [(value_writer(c.type, view.zone), c.type.kind in _PLAIN) for c in result.columns]
    out.write("\t".join(_field(c.name) for c in result.columns) + "\n")
    for chunk in filled_chunks(result):
        cells: list[list[str]] = []
        for values, (write, plain) in zip(zip(*chunk, strict=True), columns, strict=True):
            if plain:
                cells.append(texts(values, write, null))
            else:
                cells.append([null if v is None else _field(write(v)) for v in values])
        out.write("\n".join(map("\t".join, zip(*cells, strict=True))) + "\n")
        out.flush()


def _mark(null: str) -> str:
    """The chosen mark for NULL.

    :raises BergError: OPTION, for one that would end the field it stands in.
    """
    if re.search(r"[\t\n\r]", null):
        raise BergError(
            ErrorCode.OPTION,
            "The mark for NULL, 'shell.null-mark', holds a tab or a line break, which tsv cannot write as it is.",
            hint="RESET 'shell.null-mark'; makes it \\N, which no other value is written as.",
        )
    return null


def _field(text: str) -> str:
    return text.translate(_ESCAPES) if _needs_escapes(text) else text
