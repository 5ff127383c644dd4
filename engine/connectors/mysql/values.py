"""Rows of a table of MySQL as columns of Arrow: of a SELECT's texts, and of the binlog's values, the same from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.connectors.mysql.types import Family, Fit, fit

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.mysql.shape import ColumnShape, TableShape

_ZERO: Final = r"^0000|^\d{4}-00|^\d{4}-\d\d-00"
"""Dates that MySQL has and no calendar."""


class _Column(NamedTuple):
    shape: ColumnShape
    fit: Fit
    nullable: bool


class Columns:
    """How the columns of a table are read as those that are declared.

    Connections of a SELECT convert nothing (PyMySQL's ``conv`` is :func:`texts_only`), and have ``time_zone`` UTC.
    """

    def __init__(
        self,
        name: str,
        shape: TableShape,
        declared: Sequence[TableColumn],
        *,
        zone: str = "UTC",
        boolean_bytes: bool = True,
    ) -> None:
        """
        :param name: of the declared table, for people.
        :param zone: the server's time zone: DataType TIMESTAMP of a TIMESTAMP is of it.
        :param boolean_bytes: whether TINYINT(1) may be a BOOLEAN.
        :raises BergError: NOT_FOUND for a column that the table does not have; TYPE for one of another type.
        """
        self.shape = shape
        self._places = {c.name: n for n, c in enumerate(shape.columns)}
        self._columns: list[_Column] = []
        for column in declared:
            found = shape.column(column.name)
            if found is None:
                raise BergError(
                    ErrorCode.NOT_FOUND,
                    f"Table {shape.schema}.{shape.name} of MySQL has no column '{column.name}', as {name} says.",
                    hint=did_you_mean(column.name, [c.name for c in shape.columns]),
                )
            made = fit(found, column.type, zone, boolean_bytes=boolean_bytes)
            self._columns.append(_Column(found, made, column.nullable))

    @property
    def names(self) -> list[str]:
        """The columns in MySQL that are read, in the declared order."""
        return [c.shape.name for c in self._columns]

    def select(self) -> list[str]:
        """SQL of MySQL for each column, of which :meth:`from_select` takes the values."""
        return [_selected(c.shape) for c in self._columns]

    def items(self, relation: str = "r") -> list[str]:
        """SQL of the declared columns, c0 and on, of what both ways give."""
        return [f"{c.fit.sql(f'{relation}.c{i}')} AS c{i}" for i, c in enumerate(self._columns)]

    def from_select(self, rows: Sequence[Sequence[Any]]) -> pa.Table:
        """Rows of a SELECT of :meth:`select`: texts, and bytes of binary columns."""
        import pyarrow as pa

        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._columns)
        return pa.table({f"c{i}": self._selected(c, columns[i]) for i, c in enumerate(self._columns)})

    def from_binlog(self, rows: Sequence[Sequence[Any]], names: Sequence[str] | None = None) -> pa.Table:
        """Rows of the binlog. ``names``: of their columns, those of the table where they are not given."""
        import pyarrow as pa

        at = self._places if names is None else {name: n for n, name in enumerate(names)}
        made = {}
        for i, column in enumerate(self._columns):
            place = at[column.shape.name]
            made[f"c{i}"] = self._logged(column, [row[place] for row in rows])
        return pa.table(made)

    # --- a SELECT's --------------------------------------------------------------------------------------------------

    def _selected(self, column: _Column, values: Sequence[Any]) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        family = column.fit.family
        if family in (Family.BYTES, Family.BITS):
            return pa.array([v.encode("latin-1") if isinstance(v, str) else v for v in values], pa.binary())
        texts = pa.array(values, pa.string())
        match family:
            case Family.INTEGER:
                return texts.cast(pa.int64())
            case Family.UNSIGNED:
                return texts.cast(pa.uint64())
            case Family.FLOAT:
                return texts.cast(pa.float64()).cast(pa.float32())
            case Family.DOUBLE:
                return texts.cast(pa.float64())
            case Family.DATE | Family.STAMP | Family.INSTANT:
                zero = pc.match_substring_regex(texts, _ZERO)
                if pc.any(zero).as_py():
                    self._check_zero(column)
                    texts = pc.if_else(zero, None, texts)
                if family is Family.DATE:
                    return texts.cast(pa.date32())
                stamps = texts.cast(pa.timestamp("us"))
                return stamps.cast(pa.timestamp("us", "UTC")) if family is Family.INSTANT else stamps
        return texts

    def _check_zero(self, column: _Column) -> None:
        if not column.nullable:
            raise BergError(
                ErrorCode.EXECUTION,
                f"Column '{column.shape.name}' of {self.shape.schema}.{self.shape.name} holds a date of zeros, "
                "which is NULL here, and it is declared NOT NULL.",
            )

    # --- the binlog's ------------------------------------------------------------------------------------------------

    def _logged(self, column: _Column, values: list[Any]) -> pa.Array:
        import pyarrow as pa

        shape = column.shape
        family = column.fit.family
        convert = _conversion(shape, family)
        if convert is not None:
            values = [None if v is None else convert(v) for v in values]
        if family in (Family.DATE, Family.STAMP, Family.INSTANT):
            # A date of zeros comes as none, but in a TIMESTAMP.
            if ZERO in values or (not shape.nullable and None in values):
                self._check_zero(column)
            values = [None if v == ZERO else v for v in values]
        return pa.array(values, _arrow(family))


ZERO: Final = "0000"
"""A date of zeros, in rows of the binlog."""


def texts_only() -> dict[Any, Any]:
    """PyMySQL's ``conv`` of a connection whose rows are texts; what is sent is converted as ever."""
    from pymysql.converters import conversions

    return {kind: convert for kind, convert in conversions.items() if not isinstance(kind, int)}


def _arrow(family: Family) -> pa.DataType:
    import pyarrow as pa

    match family:
        case Family.INTEGER:
            return pa.int64()
        case Family.UNSIGNED:
            return pa.uint64()
        case Family.FLOAT:
            return pa.float32()
        case Family.DOUBLE:
            return pa.float64()
        case Family.BYTES | Family.BITS:
            return pa.binary()
        case Family.DATE:
            return pa.date32()
        case Family.STAMP:
            return pa.timestamp("us")
        case Family.INSTANT:
            return pa.timestamp("us", "UTC")
    return pa.string()


def _selected(column: ColumnShape) -> str:
    """SQL of a column in a SELECT whose values are texts."""
    name = f"`{column.name.replace('`', '``')}`"
    match column.kind:
        case "float":
            return f"({name} + 0e0)"  # a FLOAT's own text has six digits
        case "bit":
            return f"CAST({name} AS BINARY)"
        case "uuid" | "inet4" | "inet6" | "json" | "enum" | "set":
            return f"CAST({name} AS CHAR)"
    return name


def _conversion(column: ColumnShape, family: Family) -> Callable[[Any], Any] | None:
    """What makes a value of the binlog one of its family; None where it is one."""
    kind = column.kind
    match family:
        case Family.INTEGER:
            return (lambda v: 0 if v == 1900 else v) if kind == "year" else None
        case Family.DECIMAL:
            scale = column.scale or 0
            return lambda v: f"{v:.{scale}f}"
        case Family.BITS:
            width = ((column.length or 1) + 7) // 8
            return lambda v: int(v, 2).to_bytes(width, "big")
        case Family.TIME:
            return lambda v: time_text(v, column.fraction)
        case Family.INSTANT:
            return lambda v: ZERO if v == _EPOCH else v
        case Family.BYTES:
            if kind == "binary":  # zeros at its end are not written
                width = column.length or 0
                return lambda v: _octets(v).ljust(width, b"\0")
            return _octets
        case Family.TEXT:
            return _text_conversion(column)
    return None


_EPOCH: Final = datetime(1970, 1, 1)
"""What stands for a TIMESTAMP of zeros: the first that there is comes a second later."""


def _text_conversion(column: ColumnShape) -> Callable[[Any], Any] | None:
    match column.kind:
        case "uuid":
            return lambda v: _uuid(_octets(v).ljust(16, b"\0"))
        case "inet4" | "inet6":
            from ipaddress import ip_address

            width = 4 if column.kind == "inet4" else 16
            return lambda v: _address(str(ip_address(_octets(v).ljust(width, b"\0"))))
        case "json":
            return _json_text
    return lambda v: v.decode() if isinstance(v, bytes) else v


def _octets(value: Any) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else bytes(value)


def _uuid(octets: bytes) -> str:
    from uuid import UUID

    return str(UUID(bytes=octets))


def _address(text: str) -> str:
    """MariaDB writes addresses of version 4 in version 6 with points."""
    from ipaddress import IPv6Address

    if ":" not in text:
        return text
    mapped = IPv6Address(text).ipv4_mapped
    return f"::ffff:{mapped}" if mapped is not None else text


def _json_text(value: Any) -> str:
    """MariaDB's JSON is a text; MySQL's is read as Python's values, whose texts are bytes."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, datetime | date | timedelta) else value


def time_text(value: timedelta, fraction: int) -> str:
    """A TIME as MySQL writes it: ``-838:59:59.000000``."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{micros:06d}"[: len(text) + 1 + fraction] if fraction else text
