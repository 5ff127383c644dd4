"""Which deleted keys can delete a wanted row, as SQL on them: DuckDB then reads these parts of delete files only.

A row is deleted by a key that equals its own, so whatever a query asks of the key's columns it asks of the deleted key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bergsql.catalog.metadata.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
)
from bergsql.engine.table.binding import AllOf, AnyOf, Bound, Literal, Term, TermTest
from bergsql.engine.table.projection import constant_sql

_INTEGERS = (IntegerType, LongType)
_PLAIN = (DateType, StringType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_MOST_VALUES = 100
"""Longer lists of values filter nothing."""


def wanted_keys(bound: Bound, keys: Mapping[int, tuple[str, NestedField]]) -> str | None:
    """A condition on deleted keys that is true for all that may delete a row of ``bound``; None for one always true.

    ``keys`` gives, by the id of a field, SQL of its value and the field that this is read as.
    """
    match bound:
        case bool():
            return None if bound else "false"
        case AllOf(children):
            parts = [p for p in (wanted_keys(c, keys) for c in children) if p is not None]
            return f"({' AND '.join(parts)})" if parts else None
        case AnyOf(children):
            found = [wanted_keys(c, keys) for c in children]
            known = [p for p in found if p is not None]
            return f"({' OR '.join(known)})" if len(known) == len(found) else None
    key = keys.get(bound.field.field_id)
    return None if key is None or bound.nested else _term(bound, *key)


def _term(term: Term, value: str, key: NestedField) -> str | None:
    if term.test is TermTest.IS_NULL:
        return f"{value} IS NULL"
    if term.test is TermTest.NOT_NULL:
        return f"{value} IS NOT NULL"
    kind = term.field.type
    integers = isinstance(kind, _INTEGERS) and isinstance(key.type, _INTEGERS)
    if not integers and not (isinstance(kind, _PLAIN) and kind == key.type):
        return None
    ranges = [_range(kind, x) for x in term.literals]
    if None in ranges:
        return None
    ends = [r for r in ranges if r is not None]
    match term.test:
        case TermTest.EQ | TermTest.IN:
            if len(ends) > _MOST_VALUES:
                return None
            return f"({' OR '.join(f'{value} BETWEEN {low} AND {high}' for low, high in ends)})"
        case TermTest.LT | TermTest.LE:
            return f"{value} <= {ends[0][1]}"
        case TermTest.GT | TermTest.GE:
            return f"{value} >= {ends[0][0]}"
        case TermTest.STARTS:
            return f"starts_with({value}, {ends[0][0]})"
    return None


def _range(kind: IcebergType, literal: Literal) -> tuple[str, str] | None:
    """SQL of the least and the greatest value that the literal may stand for."""
    low, high = literal.low, literal.high
    if not isinstance(kind, _INTEGERS):
        return constant_sql(kind, low), constant_sql(kind, high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    ends = math.floor(low), math.ceil(high)
    return None if max(map(abs, ends)) >= 1 << 63 else (str(ends[0]), str(ends[1]))
