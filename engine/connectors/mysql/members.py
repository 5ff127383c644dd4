"""The members of ENUM and SET in an event of the binlog, as bytes: the library takes all for UTF-8."""

from __future__ import annotations

from typing import Final, NamedTuple

_SETS: Final = 5
_ENUMS: Final = 6
CHECKSUM: Final = 4
SCHEMA: Final = 28
"""Where the table's schema stands: behind an octet of the packet, the event's header, and a number and flags."""


class Members(NamedTuple):
    """Of each column that is one, in their order."""

    enums: list[list[bytes]]
    sets: list[list[bytes]]


class Octets:
    """Bytes, taken from their start on."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self.at

    def take(self, count: int) -> bytes:
        found = self._data[self.at : self.at + count]
        self.at += count
        return found

    def number(self) -> int:
        """A number of a length of its own."""
        (first,) = self.take(1)
        width = {252: 2, 253: 3, 254: 8}.get(first)
        return first if width is None else int.from_bytes(self.take(width), "little")


def raw_members(packet: bytes) -> Members:
    """The members in a packet with a table's event."""
    octets = Octets(packet)
    octets.take(SCHEMA)
    for _ in ("schema", "table"):
        octets.take(octets.take(1)[0] + 1)
    columns = octets.number()
    octets.take(columns)
    octets.take(octets.number())
    octets.take((columns + 7) // 8)
    found = Members([], [])
    while octets.left > CHECKSUM:
        (kind,) = octets.take(1)
        part = Octets(octets.take(octets.number()))
        for lists in {_SETS: (found.sets,), _ENUMS: (found.enums,)}.get(kind, ()):
            while part.left:
                lists.append([part.take(part.number()) for _ in range(part.number())])
    return found
