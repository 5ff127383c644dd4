"""Random predicates on a table's columns, and which rows they hold for, by SQL's three-valued logic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import (
    BinaryType,
    DoubleType,
    FloatType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
    UUIDType,
)
from bergsql.engine.table.predicate import (
    And,
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
    all_of,
    any_of,
)
from tests.support.history.values import random_value


def random_predicate(schema: Schema, random: Random, depth: int = 0) -> Predicate:
    """A predicate on columns of the schema, those inside structs too."""
    if depth < 2 and random.random() < 0.4:
        parts = [random_predicate(schema, random, depth + 1) for _ in range(2)]
        match random.choice(("and", "or", "not")):
            case "and":
                return all_of(*parts)
            case "or":
                return any_of(*parts)
        return Not(parts[0])
    name, f = random.choice(list(_columns(schema.fields, "")))
    kind = random.choice(("compare", "compare", "compare", "in", "null", "not null", "special"))
    match kind:
        case "null":
            return IsNull(name)
        case "not null":
            return NotNull(name)
        case "in":
            return In(name, tuple(random_value(f.type, random, null=0) for _ in range(random.choice((1, 2, 3)))))
        case "special" if isinstance(f.type, (FloatType, DoubleType)):
            return IsNan(name)
        case "special" if isinstance(f.type, (StringType, BinaryType)):
            return StartsWith(name, random_value(f.type, random, null=0)[: random.choice((1, 2))])
    # UUIDs have an order, but not the same one everywhere.
    operators = [Op.EQ, Op.NE] if isinstance(f.type, UUIDType) else list(Op)
    return Compare(name, random.choice(operators), random_value(f.type, random, null=0))


def _columns(fields: tuple[NestedField, ...], prefix: str) -> Iterator[tuple[str, NestedField]]:
    for f in fields:
        if isinstance(f.type, StructType):
            yield from _columns(f.type.fields, f"{prefix}{f.name}.")
        elif f.type.is_primitive and not isinstance(f.type, UnknownType):
            yield f"{prefix}{f.name}", f


def holds(predicate: Predicate, row: Mapping[str, Any]) -> bool | None:
    """Whether the predicate is true of a row (values by name, structs as dicts), false, or unknown."""
    match predicate:
        case And(children):
            found = [holds(c, row) for c in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [holds(c, row) for c in children]
            return True if True in found else None if None in found else False
        case Not(child):
            inner = holds(child, row)
            return None if inner is None else not inner
        case IsNull(column):
            return _value(row, column) is None
        case NotNull(column):
            return _value(row, column) is not None
        case IsNan(column):
            value = _value(row, column)
            return None if value is None else math.isnan(value)
        case Compare(column, op, wanted):
            value = _value(row, column)
            return None if value is None else _compared(_key(value), op, _key(wanted))
        case In(column, values):
            value = _value(row, column)
            return None if value is None else _key(value) in [_key(v) for v in values]
        case StartsWith(column, prefix):
            value = _value(row, column)
            return None if value is None else value.startswith(prefix)
    raise AssertionError(predicate)


def _value(row: Mapping[str, Any], column: str | int) -> Any:
    value: Any = row
    for part in str(column).split("."):
        value = None if value is None else value[part]
    return value


def _key(value: Any) -> Any:
    """A value as it is compared: NaN is above all numbers."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def _compared(a: Any, op: Op, b: Any) -> bool:
    match op:
        case Op.EQ:
            return bool(a == b)
        case Op.NE:
            return bool(a != b)
        case Op.LT:
            return bool(a < b)
        case Op.LE:
            return bool(a <= b)
        case Op.GT:
            return bool(a > b)
        case Op.GE:
            return bool(a >= b)
