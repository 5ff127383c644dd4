"""The columns that a node's SQL reads: ``i.c0``, ``l.c3`` … found and renamed by their tokens, never inside of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w.])(?P<side>[gilrs])\.c(?P<place>\d+)\b""")
_BARE = re.compile(r"(?P<side>[gilrs])\.c(?P<place>\d+)\Z")


def reads(sql: str) -> set[tuple[str, int]]:
    """The inputs and positions that SQL reads.

    >>> sorted(reads("(i.c1 + length('i.c7'))"))
    [('i', 1)]
    """
    return {(m["side"], int(m["place"])) for m in _TOKEN.finditer(sql) if m["side"]}


def places(sql: str | Iterable[str], side: str = "i") -> set[int]:
    """The positions of one input that SQL reads."""
    parts = [sql] if isinstance(sql, str) else sql
    return {place for part in parts for its, place in reads(part) if its == side}


def rewritten(sql: str, new: Callable[[str, int], str]) -> str:
    """SQL with other columns in the place of those that it reads."""

    def one(match: re.Match[str]) -> str:
        return new(match["side"], int(match["place"])) if match["side"] else match[0]

    return _TOKEN.sub(one, sql)


def moved(sql: str, by: dict[int, int], side: str = "i", to: str | None = None) -> str:
    """SQL with the columns of one input at other positions."""
    target = to or side
    return rewritten(sql, lambda s, n: f"{target}.c{by[n]}" if s == side else f"{s}.c{n}")


def column_at(sql: str, side: str = "i") -> int | None:
    """The position of the column that SQL is, unchanged; None where it computes something."""
    found = _BARE.match(sql)
    return int(found["place"]) if found and found["side"] == side else None
