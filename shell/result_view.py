"""A result in a screen of its own, as Flink's client shows it in the result modes ``table`` and ``changelog``.

The rows are read before the screen opens, so Ctrl-C cancels the query as always; of a result with more rows than
``sql-client.execution.max-table-result.rows`` the first are shown. A batch result changes no more: its changelog is an
insertion (``+I``) a row.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import ColorDepth

from bergsql.engine.result import Column, Result
from bergsql.engine.sql.type_names import flink_name
from bergsql.shell.render.display import cut, escape, right, width
from bergsql.shell.render.layout import NULL, View, filled_chunks
from bergsql.shell.render.values import texts, value_writer

if TYPE_CHECKING:
    from bergsql.engine.result import Row

_FRAME = 7
"""Lines around the rows: title, status, two empty ones, the header, the keys."""
_KEYS = (
    "Q Quit   N Next Page   P Prev Page   L Last Page   G Goto Page   O Open Row",
    "Up, Down: choose a row   Left, Right: choose the first column",
)
_GAP = "  "
_INSERTED = "+I"


class ResultView:
    """Rows as pages. ``changelog``: each with the kind of its change in front."""

    def __init__(
        self, columns: tuple[Column, ...], rows: list[Row], view: View, *, changelog: bool, more: bool
    ) -> None:
        self._columns = columns
        self._title = f"SQL Query Result ({'Changelog' if changelog else 'Table'})"
        null = NULL if view.null is None else view.null
        names = [escape(c.name) for c in columns]
        cells = [
            [escape(text) for text in texts([row[i] for row in rows], value_writer(c.type, view.zone), null)]
            for i, c in enumerate(columns)
        ]
        if changelog:
            names, cells = ["op", *names], [[_INSERTED] * len(rows), *cells]
        self._fixed = int(changelog)
        self._cap = max(view.max_width, 1)
        self._names = [cut(name, self._cap) for name in names]
        self._hold(cells, len(rows))
        self._more = more
        self._updated = f"{datetime.now():%H:%M:%S.%f}"[:-3]
        self._chosen = 0
        self._left = 0
        self._asked: str | None = None
        """What is typed as the number of a page."""
        self._open = False

        control = FormattedTextControl(self._text, focusable=True, show_cursor=False)
        self.app: Application[None] = Application(
            layout=Layout(Window(control)),
            key_bindings=self._bindings(),
            full_screen=True,
            color_depth=ColorDepth.DEPTH_1_BIT,
        )

    def run(self) -> None:
        """Show it until the person leaves."""
        self.app.run(handle_sigint=False)

    def _show(self, rows: list[tuple[str, ...]]) -> None:
        """Put other rows of texts in the place of those that were there."""
        self._hold([list(column) for column in zip(*rows, strict=True)] or [[] for _ in self._names], len(rows))
        self._go(self._chosen)

    def _hold(self, cells: list[list[str]], count: int) -> None:
        self._cells, self._count = cells, count
        self._widths = [
            min(self._cap, max(map(width, (name, *column)))) for name, column in zip(self._names, cells, strict=True)
        ]

    # --- what is seen ------------------------------------------------------------------------------------------------

    def _size(self) -> tuple[int, int]:
        """Columns of the terminal and rows of a page."""
        size = get_app().output.get_size()
        return size.columns, max(1, size.rows - _FRAME)

    def _pages(self) -> int:
        return max(1, -(-self._count // self._size()[1]))

    def _text(self) -> StyleAndTextTuples:
        return self._row_text() if self._open else self._table_text()

    def _table_text(self) -> StyleAndTextTuples:
        columns, size = self._size()
        page = self._chosen // size
        last = page + 1 == self._pages()
        where = f"Page: {'Last' if last else page + 1} of {self._pages()}"
        if self._asked is not None:
            where = f"Go to page: {self._asked}_"
        state = self._state()
        status = state + where.center(max(0, columns - 2 * len(state)))
        status = f"{status}{f'Updated: {self._updated}'.rjust(max(0, columns - len(status) - 1))}"
        lines = [self._title.center(columns).rstrip(), status, "", self._line(self._names, columns)]
        first = page * size
        shown: StyleAndTextTuples = [("", "\n".join(lines) + "\n")]
        for number in range(first, min(first + size, self._count)):
            text = self._line([column[number] for column in self._cells], columns)
            shown.append(("reverse" if number == self._chosen else "", text + "\n"))
        blank = "\n" * (size - (min(first + size, self._count) - first))
        shown.append(("", f"{blank}\n{cut(_KEYS[0], columns)}\n{cut(_KEYS[1], columns)}"))
        return shown

    def _state(self) -> str:
        return f" The first {self._count} rows." if self._more else f" {self._count} rows."

    def _line(self, cells: list[str], columns: int) -> str:
        chosen = [*range(self._fixed), *range(self._fixed + self._left, len(cells))]
        parts = [right(cut(cells[i], self._widths[i]), self._widths[i]) for i in chosen]
        return cut(" " + _GAP.join(parts), columns)

    def _row_text(self) -> StyleAndTextTuples:
        columns, _ = self._size()
        lines = ["Row Summary".center(columns).rstrip(), ""]
        for name, column, cells in zip(
            self._names[self._fixed :], self._columns, self._cells[self._fixed :], strict=True
        ):
            lines += [f" {name} ({flink_name(column.type)}):", f" {cells[self._chosen]}", ""]
        return [("", "\n".join([*lines, "Q Back"]))]

    # --- what is pressed ---------------------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def on(*names: str) -> None:
            for name in names:
                keys.add(name)(self._pressed)

        on("q", "Q", "escape", "c-c", "n", "N", "P", "p", "l", "L", "g", "G", "o", "O", "enter", "backspace")
        on("up", "down", "left", "right", "pageup", "pagedown", "home", "end", *"0123456789")
        return keys

    def _pressed(self, event: KeyPressEvent) -> None:
        key = event.key_sequence[0].key.lower()
        if key == "c-m":
            key = "enter"
        if self._asked is not None:
            self._asking(key)
        elif key in ("q", "escape", "c-c"):
            if self._open and key != "c-c":
                self._open = False
            else:
                self._left_by(event)
        elif not self._open:
            self._moved(key)

    def _left_by(self, event: KeyPressEvent) -> None:
        event.app.exit()

    def _asking(self, key: str) -> None:
        asked = self._asked or ""
        if key.isdigit():
            self._asked = asked + key
        elif key in ("backspace", "c-h"):
            self._asked = asked[:-1]
        else:
            self._asked = None
            if key == "enter" and asked:
                self._go((min(max(int(asked), 1), self._pages()) - 1) * self._size()[1])

    def _moved(self, key: str) -> None:
        size = self._size()[1]
        match key:
            case "o" | "enter":
                self._open = self._count > 0
            case "g":
                self._asked = ""
            case "up":
                self._go(self._chosen - 1)
            case "down":
                self._go(self._chosen + 1)
            case "n" | "pagedown":
                self._go((self._chosen // size + 1) * size)
            case "p" | "pageup":
                self._go((self._chosen // size - 1) * size)
            case "l" | "end":
                self._go((self._pages() - 1) * size)
            case "home":
                self._go(0)
            case "left":
                self._left = max(0, self._left - 1)
            case "right":
                self._left = min(len(self._columns) - 1, self._left + 1)

    def _go(self, row: int) -> None:
        self._chosen = min(max(row, 0), max(self._count - 1, 0))


def show_view(result: Result, view: View, *, changelog: bool, most: int) -> int:
    """Read the rows of ``result``, at most ``most``, and show them; gives how many there are."""
    rows: list[Row] = []
    more = False
    for chunk in filled_chunks(result):
        rows += chunk
        if len(rows) > most:
            more = True
            del rows[most:]
            break
    ResultView(result.columns, rows, view, changelog=changelog, more=more).run()
    return len(rows)
