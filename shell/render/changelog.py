"""Changes as they come: the tableau of Flink's client for streams, with the column ``op`` in front.

Nobody knows what will come, so a column is as wide as its type needs, 6 at least, and where no text of the type is the
widest, as wide as the view allows. The header is never cut. Each batch is on the screen before the next is asked for.
"""

from __future__ import annotations

from bergsql.engine.result import Column, Result, Row
from bergsql.engine.sql.types import Kind
from bergsql.shell.render.display import cut, escape, right, width
from bergsql.shell.render.layout import NULL, Ended, Out, View, filled_chunks, timed
from bergsql.shell.render.values import texts, value_writer

_OP_WIDTH = 2
_LEAST = 6
_WIDEST = {Kind.TINYINT: 4, Kind.SMALLINT: 6, Kind.INT: 11, Kind.BIGINT: 20, Kind.BOOLEAN: 5, Kind.DATE: 10}
_CLOCKS = {Kind.TIME: 8, Kind.TIMESTAMP: 19, Kind.TIMESTAMP_LTZ: 19}


def draw(result: Result, out: Out, view: View) -> None:
    """Draw the changes of ``result``, whose first column is ``op``.

    :raises Ended: when Ctrl-C came, behind the last line.
    """
    columns = result.columns
    cap = max(view.max_width, 1)
    names = [escape(c.name) for c in columns]
    widths = [_OP_WIDTH, *(max(width(n), _widest(c, cap), _LEAST) for n, c in zip(names[1:], columns[1:], strict=True))]
    border = "+".join(["", *("-" * (w + 2) for w in widths), ""]) + "\n"
    writers = [value_writer(c.type, view.zone) for c in columns]
    null = NULL if view.null is None else view.null

    def lines(chunk: list[Row]) -> str:
        cells = []
        for values, write, size in zip(zip(*chunk, strict=True), writers, widths, strict=True):
            cells.append([right(cut(escape(text), size), size) for text in texts(values, write, null)])
        return "".join([f"| {' | '.join(row)} |\n" for row in zip(*cells, strict=True)])

    count = 0
    try:
        out.write(f"{border}| {' | '.join(map(right, names, widths))} |\n{border}")
        out.flush()
        for chunk in filled_chunks(result):
            text = lines(chunk)
            count += len(chunk)  # before anybody can see them and press Ctrl-C
            out.write(text)
            out.flush()
    except KeyboardInterrupt:
        out.write(timed(f"Query terminated, received a total of {_rows(count)}", view))
        out.flush()
        raise Ended from None
    out.write((border if count else "") + timed(f"Received a total of {_rows(count)}", view))
    out.flush()


def _rows(count: int) -> str:
    return f"{count} row" if count <= 1 else f"{count} rows"


def _widest(column: Column, cap: int) -> int:
    kind, digits = column.type.kind, column.type.fractional_digits
    if kind in _CLOCKS:
        # As Flink has them: precisions of 1 to 3 take as many columns, and so do 4 to 6 and 7 to 9.
        shown = digits if kind is Kind.TIME else -(-digits // 3) * 3
        return _CLOCKS[kind] + (1 + shown if shown else 0)
    if kind is Kind.DECIMAL and column.type.precision is not None:
        return column.type.precision + 2
    return _WIDEST.get(kind, cap)
