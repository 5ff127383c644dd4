"""The order of a table's keys, as the server has it: what Python cannot know of texts, the server is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.connectors.mysql.keys import Key, sign

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Session
    from bergsql.engine.connectors.mysql.tables import KeyColumn

_ASKED_AT_ONCE: Final = 200
"""Texts of one question."""
_REMEMBERED: Final = 100_000
"""Texts whose place is kept, so that the same need not be asked for again."""


class KeyOrder:
    """Tells which keys are up to a bound. Collations, trailing blanks and accents are the server's."""

    def __init__(self, session: Session, columns: Sequence[KeyColumn]) -> None:
        self._session, self._columns = session, columns
        self._bound: Key | None = None
        self._known: list[dict[str, int]] = []

    def upto(self, keys: Sequence[Key], bound: Key) -> list[bool]:
        """Which of some keys are at or below ``bound``."""
        if bound != self._bound or sum(map(len, self._known)) > _REMEMBERED:
            self._bound, self._known = bound, [{} for _ in self._columns]
        for at, column in enumerate(self._columns):
            if column.collation is not None:
                self._ask(at, {key[at] for key in keys if isinstance(key[at], str)}, bound[at])
        return [self._sign(key, bound) <= 0 for key in keys]

    def _sign(self, key: Key, bound: Key) -> int:
        for at, column in enumerate(self._columns):
            value = key[at]
            asked = column.collation is not None and isinstance(value, str)
            found = self._known[at][value] if asked else sign(value, bound[at])
            if found:
                return found
        return 0

    def _ask(self, at: int, texts: set[str], bound: Any) -> None:
        known, column = self._known[at], self._columns[at]
        missing = sorted(texts - known.keys())
        text = f"(CONVERT(%s USING {column.charset}) COLLATE {column.collation})"
        for first in range(0, len(missing), _ASKED_AT_ONCE):
            part = missing[first : first + _ASKED_AT_ONCE]
            items = ", ".join([f"({text} > {text}) - ({text} < {text})"] * len(part))
            values = [v for each in part for v in (each, bound, each, bound)]
            (signs,) = self._session.rows(f"SELECT {items}", values)
            known.update(zip(part, map(int, signs), strict=True))
