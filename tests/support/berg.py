"""bergsql as a person runs it: a process of the real command line, in a home of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.support.answers import Answer, marked, split_answers

BERGSQL = str(Path(sys.executable).with_name("bergsql"))
TIMEOUT = 120
"""Seconds after which a run is taken to hang."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run. With ``merged`` streams everything is in ``out``."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Berg:
    """A bergsql with its own home and an empty warehouse folder (the variable ``${WAREHOUSE}``)."""

    home: Path
    warehouse: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """A command that runs what follows it, such as one that enters a namespace."""
    printed: list[str] = field(default_factory=list, compare=False)
    """All that its runs have printed."""

    def command(self, *arguments: str) -> list[str]:
        return [*self.prefix, BERGSQL, *self.arguments, "-D", f"WAREHOUSE={self.warehouse}", *arguments]

    def env(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("BERGSQL_")}
        return {**inherited, "BERGSQL_HOME": str(self.home), "TZ": "UTC", "COLUMNS": "200", **self.environment}

    def run(self, *arguments: str, stdin: str | None = None, merged: bool = False, timeout: float = TIMEOUT) -> Done:
        """Run to the end. ``stdin`` None: the standard input is empty."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin or "",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            env=self.env(),
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        return self.done(done.returncode, done.stdout, done.stderr or "")

    def done(self, code: int, out: str, err: str) -> Done:
        """A run that is finished, whose output is kept."""
        self.printed.extend((out, err))
        return Done(code, out, err)

    def followed(self, *arguments: str, until: Sequence[Callable[[str], bool]], stdin: str | None = None) -> Done:
        """Run what has no end, and press Ctrl-C: when what was printed satisfies each of ``until``, asked in turn."""
        with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
            process = subprocess.Popen(
                self.command(*arguments), stdin=subprocess.PIPE, stdout=out, stderr=err, env=self.env(), text=True
            )
            assert process.stdin is not None
            process.stdin.write(stdin or "")
            process.stdin.close()
            deadline = time.monotonic() + TIMEOUT
            for satisfied in until:
                while not satisfied(_written(out)):
                    if process.poll() is not None or time.monotonic() > deadline:
                        process.kill()
                        raise AssertionError(f"{_written(out)}\n{_written(err)}")
                    time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            code = process.wait(TIMEOUT)
            return self.done(code, _written(out), _written(err))

    def answers(self, statements: Sequence[str], *arguments: str) -> list[Answer]:
        """Run the statements in one session, going on after errors, and give each one's own output."""
        token = secrets.token_hex(4)
        done = self.run("--continue-on-error", *arguments, *marked(statements, token), merged=True)
        answers = split_answers(done.out, len(statements), token)
        failed = any(a.errors for a in answers)
        if done.code != int(failed):
            raise AssertionError(
                f"exit code {done.code} although {'a' if failed else 'no'} statement failed:\n{done.out}"
            )
        return answers

    def rows(self, statement: str, *arguments: str) -> list[dict[str, object]]:
        """The rows of one query, decoded from jsonl."""
        (answer,) = self.answers([statement], "--format", "jsonl", *arguments)
        return answer.json_rows()


def _written(file: IO[str]) -> str:
    """What a process has written to a file so far."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode("utf-8", "replace")


@contextmanager
def fresh_berg(*arguments: str) -> Iterator[Berg]:
    """A Berg in new folders that are removed afterwards.

    Their paths are as long as ``${WAREHOUSE}`` and ``${BERG_HOME}``, so that a table drawn around them keeps its shape
    when the path is replaced by the name.
    """
    while True:
        tail = secrets.token_hex(3)
        home, warehouse = Path(f"/tmp/h{tail}"), Path(f"/tmp/w{tail}")
        try:
            home.mkdir(mode=0o700)
            warehouse.mkdir(mode=0o700)
        except FileExistsError:
            continue
        break
    try:
        yield Berg(home, warehouse, arguments)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(warehouse, ignore_errors=True)
