"""Functions that take a lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let, let_all
from bergsql.engine.sql.functions.arrays import sorted_flink
from bergsql.engine.sql.functions.collections import array_of, element_of, map_of
from bergsql.engine.sql.functions.maps import checked_map
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BOOLEAN, INT, NULL, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOME = "len(list_filter(list_transform({0}, {1}), lambda held: held IS NOT DISTINCT FROM"
_ANY = f"CASE WHEN {_SOME} TRUE)) > 0 THEN TRUE WHEN {_SOME} NULL)) = 0 THEN FALSE END"
_EVERY = f"CASE WHEN {_SOME} FALSE)) > 0 THEN FALSE WHEN {_SOME} NULL)) = 0 THEN TRUE END"
_EXAMPLES = {
    "aggregate": "an array, a start and a lambda, as in (a, x) -> a + x",
    "reduce": "an array, a start and a lambda, as in (a, x) -> a + x",
    "zip_with": "two arrays and a lambda, as in (x, y) -> x + y",
    "map_zip_with": "two maps and a lambda, as in (k, v, w) -> v + w",
    "map_filter": "a map and a lambda, as in (k, v) -> v > 1",
    "transform_keys": "a map and a lambda, as in (k, v) -> k + 1",
    "transform_values": "a map and a lambda, as in (k, v) -> v + 1",
}


def _parts(node: exp.Expr, context: Context, name: str, kinds: str) -> tuple[list[Bound], list[exp.Expr]]:
    """The bound arguments before the lambdas (``kinds``: ``A`` array, ``M`` map, ``a`` anything), and the lambdas."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    given = node.expressions
    values, lambdas = given[: len(kinds)], given[len(kinds) :]
    if len(values) < len(kinds) or not lambdas or any(not isinstance(f, exp.Lambda) for f in lambdas):
        what = _EXAMPLES.get(name, "an array and a lambda, as in x -> x + 1")
        raise BergError(ErrorCode.ARITY, f"{name.upper()} takes {what}.", span=span_of(node))
    if len(lambdas) > (2 if name in ("aggregate", "reduce") else 1):
        raise BergError(ErrorCode.ARITY, f"{name.upper()} takes one lambda.", span=span_of(node))
    bound = []
    for value, kind in zip(values, kinds, strict=True):
        b = bind(value, context)
        if b.type.kind is Kind.NULL and kind != "a":
            type_ = array_of(NULL) if kind == "A" else map_of(NULL, NULL)
            b = replace(b, sql=f"CAST(NULL AS {duckdb_name(type_)})", type=type_)
        if kind != "a" and b.type.kind is not (Kind.ARRAY if kind == "A" else Kind.MAP):
            what = type_text(b.type, context.flavour)
            wanted = "an array" if kind == "A" else "a map"
            raise type_error(f"{name.upper()} takes {wanted} here, not {what}.", span_of(value) or span_of(node))
        bound.append(b)
    return bound, lambdas


def _fresh(context: Context, n: int) -> list[str]:
    """Names for the variables of a lambda of DuckDB that no lambda around has."""
    return [f"l{len(context.variables)}_{i}" for i in range(n)]


def _body(function: exp.Expr, variables: Sequence[tuple[DataType, str]], context: Context) -> Bound:
    """The lambda's body. ``variables`` are the types of what it is given, and the SQL of each."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    names = [str(v.this) for v in function.expressions]
    if len(names) > len(variables):
        most = f"{len(variables)} {'variable' if len(variables) == 1 else 'variables'}"
        raise BergError(ErrorCode.ARITY, f"The lambda takes at most {most}.", span=span_of(function))
    # One entry more for each lambda, whatever its names hide: ``_fresh`` counts them.
    known = {**context.variables, f"\x00{len(context.variables)}": Bound("NULL", NULL, "")}
    for name, (type_, sql) in zip(names, variables, strict=False):
        known[context.scope.fold(name)] = Bound(sql, type_, "namedlambdavariable()", name=name)
    return bind(function.this, replace(context, variables=known))


def _text(name: str, arguments: Sequence[Bound], bodies: Sequence[tuple[exp.Expr, Bound]]) -> str:
    """Spark's text of the call."""
    lambdas = [
        f"lambdafunction({b.text}, {', '.join('namedlambdavariable()' for _ in f.expressions)})" for f, b in bodies
    ]
    return f"{name}({', '.join([*(a.text for a in arguments), *lambdas])})"


_V = "namedlambdavariable()"
_COMPARED = (
    f"lambdafunction((IF((({_V} IS NULL) AND ({_V} IS NULL)), 0, (IF(({_V} IS NULL), 1, (IF(({_V} IS NULL), -1, "
    f"(IF(({_V} < {_V}), -1, (IF(({_V} > {_V}), 1, 0)))))))))), {_V}, {_V})"
)
"""Spark's text of the lambda that ARRAY_SORT has when none is given."""


def _element_and_index(array: Bound, names: list[str]) -> list[tuple[DataType, str]]:
    return [(element_of(array), names[0]), (INT, f"CAST({names[1]} - 1 AS INTEGER)")]  # DuckDB counts from 1


def _transform(node: exp.Expr, context: Context) -> Bound:
    (array,), (function,) = _parts(node, context, "transform", "A")
    names = _fresh(context, 2)
    body = _body(function, _element_and_index(array, names), context)
    used = names[: max(1, len(function.expressions))]
    sql = f"list_transform({array.sql}, lambda {', '.join(used)}: {body.sql})"
    text = _text("transform", [array], [(function, body)])
    return Bound.of(sql, array_of(body.type, body.nullable), text, array, body, nullable=array.nullable)


def _test(name: str, template: str, result: DataType | None) -> Callable[[exp.Expr, Context], Bound]:
    def made(node: exp.Expr, context: Context) -> Bound:
        from bergsql.engine.plan.comparison import condition

        (array,), (function,) = _parts(node, context, name, "A")
        names = _fresh(context, 2)
        given = _element_and_index(array, names)[: 2 if name == "filter" else 1]
        body = condition(_body(function, given, context), context, function.this, name.upper())
        used = names[: max(1, len(function.expressions))]
        text = _text(name, [array], [(function, body)])
        sql = template.format(array.sql, f"lambda {', '.join(used)}: {body.sql}")
        return Bound.of(sql, result or array.type, text, array, body, nullable=True)

    return made


def _aggregate(node: exp.Expr, context: Context) -> Bound:
    """Elements and the value so far travel as one struct: DuckDB wants both of one type."""
    name = str(node.this).lower()
    (array, start), functions = _parts(node, context, name, "Aa")
    row, item, last = *_fresh(context, 2), f"l{len(context.variables)}_2"
    merged = _body(functions[0], ((start.type, f"{row}.a"), (element_of(array), f"{item}.x")), context)
    if start.type.kind is Kind.NULL and merged.type.kind is not Kind.NULL:
        start = coerce(start, merged.type, context)
        merged = _body(functions[0], ((start.type, f"{row}.a"), (element_of(array), f"{item}.x")), context)
    body = coerce(merged, start.type, context, functions[0].this)
    kind = duckdb_name(start.type)
    items = f"list_transform({array.sql}, lambda {item}: struct_pack(a := CAST(NULL AS {kind}), x := {item}))"
    step = f"struct_pack(a := CAST({body.sql} AS {kind}), x := {item}.x)"
    first = f"struct_pack(a := CAST({start.sql} AS {kind}), x := CAST(NULL AS {duckdb_name(element_of(array))}))"
    folded = f"list_reduce({items}, lambda {row}, {item}: {step}, {first}).a"
    folded = f"CASE WHEN {array.sql} IS NOT NULL THEN {folded} END"
    bodies = [(functions[0], merged)]
    if len(functions) == 1:
        text = f"{_text(name, [array, start], bodies)[:-1]}, lambdafunction({_V}, {_V}))"
        return Bound.of(folded, start.type, text, array, start, body, nullable=True)
    finish = _body(functions[1], ((start.type, last),), context)
    sql = f"list_transform([{folded}], lambda {last}: {finish.sql})[1]"
    sql = f"CASE WHEN {array.sql} IS NOT NULL THEN {sql} END"
    text = _text(name, [array, start], [*bodies, (functions[1], finish)])
    return Bound.of(sql, finish.type, text, array, start, body, finish, nullable=True)


def _zip_with(node: exp.Expr, context: Context) -> Bound:
    (a, b), (function,) = _parts(node, context, "zip_with", "AA")
    (pair,) = _fresh(context, 1)
    body = _body(function, ((element_of(a), f"{pair}.a"), (element_of(b), f"{pair}.b")), context)

    def made(both: list[str]) -> str:
        x, y = both
        size = f"greatest(len({x}), len({y}))"
        pairs = f"list_transform(generate_series(1, {size}), lambda i: struct_pack(a := {x}[i], b := {y}[i]))"
        mapped = f"list_transform({pairs}, lambda {pair}: {body.sql})"
        return f"CASE WHEN {x} IS NOT NULL AND {y} IS NOT NULL THEN {mapped} END"

    text = _text("zip_with", [a, b], [(function, body)])
    return Bound.of(let_all([a.sql, b.sql], made), array_of(body.type), text, a, b, body, nullable=True)


def _of_entries(name: str) -> Callable[[exp.Expr, Context], Bound]:
    """MAP_FILTER, TRANSFORM_KEYS and TRANSFORM_VALUES."""

    def made(node: exp.Expr, context: Context) -> Bound:
        from bergsql.engine.plan.comparison import condition

        (source,), (function,) = _parts(node, context, name, "M")
        key, value = (c.type for c in source.type.children)
        (entry,) = _fresh(context, 1)
        body = _body(function, ((key, f"{entry}.key"), (value, f"{entry}.value")), context)
        text = _text(name, [source], [(function, body)])
        through = f"list_transform(map_entries({source.sql}), lambda {entry}: {body.sql})"
        if name == "map_filter":
            body = condition(body, context, function.this, "MAP_FILTER")
            sql = f"map_from_entries(list_filter(map_entries({source.sql}), lambda {entry}: {body.sql}))"
            type_ = source.type
        elif name == "transform_keys":
            sql = let(source.sql, lambda m: checked_map("TRANSFORM_KEYS", through, f"map_values({m})"))
            type_ = map_of(body.type, value)
        else:
            sql = f"map(map_keys({source.sql}), {through})"
            type_ = map_of(key, body.type)
        sql = f"CASE WHEN {source.sql} IS NOT NULL THEN {sql} END"
        return Bound.of(sql, type_, text, source, body, nullable=True, volatile=name == "transform_keys")

    return made


def _map_zip_with(node: exp.Expr, context: Context) -> Bound:
    (a, b), (function,) = _parts(node, context, "map_zip_with", "MM")
    (entry,) = _fresh(context, 1)
    key = context.common_type(a.type.children[0].type, b.type.children[0].type)
    if key is None:
        raise type_error("MAP_ZIP_WITH takes maps with keys of one type.", node)
    a, b = (coerce(m, map_of(key, m.type.children[1].type), context) for m in (a, b))
    values = [m.type.children[1].type for m in (a, b)]
    body = _body(function, ((key, f"{entry}.k"), (values[0], f"{entry}.a"), (values[1], f"{entry}.b")), context)

    def made(both: list[str]) -> str:
        x, y = both
        rest = f"list_filter(map_keys({y}), lambda o: NOT map_contains({x}, o))"
        keys = f"list_concat(map_keys({x}), {rest})"

        def joined(k: str) -> str:
            entries = f"list_transform({k}, lambda o: struct_pack(k := o, a := {x}[o], b := {y}[o]))"
            return f"map({k}, list_transform({entries}, lambda {entry}: {body.sql}))"

        return f"CASE WHEN {x} IS NOT NULL AND {y} IS NOT NULL THEN {let(keys, joined)} END"

    text = _text("map_zip_with", [a, b], [(function, body)])
    sql = let_all([a.sql, b.sql], made)
    return Bound.of(sql, map_of(key, body.type), text, a, b, body, nullable=True)


def _array_sort(node: exp.Expr, context: Context) -> Bound:
    """Spark's: NULLs last, or by a lambda that compares. Then each element's rank is the number of those before it."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.nested_order import sorted_list
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) == 1:
        array = bind(node.expressions[0], context)
        if array.type.kind is Kind.NULL:
            array = coerce(array, array_of(NULL), context)
        if array.type.kind is not Kind.ARRAY:
            what = type_text(array.type, context.flavour)
            raise type_error(f"ARRAY_SORT takes an array, not {what}.", span_of(node.expressions[0]) or span_of(node))
        sql = sorted_list(array.sql, element_of(array), "ASC", "LAST")
        return Bound.of(sql, array.type, f"array_sort({array.text}, {_COMPARED})", array)
    (array,), (function,) = _parts(node, context, "array_sort", "A")
    x, i, y, j = _fresh(context, 4)
    element = element_of(array)
    body = coerce(_body(function, ((element, y), (element, x)), context), INT, context)

    def made(a: str) -> str:
        before = f"list_filter({a}, lambda {y}, {j}: {body.sql} < 0 OR {body.sql} = 0 AND {j} < {i})"
        ranked = f"list_transform({a}, lambda {x}, {i}: struct_pack(r := len({before}), e := {x}))"
        return f"list_transform(list_sort({ranked}), lambda ranked: ranked.e)"

    text = _text("array_sort", [array], [(function, body)])
    return Bound.of(let(array.sql, made), array.type, text, array, body, nullable=array.nullable)


def _explode(node: exp.Expr, context: Context) -> Bound:
    """A generator anywhere but as an item of SELECT, which items.py makes rows of."""
    from bergsql.engine.sql.parser.query import span_of

    name = str(node.this).upper()
    where = f"in {context.clause}" if context.clause != "SELECT" else "inside another expression"
    hint = "It stands alone in SELECT, or in FROM."
    raise BergError(
        ErrorCode.INVALID, f"{name} gives many rows: it cannot stand {where}.", span=span_of(node), hint=hint
    )


FUNCTIONS: tuple[Function, ...] = (
    Special("explode posexplode explode_outer posexplode_outer inline inline_outer stack json_tuple", "s", _explode),
    Special("transform", "s", _transform),
    Special("filter", "s", _test("filter", "list_filter({0}, {1})", None)),
    Special("exists", "s", _test("exists", _ANY, BOOLEAN)),
    Special("forall", "s", _test("forall", _EVERY, BOOLEAN)),
    Special("aggregate reduce", "s", _aggregate),
    Special("zip_with", "s", _zip_with),
    Special("map_filter", "s", _of_entries("map_filter")),
    Special("transform_keys", "s", _of_entries("transform_keys")),
    Special("transform_values", "s", _of_entries("transform_values")),
    Special("map_zip_with", "s", _map_zip_with),
    Special("array_sort", "s", _array_sort),
    Scalar("array_sort", "f", "Ab?b?", 0, sorted_flink),
)
