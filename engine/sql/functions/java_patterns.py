"""Patterns of dates and times as Java has them, read into their parts.

Spark's and most of Flink's functions take those of ``DateTimeFormatter``; Flink's FROM_UNIXTIME, UNIX_TIMESTAMP and
TO_DATE take those of the older ``SimpleDateFormat``, whose letters mean the same but for ``S``, ``u`` and widths.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode


class Dialect(StrEnum):
    """Whose rules a pattern follows."""

    SPARK = "Spark"
    FLINK = "Flink"
    SIMPLE = "SimpleDateFormat"


class Part(NamedTuple):
    """``letter``: a field, written ``width`` times; or (letter "") literal ``text``; ``[`` and ``]``: optional."""

    letter: str
    width: int
    text: str = ""


_MOST = {
    "G": 4, "y": 6, "u": 6, "D": 3, "M": 4, "L": 4, "d": 2, "Q": 4, "q": 4, "E": 4, "F": 1, "a": 1, "h": 2, "K": 2,
    "k": 2, "H": 2, "m": 2, "s": 2, "S": 9, "V": 2, "z": 4, "O": 4, "X": 5, "x": 5, "Z": 5,
}  # fmt: skip
"""The letters of DateTimeFormatter that Spark takes, and how often each may be written."""
_FLINK_MOST = {**_MOST, "Y": 6, "w": 2, "W": 1, "e": 4, "c": 4, "A": 9, "N": 18, "n": 9}
_SIMPLE_MOST = dict.fromkeys("GyYMLwWDdFEuaHkKhmsSzZX", 19)
_LETTERS = {Dialect.SPARK: _MOST, Dialect.FLINK: _FLINK_MOST, Dialect.SIMPLE: _SIMPLE_MOST}
_ONLY = {"O": (1, 4), "V": (2,)}
"""The only counts that Java has of these."""
WEEK_BASED = frozenset("YwWec")


@lru_cache(maxsize=64)
def pattern_parts(pattern: str, dialect: Dialect) -> tuple[Part, ...]:
    """The parts of a pattern.

    :raises BergError: INVALID when Java refuses it too, naming the letter.
    """
    parts: list[Part] = []
    i, depth = 0, 0
    while i < len(pattern):
        c = pattern[i]
        if c == "'":
            text, i = _quoted(pattern, i)
            parts.append(Part("", 0, text))
        elif c.isascii() and c.isalpha():
            end = i
            while end < len(pattern) and pattern[end] == c:
                end += 1
            parts.append(_field(c, end - i, pattern, dialect))
            i = end
        elif c in "[]" and dialect is not Dialect.SIMPLE:
            depth += 1 if c == "[" else -1
            if depth < 0:
                raise _wrong(pattern, "has a ']' that nothing opens")
            parts.append(Part(c, 0))
            i += 1
        elif c in "{}#" and dialect is not Dialect.SIMPLE:
            raise _wrong(pattern, f"holds '{c}', which is kept for later use", "Write it in quotes: '{'.")
        else:
            parts.append(Part("", 0, c))
            i += 1
    return (*parts, *[Part("]", 0)] * depth)


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """The text in quotes that begin at ``start`` (two quotes are one), and the place behind them."""
    if pattern[start : start + 2] == "''":
        return "'", start + 2
    text, i = "", start + 1
    while i < len(pattern):
        if pattern[i] != "'":
            text += pattern[i]
        elif pattern[i + 1 : i + 2] == "'":
            text += "'"
            i += 1
        else:
            return text, i + 1
        i += 1
    raise BergError(ErrorCode.INVALID, f"The quote in the pattern '{pattern}' is not closed.")


def _field(letter: str, count: int, pattern: str, dialect: Dialect) -> Part:
    letters = _LETTERS[dialect]
    if letter not in letters:
        if dialect is Dialect.SPARK and letter in WEEK_BASED:
            raise _wrong(pattern, f"has the week-based letter '{letter}', which Spark does not take")
        raise _wrong(pattern, f"has the letter '{letter}', which stands for nothing", "Write letters in quotes: 'T'.")
    if count > letters[letter] or (dialect is not Dialect.SIMPLE and count not in _ONLY.get(letter, (count,))):
        raise _wrong(pattern, f"has the letter '{letter}' {count} times")
    if dialect is Dialect.SPARK and letter == "u":
        raise _wrong(pattern, "has the letter 'u', whose meaning changed", "Write 'y' for the year.")
    return Part(letter, count)


def _wrong(pattern: str, what: str, hint: str | None = None) -> BergError:
    return BergError(ErrorCode.INVALID, f"The pattern '{pattern}' {what}.", hint=hint)
