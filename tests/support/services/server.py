"""A server that a test starts, on a port of its own and in a folder of its own; and stops, kills and starts again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.shared import ROOT

DEADLINE = 120.0
"""Seconds to wait for a server."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(what: str, found: object, deadline: float = DEADLINE) -> object:
    """Ask ``found``, a function, until it gives something true: that. Fails at the deadline."""
    assert callable(found)
    end = time.monotonic() + deadline
    while not (got := found()):
        assert time.monotonic() < end, f"no {what} after {deadline:g} s"
        time.sleep(0.02)
    return got


class Server:
    """A service of examples/services. ``arguments`` come before the folder and the port."""

    script: str
    stop_signal = signal.SIGTERM

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        # Not below a test's own folder: that is its owner's alone, and PostgreSQL runs as another user.
        self.folder = Path(tempfile.mkdtemp(prefix=f"berg-{self.script}-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.port = free_port()
        self._arguments = tuple(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it serves; what it held before is there again."""
        command = ["sh", str(ROOT / "examples" / "services" / f"{self.script}.sh"), *self._arguments]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.folder), str(self.port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHON": sys.executable},
                start_new_session=True,
            )
        until(f"{self.script} at {self.address}", self._is_ready)

    def _is_ready(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"{self.script} ended with {code}: {self._told()}"
        try:
            return self.serves()
        except Exception:
            return False

    def _told(self) -> str:
        return Path(f"{self.folder}.log").read_text(errors="replace")[-2000:]

    def serves(self) -> bool:
        """Whether it answers; raises, or says no, as long as it does not."""
        with socket.create_connection(("127.0.0.1", self.port), 1):
            return True

    def kill(self) -> None:
        """Kill it at once, as a power failure would; :meth:`start` brings it back."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop it in order."""
        self._end(self.stop_signal)

    def _end(self, sent: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            os.killpg(process.pid, sent)
            process.wait(DEADLINE)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()

    def close(self) -> None:
        """Stop it for good and remove what it kept."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        Path(f"{self.folder}.log").unlink(missing_ok=True)
