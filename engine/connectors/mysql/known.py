"""A table that is read, with all that is known of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.order import KeyOrder

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Session
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.keys import Key
    from bergsql.engine.connectors.mysql.tables import KeyColumn
    from bergsql.engine.connectors.mysql.values import Columns

KeyOf = Callable[[Sequence[Any]], tuple[Any, ...]]


class KnownTable:
    """``key`` is what its snapshot is cut by, empty where it is read in one go; ``unique``: each key is there once."""

    def __init__(self, name: Name, columns: Columns, key: Sequence[KeyColumn], *, unique: bool) -> None:
        self.name, self.columns, self.key, self.unique = name, columns, tuple(key), unique
        self._bytes = [c.type.endswith(("binary", "blob")) for c in self.key]
        self._padded = [c.type == "binary" for c in self.key]
        self._order: KeyOrder | None = None
        self._keys_of: dict[tuple[str, ...], KeyOf] = {}

    @property
    def shown(self) -> str:
        return ".".join(self.name)

    def order(self, session: Session) -> KeyOrder:
        if self._order is None:
            self._order = KeyOrder(session, self.key)
        return self._order

    def comparable(self, key: Key) -> Key:
        """A key as the binlog and a SELECT have it alike: zeros at the end of a BINARY are not in the binlog."""
        if not any(self._bytes):
            return key
        octets = tuple(_octets(v) if are else v for v, are in zip(key, self._bytes, strict=True))
        return tuple(v.rstrip(b"\0") if padded else v for v, padded in zip(octets, self._padded, strict=True))

    def key_of(self, names: tuple[str, ...]) -> KeyOf:
        """What takes the key out of a row of the binlog with columns of these names.

        :raises BergError: INVALID where a column that is read is not there: dropped, or renamed, since or before.
        """
        found = self._keys_of.get(names)
        if found is None:
            missing = [n for n in (*self.columns.names, *(c.name for c in self.key)) if n not in names]
            if missing:
                raise BergError(
                    ErrorCode.INVALID,
                    f"Table {self.shown} has changes in the binlog without its column '{missing[0]}'.",
                    hint="It was added, dropped or renamed. Start again as a new job that declares what is there.",
                )
            places = [names.index(c.name) for c in self.key]

            def found(row: Sequence[Any]) -> tuple[Any, ...]:
                return tuple(row[place] for place in places)

            self._keys_of[names] = found
        return found


def _octets(value: Any) -> Any:
    return value.encode("latin-1") if isinstance(value, str) else value
