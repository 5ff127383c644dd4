"""Faults below the file layer, at every step of a run: one step is one call that changes a file below a directory.

``faults.c`` stands before the C library in the process, so the writes of DuckDB and SQLite are steps as well as
Python's. It is compiled here, by ``cc``.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DEADLINE = 300.0
"""Seconds after which a run is taken not to end."""


class Kind(IntEnum):
    """What a step does: ``enum kind`` of faults.c."""

    CREATE = 0
    WRITE = 1
    SYNC = 2
    LINK = 3
    RENAME = 4
    UNLINK = 5
    RMDIR = 6
    MKDIR = 7
    TRUNCATE = 8


class Mode(IntEnum):
    """What happens at a step: ``enum mode`` of faults.c."""

    COUNT = 0
    KILL = 1  # the process is killed before it
    TEAR = 2  # the process is killed behind it; a write has written half
    FAIL = 3  # it fails, once
    FAIL_ON = 4  # it fails, and so do all that follow
    LOSE = 5  # it is carried out, and says that it failed
    PRESS = 6  # Ctrl-C comes just before it


ALL = frozenset(Kind)


class Fault(NamedTuple):
    """A fault at the step number ``at``, counted from 0, if its kind is one of ``kinds``.

    With a ``path`` only steps of these kinds are counted whose path has it in it.
    """

    mode: Mode
    at: int = -1
    error: int = 0
    kinds: frozenset[Kind] = ALL
    path: str = ""


NONE = Fault(Mode.COUNT)


class Step(NamedTuple):
    kind: Kind
    length: int
    path: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over. ``code`` is -9 for one that was killed; ``fired``: its fault happened."""

    code: int
    out: str
    err: str
    fired: bool
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Faults:
    """A server of runs; see :func:`faults`."""

    process: subprocess.Popen[str]
    folder: Path

    def run(
        self, arguments: Sequence[str], below: Path, fault: Fault = NONE, *, module: str = "bergsql.shell.cli"
    ) -> Ran:
        """Run bergsql, with a fault among its steps below a directory. ``module`` is the one whose ``main`` it is."""
        self.start(arguments, below, fault, module=module)
        return self.ended()

    def start(self, arguments: Sequence[str], below: Path, fault: Fault, *, module: str) -> None:
        """Begin a run; :meth:`ended` must follow before the next."""
        for path in self._texts:
            path.unlink(missing_ok=True)
        run = {
            "module": module,
            "arguments": list(arguments),
            "below": str(below),
            "mode": fault.mode,
            "at": fault.at,
            "error": fault.error,
            "kinds": sum(1 << kind for kind in fault.kinds),
            "path": fault.path,
            **{path.name: str(path) for path in self._texts},
        }
        assert self.process.stdin
        self.process.stdin.write(json.dumps(run) + "\n")
        self.process.stdin.flush()

    def ended(self) -> Ran:
        """Wait for the end of a run."""
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        assert ready, f"the run does not end: {[path.read_text() for path in self._texts if path.exists()]}"
        answer = json.loads(self.process.stdout.readline())
        steps = [Step(Kind(kind), length, path) for kind, length, path in answer["steps"]]
        out, err = (path.read_text() for path in self._texts)
        return Ran(answer["code"], out, err, answer["fired"], steps)

    @property
    def _texts(self) -> tuple[Path, Path]:
        return self.folder / "out", self.folder / "err"


@contextmanager
def faults(folder: Path) -> Iterator[Faults]:
    """A server of runs with a home and files of its own in ``folder``."""
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("BERGSQL_", "COVERAGE_"))}
    environment = {**inherited, "BERGSQL_HOME": str(folder / "home"), "TZ": "UTC", "LD_PRELOAD": str(library)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fault_server", str(library)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Faults(process, folder)
    finally:
        assert process.stdin
        process.stdin.close()
        process.wait(timeout=60)
