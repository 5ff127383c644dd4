"""Where statements come from, and how a place in one is named."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode

if TYPE_CHECKING:
    from bergsql.engine.sql.flavour import Flavour
    from bergsql.engine.sql.splitter import SourceStatement

CHUNK_BYTES = 1 << 16
STDIN = 0


class Source(NamedTuple):
    """A text that holds statements. ``name`` is a file's, None for the command line, standard input and the prompt."""

    name: str | None = None
    script: bool = False
    """Standard input: it has no name, but holds many statements, so that a place always helps."""

    def place(self, line: int, column: int) -> str:
        """A place in this source for a person; both numbers count from 1."""
        return f"{self.name}:{line}:{column}" if self.name else f"line {line}, column {column}"


def read_text(descriptor: int, name: str) -> Iterator[str]:
    """The text behind a file descriptor, as it arrives; a byte order mark is dropped.

    :raises BergError: CONFIG when it cannot be read or is not UTF-8; it names the file.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    while True:
        try:
            data = os.read(descriptor, CHUNK_BYTES)
        except OSError as error:
            raise unreadable(name, error) from error
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise BergError(
                ErrorCode.CONFIG,
                f"{name} is not UTF-8 text (byte 0x{error.object[error.start]:02x}).",
                hint="Convert it, for example with iconv.",
            ) from error
        if text:
            yield text
        if not data:
            return


def open_script(path: str) -> int:
    """A descriptor of a script; ``-`` is standard input.

    :raises BergError: CONFIG, naming the file.
    """
    if path == "-":
        return STDIN
    try:
        descriptor = os.open(path, os.O_RDONLY)
        os.read(descriptor, 0)  # a directory can be opened, but not read
    except OSError as error:
        raise unreadable(path, error) from error
    return descriptor


def unreadable(name: str, error: OSError) -> BergError:
    """The error for a file that cannot be read."""
    return BergError(ErrorCode.CONFIG, f"Cannot read {name}: {error.strerror}.")


def statements(texts: Iterator[str], flavour: Callable[[], Flavour]) -> Iterator[SourceStatement]:
    """The statements in ``texts``, each as soon as it is complete; the last needs no semicolon."""
    from bergsql.engine.sql.splitter import Splitter

    splitter = Splitter(flavour)
    for text in texts:
        yield from splitter.feed(text)
    yield from splitter.finish()
