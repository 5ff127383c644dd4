"""How far each table's snapshot is, and which changes of the log it holds already.

A stretch of a table's key order is read under one snapshot, which sees what committed before its position: changes of
its keys that committed before that are in it, and the others are not. A snapshot that is read to its end without a
stop has one stretch a table; each restart adds one. Which stretch a key is of is asked of the database: its collation
orders texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.engine.connectors.postgres.client import rows
from bergsql.engine.connectors.postgres.snapshot import Key, literal

if TYPE_CHECKING:
    from psycopg import Connection

    from bergsql.engine.connectors.postgres.tables import StoredTable
    from bergsql.engine.streaming.sources.base import Json


class Stretch(NamedTuple):
    """Up to and with the key ``last`` (None: to the end), as of ``position``."""

    last: Key | None
    position: int


class Progress:
    """Stretches by table, in the order in which the tables are read."""

    def __init__(self, stretches: Mapping[int, Sequence[Stretch]]) -> None:
        self._of = {id_: list(found) for id_, found in stretches.items()}

    @classmethod
    def of(cls, kept: Any) -> Progress:
        """That of which :attr:`kept` was kept."""
        return cls({int(id_): [Stretch(last, at) for last, at in found] for id_, found in kept.items()})

    @property
    def kept(self) -> Json:
        """For an offset."""

        def plain(key: Key | None) -> Json:
            return None if key is None else [*key]

        return {str(id_): [[plain(s.last), s.position] for s in found] for id_, found in self._of.items()}

    @property
    def next(self) -> int | None:
        """The table that is read now."""
        return next((id_ for id_, found in self._of.items() if not found or found[-1].last is not None), None)

    def after(self, table: int) -> Key | None:
        """The key behind which a table's rows are read on."""
        found = self._of[table]
        return found[-1].last if found else None

    def add(self, table: int, last: Key | None, position: int) -> None:
        """Rows up to ``last`` were read."""
        found = self._of[table]
        if found and found[-1].position == position:
            found.pop()
        found.append(Stretch(last, position))

    @property
    def lowest(self) -> int | None:
        """Where the log is read from: all before is in every stretch. None where nothing was read."""
        return min((s.position for found in self._of.values() for s in found), default=None)

    @property
    def highest(self) -> int:
        """From where on nothing of the log is in a stretch."""
        return max(s.position for found in self._of.values() for s in found)

    def positions(self, connection: Connection[Any], table: StoredTable, keys: Sequence[tuple[str, ...]]) -> list[int]:
        """The position of the stretch of each key."""
        found = self._of.get(table.id, [])
        if len(found) < 2:
            return [found[0].position if found else 0] * len(keys)
        places = rows(connection, *_question(table, found, keys))
        return [found[place].position for (place,) in places]


def _question(
    table: StoredTable, found: Sequence[Stretch], keys: Sequence[tuple[str, ...]]
) -> tuple[str, list[list[str]]]:
    count = range(len(table.key))
    items = []
    for n, (name, collation) in enumerate(zip(table.key, table.collations, strict=True)):
        collate = f" COLLATE {collation}" if collation else ""
        items.append(f"u.t{n}::{table.columns[name].sql}{collate} AS k{n}")
    own = ", ".join(f"a.k{n}" for n in count)
    whens = []
    for place, stretch in enumerate(found[:-1]):
        assert stretch.last is not None
        bound = ", ".join(literal(v, table, k) for v, k in zip(stretch.last, table.key, strict=True))
        whens.append(f"WHEN ({own}) <= ({bound}) THEN {place}")
    given = ", ".join("%s::text[]" for _ in count)
    names = ", ".join(f"t{n}" for n in count)
    sql = (
        f"SELECT CASE {' '.join(whens).replace('%', '%%')} ELSE {len(found) - 1} END FROM (SELECT u.place, "
        f"{', '.join(items)} FROM unnest({given}) WITH ORDINALITY AS u({names}, place)) AS a ORDER BY a.place"
    )
    return sql, [[key[n] for key in keys] for n in count]
