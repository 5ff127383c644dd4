"""The log as the server sends it: a thread reads ahead and keeps the connection alive, whatever the job does."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.postgres.client import told
from bergsql.engine.connectors.postgres.log_stream import LogStream

if TYPE_CHECKING:
    from bergsql.engine.connectors.postgres.options import Settings

_AHEAD: Final = 16 << 20
"""Bytes of messages that wait at most."""
_OVERHEAD: Final = 100
_STATUS: Final = 5.0
"""Seconds after which the server hears of us: it gives up on who is silent for wal_sender_timeout, a minute."""
_NAP: Final = 0.05


class Reached(NamedTuple):
    """So many messages were read when nothing came behind them up to ``position``."""

    messages: int
    position: int


class Feed:
    """Reads a slot from a position on."""

    def __init__(self, settings: Settings, start: int) -> None:
        """:raises BergError: where the slot cannot be read."""
        self._settings = settings
        self._waiting: deque[bytes] = deque()
        self._given = 0
        self._bytes_in = self._bytes_out = 0
        self._reached = Reached(0, 0)
        self._error: BergError | None = None
        self._confirmed = 0
        self._stop = threading.Event()
        self._stream = LogStream(settings, start)
        self._thread = threading.Thread(target=self._run, name=f"slot {settings.slot}", daemon=True)
        self._thread.start()

    def next(self) -> bytes | None:
        """The next message that is there.

        :raises BergError: where the connection broke off, behind all that came before.
        """
        error = self._error  # looked at first: what was read before it is in the queue
        try:
            data = self._waiting.popleft()
        except IndexError:
            if error is not None:
                raise error from None
            return None
        self._given += 1
        self._bytes_out += len(data) + _OVERHEAD
        return data

    def give_back(self, data: bytes) -> None:
        """Let the message come again."""
        self._given -= 1
        self._bytes_out -= len(data) + _OVERHEAD
        self._waiting.appendleft(data)

    @property
    def idle_position(self) -> int | None:
        """Up to where the log holds nothing that was not given; None while something waits."""
        reached = self._reached
        return reached.position if reached.messages == self._given else None

    def confirm(self, position: int) -> None:
        """Let the server forget what is before it."""
        self._confirmed = max(self._confirmed, position)

    def close(self) -> None:
        """End the reading, and let the slot go."""
        self._stop.set()
        self._thread.join(10)
        self._stream.close()

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # told to who asks for the next message
            self._error = error if isinstance(error, BergError) else told(error, self._settings)

    def _read(self) -> None:
        sent, spoke, count = 0, time.monotonic(), 0
        while not self._stop.is_set():
            now = time.monotonic()
            if sent != self._confirmed or now - spoke > _STATUS:
                sent, spoke = self._confirmed, now
                self._stream.tell(sent)
            if self._bytes_in - self._bytes_out > _AHEAD:
                self._stop.wait(_NAP)
                continue
            message = self._stream.next()
            if message is None:
                self._reached = Reached(count, self._stream.received)
                self._stream.wait(_NAP)
                continue
            count += 1
            self._bytes_in += len(message) + _OVERHEAD
            self._waiting.append(message)
