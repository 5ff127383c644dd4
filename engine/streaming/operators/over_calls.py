"""The aggregates in the SQL of an OVER call, and how a running value goes on from one batch to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

_RANKS: Final = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_PLACES: Final = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
WINDOW_ONLY: Final = _RANKS | _PLACES
"""Functions that are no aggregates without a window."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_TAIL = re.compile(r"\s*(FILTER|OVER)\s*(?=\()", re.IGNORECASE)


class Primitive(NamedTuple):
    """One call of an aggregate or window function, without OVER."""

    function: str
    inner: str
    """What stands in its parentheses."""
    filter: str
    """ FILTER (WHERE …) with a blank in front, or nothing."""

    @property
    def sql(self) -> str:
        return f"{self.function}({self.inner}){self.filter}"

    @property
    def by_place(self) -> bool:
        """Whether each row counts for itself, also among rows of the same time."""
        return self.function in ("row_number", "ntile") or self.function in _PLACES

    def continued(self, base: str, value: str) -> str | None:
        """The value over all rows from the one over the earlier rows and that over the new ones, in SQL.

        None where it cannot be told from these two.
        """
        distinct = re.match(r"\s*DISTINCT\b", self.inner, re.IGNORECASE) is not None
        made = _CONTINUED.get(self.function)
        if self.inner.rstrip().upper().endswith("IGNORE NULLS"):
            made = _CONTINUED_VALUES.get(self.function)
        return made(base, value) if made is not None and not distinct else None


def _added(base: str, value: str) -> str:
    return f"CASE WHEN {base} IS NULL THEN {value} WHEN {value} IS NULL THEN {base} ELSE {base} + {value} END"


_CONTINUED: Final[dict[str, Callable[[str, str], str]]] = {
    "count": lambda base, value: f"(coalesce({base}, 0) + {value})",
    "row_number": lambda base, value: f"(coalesce({base}, 0) + {value})",
    "sum": _added,
    "min": lambda base, value: f"least({base}, {value})",
    "max": lambda base, value: f"greatest({base}, {value})",
}

_CONTINUED_VALUES: Final[dict[str, Callable[[str, str], str]]] = {
    "first_value": lambda base, value: f"coalesce({base}, {value})",
    "last_value": lambda base, value: f"coalesce({value}, {base})",
}
"""With IGNORE NULLS."""


class Call(NamedTuple):
    """An expression over aggregates: text, and between it the numbers of primitives."""

    pieces: tuple[str | int, ...]

    def sql(self, names: Sequence[str]) -> str:
        """The expression, with the primitives by their names."""
        return "".join(each if isinstance(each, str) else names[each] for each in self.pieces)


def taken_apart(sql: str, aggregates: frozenset[str], found: list[Primitive]) -> Call:
    """The expression with its calls of aggregates set apart, which go to ``found``, each once.

    An average is a sum by a count, so that it can go on. What OVER (…) says already is left out.
    """
    pieces: list[str | int] = []
    at = begin = 0
    for start, end in _words(sql):
        if start < at:
            continue
        name = sql[start:end].lower()
        if name not in aggregates or sql[end : end + 1] != "(":
            continue
        pieces.append(sql[begin:start])
        close = _closed(sql, end)
        inner = sql[end + 1 : close - 1]
        condition = ""
        while tail := _TAIL.match(sql, close):
            stop = _closed(sql, tail.end())
            if tail[1].upper() == "FILTER":
                condition = " FILTER " + sql[tail.end() : stop]
            close = stop
        pieces += _pieces(name, inner, condition, found)
        at = begin = close
    return Call((*pieces, sql[begin:]))


def _pieces(name: str, inner: str, condition: str, found: list[Primitive]) -> list[str | int]:
    if name in ("avg", "mean") and re.match(r"\s*DISTINCT\b", inner, re.IGNORECASE) is None:
        total, count = (_number(Primitive(part, inner, condition), found) for part in ("sum", "count"))
        return ["(CAST(", total, " AS DOUBLE) / nullif(", count, ", 0))"]
    return [_number(Primitive("count" if name == "count_star" else name, inner, condition), found)]


def _number(primitive: Primitive, found: list[Primitive]) -> int:
    if primitive not in found:
        found.append(primitive)
    return found.index(primitive)


def _words(sql: str) -> Iterator[tuple[int, int]]:
    """The places of words outside of quotes."""
    at = 0
    while at < len(sql):
        if quoted := _QUOTED.match(sql, at):
            at = quoted.end()
        elif word := _WORD.match(sql, at):
            yield word.start(), word.end()
            at = word.end()
        else:
            at += 1


def _closed(sql: str, opening: int) -> int:
    """Behind the parenthesis that closes the one at ``opening``."""
    depth, at = 0, opening
    while at < len(sql):
        if quoted := _QUOTED.match(sql, at):
            at = quoted.end()
            continue
        depth += {"(": 1, ")": -1}.get(sql[at], 0)
        at += 1
        if depth == 0:
            break
    return at
