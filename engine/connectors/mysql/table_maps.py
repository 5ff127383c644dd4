"""What the binlog tells of a table before its rows, made such that the library reads it, or need not."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from bergsql.catalog.errors import not_supported
from bergsql.engine.connectors.mysql.members import CHECKSUM, SCHEMA, Octets

_KIND: Final = 19
"""The number of such an event."""
_COMPRESSED: Final = bytes((140, 141))
"""MariaDB's types of columns that are compressed by themselves, which the library does not know."""
_PLAIN: Final = bytes.maketrans(_COMPRESSED, bytes((252, 15)))
"""Types that are told and hold bytes in the same way: BLOB and VARCHAR."""
_STORED, _ZLIB = 0, 8


class TableMaps:
    """The tables of a binlog.

    Of tables that are not read, no columns are left: whatever they are, they are no matter.
    """

    def __init__(self, wants: Callable[[str, str], bool]) -> None:
        """
        :param wants: whether rows of a table, by its database and name, are read.
        """
        self._wants = wants
        self.compressed: frozenset[int] = frozenset()
        """Which columns of the last table are COMPRESSED, and are told as if they were not."""

    def readable(self, packet: bytes) -> bytes:
        """A packet as the library is to read it: only one with a table's event is another."""
        if (
            packet[:1] != b"\0"
            or packet[5:6] != bytes((_KIND,))
            or packet[10:14] != (len(packet) - 1).to_bytes(4, "little")
        ):
            return packet
        octets = Octets(packet)
        octets.take(SCHEMA)
        schema, name = (octets.take(octets.take(1)[0] + 1)[:-1].decode(errors="replace") for _ in range(2))
        head = packet[: octets.at]
        if not self._wants(schema, name):
            return head + bytes(2) + packet[-CHECKSUM:]
        count = octets.number()
        at = octets.at
        types = octets.take(count)
        self.compressed = frozenset(n for n, kind in enumerate(types) if kind in _COMPRESSED)
        return packet[:at] + types.translate(_PLAIN) + packet[octets.at :] if self.compressed else packet


def expanded(octets: bytes) -> bytes:
    """The bytes of a value, not empty, of a column that is COMPRESSED.

    An octet says how, and how wide the length is that follows; behind it is what is packed.
    """
    method, raw, width = octets[0] >> 4, octets[0] & 8, octets[0] & 7
    if method == _STORED:
        return octets[1:]
    if method != _ZLIB:
        raise not_supported(f"Reading a column that is COMPRESSED by method {method}")
    return zlib.decompress(octets[1 + width :], -zlib.MAX_WBITS if raw else zlib.MAX_WBITS)
