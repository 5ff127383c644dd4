"""Ctrl-C while a statement runs.

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


class Interrupts:
    """Turns SIGINT into an interruption of one session. For use in the main thread."""

    def __init__(self, session: Interruptible) -> None:
        self._session = session
        self._presses = 0
        self._running = False
        self._wakeup = -1

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C came during the last statement."""
        return self._presses > 0

    @contextmanager
    def during_statement(self) -> Iterator[None]:
        """What runs inside is interrupted by Ctrl-C and then raises KeyboardInterrupt (or what it makes of it)."""
        self._presses = 0
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background: Ctrl-C is not meant for it
            yield
            return
        if self._wakeup < 0:
            self._start_watching()
            raise_from_now_on()
        self._running = True
        before = signal.signal(signal.SIGINT, self._handle)
        wakeup_before = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        try:
            yield
        finally:
            self._running = False
            signal.set_wakeup_fd(wakeup_before)
            signal.signal(signal.SIGINT, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's signature
        self._presses += 1
        cleaning_up = sys.exc_info()[0] is not None
        if not cleaning_up or self._presses > 1:
            raise KeyboardInterrupt

    def _start_watching(self) -> None:
        readable, self._wakeup = os.pipe()
        os.set_blocking(self._wakeup, False)
        threading.Thread(target=self._watch, args=(readable,), name="ctrl-c", daemon=True).start()

    def _watch(self, readable: int) -> None:
        while numbers := os.read(readable, 64):
            if self._running and signal.SIGINT in numbers:
                self._session.interrupt()


def raise_from_now_on() -> None:
    """Let Ctrl-C raise KeyboardInterrupt: from the first statement on, there is something to put in order."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
