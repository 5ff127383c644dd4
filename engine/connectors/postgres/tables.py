"""The tables that are read, as the catalog of the database has them, and whether they can be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.connectors.postgres.client import rows

if TYPE_CHECKING:
    from psycopg import Connection

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.postgres.options import Settings


class StoredType(NamedTuple):
    """A type of the database: of a domain what it is over. ``element`` is set for arrays with commas between.

    ``name`` is pg_type's (int4, numeric, _text), for types of an extension or of the person too; ``sql`` is how a
    statement names it.
    """

    name: str
    sql: str
    element: str | None = None


class StoredTable(NamedTuple):
    """A table: ``columns`` are its types by name, ``key`` the columns of its primary key in their order."""

    id: int
    schema: str
    name: str
    columns: Mapping[str, StoredType]
    key: tuple[str, ...]
    collations: tuple[str | None, ...]
    """By which the texts of the key's columns are in order."""
    identity: str
    pages: int
    computed: frozenset[str]
    """Generated columns, which the log leaves out."""

    @property
    def full_name(self) -> str:
        """For people."""
        return f"{self.schema}.{self.name}"


_TABLES: Final = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relreplident::text, c.relpersistence::text,
       (pg_relation_size(c.oid) / current_setting('block_size')::int)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_t'
ORDER BY n.nspname, c.relname
"""
_TYPE: Final = """
SELECT t.oid::bigint, t.typname, quote_ident(n.nspname) || '.' || quote_ident(t.typname),
       nullif(t.typbasetype, 0)::bigint, e.oid::bigint
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_type e ON e.typarray = t.oid AND e.typdelim = ','
"""
_COLUMNS: Final = """
SELECT a.attname, a.atttypid::bigint, a.attgenerated <> '' FROM pg_attribute a
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY: Final = """
SELECT a.attname, quote_ident(m.nspname) || '.' || quote_ident(l.collname) FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
LEFT JOIN pg_collation l ON l.oid = a.attcollation LEFT JOIN pg_namespace m ON m.oid = l.collnamespace
WHERE i.indrelid = %s AND i.indisprimary ORDER BY k.place
"""


class Types:
    """The types of a database, asked for once each."""

    def __init__(self) -> None:
        self._known: dict[int, StoredType] = {}

    def knows(self, id_: int) -> bool:
        """Whether it was asked for."""
        return id_ in self._known

    def known(self, ids: Sequence[int]) -> dict[int, StoredType]:
        """Those of the types that were found."""
        return {i: self._known[i] for i in ids if i in self._known}

    def find(self, connection: Connection[Any], ids: Sequence[int]) -> dict[int, StoredType]:
        """The types with these ids; of one that is there no more, nothing."""
        missing = [i for i in ids if i not in self._known]
        if missing:
            found = rows(connection, f"{_TYPE} WHERE t.oid::bigint = ANY(%s::bigint[])", [missing])
            parts = self.find(connection, [part for *_, base, element in found if (part := base or element)])
            for id_, name, sql, base, element in found:
                self._known[id_] = parts[base] if base else StoredType(name, sql, element and parts[element].name)
        return self.known(ids)


def matching(connection: Connection[Any], settings: Settings, types: Types) -> list[StoredTable]:
    """The tables whose names match, of those that a log speaks of.

    :raises BergError: UNSUPPORTED for a partitioned one.
    """
    found = []
    for id_, schema, name, kind, identity, lasting, pages in rows(connection, _TABLES):
        if not re.fullmatch(settings.schemas, schema) or not re.fullmatch(settings.tables, name) or lasting != "p":
            continue
        if kind == "p":
            raise not_supported(
                f"Reading the partitioned table {schema}.{name}",
                hint="'table-name' may match its partitions, each a table with rows of its own.",
            )
        found.append(_stored(connection, (id_, schema, name, identity, pages), types))
    return found


def named(connection: Connection[Any], ids: Sequence[int], types: Types) -> list[StoredTable]:
    """The tables with these ids that are there."""
    found = [r for r in rows(connection, _TABLES) if r[0] in set(ids)]
    return [_stored(connection, (r[0], r[1], r[2], r[4], r[6]), types) for r in found]


def _stored(connection: Connection[Any], told: tuple[Any, ...], types: Types) -> StoredTable:
    id_, schema, name, identity, pages = told
    columns = rows(connection, _COLUMNS, [id_])
    known = types.find(connection, [type_ for _, type_, _ in columns])
    key = rows(connection, _KEY, [id_])
    names, collations = tuple(k for k, _ in key), tuple(c for _, c in key)
    stored = {c: known[t] for c, t, _ in columns}
    computed = frozenset(c for c, _, is_computed in columns if is_computed)
    return StoredTable(id_, schema, name, stored, names, collations, identity, pages, computed)


def check_tables(found: Sequence[StoredTable], settings: Settings, declared: Sequence[TableColumn]) -> None:
    """Refuse tables that cannot give what is declared. ``declared``: the stored columns and, first, those of the key.

    :raises BergError: NOT_FOUND where there is none, or a column is missing; INVALID where the log would not tell
        enough.
    """
    if not found:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"No table of {settings.place} has a name that matches '{settings.schemas}' and '{settings.tables}'.",
            hint="'schema-name' and 'table-name' are regular expressions for the names as a whole; letters count as "
            "they are written.",
        )
    for table in found:
        for column in declared:
            if column.name not in table.columns:
                raise BergError(
                    ErrorCode.NOT_FOUND,
                    f"{table.full_name} of {settings.place} has no column '{column.name}'.",
                    hint=did_you_mean(column.name, table.columns) or f"It has {', '.join(table.columns)}.",
                )


def check_logged(table: StoredTable, settings: Settings, declared: Sequence[TableColumn], key: Sequence[str]) -> None:
    """Refuse a table whose log would not tell enough of rows that change.

    :raises BergError: INVALID.
    """
    lacking = next((c.name for c in declared if c.name in table.computed), None)
    if lacking is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{lacking}' of {table.full_name} of {settings.place} is generated there: the log does not hold "
            "it.",
            hint="Leave it out of the declared table, or declare it as a computed column.",
        )
    if table.identity == "f":
        return
    full = f"ALTER TABLE {table.full_name} REPLICA IDENTITY FULL"
    if not settings.upsert:
        raise BergError(
            ErrorCode.INVALID,
            f"The log of {table.full_name} of {settings.place} does not hold rows as they were before a change.",
            hint=f"{full}; lets it, or 'changelog-mode' = 'upsert' does without.",
        )
    if table.identity != "d" or not set(key) <= set(table.key):
        raise BergError(
            ErrorCode.INVALID,
            f"The log of {table.full_name} of {settings.place} does not tell which row changes: its identity does not "
            f"hold {', '.join(key)}.",
            hint=f"Give it that primary key, and REPLICA IDENTITY DEFAULT, or {full};",
        )
