"""A line a column and a block a row, as MySQL's client draws it behind ``\\G``: for rows that are too wide for a table.

Names are right-aligned, values are whole; control characters, line breaks among them, are written out. The footer is a
tableau's.
"""

from __future__ import annotations

from collections.abc import Iterable

from bergsql.engine.result import Column, Result, ResultKind, Row
from bergsql.shell.render.display import escape, right, width
from bergsql.shell.render.layout import NULL, Out, View, draw_script, filled_chunks, footer
from bergsql.shell.render.values import texts, value_writer

_STARS = "*" * 27


def draw(result: Result, out: Out, view: View) -> None:
    """Draw ``result`` with its footer; a script is printed as it is."""
    if result.kind is ResultKind.SCRIPT:
        draw_script(result, out)
        return
    rows = draw_blocks(result.columns, filled_chunks(result), out, view)
    out.write(footer(rows, view if result.kind is ResultKind.ROWS else None))
    out.flush()


def draw_blocks(columns: tuple[Column, ...], chunks: Iterable[list[Row]], out: Out, view: View) -> int:
    """Draw rows that are at least one; gives how many they were."""
    null = NULL if view.null is None else view.null
    names = [escape(c.name) for c in columns]
    widest = max(map(width, names), default=0)
    labels = [right(name, widest) for name in names]
    writers = [value_writer(c.type, view.zone) for c in columns]
    count = 0
    for chunk in chunks:
        cells = [texts(v, write, null) for v, write in zip(zip(*chunk, strict=True), writers, strict=True)]
        for row in zip(*cells, strict=True):
            count += 1
            lines = [f"{label}: {escape(text)}\n" for label, text in zip(labels, row, strict=True)]
            out.write(f"{_STARS} {count}. row {_STARS}\n{''.join(lines)}")
        out.flush()
    return count
