"""Ctrl-C while a statement runs, and a request to end the process (SIGTERM, or SIGHUP of a terminal that was closed).

DuckDB does not look at signals while rows are fetched, and Python runs no handler before DuckDB returns. So a thread
reads the signal from a wake-up pipe and interrupts the session at once. The handler itself raises KeyboardInterrupt,
but not into code that is already cleaning up after the interruption: that may finish, unless Ctrl-C comes again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Interruptible(Protocol):
    """A session: ``interrupt`` stops what it runs and may be called from any thread."""

    def interrupt(self) -> None: ...


_SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


class Interrupts:
    """Turns signals into an interruption of one session. For use in the main thread.

    ``ended_by`` is the signal that asked the process to end while a statement ran.
    """

    def __init__(self, session: Interruptible) -> None:
        self.ended_by: int | None = None
        self._session = session
        self._presses = 0
        self._running = False
        self._wakeup = -1

    @property
    def pressed(self) -> bool:
        """Whether a signal came during the last statement."""
        return self._presses > 0

    @contextmanager
    def during_statement(self) -> Iterator[None]:
        """What runs inside is interrupted by a signal and then raises KeyboardInterrupt (or what it makes of it)."""
        self._presses = 0
        # A job in the background ignores Ctrl-C, one below nohup the end of the terminal: they are not meant for it.
        numbers = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
        if self._wakeup < 0:
            self._start_watching()
            raise_from_now_on()
        self._running = True
        before = [(n, signal.signal(n, self._handle)) for n in numbers]
        wakeup_before = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        try:
            yield
        finally:
            self._running = False
            signal.set_wakeup_fd(wakeup_before)
            for number, handler in before:
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's signature
        self._presses += 1
        if number != signal.SIGINT:
            self.ended_by = number
        cleaning_up = sys.exc_info()[0] is not None
        if not cleaning_up or self._presses > 1:
            raise KeyboardInterrupt

    def _start_watching(self) -> None:
        readable, self._wakeup = os.pipe()
        os.set_blocking(self._wakeup, False)
        threading.Thread(target=self._watch, args=(readable,), name="ctrl-c", daemon=True).start()

    def _watch(self, readable: int) -> None:
        while numbers := os.read(readable, 64):
            if self._running and any(n in numbers for n in _SIGNALS):
                self._session.interrupt()


def raise_from_now_on() -> None:
    """Let Ctrl-C raise KeyboardInterrupt: from the first statement on, there is something to put in order."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
