"""Reading members of a JSON object with a check of their kind; every failure is a CORRUPT error naming the member."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode

JsonObject = Mapping[str, Any]
T = TypeVar("T")

_MOST_MILLISECONDS = (2**63 - 1) // 1000
"""So many are as microseconds still a timestamp."""

_KIND_NAMES = {int: "a whole number", str: "a string", list: "a list", dict: "an object", bool: "true or false"}


def corrupt(message: str) -> BergError:
    """The error for JSON that is not what the Iceberg specification says."""
    return BergError(ErrorCode.CORRUPT, message)


def within(message: str) -> str:
    """A message as it goes on after a colon."""
    return message[:1].lower() + message[1:]


def check_kind(value: object, kind: type[T], what: str) -> T:
    """``value`` if it is of ``kind``; a boolean is no whole number."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise corrupt(f"{what} is not {_KIND_NAMES.get(kind, kind.__name__)}.")
    return value


def required(obj: JsonObject, key: str, kind: type[T]) -> T:
    """The member ``key``, which must be there."""
    if key not in obj:
        raise corrupt(f"'{key}' is missing.")
    return check_kind(obj[key], kind, f"'{key}'")


def optional(obj: JsonObject, key: str, kind: type[T]) -> T | None:
    """The member ``key``; None when it is absent or null."""
    value = obj.get(key)
    return None if value is None else check_kind(value, kind, f"'{key}'")


def milliseconds(obj: JsonObject, key: str) -> int:
    """The member ``key``, a time in milliseconds from 1970 on, which must be there."""
    value = required(obj, key, int)
    if not -_MOST_MILLISECONDS <= value <= _MOST_MILLISECONDS:
        raise corrupt(f"'{key}' is no time: {value}.")
    return value


def object_list(obj: JsonObject, key: str, read: Callable[[JsonObject], T]) -> tuple[T, ...]:
    """The member ``key`` as a list of objects, each read by ``read``; empty when absent or null."""
    return tuple(read(check_kind(item, dict, f"An item of '{key}'")) for item in optional(obj, key, list) or ())


def integers(obj: JsonObject, key: str) -> tuple[int, ...]:
    """The member ``key`` as a list of whole numbers; empty when absent or null."""
    return tuple(check_kind(item, int, f"An item of '{key}'") for item in optional(obj, key, list) or ())


def string_map(obj: JsonObject, key: str) -> dict[str, str]:
    """The member ``key`` as an object of strings; empty when absent or null."""
    members = optional(obj, key, dict) or {}
    for name, value in members.items():
        check_kind(value, str, f"'{name}' in '{key}'")
    return members


def others(obj: JsonObject, known: frozenset[str]) -> dict[str, Any]:
    """The members that ``known`` does not name, so that they survive a rewrite."""
    return {k: v for k, v in obj.items() if k not in known} if not known.issuperset(obj) else {}
