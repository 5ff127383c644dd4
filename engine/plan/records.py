"""Plain mutable values.

They are no dataclasses because making a dataclass takes half a millisecond, which every start of the shell would pay
for each of a dozen.
"""

from __future__ import annotations

from typing import TypeVar

R = TypeVar("R", bound="Record")


class Record:
    """A value whose ``__slots__`` are its fields."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def replace(record: R, **changes: object) -> R:
    """A copy with other values in some fields; what the fields hold is shared."""
    copy = object.__new__(type(record))
    for name in record.__slots__:
        setattr(copy, name, changes[name] if name in changes else getattr(record, name))
    if not changes.keys() <= set(record.__slots__):
        raise TypeError(f"no such field: {sorted(changes.keys() - set(record.__slots__))}")
    return copy
