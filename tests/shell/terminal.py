"""bergsql at a terminal that can be looked at: keys go in, the screen is what a person would see."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType

import pexpect
import pyte

from tests.support.berg import TIMEOUT, Berg

ENTER, CTRL_C, CTRL_D, UP, LEFT, ALT_ENTER = "\r", "\x03", "\x04", "\x1b[A", "\x1b[D", "\x1b\r"
PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"


class Terminal:
    """A pseudo-terminal with bergsql in it, and the screen that pyte makes of what it prints."""

    def __init__(
        self,
        berg: Berg,
        *arguments: str,
        columns: int = 120,
        lines: int = 40,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        command, *rest = berg.command(*arguments)
        self._child = pexpect.spawn(
            command,
            rest,
            env={**berg.env(), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **(environment or {})},
            dimensions=(lines, columns),
            encoding="utf-8",
            codec_errors="replace",
            timeout=TIMEOUT,
        )
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000)
        self._stream = pyte.Stream(self._screen)
        self.raw = ""
        """Everything that was printed, control sequences included."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen and what scrolled off it, without blanks at their ends and empty lines at the end."""
        scrolled = ["".join(row[x].data for x in range(self._screen.columns)) for row in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*scrolled, *self._screen.display]).rstrip().split("\n")

    def cells(self, text: str) -> list[pyte.screens.Char]:
        """The cells of the last line on the screen that holds ``text``, from there on: characters with their colours."""
        for number in reversed(range(self._screen.lines)):
            found = self._screen.display[number].find(text)
            if found >= 0:
                row = self._screen.buffer[number]
                return [row[x] for x in range(found, self._screen.columns)]
        raise AssertionError(f"{text!r} is not on the screen:\n" + "\n".join(self.lines))

    def type(self, *keys: str) -> None:
        """Press keys."""
        self._child.send("".join(keys))

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self._screen.resize(lines, columns)
        self._child.setwinsize(lines, columns)

    def wait(self, condition: Callable[[list[str]], bool]) -> list[str]:
        """The lines, as soon as ``condition`` holds for them.

        :raises AssertionError: when that takes too long, or bergsql ends before.
        """
        deadline = time.monotonic() + TIMEOUT
        while not condition(self.lines):
            try:
                printed = self._child.read_nonblocking(65536, timeout=max(0.0, deadline - time.monotonic()))
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                raise AssertionError(f"{type(error).__name__}. On the screen:\n" + "\n".join(self.lines)) from None
            self.raw += printed
            self._stream.feed(printed)
        return self.lines

    def prompted(self, prompt: str = "flink default_catalog.default_database>") -> list[str]:
        """The lines, when the last is an empty prompt."""
        return self.wait(lambda lines: lines[-1] == prompt)

    def enter(self, statement: str, prompt: str = "flink default_catalog.default_database>") -> list[str]:
        """Type a statement, wait for the next prompt, and give the lines between the two."""
        before = len(self.lines)
        self.type(statement, ENTER)
        self.wait(lambda lines: len(lines) > before and lines[-1] == prompt)
        return self.lines[before:-1]

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        self._child.expect(pexpect.EOF)
        self.raw += str(self._child.before)
        self._child.close()
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)
