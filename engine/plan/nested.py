"""Elements of arrays and maps, and rows made of values."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.resolve import field_of
from bergsql.engine.plan.sql_text import let_all
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import INTEGERS, DataType, Field, Kind


def bind_bracket(node: exp.Expr, context: Context) -> Bound:
    """``array[i]`` (from 0 in Spark, from 1 in Flink) and ``map[key]``. What is not there is NULL."""
    collection = bind(node.this, context)
    index = bind(node.expressions[0], context)
    text = f"{collection.text}[{index.text}]"
    kind = collection.type.kind
    if kind is Kind.MAP:
        key_type, value_type = (c.type for c in collection.type.children)
        key = coerce(index, key_type, context, node)
        return Bound.of(f"{collection.sql}[{key.sql}]", value_type, text, collection, key, nullable=True)
    if kind is Kind.ROW and context.spark and isinstance(index.constant, str):
        field = field_of(collection, index.constant, span_of(node.expressions[0]), context.flavour)
        return replace(field, name=None, text=f"{collection.text}.{index.constant}")
    if kind is not Kind.ARRAY:
        what = type_text(collection.type, context.flavour)
        raise type_error(f"[…] works on arrays and maps, not on {what}.", span_of(node))
    if index.type.kind not in INTEGERS:
        what = type_text(index.type, context.flavour)
        raise type_error(f"The index of an array is a whole number, not {what}.", span_of(node.expressions[0]))
    base = 0 if context.spark else 1
    element = collection.type.children[0].type
    if isinstance(index.constant, int):
        position = index.constant - base + 1
        if position < 1 and not context.spark:
            raise BergError(
                ErrorCode.INVALID, "The first element of an array is [1].", span=span_of(node.expressions[0])
            )
        # DuckDB counts a negative index from the end.
        return Bound.of(f"{collection.sql}[{max(position, 0)}]", element, text, collection, nullable=True)
    shift = " + 1" if context.spark else ""

    def picked(both: list[str]) -> str:
        array, i = both
        return f"CASE WHEN {i} >= {base} THEN {array}[{i}{shift}] END"

    sql = let_all([collection.sql, index.sql], picked)
    return Bound.of(sql, element, text, collection, index, nullable=True)


def bind_tuple(node: exp.Expr, context: Context) -> Bound:
    """``(a, b)``: a row."""
    parts = [bind(e, context) for e in node.expressions]
    return make_row(parts, context)


def make_row(parts: list[Bound], context: Context, names: list[str] | None = None) -> Bound:
    """A row of values; without names they are ``EXPR$0`` … (flink) or ``col1`` … (spark)."""
    if names is None:
        names = [p.name or f"col{i}" if context.spark else f"EXPR${i - 1}" for i, p in enumerate(parts, start=1)]
        if len({n.lower() for n in names}) < len(names):
            names = [f"col{i}" for i in range(1, len(parts) + 1)]
    seen: set[str] = set()
    for name in names:
        if not name:
            raise not_supported("A row with a field that has no name")
        if name.lower() in seen:
            raise not_supported(f"A row with two fields named '{name}'")
        seen.add(name.lower())
    fields = tuple(Field(n, p.type, p.nullable) for n, p in zip(names, parts, strict=True))
    sql = ", ".join(f"{identifier(n)} := {p.sql}" for n, p in zip(names, parts, strict=True))
    text = ", ".join(p.text for p in parts)
    type_ = DataType(Kind.ROW, children=fields)
    return Bound.of(f"struct_pack({sql})", type_, f"struct({text})", *parts, nullable=False)
