"""Arrays, maps and rows: constructors and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import each, failure, joined, let, let_all
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import (
    BIGINT,
    BOOLEAN,
    FLOATS,
    INT,
    INTEGERS,
    INTERVALS,
    NULL,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Field,
    Kind,
)

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Maker

MOST_ELEMENTS = 1 << 25
"""Of an array whose size arguments say."""


def array_of(element: DataType, nullable: bool = True) -> DataType:
    return DataType(Kind.ARRAY, children=(Field("element", element, nullable),))


def map_of(key: DataType, value: DataType, nullable: bool = True) -> DataType:
    return DataType(Kind.MAP, children=(Field("key", key, False), Field("value", value, nullable)))


def element_of(array: Bound) -> DataType:
    """The type of an array's elements."""
    return array.type.children[0].type if array.type.children else NULL


def _array(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.case import one_type
    from bergsql.engine.plan.expressions import bind

    bound = [bind(a, context) for a in node.expressions]
    text = f"array({', '.join(b.text for b in bound)})"
    if not bound:
        return Bound("[]", array_of(NULL), text, False)
    values = one_type(bound, context, node, "ARRAY")
    type_ = array_of(values[0].type, any(v.nullable for v in values))
    return Bound.of(f"[{', '.join(v.sql for v in values)}]", type_, text, *values, nullable=False)


def _map(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.case import one_type
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    text = f"map({', '.join(b.text for b in bound)})"
    if len(bound) % 2:
        raise BergError(ErrorCode.ARITY, "MAP takes keys and values in turn.", span=span_of(node))
    if not bound:
        return Bound("MAP {}", map_of(NULL, NULL), text, False)
    keys, values = one_type(bound[::2], context, node, "MAP"), one_type(bound[1::2], context, node, "MAP")
    sql = f"map([{', '.join(k.sql for k in keys)}], [{', '.join(v.sql for v in values)}])"
    type_ = map_of(keys[0].type, values[0].type, any(v.nullable for v in values))
    return Bound.of(sql, type_, text, *bound, nullable=False)


def _row(node: exp.Expr, context: Context) -> Bound:
    """Flink's ROW(a, b): its fields are ``EXPR$0``, ``EXPR$1`` …"""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.nested import make_row

    bound = [bind(a, context) for a in node.expressions]
    return make_row(bound, context, [f"EXPR${i}" for i in range(len(bound))])


def _struct(node: exp.Expr, context: Context) -> Bound:
    """Spark's STRUCT(a, b AS c, *): its fields take the names of columns and aliases."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.items import bind_items, is_star
    from bergsql.engine.plan.nested import make_row

    bound: list[Bound] = []
    names: list[str] = []
    texts: list[str] = []
    for i, argument in enumerate(node.expressions, start=1):
        if is_star(argument):
            for item in bind_items([argument], context):
                bound.append(item.bound)
                names.append(item.name)
                texts.append(item.bound.text)
            continue
        inner = argument.this if isinstance(argument, exp.Alias) else argument
        value = bind(inner, context)
        bound.append(value)
        if isinstance(argument, exp.Alias):
            names.append(str(argument.args["alias"].this))
            texts.append(f"{value.text} AS {names[-1]}")
        else:
            plain = isinstance(inner, exp.Column | exp.Dot)
            names.append(value.name if plain and value.name else f"col{i}")
            texts.append(value.text)
    result = make_row(bound, context, names)
    result.text = f"struct({', '.join(texts)})"
    return result


def _named_struct(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.nested import make_row
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    names = [b.constant for b in bound[::2]]
    if len(bound) % 2 or not all(isinstance(n, str) for n in names):
        raise BergError(ErrorCode.ARITY, "NAMED_STRUCT takes names (literals) and values in turn.", span=span_of(node))
    result = make_row(bound[1::2], context, [str(n) for n in names])
    result.text = f"named_struct({', '.join(b.text for b in bound)})"
    return result


def _size(arguments: list[Bound], context: Context) -> str:
    """Spark's SIZE(NULL) is -1."""
    a = arguments[0]
    return f"coalesce(CAST({_count(a)} AS INTEGER), -1)"


def _cardinality(arguments: list[Bound], context: Context) -> str:
    if context.spark:
        return _size(arguments, context)
    return f"CAST({_count(arguments[0])} AS INTEGER)"


def _count(a: Bound) -> str:
    return f"cardinality({a.sql})" if a.type.kind is Kind.MAP else f"len({a.sql})"


def _element(arguments: Sequence[Bound]) -> DataType:
    children = arguments[0].type.children
    return children[0].type if children else NULL


def _value(arguments: Sequence[Bound]) -> DataType:
    return arguments[0].type.children[-1].type


def _keys(arguments: Sequence[Bound]) -> DataType:
    return array_of(arguments[0].type.children[0].type, False)


def _values(arguments: Sequence[Bound]) -> DataType:
    return array_of(arguments[0].type.children[1].type)


def _element_at(arguments: list[Bound], context: Context) -> str:
    """From 1; a negative index counts from the end; a missing key is NULL."""
    from bergsql.engine.plan.casts import coerce

    a, b = arguments
    if a.type.kind is Kind.MAP:
        return f"{a.sql}[{coerce(b, a.type.children[0].type, context).sql}]"
    zero = failure("The place of ELEMENT_AT is not 0: elements are counted from 1.")

    def made(given: list[str]) -> str:
        array, i = given
        return f"CASE WHEN {i} = 0 AND {array} IS NOT NULL THEN {zero} ELSE {array}[{i}] END"

    return let_all([a.sql, coerce(b, INT, context).sql], made)


def _with_element(template: str) -> Callable[[list[Bound], Context], str]:
    def made(arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.casts import coerce

        a, b = arguments
        value = coerce(b, a.type.children[0].type, context) if a.type.children else b
        return let_all([a.sql, value.sql], lambda both: template.format(*both))

    return made


def _with_one_of_its_type(name: str, template: str, result: DataType | None = None) -> Maker:
    """Spark's: the array and the element become what holds both."""

    def made(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.casts import coerce
        from bergsql.engine.sql.functions.element_types import element_of_one_type

        element = element_of_one_type(name, arguments[0], arguments[1].type, context)
        type_ = array_of(element)
        array, value = coerce(arguments[0], type_, context), coerce(arguments[1], element, context)
        return Bound(let_all([array.sql, value.sql], lambda both: template.format(*both)), result or type_, "")

    return made


_HAS_ELEMENT = (
    "CASE WHEN {0} IS NOT NULL THEN CASE WHEN {1} IS NULL THEN list_count({0}) < len({0}) ELSE "
    "coalesce(list_contains({0}, {1}), FALSE) END END"
)
"""Flink's ARRAY_CONTAINS: a NULL is looked for like any other element."""


def _only_element(arguments: list[Bound], context: Context) -> str:
    """Flink's ELEMENT: of an array of more than one element it is an error."""
    several = failure("ELEMENT is of an array of one element, and this one has %s.", "len({0})")
    return let(arguments[0].sql, lambda x: f"CASE WHEN len({x}) > 1 THEN {several.format(x)} ELSE {x}[1] END")


def _contains(arguments: list[Bound], context: Context) -> str:
    """Spark's is unknown when a NULL might have been it."""
    element, value = element_of(arguments[0]).kind, arguments[1].type.kind
    if Kind.NULL not in (element, value) and (element in TEXTS) is not (value in TEXTS):
        kinds = f"{element.value} and {value.value}"
        raise BergError(ErrorCode.TYPE, f"ARRAY_CONTAINS does not compare {kinds}.", hint="CAST one of them.")
    found = _with_element("list_contains({0}, {1})")(arguments, context)
    array = arguments[0].sql
    return f"CASE WHEN {found} THEN TRUE WHEN list_position({array}, NULL) > 0 THEN NULL ELSE {found} END"


def _distinct(arguments: list[Bound], context: Context) -> str:
    """The first of each, in order (DuckDB's own keeps no order)."""
    search = searching(arguments[0], context)
    return let(arguments[0].sql, lambda a: f"list_filter({a}, lambda e, i: {search(a)} = i)")


def searching(array: Bound, context: Context) -> Callable[[str], str]:
    """Finds the place of ``e`` in an array. Spark's functions of sets tell 0.0 from -0.0, though they are equal."""
    if context.spark and element_of(array).kind in FLOATS:
        return lambda a: f"list_position(CAST({a} AS VARCHAR[]), CAST(e AS VARCHAR))"
    return lambda a: f"list_position({a}, e)"


def _intersect(arguments: list[Bound], context: Context) -> str:
    """What is in both, once each, in the order of the first."""

    def made(both: list[str]) -> str:
        a, b = both
        search = searching(arguments[0], context)
        return f"list_filter({a}, lambda e, i: {search(b)} > 0 AND {search(a)} = i)"

    a, b = (x.sql for x in arguments)
    return f"CASE WHEN {b} IS NOT NULL THEN {let_all([a, b], made)} END"


def _spark_intersect(arguments: list[Bound], context: Context) -> str | Bound:
    from bergsql.engine.sql.functions.element_types import of_two_arrays

    return of_two_arrays("ARRAY_INTERSECT", _intersect)(arguments, context)


def _concat(arguments: list[Bound], context: Context) -> str:
    """DuckDB's own skips NULLs."""
    tests = " AND ".join(f"{a.sql} IS NOT NULL" for a in arguments)
    return f"CASE WHEN {tests} THEN list_concat({', '.join(a.sql for a in arguments)}) END"


def _sorted(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.plan.nested_order import sorted_list

    array, element = arguments[0].sql, _element(arguments)
    up, down = sorted_list(array, element, "ASC", "FIRST"), sorted_list(array, element, "DESC", "LAST")
    ascending = arguments[1] if len(arguments) > 1 else None
    if ascending is not None and ascending.constant is False:
        return down
    if ascending is not None and ascending.constant is not True:
        raise BergError(ErrorCode.INVALID, "The order of SORT_ARRAY is TRUE or FALSE, not an expression.")
    return up


def _extreme(word: str) -> Maker:
    def made(arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.nested_order import extreme

        return extreme(word, arguments[0].sql, _element(arguments))

    return made


def _join(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.plan.casts import convert_sql

    a, separator = arguments[0], arguments[1]
    element = a.type.children[0].type
    texts = (
        each(a.sql, lambda e: convert_sql(e, element, STRING, context)) if element.kind is not Kind.STRING else a.sql
    )
    if len(arguments) > 2:
        texts = each(texts, lambda e: f"coalesce({e}, {arguments[2].sql})")
    else:
        texts = f"list_filter({texts}, lambda e: e IS NOT NULL)"
    return joined(texts, separator.sql)


def _sequence(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce

    a, b = arguments[:2]
    step = arguments[2] if len(arguments) > 2 else None
    if a.type.kind is Kind.DATE or a.type.kind in STAMPS:
        if step is not None and step.type.kind not in INTERVALS:
            raise _no_step(step, "an interval", context)
        last = coerce(b, a.type, context).sql
        day = f"CASE WHEN {a.sql} <= {last} THEN INTERVAL '1 day' ELSE INTERVAL '-1 day' END"
        by = step.sql if step is not None else f"({day})"
        micros = (f"epoch_us(CAST({x} AS TIMESTAMP))" for x in (last, a.sql, f"(DATE '1970-01-01' + {by})"))
        sql = _bounded_series(a.sql, last, by, *micros)
        return Bound(f"CAST({sql} AS {duckdb_name(array_of(a.type))})", array_of(a.type, False), "")
    type_ = a.type if a.type.kind in INTEGERS else INT
    if a.type.kind not in (*INTEGERS, Kind.NULL):
        raise _no_step(a, "a whole number, a date or a timestamp", context)
    if step is not None and step.type.kind not in (*INTEGERS, Kind.NULL):
        raise _no_step(step, "a whole number", context)
    x, y = coerce(a, BIGINT, context), coerce(b, BIGINT, context)
    by = step.sql if step is not None else f"(CASE WHEN {x.sql} <= {y.sql} THEN 1 ELSE -1 END)"
    series = _bounded_series(x.sql, y.sql, by, y.sql, x.sql, by)
    sql = f"CAST({series} AS {duckdb_name(array_of(type_))})"
    return Bound(sql, array_of(type_, False), "")


def _bounded_series(first: str, last: str, by: str, end: str, begin: str, step: str) -> str:
    """SQL for a series, unless it would take the memory of all; its size is told from numbers.

    It is cut in the branch that is not reached: DuckDB computes constants there too.
    """
    count = f"((CAST({end} AS HUGEINT) - {begin}) // nullif({step}, 0) + 1)"
    long = failure(f"SEQUENCE would make an array of %s elements: more than {MOST_ELEMENTS}.", count)
    away = failure("SEQUENCE cannot come from its first value to its last one by steps of %s.", by)
    too_long = f"{count} > {MOST_ELEMENTS}"
    series = f"generate_series({first}, CASE WHEN {too_long} THEN {first} ELSE {last} END, {by})"
    return (
        f"CASE WHEN {too_long} THEN {long} WHEN sign({step}) * sign(CAST({end} AS HUGEINT) - {begin}) < 0 "
        f"OR {step} = 0 AND {end} <> {begin} THEN {away} WHEN {step} = 0 THEN [{first}] ELSE {series} END"
    )


def _no_step(given: Bound, wanted: str, context: Context) -> BergError:
    from bergsql.engine.plan.casts import type_text

    what = type_text(given.type, context.flavour)
    return BergError(ErrorCode.TYPE, f"SEQUENCE takes {wanted} here, not {what}.")


_POSITION = "CASE WHEN {1} IS NOT NULL THEN CAST(coalesce(list_position({0}, {1}), 0) AS BIGINT) END"
_REMOVE = "CASE WHEN {1} IS NOT NULL THEN list_filter({0}, lambda e: e IS DISTINCT FROM {1}) END"
_APPEND = "CASE WHEN {0} IS NOT NULL THEN list_append({0}, {1}) END"
_PREPEND = "CASE WHEN {0} IS NOT NULL THEN list_prepend({1}, {0}) END"


FUNCTIONS: tuple[Function, ...] = (
    Special("array", "fs", _array),
    Special("map", "fs", _map),
    Special("row", "f", _row),
    Special("struct", "s", _struct),
    Special("named_struct", "s", _named_struct),
    Scalar("size", "s", "z", INT, _size),
    Scalar("cardinality", "fs", "z", INT, _cardinality),
    Scalar("array_size", "s", "A", INT, "CAST(len({0}) AS INTEGER)"),
    Scalar("element_at try_element_at", "s", "za", _value, _element_at),
    Scalar("element", "f", "A", _element, _only_element),
    Scalar("array_contains", "s", "Aa", BOOLEAN, _contains),
    Scalar("array_contains", "f", "Aa", BOOLEAN, _with_element(_HAS_ELEMENT)),
    Scalar("array_position", "s", "Aa", BIGINT, _with_one_of_its_type("ARRAY_POSITION", _POSITION, BIGINT)),
    Scalar("array_position", "f", "Aa", BIGINT, _with_element(_POSITION)),
    Scalar("array_remove", "s", "Aa", 0, _with_one_of_its_type("ARRAY_REMOVE", _REMOVE)),
    Scalar("array_remove", "f", "Aa", 0, _with_element("list_filter({0}, lambda e: e IS DISTINCT FROM {1})")),
    Scalar("array_append", "s", "Aa", 0, _with_one_of_its_type("ARRAY_APPEND", _APPEND)),
    Scalar("array_append", "f", "Aa", 0, _with_element(_APPEND)),
    Scalar("array_prepend", "s", "Aa", 0, _with_one_of_its_type("ARRAY_PREPEND", _PREPEND)),
    Scalar("array_prepend", "f", "Aa", 0, _with_element(_PREPEND)),
    Scalar("array_distinct", "fs", "A", 0, _distinct),
    Scalar("array_max", "fs", "A", _element, _extreme("max")),
    Scalar("array_min", "fs", "A", _element, _extreme("min")),
    Scalar("array_reverse", "f", "A", 0, "list_reverse({0})"),
    Scalar("array_concat", "f", "CC*", 0, _concat),
    Scalar("array_join", "fs", "Att?", STRING, _join),
    Scalar("array_intersect", "s", "AA", 0, _spark_intersect),
    Scalar("array_intersect", "f", "CC", 0, _intersect),
    Scalar("sort_array", "s", "Ab?", 0, _sorted),
    Scalar("sequence", "s", "aaa?", INT, _sequence),
    Scalar("map_keys", "fs", "M", _keys, "map_keys({0})"),
    Scalar("map_values", "fs", "M", _values, "map_values({0})"),
)
