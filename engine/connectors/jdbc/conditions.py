"""What of a query's conditions the database can be asked: always of all the rows that the query takes, at least.

The rows that come are looked at again. So what cannot be asked exactly is asked more widely, or not at all: the order
of texts is that of a collation there, which may also hold more texts equal than we do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bergsql.engine.connectors.jdbc.columns import Family, Stored
from bergsql.engine.connectors.jdbc.url import Dialect
from bergsql.engine.sql.types import BINARIES, INTEGERS, STAMPS, TEXTS, Kind
from bergsql.engine.table.predicate import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    In,
    IsNull,
    Not,
    NotNull,
    Op,
    Or,
    Predicate,
    StartsWith,
    all_of,
    any_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.jdbc.url import Address

_MOST_VALUES = 1000
_LEAST, _MOST = -(2**63), 2**63 - 1


class Askable:
    """The columns that conditions may be about."""

    def __init__(self, columns: Sequence[TableColumn], stored: Sequence[Stored], address: Address) -> None:
        self._columns = {c.name: (c, s) for c, s in zip(columns, stored, strict=True)}
        self._address = address

    def asked(self, predicate: Predicate) -> Predicate:
        """What the database is asked of a condition: it holds of every row that the condition holds of."""
        match predicate:
            case And(children):
                return all_of(*map(self.asked, children))
            case Or(children):
                return any_of(*map(self.asked, children))
            case Not(IsNull(column)):
                return self.asked(NotNull(column))
            case Not(In(column, values)) if self._is_exact(str(column)) and self._all_fit(str(column), values):
                return predicate
            case Compare(column, op, value) if self._fits(str(column), op, value):
                return predicate
            case In(column, values) if len(values) <= _MOST_VALUES and self._all_fit(str(column), values):
                return predicate
            case IsNull(column) if self._nulls_are_nulls(str(column)):
                return predicate
            case NotNull(column) if str(column) in self._columns:
                return predicate
            case StartsWith(column, prefix) if isinstance(prefix, str) and self._is_text(str(column)):
                return predicate if prefix and "\0" not in prefix else AlwaysTrue()
            case AlwaysFalse():
                return predicate
        return AlwaysTrue()

    def _all_fit(self, name: str, values: Sequence[object]) -> bool:
        return all(self._fits(name, Op.EQ, v) for v in values)

    def _is_text(self, name: str) -> bool:
        found = self._columns.get(name)
        return found is not None and found[0].type.kind in TEXTS and found[1].family is Family.TEXT

    def _nulls_are_nulls(self, name: str) -> bool:
        """Whether a column is NULL for us where it is in the database, and nowhere else."""
        found = self._columns.get(name)
        if found is None:
            return False
        of_dates = found[0].type.kind in (Kind.DATE, *STAMPS)
        return not (of_dates and self._address.zero_dates == "NULL")

    def _is_exact(self, name: str) -> bool:
        """Whether values are equal there exactly where they are for us."""
        found = self._columns.get(name)
        return found is not None and found[0].type.kind in (*INTEGERS, Kind.DECIMAL, Kind.DATE, Kind.TIME, *STAMPS)

    def _fits(self, name: str, op: Op, value: object) -> bool:
        """Whether a comparison with ``value`` is one of the database's, with the same meaning or a wider one."""
        found = self._columns.get(name)
        if found is None:
            return False
        column, stored = found
        kind, sqlite = column.type.kind, self._address.dialect is Dialect.SQLITE
        if kind in INTEGERS:
            return stored.family is Family.INTEGER and _is_number(value, whole=sqlite)
        if kind is Kind.DECIMAL:
            cut = (column.type.scale or 0) < (0 if stored.family is Family.INTEGER else _digits(stored))
            return not sqlite and not cut and _is_number(value, whole=False)
        if kind is Kind.DOUBLE:
            plain = isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0
            return stored.family is Family.DOUBLE and not sqlite and plain
        if kind in TEXTS:
            return op is Op.EQ and self._is_text(name) and isinstance(value, str) and "\0" not in value
        if kind in BINARIES:
            return op is Op.EQ and stored.family is Family.BINARY and isinstance(value, bytes) and not sqlite
        if kind is Kind.BOOLEAN:
            return op is Op.EQ and isinstance(value, bool)
        if sqlite or self._address.zero_dates == "ROUND":
            return False
        return _is_time(kind, stored, column.type.fractional_digits, value)

    def is_key(self, name: str) -> bool:
        """Whether the rows that equal a value there hold all that equal it for us."""
        declared = self._columns[name][0].type
        of_kinds: dict[Kind, object] = {
            **dict.fromkeys((*INTEGERS, Kind.DECIMAL), 1),
            **dict.fromkeys(TEXTS, "a"),
            **dict.fromkeys(BINARIES, b"a"),
            **dict.fromkeys(STAMPS, datetime(2000, 1, 1)),
            Kind.DATE: date(2000, 1, 1),
            Kind.TIME: time(),
        }
        return declared.kind in of_kinds and self._fits(name, Op.EQ, of_kinds[declared.kind])

    # --- as SQL -------------------------------------------------------------------------------------------------------

    def sql(self, predicate: Predicate, columns: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
        """A condition that :meth:`asked` gave, over the columns of the database."""
        import sqlalchemy as sa

        match predicate:
            case And(children):
                return sa.and_(*(self.sql(c, columns) for c in children))
            case Or(children):
                return sa.or_(*(self.sql(c, columns) for c in children))
            case Not(child):
                return sa.not_(self.sql(child, columns))
            case IsNull(column):
                return columns[str(column)].is_(None)
            case NotNull(column):
                return columns[str(column)].is_not(None)
            case Compare(column, op, value):
                return self._compared(columns[str(column)], str(column), op, value)
            case In(column, values) if self._columns[str(column)][0].type.kind is Kind.BOOLEAN:
                return sa.or_(*(self._compared(columns[str(column)], str(column), Op.EQ, v) for v in values))
            case In(column, values):
                return self.comparable(columns[str(column)], str(column), values).in_([_given(v) for v in values])
            case StartsWith(column, prefix):
                pattern = str(prefix).replace("!", "!!").replace("%", "!%").replace("_", "!_")
                compared = self.comparable(columns[str(column)], str(column), [prefix])
                if self._address.dialect is Dialect.POSTGRES:
                    compared = sa.collate(compared, "C")  # there are collations that know no LIKE
                return compared.like(f"{pattern}%", escape="!")
            case AlwaysFalse():
                return sa.false()
        return sa.true()

    def _compared(self, column: ColumnElement[Any], name: str, op: Op, value: object) -> ColumnElement[Any]:
        import sqlalchemy as sa

        declared, stored = self._columns[name]
        if declared.type.kind is Kind.BOOLEAN:
            if stored.family is Family.BOOLEAN and self._address.dialect is Dialect.POSTGRES:
                return column.is_(sa.true() if value else sa.false())
            return column != 0 if value else column == 0  # any number but 0 is TRUE
        compared: dict[Op, Callable[[Any, Any], Any]] = {
            Op.EQ: lambda a, b: a == b,
            Op.NE: lambda a, b: a != b,
            Op.LT: lambda a, b: a < b,
            Op.LE: lambda a, b: a <= b,
            Op.GT: lambda a, b: a > b,
            Op.GE: lambda a, b: a >= b,
        }
        made: ColumnElement[Any] = compared[op](self.comparable(column, name, [value]), _given(value))
        return made

    def comparable(self, column: ColumnElement[Any], name: str, values: Iterable[object]) -> ColumnElement[Any]:
        """The column as it is compared with some values: MySQL refuses texts that its character set has not."""
        import sqlalchemy as sa

        charset = self._columns[name][1].charset
        if charset in (None, "utf8mb4") or all(not isinstance(v, str) or v.isascii() for v in values):
            return column
        return sa.func.convert(column.op("USING")(sa.literal_column("utf8mb4")))


def _digits(stored: Stored) -> int:
    """Digits behind the point; many where there is no end to them."""
    return 99 if stored.digits is None else stored.digits


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | Decimal):
        return False
    return bool(_LEAST <= value <= _MOST) if whole else bool(abs(value) < 10**37)


def _is_time(kind: Kind, stored: Stored, declared: int, value: object) -> bool:
    """Whether a date or time is compared there as by us: nothing is cut off, or moved between zones."""
    if kind is Kind.DATE:
        return stored.family is Family.DATE and isinstance(value, date) and not isinstance(value, datetime)
    if declared < (0 if stored.digits is None else stored.digits):
        return False
    if kind is Kind.TIME:
        return stored.family is Family.TIME and isinstance(value, time)
    wanted = Family.TIMESTAMP if kind is Kind.TIMESTAMP else Family.INSTANT
    return kind in STAMPS and stored.family is wanted and isinstance(value, datetime)


def _given(value: object) -> object:
    """A value as a driver takes it: an instant without a zone is in UTC, as the session is."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
