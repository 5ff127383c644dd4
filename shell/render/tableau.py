"""The box of aligned columns that Flink's client draws.

A cell is ``| `` + right-aligned text + `` |``. A query's column is as wide as its widest cell or name, but not wider
than the view allows; wider text is cut and ends in ``...``. Control characters are written out. Listings are not cut,
show NULL as blank and have no time in the footer; the cell of a one-column listing keeps its line breaks (SHOW CREATE
TABLE, EXPLAIN), as there.

Widths need all rows, memory must not: after :data:`LOOK_AHEAD` rows the first are drawn and the rest streams, in
columns that have the width of their type or of what was seen. A later cell that is still wider sticks out, uncut.

At a prompt a query's table that is wider than the terminal is drawn vertically instead, if its first rows show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from bergsql.engine.result import Column, Result, ResultKind, Row
from bergsql.engine.sql.types import DataType, Kind
from bergsql.shell.render.display import cut, escape, right, width
from bergsql.shell.render.layout import NULL, Out, View, draw_script, filled_chunks, footer
from bergsql.shell.render.values import Writer, texts, value_writer

LOOK_AHEAD = 10_000
"""Rows whose widths are known before the first is drawn …"""
LOOK_AHEAD_CELLS = 400_000
"""… or as many rows as have so many cells."""

UNBOUNDED = 100
"""The width of a column whose type has no widest text, when rows beyond the look-ahead come and the view allows it."""

_WIDEST = {Kind.BOOLEAN: 6, Kind.TINYINT: 6, Kind.SMALLINT: 6, Kind.INT: 11, Kind.BIGINT: 20, Kind.DATE: 10}
_WIDEST_CLOCK = {Kind.TIME: 8, Kind.TIMESTAMP: 19, Kind.TIMESTAMP_LTZ: 19}

Texts = list[list[str]]
"""A chunk, by column."""


def draw(result: Result, out: Out, view: View) -> None:
    """Draw ``result`` with its borders and footer; a script is printed as it is, so that it can be pasted back."""
    if result.kind is ResultKind.SCRIPT:
        draw_script(result, out)
        return
    if result.changelog:
        from bergsql.shell.render import changelog

        changelog.draw(result, out, view)
        return
    table = _Table(result, view)
    may_turn = view.terminal_width is not None and result.kind is ResultKind.ROWS
    chunks = filled_chunks(result)
    ahead: list[Texts] = []
    rows: list[list[Row]] = []
    most = max(1, min(LOOK_AHEAD, LOOK_AHEAD_CELLS // max(1, len(result.columns))))
    for chunk in chunks:
        ahead.append(table.texts(chunk))
        if may_turn:
            rows.append(chunk)
        if table.rows > most:
            table.widen()
            break
    if table.rows and may_turn and table.width > (view.terminal_width or 0):
        from bergsql.shell.render.vertical import draw_blocks

        table.rows = draw_blocks(result.columns, chain(rows, chunks), out, view)
    elif table.rows:
        del rows
        border = "+".join(["", *("-" * (w + 2) for w in table.widths), ""]) + "\n"
        out.write(border + table.header() + border)
        for cells in ahead:
            out.write(table.lines(cells))
        del ahead
        for chunk in chunks:
            out.write(table.lines(table.texts(chunk)))
            out.flush()
        out.write(border)
    out.write(footer(table.rows, view if result.kind is ResultKind.ROWS else None))
    out.flush()


class _Table:
    """The cells of one result: their texts, and the widths of its columns as they are known."""

    def __init__(self, result: Result, view: View) -> None:
        query = result.kind is ResultKind.ROWS
        self._cap = max(view.max_width, 1) if query else None
        self._null = (NULL if query else "") if view.null is None else view.null
        self._columns = result.columns
        self._keep_newlines = not query and len(result.columns) == 1
        self._writers: list[tuple[Writer, bool]] = [
            (value_writer(c.type, view.zone), not _is_tame(c.type)) for c in result.columns
        ]
        names = [escape(c.name) for c in result.columns]
        self._names = names if self._cap is None else [cut(name, self._cap) for name in names]
        self.widths = [width(name) for name in self._names]
        self._fixed = False
        self.rows = 0

    def texts(self, chunk: Sequence[Row]) -> Texts:
        """The cells of a chunk, cut; counts its rows and, until they are fixed, widens the columns by them."""
        self.rows += len(chunk)
        found: Texts = []
        for i, (values, (write, wild)) in enumerate(zip(zip(*chunk, strict=True), self._writers, strict=True)):
            cells = texts(values, write, self._null)
            together = "".join(cells) if wild else ""
            if not together.isprintable():
                cells = [escape(text, keep_newlines=self._keep_newlines) for text in cells]
            widest = max(map(len if together.isascii() else width, cells))
            if self._cap is not None and widest > self._cap:
                widest = self._cap
                cells = [cut(text, widest) for text in cells]
            if not self._fixed:
                self.widths[i] = max(self.widths[i], widest)
            found.append(cells)
        return found

    def widen(self) -> None:
        """Make room for rows that are not known yet, and fix the widths."""
        self._fixed = True
        for i, column in enumerate(self._columns):
            bound = min(_widest(column) or UNBOUNDED, UNBOUNDED if self._cap is None else self._cap)
            self.widths[i] = max(self.widths[i], bound)

    @property
    def width(self) -> int:
        """The columns that a line takes."""
        return sum(size + 3 for size in self.widths) + 1

    def header(self) -> str:
        return f"| {' | '.join(map(right, self._names, self.widths))} |\n"

    def lines(self, columns: Texts) -> str:
        padded = []
        for cells, size in zip(columns, self.widths, strict=True):
            if all(map(str.isascii, cells)):
                padded.append([text.rjust(size) for text in cells])
            else:
                padded.append([right(text, size) for text in cells])
        return "".join([f"| {' | '.join(row)} |\n" for row in zip(*padded, strict=True)])


def _is_tame(type_: DataType) -> bool:
    """Whether the text of every value is printable ASCII."""
    return type_.kind in _WIDEST or type_.kind in _WIDEST_CLOCK or type_.kind in (Kind.DOUBLE, Kind.FLOAT, Kind.DECIMAL)


def _widest(column: Column) -> int | None:
    """The widest text of a type, None when it has none."""
    kind, precision = column.type.kind, column.type.precision
    if kind in _WIDEST_CLOCK:
        digits = column.type.fractional_digits
        return _WIDEST_CLOCK[kind] + (1 + digits if digits else 0)
    if kind is Kind.DECIMAL and precision is not None:
        return precision + 2
    return _WIDEST.get(kind)
