"""SQL data types: what a column of a result or of a CREATE TABLE is, whichever flavour named it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The kinds of SQL type, under Flink's names."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    HUGEINT = "HUGEINT"  # only results: DuckDB sums BIGINTs into it
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"  # precision, scale
    CHAR = "CHAR"  # precision = length
    VARCHAR = "VARCHAR"  # precision = length
    STRING = "STRING"
    BINARY = "BINARY"  # precision = length: Iceberg's fixed
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"  # precision
    TIMESTAMP = "TIMESTAMP"  # precision; without time zone
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"  # precision; an instant, shown in the session's time zone
    INTERVAL_YEAR_MONTH = "INTERVAL_YEAR_MONTH"
    INTERVAL_DAY_TIME = "INTERVAL_DAY_TIME"
    UUID = "UUID"
    ARRAY = "ARRAY"  # children: element
    MAP = "MAP"  # children: key, value
    ROW = "ROW"  # children: the fields
    MULTISET = "MULTISET"  # children: element
    VARIANT = "VARIANT"
    GEOMETRY = "GEOMETRY"
    GEOGRAPHY = "GEOGRAPHY"
    NULL = "NULL"


INTEGERS = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
"""From the narrowest to the widest."""
FLOATS = frozenset({Kind.FLOAT, Kind.DOUBLE})
NUMBERS = frozenset({*INTEGERS, Kind.HUGEINT, Kind.DECIMAL, *FLOATS})
TEXTS = frozenset({Kind.CHAR, Kind.VARCHAR, Kind.STRING})
BINARIES = frozenset({Kind.BINARY, Kind.BYTES})
STAMPS = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ})
INTERVALS = frozenset({Kind.INTERVAL_YEAR_MONTH, Kind.INTERVAL_DAY_TIME})
NESTED = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.MULTISET})
OPAQUE = frozenset({Kind.VARIANT, Kind.GEOMETRY, Kind.GEOGRAPHY})
"""What has neither an order nor an equality in SQL."""


class Field(NamedTuple):
    """A named part of a nested type."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str | None = None


class DataType(NamedTuple):
    """A SQL type. ``precision`` is digits, fraction digits or length, as :class:`Kind` says."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    children: tuple[Field, ...] = ()
    system: str | None = None
    """Of a GEOMETRY the reference system, of a GEOGRAPHY the algorithm too, in Iceberg's words; None: the default."""

    @property
    def fractional_digits(self) -> int:
        """How many digits of fractional seconds a TIMESTAMP, TIMESTAMP_LTZ or TIME has."""
        return 6 if self.precision is None else self.precision

    @property
    def holds_nanoseconds(self) -> bool:
        """Whether the values of such a type are counted in nanoseconds."""
        return self.fractional_digits > 6

    @property
    def holds_map(self) -> bool:
        """Whether it is a MAP, or one is in it."""
        return self.kind is Kind.MAP or any(c.type.holds_map for c in self.children)

    @property
    def opaque_part(self) -> Kind | None:
        """The kind of it, or of a part of it, that cannot be compared."""
        if self.kind in OPAQUE:
            return self.kind
        return next(filter(None, (c.type.opaque_part for c in self.children)), None)


NULL = DataType(Kind.NULL)
BOOLEAN = DataType(Kind.BOOLEAN)
INT = DataType(Kind.INT)
BIGINT = DataType(Kind.BIGINT)
DOUBLE = DataType(Kind.DOUBLE)
STRING = DataType(Kind.STRING)
BYTES = DataType(Kind.BYTES)
DATE = DataType(Kind.DATE)
LTZ3, LTZ6 = DataType(Kind.TIMESTAMP_LTZ, 3), DataType(Kind.TIMESTAMP_LTZ, 6)
STAMP3, STAMP6 = DataType(Kind.TIMESTAMP, 3), DataType(Kind.TIMESTAMP, 6)
