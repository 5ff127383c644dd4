"""Where things are shown: results on one stream, everything for the person on the other."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from errno import EBADF
from stat import S_ISREG
from typing import Any, BinaryIO, TextIO, cast

from bergsql.catalog.errors import BergError, ErrorCode


class OutputError(Exception):
    """Results cannot be written: whoever read them went away (BrokenPipeError), or the disk is full."""

    def __init__(self, cause: OSError) -> None:
        closed = cause.errno == EBADF
        super().__init__(f"Cannot write the results: {'standard output is closed' if closed else cause.strerror}.")
        self.cause = cause


class Results:
    """The stream that results go to. That it fails is told apart from all that can fail while a result is made."""

    def __init__(self, stream: TextIO, name: str | None = None) -> None:
        self._stream = stream
        self._name = name
        """Of a file, which keeps what it has until :meth:`begin`."""

    def begin(self, inputs: Iterable[int]) -> None:
        """Empty the file, if results go to one.

        :raises BergError: CONFIG, when it is one of the ``inputs``, which are descriptors.
        """
        if self._name is None:
            return
        out = os.fstat(self._stream.fileno())
        if not S_ISREG(out.st_mode):
            return
        if any(os.path.samestat(out, os.fstat(each)) for each in inputs):
            raise BergError(ErrorCode.CONFIG, f"The results cannot go to {self._name}: the statements are in it.")
        os.ftruncate(self._stream.fileno(), 0)

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

    def binary(self) -> BinaryIO:
        """The stream for bytes. Whoever writes to it may close it: the results stay open."""
        self.flush()
        return cast(BinaryIO, _Bytes(self._stream))

    @property
    def name(self) -> str | None:
        """The file that --output names."""
        return self._name

    def isatty(self) -> bool:
        return self._stream.isatty()

    def terminal_width(self) -> int | None:
        """The columns of the terminal that results go to; None when they go elsewhere."""
        if not self.isatty():
            return None
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or None
        except OSError:
            return None

    def close(self) -> None:
        """Write out what is left. Standard output stays open."""
        try:
            self.flush()
            if self._stream is not sys.stdout:
                self._stream.close()
        except OSError as error:  # some file systems notice at the end only that there is no space
            raise OutputError(error) from error
        finally:
            if self._stream is not sys.stdout and not self._stream.closed:
                abandon(self._stream)
                self._stream.close()


class _Bytes(io.RawIOBase):
    """The bytes below a stream of text. What is written after :meth:`close` is lost, and the text goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.closed:
            return memoryview(data).nbytes
        try:
            return self._stream.buffer.write(data)
        except OSError as error:
            raise OutputError(error) from error


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
            self.say(f"[INFO] {masked(message)}")

    def error(self, text: str, cause: BaseException | None = None) -> None:
        """An error, as :func:`bergsql.shell.render.errors.error_text` gives it."""
        self.say(text)
        if self.debug and cause is not None:
            from traceback import format_exception

            self.say(masked("".join(format_exception(cause)).rstrip()))

    def say(self, text: str) -> None:
        """Lines for the person, whether there are others or not."""
        self.out.flush()  # so that a terminal shows both in order
        tell(text, self.err)


def standard_screen(output: str | None, *, quiet: bool, debug: bool) -> Screen:
    """Standard output, or the file ``output``; and standard error.

    :raises BergError: IO, when the file cannot be written.
    """
    for stream in (sys.stdout, sys.stderr):
        # Results are UTF-8 wherever they go but on a terminal of another kind; nothing may fail for want of a letter.
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    if output is None:
        return Screen(Results(sys.stdout), sys.stderr, quiet, debug)
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot write {output}: {error.strerror}.") from error
    file = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")
    return Screen(Results(file, output), sys.stderr, quiet, debug)


def masked(text: str) -> str:
    """``text`` without the secrets that may be in it."""
    if not any(sign in text for sign in ("=", "://", "'", "earer")):
        return text
    from bergsql.catalog.secrets import mask_text

    return mask_text(text)


def tell(text: str, err: TextIO | None = None) -> None:
    """Write a line for the person; nobody can be told when that cannot be done."""
    err = err or sys.stderr
    try:
        err.write(text + "\n")
        err.flush()
    except OSError:
        abandon(err)


def abandon(stream: TextIO) -> None:
    """Let a stream that failed lead nowhere, so that what is left in it does not fail again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def hold_closed_streams() -> None:
    """Put something in the place of standard streams that whoever started us has closed.

    Else the next file that is opened would take their place. Standard input cannot be read then and standard output not
    be written; what goes to standard error is lost.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
