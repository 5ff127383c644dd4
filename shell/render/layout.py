"""What a layout is: a function that draws one result on a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import NamedTuple, Protocol

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

    def seconds(self) -> float:
        return monotonic() - self.started


class Out(Protocol):
    """Where a result is drawn."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...


Layout = Callable[[Result, Out, View], None]
"""Draws a result that has columns. It reads the chunks once and keeps no more of them than it needs: however many rows
there are, memory stays flat. It leaves closing to the caller."""


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
