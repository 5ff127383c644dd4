"""Literals: numbers, text, TRUE and NULL."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import MAX_DIGITS, decimal, integer_literal_type
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.integers import BITS
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, DataType, Kind


def bind_literal(node: exp.Expr, context: Context) -> Bound:
    """A number or a string."""
    text = str(node.this)
    if node.args.get("is_string"):
        value = string_value(node)
        type_ = STRING if context.spark else DataType(Kind.CHAR, len(value))
        return Bound(string_literal(value), type_, text, False, value)
    return bind_number(text, node)


def string_value(node: exp.Expr) -> str:
    """The text of a string, with the environment filled in where it asks for it."""
    text = str(node.this)
    if "${env:" not in text:
        return text
    from bergsql.catalog.options import env_refused, resolve_env
    from bergsql.catalog.storage.base import is_fenced

    if is_fenced():  # escapes, a variable or the text of a view made it: in a statement it was refused before
        raise env_refused(text[text.index("${env:") :].partition("}")[0] + "}").at(span_of(node))
    try:
        return resolve_env(text)
    except BergError as error:
        raise error.at(span_of(node)) from None


def bind_number(text: str, node: exp.Expr | None) -> Bound:
    """``1`` is INT (BIGINT, DECIMAL when it must), ``1.5`` DECIMAL, ``1e10`` DOUBLE."""
    if text.isdigit():
        if len(text) > MAX_DIGITS:
            return decimal_literal(text.lstrip("0") or "0", node)
        value = int(text)
        type_ = integer_literal_type(value)
        if type_.kind is Kind.DECIMAL:
            return decimal_literal(text, node)
        return Bound(text.lstrip("0") or "0", type_, str(value), False, value)
    if "e" in text or "E" in text:
        from bergsql.engine.plan.constants import constant

        return constant(in_range(text, DOUBLE, node), DOUBLE)
    return decimal_literal(text, node)


_LARGEST = {Kind.DOUBLE: 1.7976931348623157e308, Kind.FLOAT: 3.4028234663852886e38}


def in_range(text: str, type_: DataType, node: exp.Expr | None) -> float:
    """A number as a float.

    :raises BergError: TYPE where it is too large, as Spark refuses it.
    """
    value = float(text)
    if abs(value) > _LARGEST[type_.kind]:
        span = span_of(node) if node is not None else None
        raise BergError(ErrorCode.TYPE, f"{text} is out of range for {type_.kind.value}.", span=span)
    return value


def decimal_literal(text: str, node: exp.Expr | None) -> Bound:
    """A number as the decimal of its digits."""
    from bergsql.engine.plan.constants import constant

    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent) if isinstance(exponent, int) and exponent < 0 else 0
    precision = max(len(digits), scale)
    if precision > MAX_DIGITS:
        raise BergError(
            ErrorCode.TYPE,
            f"The number has {precision} digits; a decimal holds {MAX_DIGITS}.",
            span=span_of(node) if node is not None else None,
        )
    return constant(value, decimal(precision, scale))


def negated(operand: Bound) -> Bound | None:
    """``-`` in front of a number literal: a literal itself (``-2147483648`` is an INT)."""
    from bergsql.engine.plan.constants import constant

    value = operand.constant
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        return None
    if isinstance(value, int):
        type_ = operand.type
        if type_.kind is Kind.BIGINT and value == 2**31:
            type_ = INT
        if type_.kind in BITS and value == -(2 ** (BITS[type_.kind] - 1)):
            return None
        return constant(-value, type_)
    if isinstance(value, Decimal):
        if value == 2**63:
            return constant(-(2**63), BIGINT)
        return constant(value.copy_negate(), operand.type)
    return constant(-value, operand.type)


def bind_null(node: exp.Expr, context: Context) -> Bound:  # noqa: ARG001
    return Bound("NULL", NULL, "NULL", True, None)


def bind_boolean(node: exp.Expr, context: Context) -> Bound:  # noqa: ARG001
    from bergsql.engine.plan.constants import constant

    return constant(bool(node.this), BOOLEAN)


def bind_known(node: exp.Expr, _: Context) -> Bound:
    """A value that was bound before the query: DEFAULT in the rows of an INSERT. A ``?`` is none."""
    known = node.meta.get("bound")
    if not isinstance(known, Bound):
        raise not_supported("The expression ?", span_of(node))
    return known
