"""Keys of tables in the order of their database, as values in Python and as JSON in offsets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.sources.base import Json

Key = tuple[Any, ...]

_TAGS: Final = {"decimal": Decimal, "bytes": bytes, "datetime": datetime, "date": date, "time": time, "span": timedelta}


def key_to_json(key: Key) -> list[Json]:
    """A key for an offset: numbers and texts as they are, others as ``{"type": text}``."""
    return [_to_json(value) for value in key]


def key_from_json(value: Json) -> Key:
    """The key of :func:`key_to_json`.

    :raises BergError: CORRUPT where it is none.
    """
    try:
        assert isinstance(value, list)
        return tuple(_from_json(each) for each in value)
    except (AssertionError, ValueError, ArithmeticError, KeyError, TypeError):
        raise BergError(ErrorCode.CORRUPT, "What was kept of a snapshot's place is not understood.") from None


def _to_json(value: Any) -> Json:
    match value:
        case None | int() | str() | float():
            return value
        case Decimal():
            return {"decimal": str(value)}
        case bytes():
            return {"bytes": value.hex()}
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case time():
            return {"time": value.isoformat()}
        case timedelta():
            return {"span": value // timedelta(microseconds=1)}
    raise AssertionError(f"no key: {type(value).__name__}")


def _from_json(value: Json) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, text),) = value.items()
    if tag == "span":
        return timedelta(microseconds=int(text))  # type: ignore[arg-type]
    made = _TAGS[tag]
    if made is bytes:
        return bytes.fromhex(str(text))
    return Decimal(str(text)) if made is Decimal else made.fromisoformat(str(text))  # type: ignore[attr-defined]


def behind(columns: Sequence[str], bound: Key | None, mark: str = "%s") -> tuple[str, list[Any]]:
    """A condition for the rows behind a key in the order of some columns, and its parameters.

    It is written out, column by column, as that is what databases find in an index: ``a > x OR (a = x AND b > y)``.

    >>> behind(["a", "b"], (1, 2))
    ('(a > %s OR (a = %s AND (b > %s)))', [1, 1, 2])
    """
    if bound is None:
        return "TRUE", []
    first, *others = columns
    if not others:
        return f"({first} > {mark})", [bound[0]]
    rest, values = behind(others, bound[1:], mark)
    return f"({first} > {mark} OR ({first} = {mark} AND {rest}))", [bound[0], bound[0], *values]


def sign(left: Any, right: Any) -> int:
    """-1, 0 or 1 as ``left`` is below, equal to or above ``right``, in the order of numbers, times and bytes.

    What is no such value (a date of zeros, which drivers give as a text or as None) is below all others.
    """
    if type(left) is not type(right):
        odd_left, odd_right = (value is None or isinstance(value, str) for value in (left, right))
        if odd_left or odd_right:
            return odd_right - odd_left
    elif left is None:
        return 0
    return int(left > right) - int(left < right)
