"""Expressions: from sqlglot's tree to DuckDB's SQL. Each kind of node has its function; what has none is refused."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.plan.arithmetic import SYMBOLS as ARITHMETIC
from bergsql.engine.plan.arithmetic import bind_arithmetic, bind_bit_not, bind_bits, bind_negation
from bergsql.engine.plan.bound import NULL, STRING, Bound, identifier
from bergsql.engine.plan.calls import bind_call, bind_special_call
from bergsql.engine.plan.casts import cast, coerce, type_text
from bergsql.engine.plan.coercion import BINARIES, INTEGERS, common_type
from bergsql.engine.plan.comparison import SYMBOLS as COMPARISON
from bergsql.engine.plan.comparison import (
    as_text,
    bind_and,
    bind_between,
    bind_comparison,
    bind_in,
    bind_is,
    bind_like,
    bind_not,
    bind_or,
    condition,
)
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.literals import LITERALS, bind_typed_literal
from bergsql.engine.plan.node_parts import form_of, refuse_unknown_parts
from bergsql.engine.plan.scope import field_of, resolve
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.subqueries import bind_exists, bind_quantified, bind_scalar_query
from bergsql.engine.sql.parser.query import declared_type, span_of
from bergsql.engine.sql.types import DataType, Field, Kind

Binder = Callable[[exp.Expr, Context], Bound]
BinaryBinder = Callable[[exp.Expr, Bound, Bound, Context], Bound]


def bind(node: exp.Expr, context: Context) -> Bound:
    """The expression as DuckDB's SQL.

    :raises BergError: with the place of what is wrong.
    """
    before = len(context.found.loose)
    if type(node) in BINARY:
        return _bind_chain(node, context)
    found = HANDLERS.get(type(node))
    if found is None:
        raise not_supported(f"The expression {form_of(node)}", span_of(node))
    refuse_unknown_parts(node)
    bound = found(node, context)
    if context.group_keys and len(context.found.loose) > before and bound.sql in context.group_keys:
        del context.found.loose[before:]
    return bound


def _bind_chain(node: exp.Expr, context: Context) -> Bound:
    """Binary operators, their left spine in a loop: a chain of a thousand ORs is no deep nesting."""
    spine: list[exp.Expr] = []
    at = node
    while type(at) in BINARY:
        spine.append(at)
        at = at.this
    before = len(context.found.loose)
    bound = bind(at, context)
    for parent in reversed(spine):
        refuse_unknown_parts(parent)
        right = bind(parent.args["expression"], context)
        bound = BINARY[type(parent)](parent, bound, right, context)
        if context.group_keys and bound.sql in context.group_keys:
            del context.found.loose[before:]
    return bound


# --- names ------------------------------------------------------------------------------------------------------------


def name_parts(node: exp.Expr) -> tuple[list[str], list[Span | None]]:
    """The parts of a column's dotted name, and their places."""
    parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
    found = [p for p in parts if p is not None]
    return [str(p.this) for p in found], [span_of(p) for p in found]


def bind_column(node: exp.Expr, context: Context) -> Bound:
    """A column, a field of one, a lambda's variable, or an alias of an earlier SELECT item."""
    if isinstance(node.this, exp.Star):
        raise BergError(ErrorCode.INVALID, "A star stands alone in SELECT or in COUNT(*).", span=span_of(node))
    parts, spans = name_parts(node)
    return bind_name(parts, spans, context)


def bind_name(parts: list[str], spans: list[Span | None], context: Context) -> Bound:
    scope = context.scope
    key = scope.fold(parts[0])
    start = context.variables.get(key)
    if start is None and len(parts) == 1 and context.aliases_first:
        start = context.aliases.get(key)
    if start is not None:
        return _fields(start, parts[1:], spans[1:], context)
    try:
        bound, taken = resolve(scope, parts, spans)
    except BergError as error:
        alias = context.aliases.get(key) if error.code is ErrorCode.NOT_FOUND else None
        if alias is None:
            raise
        return _fields(alias, parts[1:], spans[1:], context)
    context.planner.note_read(bound)
    if not context.inside_aggregate and _is_own(bound, context):
        context.found.loose.append((".".join(parts[:taken]), spans[taken - 1]))
    return _fields(bound, parts[taken:], spans[taken:], context)


def _is_own(bound: Bound, context: Context) -> bool:
    """True for a column of this query, not of one around it."""
    return any(c.sql == bound.sql for s in context.scope.sources for c in s.columns) or any(
        c.sql == bound.sql for c in context.scope.merged.values()
    )


def _fields(bound: Bound, names: list[str], spans: list[Span | None], context: Context) -> Bound:
    for name, span in zip(names, spans, strict=True):
        bound = field_of(bound, name, span, context.flavour)
    return bound


def bind_identifier(node: exp.Expr, context: Context) -> Bound:
    return bind_name([str(node.this)], [span_of(node)], context)


def bind_dot(node: exp.Expr, context: Context) -> Bound:
    """A field of an expression, or a function with a dotted name."""
    last = node.expression
    if isinstance(last, exp.Anonymous):
        return bind_special_call(node, context)
    names = [last]
    at = node.this
    while isinstance(at, exp.Dot) and not isinstance(at.expression, exp.Anonymous):
        names.append(at.expression)
        at = at.this
    names.reverse()
    if isinstance(at, exp.Column):
        parts, spans = name_parts(at)
        return bind_name(parts + [str(n.this) for n in names], spans + [span_of(n) for n in names], context)
    return _fields(bind(at, context), [str(n.this) for n in names], [span_of(n) for n in names], context)


def bind_paren(node: exp.Expr, context: Context) -> Bound:
    inner = bind(node.this, context)
    if inner.name in ("AND", "OR"):
        inner.name = None  # (a OR b) within a chain keeps its parentheses
    return inner


# --- operators --------------------------------------------------------------------------------------------------------


def bind_concat(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    """``||``: text, or in Spark arrays and bytes too."""
    nullable = a.nullable or b.nullable
    text = _concat_text(a, b)
    volatile = a.volatile or b.volatile
    if a.type.kind in BINARIES and b.type.kind in BINARIES:
        return Bound(f"({a.sql} || {b.sql})", DataType(Kind.BYTES), text, nullable, volatile=volatile)
    if a.type.kind is Kind.ARRAY and b.type.kind is Kind.ARRAY:
        shared = common_type(a.type, b.type, context.flavour)
        if shared is not None:
            a, b = coerce(a, shared, context), coerce(b, shared, context)
            sql = f"CASE WHEN {a.sql} IS NOT NULL AND {b.sql} IS NOT NULL THEN list_concat({a.sql}, {b.sql}) END"
            return Bound(sql, shared, text, nullable)
    a, b = as_text(a, context, node), as_text(b, context, node)
    return Bound(f"({a.sql} || {b.sql})", STRING, text, nullable, name="||", volatile=volatile)


def _concat_text(a: Bound, b: Bound) -> str:
    """Spark makes one call of a chain: ``a || b || c`` is ``concat(concat(a, b), c)``."""
    return f"concat({a.text}, {b.text})"


def bind_rlike(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    a, b = as_text(a, context, node), as_text(b, context, node)
    text = f"RLIKE({a.text}, {b.text})"
    return Bound(f"regexp_matches({a.sql}, {b.sql})", DataType(Kind.BOOLEAN), text, a.nullable or b.nullable)


def bind_escape(node: exp.Expr, context: Context) -> Bound:
    like = node.this
    mark = str(node.expression.this) if isinstance(node.expression, exp.Literal) else ""
    if not isinstance(like, exp.Like | exp.ILike) or len(mark) != 1:
        raise BergError(ErrorCode.INVALID, "ESCAPE takes one character.", span=span_of(node.expression))
    return bind_like(like, bind(like.this, context), bind(like.expression, context), context, mark)


def bind_cast(node: exp.Expr, context: Context) -> Bound:
    if node.meta.get("literal"):
        return bind_typed_literal(node, context)
    operand = bind(node.this, context)
    safe = isinstance(node, exp.TryCast)
    return cast(operand, declared_type(node.args["to"]), context, safe=safe, span=span_of(node))


def bind_case(node: exp.Expr, context: Context) -> Bound:
    """CASE, with or without an operand."""
    operand = bind(node.this, context) if node.this is not None else None
    whens: list[Bound] = []
    values: list[Bound] = []
    for branch in node.args["ifs"]:
        when = bind(branch.this, context)
        if operand is not None:
            equal = exp.EQ(this=branch.this, expression=branch.this)
            whens.append(bind_comparison(equal, operand, when, context))
        else:
            whens.append(condition(when, context, branch.this, "WHEN"))
        values.append(bind(branch.args["true"], context))
    default = node.args.get("default")
    last = bind(default, context) if default is not None else None
    values = one_type([*values, last] if last else values, context, node, "CASE")
    parts = [f"WHEN {w.text} THEN {v.text}" for w, v in zip(whens, values, strict=False)]
    text = " ".join(["CASE", *parts, *([f"ELSE {values[-1].text}"] if last else []), "END"])
    sqls = [f"WHEN {w.sql} THEN {v.sql}" for w, v in zip(whens, values, strict=False)]
    sql = " ".join(["CASE", *sqls, *([f"ELSE {values[-1].sql}"] if last else []), "END"])
    nullable = last is None or any(v.nullable for v in values)
    return Bound(f"({sql})", values[0].type, text, nullable, volatile=any(b.volatile for b in [*whens, *values]))


def one_type(values: list[Bound], context: Context, node: exp.Expr, where: str) -> list[Bound]:
    """All values as the type that they have in common.

    :raises BergError: TYPE when they have none.
    """
    shared = NULL
    for value in values:
        found = common_type(shared, value.type, context.flavour)
        if found is None:
            a, b = type_text(shared, context.flavour), type_text(value.type, context.flavour)
            raise type_error(f"{where} mixes {a} and {b}.", span_of(node), f"CAST one of them to {a}.")
        shared = found
    return [coerce(v, shared, context) for v in values]


def bind_bracket(node: exp.Expr, context: Context) -> Bound:
    """``array[i]`` (from 0 in Spark, from 1 in Flink) and ``map[key]``. What is not there is NULL."""
    collection = bind(node.this, context)
    index = bind(node.expressions[0], context)
    text = f"{collection.text}[{index.text}]"
    kind = collection.type.kind
    if kind is Kind.MAP:
        key_type, value_type = (c.type for c in collection.type.children)
        key = coerce(index, key_type, context, span_of(node))
        return Bound(f"{collection.sql}[{key.sql}]", value_type, text)
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
        return Bound(f"{collection.sql}[{max(position, 0)}]", element, text)
    shift = " + 1" if context.spark else ""
    sql = let(index.sql, lambda i: f"CASE WHEN {i} >= {base} THEN {collection.sql}[{i}{shift}] END")
    return Bound(sql, element, text)


def bind_tuple(node: exp.Expr, context: Context) -> Bound:
    """``(a, b)``: a row."""
    parts = [bind(e, context) for e in node.expressions]
    return make_row(parts, context)


def make_row(parts: list[Bound], context: Context, names: list[str] | None = None) -> Bound:
    """A row of values; without names they are ``EXPR$0`` … (flink) or ``col1`` … (spark)."""
    if names is None:
        names = [p.name or f"col{i}" if context.spark else f"EXPR${i - 1}" for i, p in enumerate(parts, start=1)]
    fields = tuple(Field(n, p.type, p.nullable) for n, p in zip(names, parts, strict=True))
    sql = ", ".join(f"{identifier(n)} := {p.sql}" for n, p in zip(names, parts, strict=True))
    text = ", ".join(p.text for p in parts)
    return Bound(
        f"struct_pack({sql})",
        DataType(Kind.ROW, children=fields),
        f"struct({text})",
        False,
        volatile=any(p.volatile for p in parts),
    )


def bind_at_time_zone(node: exp.Expr, context: Context) -> Bound:
    """``ts AT TIME ZONE 'UTC'``: what a clock there shows."""
    stamp = bind(node.this, context)
    where = as_text(bind(node.args["zone"], context), context, node)
    if stamp.type.kind is not Kind.TIMESTAMP_LTZ:
        stamp = coerce(stamp, DataType(Kind.TIMESTAMP_LTZ, 6), context, span_of(node))
    return Bound(f"timezone({where.sql}, {stamp.sql})", DataType(Kind.TIMESTAMP, 6), f"({stamp.text} AT TIME ZONE)")


BINARY: dict[type[exp.Expr], BinaryBinder] = {
    **dict.fromkeys(ARITHMETIC, bind_arithmetic),
    **dict.fromkeys(COMPARISON, bind_comparison),
    exp.And: bind_and,
    exp.Or: bind_or,
    exp.DPipe: bind_concat,
    exp.Like: bind_like,
    exp.ILike: bind_like,
    exp.RegexpLike: bind_rlike,
    exp.BitwiseAnd: bind_bits("&", "({0} & {1})"),
    exp.BitwiseOr: bind_bits("|", "({0} | {1})"),
    exp.BitwiseXor: bind_bits("^", "xor({0}, {1})"),
}

HANDLERS: dict[type[exp.Expr], Binder] = {
    **LITERALS,
    exp.Column: bind_column,
    exp.Identifier: bind_identifier,
    exp.Dot: bind_dot,
    exp.Paren: bind_paren,
    exp.Neg: bind_negation,
    exp.BitwiseNot: bind_bit_not,
    exp.Not: bind_not,
    exp.Is: bind_is,
    exp.Between: bind_between,
    exp.In: bind_in,
    exp.Escape: bind_escape,
    exp.Cast: bind_cast,
    exp.TryCast: bind_cast,
    exp.Case: bind_case,
    exp.Bracket: bind_bracket,
    exp.Tuple: bind_tuple,
    exp.AtTimeZone: bind_at_time_zone,
    exp.Anonymous: bind_call,
    exp.Subquery: bind_scalar_query,
    exp.Select: bind_scalar_query,
    exp.Exists: bind_exists,
    exp.Any: bind_quantified,
    exp.All: bind_quantified,
    **dict.fromkeys(
        (
            exp.Window,
            exp.Filter,
            exp.WithinGroup,
            exp.IgnoreNulls,
            exp.RespectNulls,
            exp.Trim,
            exp.Extract,
            exp.CurrentDate,
            exp.CurrentTimestamp,
            exp.CurrentTime,
            exp.Localtime,
            exp.Localtimestamp,
            exp.CurrentUser,
            exp.CurrentCatalog,
            exp.CurrentSchema,
            exp.SessionUser,
        ),
        bind_special_call,
    ),
}
