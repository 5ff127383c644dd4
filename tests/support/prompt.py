"""bergsql typed at a terminal: a pseudo-terminal, keys, and what came back on the screen."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pexpect

from tests.support.answers import Answer, parse_answer
from tests.support.berg import TIMEOUT, Berg

CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[=>()][0-9A-B]?|[\x00-\x08\x0b-\x1f\x7f]")
OUTPUT = re.compile(
    r"^(\{.*\}|\|.*\||\+-[-+]*\+|\[(INFO|ERROR)\] .*|Hint: .*|  line \d+, column \d+|\d+ rows? in set.*|Empty set.*)$"
)


class _Kept:
    """Takes what comes to the screen, echoes too."""

    def __init__(self, printed: list[str]) -> None:
        self._printed = printed
        printed.append("")

    def write(self, text: str) -> None:
        self._printed[-1] += text

    def flush(self) -> None:
        pass


class Prompt:
    """A session at the prompt. Statements are typed line by line, as a person does."""

    def __init__(self, berg: Berg, *arguments: str, columns: int = 250) -> None:
        command, *rest = berg.command(*arguments)
        self._child = pexpect.spawn(
            command,
            rest,
            env={**berg.env(), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
            dimensions=(60, columns),
            encoding="utf-8",
            codec_errors="replace",
            timeout=TIMEOUT,
        )
        self._child.logfile_read = _Kept(berg.printed)

    def __enter__(self) -> Prompt:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    def answer(self, statement: str) -> Answer:
        """Type a statement, and behind it a SET that shows a token; what came before the token is the answer.

        Only lines that bergsql prints are kept, not the echo of what was typed.
        """
        token = secrets.token_hex(6)
        for line in [*statement.splitlines(), f"SET '{token}';"]:
            self._child.send(line + "\r")
        self._child.expect(rf'"key": ?"{token}"|\| {token} \|')
        lines = plain_lines(str(self._child.before))
        kept = [line for line in lines if OUTPUT.match(line)]
        return parse_answer(without_marker(kept))

    def followed(self, statement: str, until: Callable[[str], bool]) -> Answer:
        """Type a statement that has no end, and Ctrl-C when what it printed is enough; what came is the answer."""
        for line in statement.splitlines():
            self._child.send(line + "\r")
        printed = ""
        while not until(printed):
            printed += self._child.read_nonblocking(1 << 16, TIMEOUT)
        self._child.sendintr()
        self._child.expect("Query terminated")
        lines = plain_lines(printed + str(self._child.before))
        return parse_answer(without_marker([line for line in lines if OUTPUT.match(line)]))

    def type(self, *keys: str) -> None:
        """Type keys as they are."""
        for part in keys:
            self._child.send(part)

    def interrupt(self, statement: str, when: Callable[[], bool] | None = None) -> None:
        """Type a statement that runs long, and Ctrl-C once ``when`` holds; come back when it was cancelled."""
        self._child.send(statement + "\r")
        while not (when or self._is_busy)():
            if self._child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=0.02):
                raise AssertionError(f"bergsql ended: {self._child.before}")
        self._child.sendintr()
        self._child.expect("[Cc]ancelled")

    def _is_busy(self) -> bool:
        """Whether the process has used more CPU than start-up takes: then the statement runs."""
        fields = Path(f"/proc/{self._child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12]) > 2 * os.sysconf("SC_CLK_TCK")

    def leave(self) -> int:
        """Ctrl-D at an empty prompt; the exit code."""
        self._child.send("\x04")
        return self.ended()

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        self._child.expect(pexpect.EOF)
        self._child.close()
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)


def plain_lines(raw: str) -> list[str]:
    """The lines of a terminal's stream without control sequences."""
    return [CONTROL.sub("", line).rstrip() for line in re.split(r"\r*\n|\r", raw)]


def without_marker(lines: list[str]) -> list[str]:
    """The lines without the beginning of the marker's table, and without what the marker before left behind."""
    if len(lines) > 2 and re.fullmatch(r"\| +key \| value \|", lines[-2]):
        lines = lines[:-3]
    start = 0
    if lines[:1] and re.fullmatch(r"\+-{14}\+-{7}\+", lines[0]):
        start = 2
    return lines[start:]
