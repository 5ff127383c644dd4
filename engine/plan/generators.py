"""Spark's generators: functions of one row that give many, as lists of equal length, one for each column.

``SELECT explode(xs)`` unnests the lists side by side; ``LATERAL VIEW`` makes a relation of them. See "Table-valued
functions" and "LATERAL VIEW" in Spark's SQL reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import call_name
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.context import Context, OutputColumn, type_error
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.sql_text import each, let
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INT, STRING, Kind


class Generated(NamedTuple):
    """The columns of a generator, and for each the SQL of a list with its values."""

    columns: list[OutputColumn]
    lists: list[str]


def generated(call: exp.Expr, context: Context, *, outer: bool = False) -> Generated:
    """What a call of a generator gives; ``outer``: a row of NULLs where it would give none."""
    name = call_name(call).lower()
    outer = outer or name.endswith("_outer")
    found = _MAKERS[name.removesuffix("_outer")](call, context)
    if not outer:
        return found
    columns = [OutputColumn(c.name, c.type) for c in found.columns]
    return Generated(columns, [f"coalesce(nullif({sql}, []), [NULL])" for sql in found.lists])


def _one(call: exp.Expr, context: Context) -> Bound:
    if len(call.expressions) != 1:
        message = f"{call_name(call).upper()} takes 1 argument, not {len(call.expressions)}."
        raise BergError(ErrorCode.ARITY, message, span=span_of(call))
    return bind(call.expressions[0], context)


def _explode(call: exp.Expr, context: Context) -> Generated:
    return elements(_one(call, context), call, context, ("key", "value", "col"))


def elements(value: Bound, node: exp.Expr, context: Context, names: tuple[str, str, str]) -> Generated:
    """The entries of a map or the elements of an array; ``names``: of a key, of its value, of an element.

    :raises BergError: TYPE, for a value of another type, at ``node``.
    """
    if value.type.kind is Kind.MAP:
        key, item = value.type.children
        columns = [OutputColumn(names[0], key.type, False), OutputColumn(names[1], item.type)]
        return Generated(columns, [f"map_keys({value.sql})", f"map_values({value.sql})"])
    if value.type.kind is not Kind.ARRAY:
        what = type_text(value.type, context.flavour)
        raise type_error(f"Only an array or a map becomes rows, not {what}.", span_of(node))
    return Generated([OutputColumn(names[2], value.type.children[0].type)], [value.sql])


def fields_of(rows: Bound) -> Generated:
    """The fields of the structs in an array, a column each."""

    def field(position: int) -> Callable[[str], str]:
        return lambda e: f"struct_extract_at({e}, {position})"

    fields = rows.type.children[0].type.children
    lists = [each(rows.sql, field(i)) for i in range(1, len(fields) + 1)]
    return Generated([OutputColumn(f.name, f.type) for f in fields], lists)


def _posexplode(call: exp.Expr, context: Context) -> Generated:
    columns, lists = _explode(call, context)
    positions = let(lists[0], lambda x: f"CASE WHEN {x} IS NOT NULL THEN CAST(range(len({x})) AS INTEGER[]) END")
    return Generated([OutputColumn("pos", INT, False), *columns], [positions, *lists])


def _inline(call: exp.Expr, context: Context) -> Generated:
    value = _one(call, context)
    element = value.type.children[0].type if value.type.kind is Kind.ARRAY else value.type
    if value.type.kind is not Kind.ARRAY or element.kind is not Kind.ROW:
        raise type_error("INLINE takes an array of structs.", span_of(call))
    return fields_of(value)


def _stack(call: exp.Expr, context: Context) -> Generated:
    bound = [bind(e, context) for e in call.expressions]
    count = bound[0].constant if bound else None
    if len(bound) < 2 or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        message = "STACK takes a number of rows, a literal from 1, and the values."
        raise BergError(ErrorCode.ARITY, message, span=span_of(call))
    values = bound[1:]
    width = -(-len(values) // count)
    columns: list[OutputColumn] = []
    lists: list[str] = []
    for position in range(width):
        cells: Sequence[Bound | None] = [
            values[r * width + position] if r * width + position < len(values) else None for r in range(count)
        ]
        there = [c for c in cells if c is not None]
        type_, odd = shared_type((c.type for c in there), context.common_type)
        if odd is not None:
            a, b = type_text(type_, context.flavour), type_text(there[odd].type, context.flavour)
            raise type_error(f"Column {position} of STACK is {a} in one row and {b} in another.", span_of(call))
        sql = ["NULL" if c is None else coerce(c, type_, context).sql for c in cells]
        columns.append(OutputColumn(f"col{position}", type_))
        lists.append(f"[{', '.join(sql)}]")
    return Generated(columns, lists)


def _json_tuple(call: exp.Expr, context: Context) -> Generated:
    if len(call.expressions) < 2:
        raise BergError(ErrorCode.ARITY, "JSON_TUPLE takes a text and the names of fields.", span=span_of(call))
    document, *names = [coerce(bind(e, context), STRING, context, e) for e in call.expressions]

    def value(name: Bound) -> str:
        quoted = f"""'$."' || replace({name.sql}, '"', '\\"') || '"'"""
        path = f"CASE WHEN {name.sql} = '' THEN '/' ELSE {quoted} END"  # DuckDB's '$.""' is none
        read = let(document.sql, lambda d: f"CASE WHEN json_valid({d}) THEN json_extract_string({d}, {path}) END")
        return f"[{read}]"

    columns = [OutputColumn(f"c{i}", STRING) for i in range(len(names))]
    return Generated(columns, [value(n) for n in names])


_MAKERS: dict[str, Callable[[exp.Expr, Context], Generated]] = {
    "explode": _explode,
    "posexplode": _posexplode,
    "inline": _inline,
    "stack": _stack,
    "json_tuple": _json_tuple,
}
