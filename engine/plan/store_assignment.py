"""Store assignment: how the columns of a query become the columns of a table.

Flink: its implicit casts (a number widens, text stays text; nothing is parsed); integers may also narrow, checked.
Spark: the ANSI rule — numbers among numbers, anything atomic to text, dates and timestamps among each other; nothing
else. Both: an overflow is an error, never a wrap, which is why the conversions are not CAST's.
Sources: Flink ``LogicalTypeCasts``, Spark "ANSI Compliance".
"""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.engine.plan.casts import convert_sql
from bergsql.engine.plan.context import Context
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, NESTED, NUMBERS, STAMPS, TEXTS, DataType, Field, Kind


def can_assign(source: DataType, target: DataType, flavour: Flavour) -> bool:
    """Whether a value of ``source`` may be stored in a column of ``target``."""
    a, b = source.kind, target.kind
    if a is Kind.NULL:
        return True
    if a in NESTED or b in NESTED:
        return (
            a is b
            and len(source.children) == len(target.children)
            and all(can_assign(s.type, t.type, flavour) for s, t in zip(source.children, target.children, strict=True))
        )
    if a is b or (a in TEXTS and b in TEXTS) or (a in BINARIES and b in BINARIES):
        return True
    if a in STAMPS and b in STAMPS:
        return True
    if flavour is Flavour.SPARK:
        return _can_assign_spark(a, b)
    return _can_assign_flink(a, b)


def _can_assign_flink(a: Kind, b: Kind) -> bool:
    if a in NUMBERS:
        if b in INTEGERS:
            return a in INTEGERS or a is Kind.HUGEINT
        return b is Kind.DECIMAL or b is Kind.DOUBLE or (b is Kind.FLOAT and a is not Kind.DOUBLE)
    return a in STAMPS and b in (Kind.DATE, Kind.TIME)


def _can_assign_spark(a: Kind, b: Kind) -> bool:
    if b in TEXTS or (a in NUMBERS and b in NUMBERS):
        return True
    return (a in STAMPS and b is Kind.DATE) or (a is Kind.DATE and b in STAMPS)


def assign(value: str, source: DataType, target: DataType, context: Context, depth: int = 0) -> str:
    """SQL that makes ``value`` (SQL of ``source``) a value of ``target``; nested fields go by position."""
    sql_type = duckdb_name(target)
    if source.kind is Kind.NULL:
        return f"CAST({value} AS {sql_type})"  # which may fail, as raise_error does
    if duckdb_name(source) == sql_type:
        return value
    item = f"v{depth}"
    if target.kind is Kind.ROW:
        return _assign_row(value, source.children, target.children, context, depth)
    if target.kind is Kind.ARRAY:
        element = assign(item, source.children[0].type, target.children[0].type, context, depth + 1)
        return f"list_transform({value}, lambda {item}: {element})"
    if target.kind is Kind.MAP:
        (k0, v0), (k1, v1) = source.children, target.children
        key = assign(f"{item}.key", k0.type, k1.type, context, depth + 1)
        val = assign(f"{item}.value", v0.type, v1.type, context, depth + 1)
        entries = f"list_transform(map_entries({value}), lambda {item}: {{'key': {key}, 'value': {val}}})"
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE map_from_entries({entries}) END"
    if source.kind in (*FLOATS, Kind.DECIMAL) and target.kind in INTEGERS:
        # DuckDB rounds here, Spark and Flink cut the fraction off.
        return f"CAST(trunc({value}) AS {sql_type})"
    if target.kind in TEXTS:
        return convert_sql(value, source, target, context)
    return f"CAST({value} AS {sql_type})"


def _assign_row(value: str, source: Sequence[Field], target: Sequence[Field], context: Context, depth: int) -> str:
    parts = []
    names = distinct_names(t.name for t in target)
    for i, (name, s, t) in enumerate(zip(names, source, target, strict=True), start=1):
        # By position: the fields of ROW(…) have no names, and struct_extract_at takes both kinds.
        parts.append(
            f"{identifier(name)} := {assign(f'struct_extract_at({value}, {i})', s.type, t.type, context, depth)}"
        )
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({', '.join(parts)}) END"
