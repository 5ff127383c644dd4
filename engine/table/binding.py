"""Predicates bound to a schema: columns become fields, values become internal ones, NOT moves into the comparisons.

What cannot be judged becomes True ("may match"), whatever stands around it, so that pruning by a bound predicate can
only keep too much.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.exact import MICROS_A_DAY
from bergsql.catalog.metadata.types import (
    NANOSECOND_TIMESTAMPS,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.table.predicate import (
    NEGATED,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    Not,
    NotNull,
    Op,
    Or,
    Predicate,
    StartsWith,
)

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField


class TermTest(StrEnum):
    """What a term asks of its field."""

    IS_NULL = "is null"
    NOT_NULL = "is not null"
    IS_NAN = "is nan"
    NOT_NAN = "is not nan"
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "not in"
    STARTS = "starts with"
    NOT_STARTS = "does not start with"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value to compare with: anything from ``low`` to ``high``, because engines round when they compare types.

    ``high`` equals ``low`` where nothing is rounded; only then is the literal ``exact``.
    """

    low: Any
    high: Any
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Term:
    """One test of one field. ``nested`` fields are null also where an optional struct around them is."""

    field: NestedField
    test: TermTest
    literals: tuple[Literal, ...] = ()
    nested: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    children: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    children: tuple[Bound, ...]


Bound = bool | Term | AllOf | AnyOf


def bind(predicate: Predicate, schema: Schema) -> Bound:
    """``predicate`` for ``schema``. Raises NOT_FOUND for a column that is not there."""
    return _bind(predicate, schema, negated=False)


def _bind(predicate: Predicate, schema: Schema, negated: bool) -> Bound:
    match predicate:
        case Not(child):
            return _bind(child, schema, not negated)
        case And(children) | Or(children):
            bound = tuple(_bind(c, schema, negated) for c in children)
            return _all(bound) if isinstance(predicate, And) != negated else _any(bound)
        case AlwaysTrue():
            return True  # under NOT too: it may stand for something that could not be expressed
        case AlwaysFalse():
            return negated
    found = _resolve(predicate.column, schema)
    if found is None:
        return True
    field, nested = found
    match predicate:
        case IsNull():
            return Term(field, TermTest.NOT_NULL if negated else TermTest.IS_NULL, nested=nested)
        case NotNull():
            return Term(field, TermTest.IS_NULL if negated else TermTest.NOT_NULL, nested=nested)
        case IsNan():
            return Term(field, TermTest.NOT_NAN if negated else TermTest.IS_NAN, nested=nested)
        case Compare(_, op, value):
            return _compare(field, NEGATED[op] if negated else op, value, nested)
        case In(_, values):
            return _in(field, values, negated, nested)
        case StartsWith(_, prefix):
            test = TermTest.NOT_STARTS if negated else TermTest.STARTS
            fits = isinstance(prefix, str) == isinstance(field.type, StringType)
            if not fits or not isinstance(field.type, StringType | BinaryType):
                return True
            return Term(field, test, (Literal(prefix, prefix),), nested)


def _compare(field: NestedField, op: Op, value: object, nested: bool) -> Bound:
    literal = to_literal(field.type, value)
    return True if literal is None else Term(field, TermTest(op.value), (literal,), nested)


def _in(field: NestedField, values: tuple[object, ...], negated: bool, nested: bool) -> Bound:
    literals = tuple(to_literal(field.type, v) for v in values if v is not None)
    if negated and len(literals) < len(values):
        return False  # NOT IN with a NULL is never true
    if not literals:
        return negated
    known = tuple(v for v in literals if v is not None)
    if len(known) < len(literals):
        return True
    return Term(field, TermTest.NOT_IN if negated else TermTest.IN, known, nested)


def _all(children: tuple[Bound, ...]) -> Bound:
    if any(c is False for c in children):
        return False
    kept = tuple(c for c in children if c is not True)
    return AllOf(kept) if len(kept) > 1 else kept[0] if kept else True


def _any(children: tuple[Bound, ...]) -> Bound:
    if any(c is True for c in children):
        return True
    kept = tuple(c for c in children if c is not False)
    return AnyOf(kept) if len(kept) > 1 else kept[0] if kept else False


def _resolve(column: Column, schema: Schema) -> tuple[NestedField, bool] | None:
    """The primitive field and whether it is inside a struct; None for what has no statistics of its own."""
    field = schema.field(column) if isinstance(column, int) else schema.find(column)
    if field is None:
        hint = did_you_mean(str(column), schema.names)
        raise BergError(ErrorCode.NOT_FOUND, f"Column '{column}' was not found.", hint=hint)
    nested = False
    parent = schema.parent_of(field.field_id)
    while parent is not None:
        if not isinstance(parent.type, StructType):
            return None
        nested = True
        parent = schema.parent_of(parent.field_id)
    return (field, nested) if field.type.is_primitive else None


# -- values ------------------------------------------------------------------------------------------------------------

_NAIVE = (TimestampType, TimestampNsType)
_ROUNDING = 2.0**-22
"""How far apart two values may be, relatively, that compare as equal after a conversion to single precision."""


def to_literal(kind: IcebergType, value: object) -> Literal | None:
    """A Python value as a literal of the field's type; None when the two cannot be compared for certain."""
    match kind:
        case IntegerType() | LongType() | DecimalType() | FloatType() | DoubleType():
            return _number(kind, value)
        case DateType() if isinstance(value, datetime):
            return _date_from_datetime(value)
        case TimestampType() | TimestampNsType() | TimestamptzType() | TimestamptzNsType():
            return _timestamp(kind, value)
        case UUIDType() if isinstance(value, str):
            return _uuid(value)
    return _plain(kind, value)


def _plain(kind: IcebergType, value: object) -> Literal | None:
    match kind, value:
        case (
            (BooleanType(), bool())
            | (DateType(), (int() | date()))
            | (TimeType(), (int() | time()))
            | (StringType(), str())
            | (UUIDType(), UUID())
            | ((BinaryType() | FixedType()), (bytes() | bytearray() | memoryview()))
        ):
            if isinstance(value, bool) and not isinstance(kind, BooleanType):
                return None
            internal = to_internal(kind, value)
            return Literal(internal, internal)
    return None


def _number(kind: IcebergType, value: object) -> Literal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value != value:
        return None
    if isinstance(kind, FloatType | DoubleType):
        rounded = _single(value) if isinstance(kind, FloatType) else _double(value)
        return Literal(min(value, rounded), max(value, rounded), rounded == value)
    if not isinstance(value, float):
        return Literal(value, value)
    margin = abs(value) * _ROUNDING if math.isfinite(value) else 0.0
    return Literal(value - margin, value + margin, exact=False)


def _double(value: int | float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _single(value: int | float | Decimal) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", _double(value)))
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return float(rounded)


def _date_from_datetime(value: datetime) -> Literal | None:
    """A date is compared with a timestamp as the midnight that begins it."""
    if value.tzinfo is not None:
        return None
    days, rest = divmod(_micros(value), MICROS_A_DAY)
    return Literal(days, days + 1, exact=False) if rest else Literal(days, days)


def _timestamp(kind: IcebergType, value: object) -> Literal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Literal(value, value)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            if isinstance(kind, _NAIVE):
                return None  # depends on the session's time zone
            value = value.astimezone(UTC).replace(tzinfo=None)
        micros = _micros(value)
    elif isinstance(value, date) and isinstance(kind, _NAIVE):
        micros = _micros(datetime(value.year, value.month, value.day))
    else:
        return None
    ticks = micros * 1000 if isinstance(kind, NANOSECOND_TIMESTAMPS) else micros
    return Literal(ticks, ticks)


def _micros(value: datetime) -> int:
    internal = to_internal(TimestampType(), value)
    if not isinstance(internal, int):
        raise BergError(ErrorCode.INTERNAL, f"'{value}' is no timestamp of the table format.")
    return internal


def _uuid(text: str) -> Literal | None:
    try:
        value = UUID(text)
    except ValueError:
        return None
    return Literal(value, value)
