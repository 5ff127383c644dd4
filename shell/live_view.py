"""A stream in a screen of its own: the rows as they are at the moment, or the changes as they come.

The statement runs on in the main thread, whose Ctrl-C it is; the screen has a thread of its own.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from threading import Lock, Thread
from typing import TYPE_CHECKING

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from bergsql.shell.render.display import escape
from bergsql.shell.render.layout import NULL, View, filled_chunks
from bergsql.shell.render.values import texts, value_writer
from bergsql.shell.result_view import ResultView

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.result import Column, Result, Row

_INTERVALS = ((0.02, "Fastest"), (0.1, "100 ms"), (0.5, "500 ms"), (1.0, "1 s"), (5.0, "5 s"), (10.0, "10 s"))
"""How often the screen may be drawn anew, and what that is called."""
_GONE = ("-U", "-D")

Cells = tuple[str, ...]


class CurrentRows:
    """The rows of a changelog as they are after its changes, in the order in which they came; at most ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._next = 0
        self._rows: dict[int, Cells] = {}
        self._places: dict[Cells, list[int]] = {}
        self.more = False

    def take(self, op: str, row: Cells) -> None:
        if op in _GONE:
            places = self._places.get(row)
            if places:
                del self._rows[places.pop()]
                if not places:
                    del self._places[row]
            return
        if len(self._rows) >= self._most:
            self.more = True
            return
        self._rows[self._next] = row
        self._places.setdefault(row, []).append(self._next)
        self._next += 1

    def rows(self) -> list[Cells]:
        return list(self._rows.values())


class LastChanges:
    """The last ``most`` changes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[Cells] = []
        self.more = False

    def take(self, op: str, row: Cells) -> None:
        self._rows.append((op, *row))
        if len(self._rows) > self._most:
            self.more = True
            del self._rows[: max(1, self._most // 10)]

    def rows(self) -> list[Cells]:
        return list(self._rows)


class LiveView(ResultView):
    """The pages of a stream, drawn anew while it runs. :meth:`take` and :meth:`finish` are for another thread."""

    def __init__(
        self, columns: tuple[Column, ...], view: View, *, changelog: bool, most: int, stop: Callable[[], None]
    ) -> None:
        super().__init__(columns, [], view, changelog=changelog, more=False)
        self._writers = [value_writer(c.type, view.zone) for c in columns]
        self._null = NULL if view.null is None else view.null
        self._kept: CurrentRows | LastChanges = LastChanges(most) if changelog else CurrentRows(most)
        self._lock = Lock()
        self._changed = False
        self._stop = stop
        self._running = True
        self._taken_away = False
        self._interval = 0 if changelog else 3
        self.count = 0

    # --- of the thread that runs the statement -----------------------------------------------------------------------

    def take(self, chunk: list[Row]) -> None:
        """Take in changes: each row begins with what it does."""
        ops = [str(row[0]) for row in chunk]
        columns = [
            [escape(text) for text in texts(list(values), write, self._null)]
            for values, write in zip(list(zip(*chunk, strict=True))[1:], self._writers, strict=True)
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(chunk)
        with self._lock:
            for op, row in zip(ops, rows, strict=True):
                self._kept.take(op, row)
            self._changed = True
            self.count += len(chunk)

    def finish(self) -> None:
        """Nothing comes any more."""
        with self._lock:
            self._running = False
            self._changed = True

    def leave(self) -> None:
        """Take the screen away; if it is not there yet, as soon as it is."""
        self._taken_away = True
        loop = self.app.loop
        if loop is not None and self.app.is_running:
            with suppress(RuntimeError):  # it is gone just now
                loop.call_soon_threadsafe(self._exit)

    # --- of the screen's thread --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Show it until the person leaves or :meth:`leave` is called."""

        def begin() -> None:
            self.app.create_background_task(self._refreshing())

        self.app.terminal_size_polling_interval = 0.5  # signals reach the main thread only
        self.app.run(handle_sigint=False, pre_run=begin)

    async def _refreshing(self) -> None:
        while not self._taken_away:
            self._refresh()
            await asyncio.sleep(_INTERVALS[self._interval][0])
        self._exit()

    def _refresh(self) -> None:
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            rows, self._more = self._kept.rows(), self._kept.more
        at_end = self._fixed and self._chosen >= self._count - 1
        self._show(rows)
        if at_end:
            self._go(self._count - 1)  # changes are followed as long as the last one is chosen
        self._updated = f"{datetime.now():%H:%M:%S.%f}"[:-3]
        self.app.invalidate()

    def _state(self) -> str:
        if not self._running:
            return f" Table program finished.{super()._state()}"
        return f" Refresh: {_INTERVALS[self._interval][1]}"

    def _bindings(self) -> KeyBindings:
        keys = super()._bindings()
        for key in ("+", "-", "r", "R"):
            keys.add(key)(self._turned)
        return keys

    def _turned(self, event: KeyPressEvent) -> None:
        step = {"+": 1, "-": -1}.get(event.key_sequence[0].key, 0)
        self._interval = min(max(self._interval + step, 0), len(_INTERVALS) - 1)
        self._refresh()

    def _left_by(self, event: KeyPressEvent) -> None:
        self._stop()
        super()._left_by(event)

    def _exit(self) -> None:
        future = self.app.future
        if future is not None and not future.done():  # the person may have left at the same moment
            self.app.exit()


def show_live(result: Result, view: View, *, changelog: bool, most: int, stop: Callable[[], None]) -> int:
    """Show a stream until the person leaves it, which calls ``stop``; gives how many changes there were."""
    live = LiveView(result.columns[1:], view, changelog=changelog, most=most, stop=stop)
    screen = Thread(target=live.run, name="screen", daemon=True)
    screen.start()
    try:
        for chunk in filled_chunks(result):
            live.take(chunk)
        live.finish()
        screen.join()
    except KeyboardInterrupt:
        pass  # by Ctrl-C or by Q: the stream is left
    finally:
        live.leave()
        screen.join()
    return live.count
