"""Values of a database's rows as Arrow has them, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.jdbc.columns import Family, Stored
from bergsql.engine.connectors.jdbc.url import Address, Dialect
from bergsql.engine.plan.times import zone as zone_of
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn

Convert = Callable[[Any], Any]
"""What makes one value, which is not None, of another."""

_WIDE = Context(prec=76)
_DAY = timedelta(days=1)
_FIRST = datetime(1970, 1, 1)


def arrow_type(type_: DataType) -> pa.DataType:
    """How rows of such a column travel."""
    import pyarrow as pa

    if type_.kind is Kind.ARRAY:
        return pa.list_(arrow_type(type_.children[0].type))
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision or 10, type_.scale or 0)
    if type_.kind in BINARIES:
        return pa.binary()
    plain: dict[Kind, pa.DataType] = {
        Kind.BOOLEAN: pa.bool_(),
        Kind.TINYINT: pa.int8(),
        Kind.SMALLINT: pa.int16(),
        Kind.INT: pa.int32(),
        Kind.BIGINT: pa.int64(),
        Kind.FLOAT: pa.float32(),
        Kind.DOUBLE: pa.float64(),
        Kind.DATE: pa.date32(),
        Kind.TIME: pa.time64("us"),
        Kind.TIMESTAMP: pa.timestamp("us"),
        Kind.TIMESTAMP_LTZ: pa.timestamp("us", tz="UTC"),
    }
    return plain.get(type_.kind, pa.string())


class Values:
    """The values of a table's columns: in the order of ``columns``, which the database has as ``stored``."""

    def __init__(self, columns: Sequence[TableColumn], stored: Sequence[Stored], address: Address, name: str) -> None:
        self.columns, self.stored, self._address, self._name = tuple(columns), tuple(stored), address, name
        self._types = [arrow_type(c.type) for c in self.columns]
        pairs = list(zip(self.columns, self.stored, strict=True))
        self._read = [reading(c.type, s, address) for c, s in pairs]
        self._plain = [_is_plain(c.type, s, address.dialect) for c, s in pairs]
        self._write = [writing(c.type, s, address) for c, s in pairs]

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        """Of the columns at ``positions``, called c0 and on by their own positions."""
        import pyarrow as pa

        return pa.schema([(f"c{i}", self._types[i]) for i in positions])

    def read(self, rows: Sequence[Sequence[Any]], positions: Sequence[int]) -> pa.Table:
        """Rows of the database, which hold the columns at ``positions``.

        :raises BergError: INVALID where a value is none of its declared type.
        """
        import pyarrow as pa

        columns = list(zip(*rows, strict=True)) if rows else [()] * len(positions)
        arrays = [self._column(i, values) for i, values in zip(positions, columns, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema(positions))

    def _column(self, position: int, values: Sequence[Any]) -> pa.Array:
        import pyarrow as pa

        convert, type_ = self._read[position], self._types[position]
        if self._plain[position]:
            try:
                return pa.array(values, type_)
            except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
                pass  # one value may be of another kind than the others
        try:
            if convert is not None:
                values = [None if v is None else convert(v) for v in values]
            return pa.array(values, type_)
        except (ValueError, TypeError, ArithmeticError, pa.ArrowException) as error:
            raise self._misread(position, values, error) from None

    def _misread(self, position: int, values: Sequence[Any], error: Exception) -> BergError:
        """The error for the first value that cannot be read."""
        import pyarrow as pa

        convert, type_ = self._read[position], self._types[position]
        wrong: object = error
        for value in values:
            try:
                pa.array([None if value is None else value if convert is None else convert(value)], type_)
            except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
                wrong = f"a value is {str(value)[:100]!r}"
                break
        column = self.columns[position]
        zeros = self.stored[position].family in (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
        hint = "'zeroDateTimeBehavior=CONVERT_TO_NULL' in 'url' reads dates of zeros as NULL." if zeros else None
        message = f"Column '{column.name}' of {self._name} is declared as {flink_name(column.type)}, and {wrong}."
        return BergError(ErrorCode.INVALID, message, hint=hint if self._address.dialect is Dialect.MYSQL else None)

    def check(self, rows: pa.RecordBatch) -> None:
        """
        :raises BergError: INVALID for NULL where the database has none, and for what it would change without a word.
        """
        for i, (column, stored) in enumerate(zip(self.columns, self.stored, strict=True)):
            values = rows.column(i)
            if not stored.nullable and values.null_count:
                message = (
                    f"A row has NULL in column '{column.name}' of {self._name}, which is NOT NULL in the database."
                )
                raise BergError(ErrorCode.INVALID, message)
            for value in _not_held(column.type, stored, self._address.dialect, values):
                message = f"A row has {str(value)[:100]!r} in column '{column.name}' of {self._name}, "
                raise BergError(
                    ErrorCode.INVALID, f"{message}which is {stored.shown} in the database: it does not fit."
                )

    def write(self, rows: pa.RecordBatch) -> list[list[Any]]:
        """Rows as the driver takes them: with all columns."""
        columns = []
        for i, convert in enumerate(self._write):
            values = rows.column(i).to_pylist()
            if convert is not None:
                values = [None if v is None else convert(v) for v in values]
            columns.append(values)
        return [list(row) for row in zip(*columns, strict=True)]


# --- from the database ------------------------------------------------------------------------------------------------


def _is_plain(type_: DataType, stored: Stored, dialect: Dialect) -> bool:
    """Whether Arrow takes most values as the driver gives them, and refuses the others."""
    if type_.kind in STAMPS:
        wanted = Family.INSTANT if type_.kind is Kind.TIMESTAMP_LTZ else Family.TIMESTAMP
        return stored.family is wanted and _unit(type_, stored) == 1
    texts = type_.kind in TEXTS and stored.family in (Family.TEXT, Family.OTHER) and dialect is not Dialect.SQLITE
    return texts or type_.kind in (*INTEGERS, Kind.DECIMAL, Kind.DATE)


def reading(type_: DataType, stored: Stored, address: Address) -> Convert | None:
    """What makes a value of a declared type of one of the driver's; None where they are the same."""
    kind = type_.kind
    zone = zone_of(address.zone) or UTC
    if kind is Kind.BOOLEAN:
        return _is_set if stored.family is not Family.BOOLEAN or address.dialect is Dialect.SQLITE else None
    if kind in INTEGERS:
        return _whole
    if kind is Kind.DECIMAL:
        return partial(_decimal, Decimal(1).scaleb(-(type_.scale or 0)))
    if kind in FLOATS:
        return float
    if kind in TEXTS or kind is Kind.UUID:
        # In SQLite bytes are no text, and equal none.
        return _only_text if address.dialect is Dialect.SQLITE else _text
    if kind in BINARIES:
        return bytes
    if kind is Kind.DATE:
        return partial(_date, address.zero_dates)
    if kind is Kind.TIME:
        return partial(_time, _unit(type_, stored))
    if kind in STAMPS:
        instant = stored.family is Family.INSTANT
        return partial(_stamp, address.zero_dates, _unit(type_, stored), instant, kind is Kind.TIMESTAMP_LTZ, zone)
    if kind is Kind.ARRAY and stored.element is not None:
        inner = reading(type_.children[0].type, stored.element, address)
        return None if inner is None else partial(_each, inner)
    return None


def _each(convert: Convert, values: Sequence[Any]) -> list[Any]:
    return [None if v is None else convert(v) for v in values]


def _unit(type_: DataType, stored: Stored) -> int:
    """How many microseconds the last digit of a time is worth that is declared; 1 where the database has no more."""
    if stored.digits is not None and stored.digits <= type_.fractional_digits:
        return 1
    return int(10 ** (6 - min(type_.fractional_digits, 6)))


def _is_set(value: Any) -> bool:
    if isinstance(value, bytes):
        return any(value)
    if isinstance(value, int | float):
        return bool(value)
    raise ValueError(value)


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, Decimal | bool | float) and value == int(value):
        return int(value)
    raise ValueError(value)


def _decimal(unit: Decimal, value: Any) -> Decimal:
    found = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    if found.is_nan() or found.is_infinite():
        raise ValueError(value)
    return found.quantize(unit, ROUND_HALF_UP, _WIDE)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    return str(value)


def _only_text(value: Any) -> str:
    if isinstance(value, bytes):
        raise ValueError(value)
    return str(value)


def _is_zero(value: str) -> bool:
    return value.startswith("0000-00-00") or "-00" in value[:10]


def _zero(value: str, behaviour: str) -> str | None:
    """A date of zeros, or of a month or day of zero, as it is to be read."""
    if behaviour == "NULL":
        return None
    if behaviour == "ROUND" and value.startswith("0000-00-00"):
        return f"0001-01-01{value[10:]}"
    raise ValueError(value)


def _date(zeros: str, value: Any) -> date | None:
    if isinstance(value, str):
        if _is_zero(value):
            found = _zero(value, zeros)
            return None if found is None else date.fromisoformat(found[:10])
        return date.fromisoformat(value[:10])
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    return (_FIRST + timedelta(milliseconds=value)).date()


def _time(unit: int, value: Any) -> time:
    if isinstance(value, timedelta):
        if not timedelta() <= value < _DAY:
            raise ValueError(value)
        value = (_FIRST + value).time()
    elif isinstance(value, str):
        value = time.fromisoformat(value)
    return value if unit == 1 else value.replace(microsecond=value.microsecond // unit * unit)  # type: ignore[no-any-return]


def _stamp(zeros: str, unit: int, instant: bool, wanted: bool, zone: tzinfo, value: Any) -> datetime | None:
    """``instant``: what the column holds; ``wanted``: whether an instant is asked for."""
    if isinstance(value, str):
        if _is_zero(value):
            found = _zero(value, zeros)
            if found is None:
                return None
            value = found
        value = datetime.fromisoformat(value)
    elif not isinstance(value, date):  # SQLite's Java driver writes milliseconds
        value = _FIRST + timedelta(milliseconds=value)
    stamp = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if unit > 1:
        stamp = stamp.replace(microsecond=stamp.microsecond // unit * unit)
    if stamp.tzinfo is not None:  # an instant in any case
        return stamp.astimezone(UTC if wanted else zone).replace(tzinfo=UTC if wanted else None)
    if instant == wanted:
        return stamp
    if wanted:
        return stamp.replace(tzinfo=zone).astimezone(UTC)
    return stamp.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


# --- to the database --------------------------------------------------------------------------------------------------


def writing(type_: DataType, stored: Stored, address: Address) -> Convert | None:
    """What makes a value for the driver of one of Arrow's; None where they are the same."""
    kind, sqlite = type_.kind, address.dialect is Dialect.SQLITE
    zone = zone_of(address.zone) or UTC
    if kind is Kind.BOOLEAN:
        return None if address.dialect is Dialect.POSTGRES else int
    if stored.family is Family.YEAR:
        return _year
    if kind is Kind.DECIMAL:
        return str if sqlite else None
    if kind in BINARIES and stored.family is Family.BITS:
        return _bits
    if kind in BINARIES and stored.precision is not None and address.dialect is Dialect.MYSQL:
        return partial(_filled, stored.precision)
    if kind is Kind.DATE:
        return date.isoformat if sqlite else None
    cut = 10 ** (6 - min(6 if stored.digits is None else stored.digits, 6))
    if kind is Kind.TIME:
        return time.isoformat if sqlite else partial(_cut, cut)
    if kind in STAMPS:
        to_instant = stored.family is Family.INSTANT
        made = partial(_moment, cut, kind is Kind.TIMESTAMP_LTZ, to_instant, zone, address.dialect is Dialect.POSTGRES)
        return partial(_iso, made) if sqlite else made
    if kind is Kind.ARRAY and stored.element is not None:
        inner = writing(type_.children[0].type, stored.element, address)
        return None if inner is None else partial(_each, inner)
    return None


def _filled(length: int, value: bytes) -> bytes:
    """As a BINARY(n) is: what is compared with it must be, too."""
    return value.ljust(length, b"\0")


def _bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _not_held(type_: DataType, stored: Stored, dialect: Dialect, values: pa.Array) -> pa.Array:
    """Values that a column of the database does not hold, and does not refuse either."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = pa.scalar(False)
    if type_.kind is Kind.DECIMAL and dialect is not Dialect.SQLITE:
        digits = stored.digits if stored.family is Family.DECIMAL else 0  # it would be rounded
        if digits is not None and digits < (type_.scale or 0):
            chosen = pc.not_equal(pc.round(values, digits, round_mode="towards_zero"), values)
    elif type_.kind in FLOATS and dialect is Dialect.SQLITE:
        chosen = pc.is_nan(values)  # it would be NULL
    elif dialect is Dialect.POSTGRES:
        while pa.types.is_list(values.type):
            values = values.flatten()
        if pa.types.is_string(values.type):
            chosen = pc.match_substring(values, "\0")
    return values.filter(chosen) if isinstance(chosen, pa.Array) else values[:0]


def _year(value: Any) -> Any:
    return value if value == 0 or value >= 100 else -1  # refused; MySQL would take 70 for 1970


def _cut(unit: int, value: Any) -> Any:
    return value if unit == 1 else value.replace(microsecond=value.microsecond // unit * unit)


def _moment(unit: int, instant: bool, wanted: bool, zone: tzinfo, aware: bool, value: datetime) -> datetime:
    """``instant``: what is given; ``wanted``: whether the column holds instants, which the driver takes ``aware``."""
    value = _cut(unit, value)
    if instant:
        return value.astimezone(UTC if wanted else zone).replace(tzinfo=UTC if wanted and aware else None)
    if not wanted:
        return value
    return value.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=UTC if aware else None)


def _iso(moment: Callable[[datetime], datetime], value: datetime) -> str:
    return moment(value).isoformat(" ")
