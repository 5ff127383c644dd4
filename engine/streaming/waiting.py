"""Waiting that another thread or a signal ends."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from threading import RLock


class Alarm:
    """A wait of one thread, which :meth:`ring` ends: now, or as soon as it begins.

    A pipe: a signal's handler may ring while the thread that it interrupts is about to wait. The lock keeps a late ring
    from a descriptor that was closed, and may be somebody else's by now.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()  # select() knows small descriptors only
        self._poll.register(self._read, select.POLLIN)
        self._open = True
        self._lock = RLock()

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long; gives whether it rang, and forgets that it did."""
        if not self._poll.poll(max(0.0, seconds) * 1000):
            return False
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
        return True

    def ring(self) -> None:
        """End the wait. From any thread, any number of times."""
        with self._lock:
            if self._open:
                with suppress(BlockingIOError):  # it rings already
                    os.write(self._write, b"!")

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._read)
                os.close(self._write)
