"""Which type two types have in common, and the precision of decimal arithmetic.

Spark's and Flink's rules agree here but where a flavour is asked for. The decimal rules are those of Hive and SQL
Server, bounded to 38 digits with at least six kept behind the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import (
    BIGINT,
    BINARIES,
    BYTES,
    DOUBLE,
    FLOATS,
    INT,
    INTEGERS,
    INTERVALS,
    NESTED,
    NULL,
    NUMBERS,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Field,
    Kind,
)

_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20, Kind.HUGEINT: 38}
_FLINK_DIGITS = {**_DIGITS, Kind.BIGINT: 19}
MAX_DIGITS = 38
_KEPT_SCALE = 6


def decimal(precision: int, scale: int) -> DataType:
    return DataType(Kind.DECIMAL, precision, scale)


def bounded(precision: int, scale: int) -> DataType:
    """The decimal type of a result that would need ``precision`` digits: digits behind the point go first."""
    if precision <= MAX_DIGITS:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_DIGITS, max(MAX_DIGITS - whole, min(scale, _KEPT_SCALE)))


def digits_of(kind: Kind, flavour: Flavour) -> int:
    """How many decimal digits an integer type takes."""
    return (_FLINK_DIGITS if flavour is Flavour.FLINK else _DIGITS)[kind]


def as_decimal(bound: Bound, flavour: Flavour) -> DataType:
    """The decimal type that an exact number takes part in decimal arithmetic as.

    An integer literal takes as many digits as it shows in Spark (``1.0 / 3`` is decimal(7,6)).
    """
    kind = bound.type.kind
    if kind is Kind.DECIMAL:
        return bound.type
    if flavour is Flavour.SPARK and isinstance(bound.constant, int):
        return decimal(max(1, len(str(abs(bound.constant)))), 0)
    return decimal(digits_of(kind, flavour), 0)


def arithmetic_decimal(operator: str, a: DataType, b: DataType) -> DataType:
    """The type of ``a operator b`` for two decimal types."""
    p1, s1, p2, s2 = a.precision or 0, a.scale or 0, b.precision or 0, b.scale or 0
    if operator in "+-":
        scale = max(s1, s2)
        return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "*":
        return bounded(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return bounded(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)  # %
    return bounded(min(p1 - s1, p2 - s2) + scale, scale)


def wider_integer(a: DataType, b: DataType) -> DataType:
    return a if INTEGERS.index(a.kind) >= INTEGERS.index(b.kind) else b


def common_number(a: DataType, b: DataType, flavour: Flavour) -> DataType:
    """The number type that holds both, for comparing and for set operations."""
    if a.kind in INTEGERS and b.kind in INTEGERS:
        return wider_integer(a, b)
    if a.kind in FLOATS or b.kind in FLOATS:
        return a if a == b else _common_float(a, b)
    a = a if a.kind is Kind.DECIMAL else decimal(digits_of(a.kind, flavour), 0)
    b = b if b.kind is Kind.DECIMAL else decimal(digits_of(b.kind, flavour), 0)
    scale = max(a.scale or 0, b.scale or 0)
    whole = max((a.precision or 0) - (a.scale or 0), (b.precision or 0) - (b.scale or 0))
    if whole + scale > MAX_DIGITS:
        return bounded(whole + scale, scale)
    return decimal(whole + scale, scale)


def _common_float(a: DataType, b: DataType) -> DataType:
    other = b if a.kind in FLOATS else a
    if Kind.DOUBLE in (a.kind, b.kind) or other.kind in (Kind.DECIMAL, Kind.HUGEINT):
        return DOUBLE
    return DataType(Kind.FLOAT)


def common_type(a: DataType, b: DataType, flavour: Flavour) -> DataType | None:
    """The type that both turn into in a set operation, CASE, COALESCE, VALUES …; None when there is none."""
    if a == b or b.kind is Kind.NULL:
        return a
    if a.kind is Kind.NULL:
        return b
    if a.kind in NUMBERS and b.kind in NUMBERS:
        return common_number(a, b, flavour)
    if a.kind in TEXTS and b.kind in TEXTS:
        return STRING
    if a.kind in BINARIES and b.kind in BINARIES:
        return BYTES
    if a.kind is b.kind and (a.kind in STAMPS or a.kind is Kind.TIME):
        return DataType(a.kind, max(a.precision or 0, b.precision or 0))
    if a.kind is b.kind and a.kind in NESTED:
        return _common_nested(a, b, flavour)
    if a.kind is b.kind:
        return a
    for x, y in ((a, b), (b, a)):
        if x.kind in STAMPS and y.kind is Kind.DATE:
            return x
        if x.kind is Kind.TIMESTAMP_LTZ and y.kind is Kind.TIMESTAMP:
            return x
        if x.kind in TEXTS and y.kind not in NESTED and flavour is Flavour.SPARK:
            return None if y.kind in (Kind.BOOLEAN, *BINARIES, *INTERVALS) else STRING
    return None


def shared_type(
    types: Iterable[DataType], combine: Callable[[DataType, DataType], DataType | None]
) -> tuple[DataType, int | None]:
    """The type that all have in common by ``combine``, and None; or that of those before the first that does not fit,
    and the number of that one."""
    shared = NULL
    for position, type_ in enumerate(types):
        if type_ == shared:
            continue
        found = combine(shared, type_)
        if found is None:
            return shared, position
        shared = found
    return shared, None


def _common_nested(a: DataType, b: DataType, flavour: Flavour) -> DataType | None:
    if len(a.children) != len(b.children):
        return None
    children: list[Field] = []
    for x, y in zip(a.children, b.children, strict=True):
        shared = common_type(x.type, y.type, flavour)
        if shared is None:
            return None
        children.append(Field(x.name, shared, x.nullable or y.nullable))
    return DataType(a.kind, children=tuple(children))


def integer_literal_type(value: int) -> DataType:
    """INT, BIGINT, or a decimal of its digits."""
    if -(2**31) <= value < 2**31:
        return INT
    if -(2**63) <= value < 2**63:
        return BIGINT
    return decimal(len(str(abs(value))), 0)


def known(type_: DataType) -> DataType:
    """``type_``, or STRING for the type of a bare NULL (what a table's column made of it would be)."""
    return STRING if type_ == NULL else type_
