"""What comes right behind all texts, or all bytes, that begin alike."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", str, bytes)


def successor(value: T) -> T | None:
    """The least text or bytes above everything that starts with ``value``; None if there is none.

    >>> successor("ab")
    'ac'
    """
    if isinstance(value, bytes):
        kept = value.rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    text = value.rstrip("\U0010ffff")
    if not text:
        return None
    following = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if following == 0xD800 else following)
