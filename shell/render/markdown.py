r"""A table of GitHub's Markdown: numbers to the right, what Markdown would read as markup escaped.

A line break is ``<br>``; other control characters are written out. NULL is ``*NULL*``, in italics, which no text is:
its stars are escaped.
"""

from __future__ import annotations

import re

from bergsql.engine.result import Result
from bergsql.engine.sql.types import NUMBERS
from bergsql.shell.render.display import escape
from bergsql.shell.render.layout import Out, View, filled_chunks
from bergsql.shell.render.values import texts, value_writer

NULL = "*NULL*"

_MARKUP = re.compile(r"[\\|*`~]|(?<!\w)_|_(?!\w)|\[(?=[^\]]*\]\()")
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"))
_LINE_BREAK = re.compile("\r\n|\r|\n")


def draw(result: Result, out: Out, view: View) -> None:
    """Write ``result`` with its header; the empty line behind it keeps what follows out of the table."""
    null = NULL if view.null is None else _cell(view.null)
    plain = [c.type.kind in NUMBERS for c in result.columns]
    writers = [value_writer(c.type, view.zone) for c in result.columns]
    out.write(_line([_cell(c.name) for c in result.columns]))
    out.write(_line(["---:" if is_number else "---" for is_number in plain]))
    for chunk in filled_chunks(result):
        cells = []
        for values, write, is_number in zip(zip(*chunk, strict=True), writers, plain, strict=True):
            if is_number:
                cells.append(texts(values, write, null))
            else:
                cells.append([null if v is None else _cell(write(v)) for v in values])
        out.write("".join(map(_line, zip(*cells, strict=True))))
        out.flush()
    out.write("\n")
    out.flush()


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    if text.isalnum():
        return text
    for sign, entity in _ENTITIES:
        text = text.replace(sign, entity)
    text = _MARKUP.sub(r"\\\g<0>", text)
    return escape(_LINE_BREAK.sub("<br>", text))
