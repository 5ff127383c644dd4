"""Text as a terminal shows it: display columns, cutting, padding, and control characters made harmless."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_WIDE = "\u1100-\u115f\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60\u3000-\u3020"
_NARROW = " -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0373\u037b-\u037d\u0388-\u03ff\u0400-\u0482\u048a-\u052f"
"""Characters whose width needs no table: for them wcwidth, which takes a while to import, is not asked."""

_DIRECTIONS = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_CONTROL = f"[\x00-\x1f{_DIRECTIONS}]"
_CONTROL_BUT_NEWLINE = f"[\x00-\x09\x0b-\x1f{_DIRECTIONS}]"
"""What moves the cursor, starts an escape sequence or turns the direction of text."""

_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}

_pattern = lru_cache(re.compile)
"""Patterns are compiled when a text first needs them: most results are plain ASCII."""


def width(text: str) -> int:
    """How many display columns ``text`` takes, without control characters but line breaks.

    >>> width("abc"), width("中文"), width("e\N{COMBINING ACUTE ACCENT}")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else _wide_width(text)


@lru_cache(maxsize=4096)
def _wide_width(text: str) -> int:
    text = text.replace("\n", " ")  # Flink counts a line break as a column
    if _pattern(f"[{_NARROW}{_WIDE}]*").fullmatch(text):
        return len(text) + len(_pattern(f"[{_WIDE}]").findall(text))
    from wcwidth import wcswidth, wcwidth

    columns = wcswidth(text)
    return columns if columns >= 0 else sum(max(wcwidth(c), 0) for c in text)


def cut(text: str, limit: int) -> str:
    """``text``, or its beginning and ``...`` where it is wider than ``limit`` columns.

    >>> cut("abcdefgh", 6), cut("中文字符", 7)
    ('abc...', '中文...')
    """
    if width(text) <= limit:
        return text
    room = limit - 3
    if room <= 0:
        return "." * limit
    if text.isascii():
        return text[:room] + "..."
    # Combining marks and joined emoji take no column of their own: the longest prefix that fits takes them along.
    longest = min(len(text), 8 * limit)
    return text[: bisect_right(range(longest + 1), room, key=lambda n: width(text[:n])) - 1] + "..."


def right(text: str, columns: int) -> str:
    """``text`` aligned to the right of so many display columns."""
    if text.isascii():
        return text.rjust(columns)
    return " " * (columns - width(text)) + text


def escape(text: str, *, keep_newlines: bool = False) -> str:
    r"""``text`` with every control character written out.

    >>> escape("a\tb\x1b[2J")
    'a\\tb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return _pattern(_CONTROL_BUT_NEWLINE if keep_newlines else _CONTROL).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    return _SHORT_ESCAPES.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
