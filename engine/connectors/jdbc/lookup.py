"""The rows of keys, for lookup joins: asked many keys at once, and kept for a while where the table says so."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.engine.connectors.jdbc.scan import chunks, selected, table_of
from bergsql.engine.connectors.jdbc.url import Dialect
from bergsql.engine.connectors.jdbc.values import writing
from bergsql.engine.streaming.sources.base import Lookup

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection

    from bergsql.engine.connectors.jdbc.options import Cache
    from bergsql.engine.connectors.jdbc.source import JdbcSource

_MOST_KEYS = 1000
"""Of one query."""

Key = tuple[Any, ...]


def _has_nul(key: Key) -> bool:
    """Whether a text of it has a character that no text of PostgreSQL has."""
    return any(isinstance(value, str) and "\0" in value for value in key)


class _Entry(NamedTuple):
    """``at``: when it was read, ``asked``: when somebody wanted it last; both in seconds of a clock that only grows."""

    rows: list[tuple[Any, ...]]
    at: float
    asked: float


class KeptRows:
    """The cache ``PARTIAL``: the rows of keys, of which the longest unasked go first."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._kept: OrderedDict[Key, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key, now: float) -> list[tuple[Any, ...]] | None:
        """The rows of a key, unless they are not there or too old."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        write, access = self._cache.after_write, self._cache.after_access
        if (write is not None and now - entry.at >= write) or (access is not None and now - entry.asked >= access):
            del self._kept[key]
            return None
        self._kept[key] = entry._replace(asked=now)
        self._kept.move_to_end(key)
        return entry.rows

    def put(self, key: Key, rows: list[tuple[Any, ...]], now: float) -> None:
        if not rows and not self._cache.missing:
            return
        self._kept[key] = _Entry(rows, now, now)
        self._kept.move_to_end(key)
        while self._cache.most is not None and len(self._kept) > self._cache.most:
            self._kept.popitem(last=False)


class JdbcLookup(Lookup):
    """See :class:`~bergsql.engine.streaming.sources.base.Lookup`."""

    def __init__(self, source: JdbcSource, positions: Sequence[int]) -> None:
        self._source = source
        self._positions = tuple(dict.fromkeys(positions))
        """Of the key's columns; a column that is compared twice is asked once."""
        self._given = [list(positions).index(p) for p in self._positions]
        self._all = range(len(source.columns))
        self._kept = KeptRows(source.settings.cache) if source.settings.cache is not None else None
        pairs = [(source.columns[p].type, source.found.stored[p]) for p in self._positions]
        self._write = [writing(type_, stored, source.settings.address) for type_, stored in pairs]
        self.asked = 0
        """How many keys the database was asked for."""

    def rows(self, keys: pa.Table) -> pa.Table:
        columns = [keys.column(i).to_pylist() for i in self._given]
        wanted = dict.fromkeys(zip(*columns, strict=True))
        now = time.monotonic()
        found: list[tuple[Any, ...]] = []
        missing: list[Key] = []
        for key in wanted:
            kept = self._kept.get(key, now) if self._kept is not None else None
            if kept is None:
                missing.append(key)
            else:
                found += kept
        for start in range(0, len(missing), _MOST_KEYS):
            found += self._ask(missing[start : start + _MOST_KEYS])
        return self._table(found)

    def _ask(self, keys: list[Key]) -> list[tuple[Any, ...]]:
        source = self._source
        self.asked += len(keys)
        known = keys if source.database.dialect is not Dialect.POSTGRES else [k for k in keys if not _has_nul(k)]
        rows = source.database.retried(lambda connection: self._read(connection, known), source.settings.lookup_retries)
        if self._kept is not None:
            by_key: dict[Key, list[tuple[Any, ...]]] = {key: [] for key in keys}
            for row in rows:
                # A collation may hold other keys equal: their rows are not of this key.
                by_key.get(tuple(row[p] for p in self._positions), []).append(row)
            now = time.monotonic()
            for key, of_key in by_key.items():
                self._kept.put(key, of_key, now)
        return rows

    def _read(self, connection: Connection, keys: list[Key]) -> list[tuple[Any, ...]]:
        import sqlalchemy as sa

        source = self._source
        table = table_of(source.settings, source.found.stored)
        query = selected(table, source.values, self._all, source.database.dialect)
        given = [self._written(key) for key in keys]
        by = [
            source.askable.comparable(
                table.c[source.found.stored[p].name], source.columns[p].name, [k[n] for k in given]
            )
            for n, p in enumerate(self._positions)
        ]
        if len(by) == 1:
            query = query.where(by[0].in_([value for (value,) in given]))
        else:
            query = query.where(sa.tuple_(*by).in_(given))
        found: list[tuple[Any, ...]] = []
        for fetched in chunks(connection, query, source.settings.fetch_size, source.database):
            rows = source.values.read(fetched, self._all)
            found += zip(*(c.to_pylist() for c in rows.columns), strict=True)
        return found

    def _written(self, key: Key) -> Key:
        return tuple(v if convert is None else convert(v) for v, convert in zip(key, self._write, strict=True))

    def _table(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        import pyarrow as pa

        schema = self._source.values.schema(self._all)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
        return pa.Table.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
        )

    def figures(self) -> dict[str, int]:
        return {"keys looked up": self.asked}

    def close(self) -> None:
        self._source.database.close()
