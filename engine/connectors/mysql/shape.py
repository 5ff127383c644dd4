"""The columns of a table, as the server tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple


class ColumnShape(NamedTuple):
    """A column.

    kind
        MySQL's word for its type: ``bigint``, ``varchar``.
    full
        The type as it was declared: ``bigint(20) unsigned``.
    length
        Characters of texts, bytes of BINARY, bits of BIT.
    """

    name: str
    kind: str
    full: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    fraction: int = 0
    charset: str | None = None
    nullable: bool = True

    @property
    def unsigned(self) -> bool:
        return "unsigned" in self.full

    @property
    def untold(self) -> bool:
        """Whether it is of MariaDB 5.3's format, which the binlog does not tell from MySQL's older one."""
        return "mariadb-5.3" in self.full and (self.kind == "time" or self.fraction > 0)


class TableShape(NamedTuple):
    """A table; ``key``: the names of its primary key's columns."""

    schema: str
    name: str
    columns: tuple[ColumnShape, ...]
    key: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnShape | None:
        """The column of that name: MySQL's are the same in any case."""
        return next((c for c in self.columns if c.name.casefold() == name.casefold()), None)


COLUMNS_SQL: Final = (
    "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE,"
    " DATETIME_PRECISION, CHARACTER_SET_NAME, IS_NULLABLE FROM information_schema.COLUMNS"
    " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION"
)
"""Asks for what :func:`shape_of` takes, with the schema's and the table's name."""
KEY_SQL: Final = (
    "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    " AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX"
)


def shape_of(schema: str, name: str, columns: Sequence[Sequence[Any]], key: Sequence[Sequence[Any]]) -> TableShape:
    """A table of the rows of :data:`COLUMNS_SQL` and :data:`KEY_SQL`."""
    return TableShape(schema, name, tuple(_column(*row) for row in columns), tuple(str(k) for (k,) in key))


def _column(
    name: str,
    kind: str,
    full: str,
    length: int | None,
    precision: int | None,
    scale: int | None,
    fraction: int | None,
    charset: str | None,
    nullable: str,
) -> ColumnShape:
    kind, full = kind.casefold(), str(full)
    length = precision if kind == "bit" else length
    return ColumnShape(name, kind, full, length, precision, scale, fraction or 0, charset, nullable.upper() == "YES")
