"""Where things are shown: results on one stream, everything for the person on the other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from bergsql.catalog.errors import BergError, ErrorCode


class OutputError(Exception):
    """Results cannot be written: whoever read them went away (BrokenPipeError), or the disk is full."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"Cannot write the results: {cause.strerror}.")
        self.cause = cause


class Results:
    """The stream that results go to. That it fails is told apart from all that can fail while a result is made."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from error

    def isatty(self) -> bool:
        return self._stream.isatty()

    def close(self) -> None:
        """Write out what is left. Standard output stays open, but leads nowhere once it has failed."""
        try:
            self.flush()
        finally:
            if self._stream is not sys.stdout:
                self._stream.close()


class Screen:
    """``out`` takes results and nothing else; ``err`` takes ``[INFO]`` and ``[ERROR]``.

    ``quiet``: no ``[INFO]``, results are as always. ``debug``: errors show their class and traceback.
    """

    def __init__(self, out: Results, err: TextIO, quiet: bool = False, debug: bool = False) -> None:
        self.out = out
        self.err = err
        self.quiet = quiet
        self.debug = debug

    def info(self, message: str) -> None:
        """A line for the person."""
        if not self.quiet:
            self._say(f"[INFO] {message}")

    def error(self, text: str, cause: BaseException | None = None) -> None:
        """An error, as :func:`bergsql.shell.render.errors.error_text` gives it."""
        self._say(text)
        if self.debug and cause is not None:
            from traceback import format_exception

            self._say("".join(format_exception(cause)).rstrip())

    def _say(self, text: str) -> None:
        self.out.flush()  # so that a terminal shows both in order
        self.err.write(text + "\n")
        self.err.flush()


def standard_screen(output: str | None, *, quiet: bool, debug: bool) -> Screen:
    """Standard output, or the file ``output``, which is emptied; and standard error.

    :raises BergError: IO, when the file cannot be written.
    """
    for stream in (sys.stdout, sys.stderr):
        # Results are UTF-8 wherever they go but on a terminal of another kind; nothing may fail for want of a letter.
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    if output is None:
        return Screen(Results(sys.stdout), sys.stderr, quiet, debug)
    try:
        file = Path(output).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 - open as long as the process
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot write {output}: {error.strerror}.") from error
    return Screen(Results(file), sys.stderr, quiet, debug)


def abandon_stdout() -> None:
    """Let standard output lead nowhere, so that the interpreter's last flush of it does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
