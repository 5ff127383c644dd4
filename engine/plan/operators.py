"""Operators on text and instants: ``||``, RLIKE, ESCAPE, AT TIME ZONE."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce
from bergsql.engine.plan.coercion import common_type
from bergsql.engine.plan.comparison import as_text, bind_like
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BINARIES, BOOLEAN, BYTES, STRING, DataType, Kind


def bind_concat(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    """``||``: text, or in Spark arrays and bytes too."""
    text = _concat_text(a, b)
    if a.type.kind in BINARIES and b.type.kind in BINARIES:
        return Bound.of(f"({a.sql} || {b.sql})", BYTES, text, a, b)
    if a.type.kind is Kind.ARRAY and b.type.kind is Kind.ARRAY:
        shared = common_type(a.type, b.type, context.flavour)
        if shared is not None:
            a, b = coerce(a, shared, context), coerce(b, shared, context)
            sql = f"CASE WHEN {a.sql} IS NOT NULL AND {b.sql} IS NOT NULL THEN list_concat({a.sql}, {b.sql}) END"
            return Bound.of(sql, shared, text, a, b)
    a, b = as_text(a, context, node), as_text(b, context, node)
    return Bound.of(f"({a.sql} || {b.sql})", STRING, text, a, b, name="||")


def _concat_text(a: Bound, b: Bound) -> str:
    """Spark makes one call of a chain: ``a || b || c`` is ``concat(concat(a, b), c)``."""
    return f"concat({a.text}, {b.text})"


def bind_rlike(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    a, b = as_text(a, context, node), as_text(b, context, node)
    text = f"RLIKE({a.text}, {b.text})"
    from bergsql.engine.sql.functions.java_regex import pattern_sql

    try:
        pattern = pattern_sql(b)
    except BergError as error:
        raise error.at(span_of(node.expression)) from None
    return Bound.of(f"regexp_matches({a.sql}, {pattern})", BOOLEAN, text, a, b)


def bind_similar(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    """``SIMILAR TO``: SQL's regular expressions, where ``%`` is any text and ``_`` any character."""
    value, pattern = as_text(a, context, node), as_text(b, context, node)
    if not isinstance(pattern.constant, str):
        raise not_supported("SIMILAR TO with a pattern that is not a literal", span_of(node.expression))
    sql = f"regexp_full_match({value.sql}, {string_literal(_similar(pattern.constant))})"
    return Bound.of(sql, BOOLEAN, f"({a.text} SIMILAR TO {b.text})", value, pattern)


def _similar(pattern: str) -> str:
    r"""SQL's pattern as a regular expression; ``.``, ``^``, ``$`` and ``\`` mean themselves outside of brackets."""
    made: list[str] = []
    bracket = False
    for character in pattern:
        if bracket:
            made.append("\\\\" if character == "\\" else character)
            bracket = character != "]"
        elif character in "%_":
            made.append("(?s:.*)" if character == "%" else "(?s:.)")
        else:
            bracket = character == "["
            made.append(f"\\{character}" if character in ".^$\\" else character)
    return "".join(made)


def bind_escape(node: exp.Expr, context: Context) -> Bound:
    like = node.this
    mark = str(node.expression.this) if isinstance(node.expression, exp.Literal) else ""
    if not isinstance(like, exp.Like | exp.ILike) or isinstance(like.expression, exp.Any | exp.All):
        raise BergError(ErrorCode.INVALID, "ESCAPE follows LIKE or ILIKE and a pattern.", span=span_of(node.expression))
    if len(mark) != 1:
        raise BergError(ErrorCode.INVALID, "ESCAPE takes one character.", span=span_of(node.expression))
    return bind_like(like, bind(like.this, context), bind(like.expression, context), context, mark)


def bind_at_time_zone(node: exp.Expr, context: Context) -> Bound:
    """``ts AT TIME ZONE 'UTC'``: what a clock there shows."""
    stamp = bind(node.this, context)
    where = as_text(bind(node.args["zone"], context), context, node)
    if stamp.type.kind is not Kind.TIMESTAMP_LTZ:
        stamp = coerce(stamp, DataType(Kind.TIMESTAMP_LTZ, 6), context, node)
    sql = f"timezone({where.sql}, {stamp.sql})"
    return Bound.of(sql, DataType(Kind.TIMESTAMP, 6), f"({stamp.text} AT TIME ZONE)", stamp, where)
