"""A progress bar for statements that take long, on a terminal only.

It is drawn by rich from a thread of its own, which asks the session how far it is, and is gone before the first row
of a result is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_T = TypeVar("_T")

PATIENCE = 1.0
"""Seconds before a bar shows up: most statements are done by then."""
INTERVAL = 0.1
"""Seconds between two looks at the progress."""


class ProgressBar:
    """Shows how far the session's statement is, from :meth:`start` to :meth:`stop`."""

    def __init__(self, session: Session, stream: TextIO) -> None:
        self._session = session
        self._stream = stream
        self._stopped = Event()
        self._thread: Thread | None = None
        session.track_progress()

    def start(self) -> None:
        self._stopped.clear()
        self._thread = Thread(target=self._watch, name="progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take the bar away. Does nothing when there is none."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = None

    def until_first(self, chunks: Iterable[_T]) -> Iterator[_T]:
        """``chunks`` or batches, with the bar taken away before the first is handed on."""
        try:
            for chunk in chunks:
                self.stop()
                yield chunk
        finally:
            self.stop()

    def _watch(self) -> None:
        if self._stopped.wait(PATIENCE):
            return
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn

        bar = Progress(
            *Progress.get_default_columns(),
            TimeElapsedColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        with bar:
            task = bar.add_task("Running", total=None)
            while not self._stopped.wait(INTERVAL):
                done = self._session.progress()
                bar.update(task, total=None if done is None else 1.0, completed=done or 0.0)
