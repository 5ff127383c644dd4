"""A table of a database as a source: read at once, or as a stream that ends; rows of keys for lookups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.connectors.jdbc.columns import Family, StoredTable, look_at
from bergsql.engine.connectors.jdbc.database import Database
from bergsql.engine.connectors.jdbc.options import settings_of
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, Batch, column
from bergsql.engine.streaming.sources.base import Reader
from bergsql.engine.table.predicate import AlwaysTrue

if TYPE_CHECKING:
    from sqlalchemy import Select

    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.connectors.jdbc.conditions import Askable
    from bergsql.engine.connectors.jdbc.scan import Rows
    from bergsql.engine.connectors.jdbc.values import Values
    from bergsql.engine.streaming.sources.base import Json, Lookup, ReaderContext
    from bergsql.engine.table.predicate import Predicate


class JdbcSource(LocalSource):
    """Reads a table. ``used`` are the positions of the columns that are wanted, ``predicate`` what is asked of rows."""

    bounded = True

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.columns = table.name, table.streamed
        self._table = table
        self.settings = settings_of(table.options)
        self.database = Database(self.settings, table.name)
        self.used = frozenset(range(len(self.columns)))
        self.predicate: Predicate = AlwaysTrue()
        self.found: StoredTable = look_at(self.database, self.settings, table.columns)
        self.database.close()
        self._check_partitions()

    def _check_partitions(self) -> None:
        from bergsql.catalog.errors import BergError, ErrorCode
        from bergsql.engine.sql.type_names import flink_name
        from bergsql.engine.sql.types import INTEGERS, Kind

        found = self.settings.partitions
        for each, stored in zip(self._table.columns, self.found.stored, strict=True):
            if found is None or each.name != found.column:
                continue
            if each.type.kind not in (*INTEGERS, Kind.DECIMAL) or stored.family is Family.TEXT:
                kind = flink_name(each.type) if stored.family is not Family.TEXT else f"{stored.shown} there"
                message = f"'scan.partition.column' is '{each.name}', a {kind}: ranges are of numbers."
                raise BergError(ErrorCode.OPTION, message)

    @cached_property
    def values(self) -> Values:
        from bergsql.engine.connectors.jdbc.values import Values

        return Values(self._table.columns, self.found.stored, self.settings.address, self.name)

    @property
    def askable(self) -> Askable:
        from bergsql.engine.connectors.jdbc.conditions import Askable

        return Askable(self._table.columns, self.found.stored, self.settings.address)

    def _with(self, used: frozenset[int], predicate: Predicate) -> JdbcSource:
        """The same, of which less is wanted: nothing is looked at again."""
        made = JdbcSource.__new__(JdbcSource)
        made.__dict__.update(self.__dict__)
        made.used, made.predicate = used, predicate
        return made

    def narrowed(self, columns: frozenset[str], predicate: Predicate) -> JdbcSource:
        used = frozenset(i for i, c in enumerate(self.columns) if c.name in columns)
        return self._with(used, self.askable.asked(predicate))

    def reading(self, positions: frozenset[int]) -> JdbcSource:
        return self._with(positions, self.predicate)

    @property
    def signature(self) -> Mapping[str, Json]:
        schema = f"{self.settings.schema}." if self.settings.schema else ""
        return {"connector": "jdbc", "url": self.settings.address.shown, "table": f"{schema}{self.settings.table}"}

    def explain(self) -> str:
        signature = self.signature
        names = ", ".join(c.name for i, c in enumerate(self.columns) if i in self.used)
        pushed = "" if isinstance(self.predicate, AlwaysTrue) else f", pushed down: {str(self.predicate)[:1000]}"
        partitions = self.settings.partitions
        ranges = "" if partitions is None else f", {len(partitions.ranges)} ranges of {partitions.column}"
        return f"{self.name}: {signature['table']} of {signature['url']}, columns: {names or 'none'}{pushed}{ranges}"

    # --- reading ------------------------------------------------------------------------------------------------------

    def queries(self) -> list[Select[Any]]:
        """What is read: a query for each range."""
        from bergsql.engine.connectors.jdbc.scan import columns_of, selected, table_of

        table = table_of(self.settings, self.found.stored)
        columns = columns_of(table, self.values)
        query = selected(table, self.values, sorted(self.used), self.database.dialect)
        if not isinstance(self.predicate, AlwaysTrue):
            query = query.where(self.askable.sql(self.predicate, columns))
        partitions = self.settings.partitions
        if partitions is None:
            return [query]
        by = columns[partitions.column]
        made = []
        for first, behind in partitions.ranges:
            last = by <= partitions.upper if behind > partitions.upper else by < behind
            made.append(query.where(by >= first, last))
        return made

    def rows(self, queries: Sequence[Select[Any]]) -> Rows:
        from bergsql.engine.connectors.jdbc.scan import Rows

        return Rows(self.database, queries, self.values, sorted(self.used), self.settings.fetch_size)

    def items(self) -> str:
        """All columns over rows that hold those that are used."""
        given = []
        for i, c in enumerate(self.columns):
            value = column(i) if i in self.used else "NULL"
            given.append(f"CAST({value} AS {duckdb_name(c.type)}) AS {column(i)}")
        return ", ".join(given)

    def whole(self, prefix: str) -> ReadAtOnce:
        name = f"{prefix}_rows"
        return ReadAtOnce(f"(SELECT {self.items()} FROM {name})", {name: self.rows(self.queries())})

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        done = offset.get("ranges") if isinstance(offset, dict) else 0
        return _Reader(self, context, done if isinstance(done, int) else 0)

    def lookup(self, positions: Sequence[int]) -> Lookup | None:
        if not all(self.askable.is_key(self.columns[p].name) for p in positions):
            return None  # equal values are others there: it is read whole
        from bergsql.engine.connectors.jdbc.lookup import JdbcLookup

        return JdbcLookup(self, positions)


class _Reader(Reader):
    """Gives a range at a time: what was given of one could not be told from what was not, after a restart."""

    def __init__(self, source: JdbcSource, context: ReaderContext, done: int) -> None:
        self._source, self._context, self._done = source, context, done
        self._queries = source.queries()
        self._table = f"read_{id(self):x}"
        self._stands = False

    def poll(self) -> Batch | None:
        self._drop()
        if self.finished:
            return None
        rows = self._source.rows([self._queries[self._done]])
        cursor = self._context.cursor
        name = f"{self._table}_rows"
        import duckdb as _package  # noqa: F401 - without the whole package, its core does not scan streams

        cursor.register(name, rows)
        try:
            cursor.execute(f"CREATE TEMP TABLE {self._table} AS SELECT {self._source.items()} FROM {name}")
        finally:
            cursor.unregister(name)
        self._stands = True
        self._done += 1
        names = ", ".join(column(i) for i in range(len(self._source.columns)))
        return Batch(f"(SELECT {names}, 0::TINYINT AS {OP} FROM {self._table})")

    def _drop(self) -> None:
        if self._stands:
            self._context.cursor.execute(f"DROP TABLE IF EXISTS {self._table}")
        self._stands = False

    @property
    def offset(self) -> Json:
        return {"ranges": self._done} if self._done else None

    @property
    def finished(self) -> bool:
        return self._done >= len(self._queries)

    @property
    def wait(self) -> float:
        return 0.0

    def close(self) -> None:
        self._drop()
        self._source.database.close()
