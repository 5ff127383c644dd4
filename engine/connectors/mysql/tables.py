"""Which tables a pair of patterns names, and the keys by which they are read in chunks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Session
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.options import MysqlOptions

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")


class KeyColumn(NamedTuple):
    """A column that chunks are made by. ``charset`` and ``collation`` are those of a text."""

    name: str
    type: str
    charset: str | None
    collation: str | None
    nullable: bool

    @property
    def ordered(self) -> bool:
        """Whether its order is known: by Python, or by asking the server for that of two texts."""
        return self.type in _BY_VALUE or (self.type in _TEXTS and self.collation is not None)


_BY_VALUE = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "date", "datetime", "timestamp", "time"}
    | {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
)
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})


class Wanted:
    """Whether a table is one of those that the patterns name."""

    def __init__(self, options: MysqlOptions) -> None:
        self._database, self._table = re.compile(options.database), re.compile(options.table)

    def __call__(self, database: str, table: str) -> bool:
        return self._database.fullmatch(database) is not None and self._table.fullmatch(table) is not None


def tables_of(session: Session, options: MysqlOptions) -> list[Name]:
    """The tables that the patterns name now, in the order of their names."""
    wanted = Wanted(options)
    return [name for name in _known(session) if wanted(*name)]


def find_tables(session: Session, options: MysqlOptions) -> list[Name]:
    """The same.

    :raises BergError: NOT_FOUND where there is none, with the nearest one.
    """
    if found := tables_of(session, options):
        return found
    message = f"MySQL at {options.address} has no table '{options.table}' in a database '{options.database}'"
    hint = did_you_mean(f"{options.database}.{options.table}", [f"{d}.{t}" for d, t in _known(session)])
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"{message} that '{options.user}' may read.",
        hint=hint or "'database-name' and 'table-name' are regular expressions for whole names.",
    )


def _known(session: Session) -> list[Name]:
    marks = ", ".join(f"'{name}'" for name in _SYSTEM)
    sql = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
    return [(str(d), str(t)) for d, t in session.rows(f"{sql} AND TABLE_SCHEMA NOT IN ({marks}) ORDER BY 1, 2")]


def key_of(session: Session, options: MysqlOptions, table: Name) -> tuple[tuple[KeyColumn, ...], bool]:
    """The columns that a table's chunks are made by, none where it cannot be cut; and whether each key is there once.

    :raises BergError: OPTION where ``scan.incremental.snapshot.chunk.key-column`` names none that can be used.
    """
    sql = (
        "SELECT c.COLUMN_NAME, c.DATA_TYPE, c.CHARACTER_SET_NAME, c.COLLATION_NAME, c.IS_NULLABLE, s.SEQ_IN_INDEX"
        " FROM information_schema.COLUMNS c LEFT JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA ="
        " c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME AND s.COLUMN_NAME = c.COLUMN_NAME AND s.INDEX_NAME ="
        " 'PRIMARY' WHERE c.TABLE_SCHEMA = %s AND c.TABLE_NAME = %s ORDER BY s.SEQ_IN_INDEX"
    )
    rows = session.rows(sql, table)
    columns = {str(r[0]): KeyColumn(str(r[0]), str(r[1]).lower(), r[2], r[3], r[4] == "YES") for r in rows}
    primary = tuple(columns[str(r[0])] for r in rows if r[5] is not None)
    chosen = options.chunk_key
    if chosen is not None:
        return (_chosen(columns, chosen, table),), [c.name for c in primary] == [chosen]
    if not options.chunked or not all(c.ordered for c in primary):
        return (), False
    return primary, bool(primary)


def _chosen(columns: dict[str, KeyColumn], chosen: str, table: Name) -> KeyColumn:
    option = "'scan.incremental.snapshot.chunk.key-column'"
    column = columns.get(chosen)
    if column is None:
        message = f"{option}: table {'.'.join(table)} has no column '{chosen}'."
        raise BergError(ErrorCode.OPTION, message, hint=did_you_mean(chosen, columns))
    if column.nullable or not column.ordered:
        what = "may be NULL" if column.nullable else f"is a {column.type.upper()}"
        message = f"{option}: column '{chosen}' of table {'.'.join(table)} {what}."
        raise BergError(ErrorCode.OPTION, message, hint="Chunks are made by numbers, texts, times and bytes NOT NULL.")
    return column
