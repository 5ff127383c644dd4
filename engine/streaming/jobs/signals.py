"""How the process of a job is told to stop: by SIGTERM, beside which ``stop.json`` may say how.

A thread reads the signal from a wake-up pipe: Python runs no handler before DuckDB returns.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError
from bergsql.engine.streaming.jobs.files import read_json

if TYPE_CHECKING:
    from bergsql.engine.streaming.runner import Runner


class Request(NamedTuple):
    """How to stop. Without anything: at once, as the process is told to end and nobody asked for the job's end."""

    canceled: bool = False
    """STOP JOB asks."""
    savepoint: bool = False
    """Make a savepoint first."""
    directory: Path | None = None
    """Where, if that is said."""
    drain: bool = False
    id: str = ""

    @property
    def at_once(self) -> bool:
        """Whether what is under way is given up."""
        return not self.savepoint and not self.drain


class Stops:
    """The requests to a process, while it is entered. For the main thread.

    ``runner`` is woken by a request, or interrupted by one that is to be heard at once.
    """

    def __init__(self, directory: Path) -> None:
        self.runner: Runner | None = None
        self.opening = False
        """Whether what is under way in the main thread has no runner, and is given up by KeyboardInterrupt."""
        self.asked: Request | None = None
        self._directory = directory
        self._event = threading.Event()

    def __enter__(self) -> Stops:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._handle)
        threading.Thread(target=self._watch, args=(readable,), name="stops", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends as it is

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.opening:
            self.opening = False
            raise KeyboardInterrupt

    def _watch(self, readable: int) -> None:
        while os.read(readable, 64):
            self._ask(self._request())

    def _request(self) -> Request:
        try:
            content = read_json(self._directory / "stop.json")
        except BergError:
            content = None
        if content is None or content.get("pid") != os.getpid():
            return Request()
        place = content.get("directory")
        directory = Path(place) if isinstance(place, str) else None
        savepoint, drain = content.get("savepoint") is True, content.get("drain") is True
        return Request(True, savepoint, directory, drain, str(content.get("request", "")))

    def _ask(self, request: Request) -> None:
        if self.asked is not None and not request.at_once:
            return  # it is about to
        self.asked = request
        self._event.set()
        if (runner := self.runner) is not None:
            (runner.interrupt if request.at_once else runner.wake)()

    def forget(self) -> None:
        """A request cannot be carried out: go on as if it had not been made."""
        self.asked = None
        self._event.clear()

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until it is to stop; whether it is."""
        return self._event.wait(seconds)
