"""What a layout is: a function that draws one result on a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import BinaryIO, NamedTuple, Protocol

from bergsql.engine.result import Result, Row


class View(NamedTuple):
    """How the session wants results to look."""

    max_width: int
    """The widest that a column of a tableau gets."""
    zone: str = "UTC"
    """The name of the time zone in which instants are shown."""
    show_time: bool = True
    started: float = 0.0
    """When the statement was given, on the monotonic clock."""
    null: str | None = None
    """What NULL is shown as; None: each layout's own mark."""
    terminal_width: int | None = None
    """The columns of the terminal, where what is wider may be drawn vertically."""

    def seconds(self) -> float:
        return monotonic() - self.started


class Out(Protocol):
    """Where a result is drawn."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...

    def binary(self) -> BinaryIO:
        """The same place for bytes; flush before going from text to bytes."""


Layout = Callable[[Result, Out, View], None]
"""Draws a result that has columns. It reads the chunks once and keeps no more of them than it needs: however many rows
there are, memory stays flat. It leaves closing to the caller."""


@contextmanager
def severed_by_failure(sink: BinaryIO) -> Iterator[None]:
    """When what runs inside fails, nothing more gets into ``sink``: no end that would make it look whole."""
    try:
        yield
    except BaseException:
        sink.close()
        raise


class Ended(KeyboardInterrupt):
    """Ctrl-C ended a result that has no end of its own; the layout has told so already."""


NULL = "<NULL>"
"""What NULL is shown as in what people read, as Flink's client does."""


def footer(rows: int, view: View | None) -> str:
    """How many rows there were, and with a ``view`` that wants it the time."""
    counted = "Empty set" if not rows else "1 row in set" if rows == 1 else f"{rows} rows in set"
    return timed(counted, view)


def timed(text: str, view: View | None) -> str:
    """A line, with the time that the statement took if a ``view`` wants it."""
    return f"{text} ({view.seconds():.2f} seconds)\n" if view and view.show_time else f"{text}\n"


def draw_script(result: Result, out: Out) -> None:
    """Print lines of SQL as they are, so that they can be pasted back."""
    out.write("".join(f"{row[0]}\n" for row in result.rows()))
    out.flush()


def filled_chunks(result: Result) -> Iterator[list[Row]]:
    """The chunks that have rows."""
    return (chunk for chunk in result.chunks if chunk)


def unique(names: Sequence[str]) -> list[str]:
    """``names`` with a number behind those that came before, for layouts whose readers keep one value a name.

    >>> unique(["id", "name", "id", "id"])
    ['id', 'name', 'id_1', 'id_2']
    """
    taken = set(names)
    seen: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 0
        while candidate in seen or (number and candidate in taken):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        found.append(candidate)
    return found
