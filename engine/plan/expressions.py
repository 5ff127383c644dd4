"""Expressions: from sqlglot's tree to DuckDB's SQL. Each kind of node has its function; what has none is refused.

The functions are found by the node's class and imported when first needed: most queries use few of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.node_parts import form_of, refuse_unknown_parts
from bergsql.engine.sql.parser.query import span_of

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context

BINARY = {
    "Add": "arithmetic.bind_arithmetic",
    "Sub": "arithmetic.bind_arithmetic",
    "Mul": "arithmetic.bind_arithmetic",
    "Div": "arithmetic.bind_arithmetic",
    "Mod": "arithmetic.bind_arithmetic",
    "IntDiv": "arithmetic.bind_arithmetic",
    "EQ": "comparison.bind_comparison",
    "NEQ": "comparison.bind_comparison",
    "LT": "comparison.bind_comparison",
    "LTE": "comparison.bind_comparison",
    "GT": "comparison.bind_comparison",
    "GTE": "comparison.bind_comparison",
    "NullSafeEQ": "comparison.bind_comparison",
    "NullSafeNEQ": "comparison.bind_comparison",
    "And": "comparison.bind_and",
    "Or": "comparison.bind_or",
    "Like": "comparison.bind_like",
    "ILike": "comparison.bind_like",
    "SimilarTo": "operators.bind_similar",
    "DPipe": "operators.bind_concat",
    "RegexpLike": "operators.bind_rlike",
    "BitwiseAnd": "arithmetic.bind_bit_and",
    "BitwiseOr": "arithmetic.bind_bit_or",
    "BitwiseXor": "arithmetic.bind_bit_xor",
}
"""Binary operators: a module here and a function in it, which takes the node, both bound operands and the context."""

HANDLERS = {
    "Literal": "literals.bind_literal",
    "Null": "literals.bind_null",
    "Placeholder": "literals.bind_known",
    "Boolean": "literals.bind_boolean",
    "HexString": "typed_literals.bind_hex",
    "Interval": "intervals.bind_interval",
    "Column": "columns.bind_column",
    "Identifier": "columns.bind_identifier",
    "Dot": "columns.bind_dot",
    "Paren": "expressions.bind_paren",
    "Neg": "arithmetic.bind_negation",
    "BitwiseNot": "arithmetic.bind_bit_not",
    "Not": "comparison.bind_not",
    "Is": "comparison.bind_is",
    "Between": "comparison.bind_between",
    "In": "comparison.bind_in",
    "Overlaps": "overlaps.bind_overlaps",
    "Escape": "operators.bind_escape",
    "Cast": "casts.bind_cast",
    "TryCast": "casts.bind_cast",
    "Case": "case.bind_case",
    "Bracket": "nested.bind_bracket",
    "Tuple": "nested.bind_tuple",
    "AtTimeZone": "operators.bind_at_time_zone",
    "Anonymous": "calls.bind_call",
    "Subquery": "subqueries.bind_scalar_query",
    "Select": "subqueries.bind_scalar_query",
    "Exists": "subqueries.bind_exists",
    "Any": "subqueries.bind_quantified",
    "All": "subqueries.bind_quantified",
    "Window": "calls.bind_special_call",
    "Filter": "calls.bind_special_call",
    "WithinGroup": "calls.bind_special_call",
    "IgnoreNulls": "calls.bind_special_call",
    "RespectNulls": "calls.bind_special_call",
    "Trim": "calls.bind_special_call",
    "Extract": "calls.bind_special_call",
    "CurrentDate": "calls.bind_special_call",
    "CurrentTimestamp": "calls.bind_special_call",
    "CurrentTime": "calls.bind_special_call",
    "Localtime": "calls.bind_special_call",
    "Localtimestamp": "calls.bind_special_call",
    "CurrentUser": "calls.bind_special_call",
    "CurrentCatalog": "calls.bind_special_call",
    "CurrentSchema": "calls.bind_special_call",
    "SessionUser": "calls.bind_special_call",
}
"""All others: a function of the node and the context."""


@cache
def imported(place: str) -> Any:
    """The function at ``module.name`` of this package."""
    module, _, name = place.partition(".")
    return getattr(import_module(f"bergsql.engine.plan.{module}"), name)


def bind(node: exp.Expr, context: Context) -> Bound:
    """The expression as DuckDB's SQL.

    :raises BergError: with the place of what is wrong.
    """
    before = len(context.found.loose)
    kind = type(node).__name__
    if kind in BINARY:
        return _bind_chain(node, context)
    if kind == "Collate":
        raise BergError(
            ErrorCode.INVALID,
            "COLLATE has no collation to choose: text is compared by its bytes (Spark's UTF8_BINARY).",
            span=span_of(node),
            hint="LOWER(a) = LOWER(b) compares without case.",
        )
    place = HANDLERS.get(kind)
    if place is None:
        raise not_supported(f"The expression {form_of(node)}", span_of(node))
    refuse_unknown_parts(node)
    bound: Bound = imported(place)(node, context)
    if context.group_keys and bound.sql in context.group_keys:
        del context.found.loose[before:]
        return context.grouped(bound)
    return bound


def _bind_chain(node: exp.Expr, context: Context) -> Bound:
    """Binary operators, their left spine in a loop: a chain of a thousand ORs is no deep nesting."""
    spine: list[exp.Expr] = []
    at = node
    while type(at).__name__ in BINARY:
        spine.append(at)
        at = at.this
    before = len(context.found.loose)
    bound = bind(at, context)
    while spine:
        parent = spine.pop()
        refuse_unknown_parts(parent)
        if type(parent).__name__ in ("And", "Or") and not context.group_keys:
            nodes = [parent]
            while spine and type(spine[-1]) is type(parent):
                nodes.append(spine.pop())
            bound = imported("comparison.bind_logic")(nodes, bound, context)
            continue
        if _is_quantified(parent, context):
            bound = imported("quantified.bind_over_list")(parent, bound, context)
        else:
            right = bind(parent.args["expression"], context)
            bound = imported(BINARY[type(parent).__name__])(parent, bound, right, context)
        if context.group_keys and bound.sql in context.group_keys:
            del context.found.loose[before:]
            bound = context.grouped(bound)
    return bound


def _is_quantified(node: exp.Expr, context: Context) -> bool:
    """Whether the right side is ANY or ALL of a list; of a query, it is a node of its own."""
    right = node.args["expression"]
    kind = type(right).__name__
    if kind in ("Any", "All"):
        inner = right.this
        while type(inner).__name__ in ("Subquery", "Paren"):
            inner = inner.this
        return type(inner).__name__ not in ("Select", "Union", "Except", "Intersect", "Values")
    name = str(right.this).upper() if kind == "Anonymous" else ""
    return name == "ALL" or (name == "SOME" and not context.spark)  # Spark has an aggregate SOME


def bind_paren(node: exp.Expr, context: Context) -> Bound:
    inner = bind(node.this, context)
    if inner.name in ("AND", "OR"):
        inner.name = None  # (a OR b) within a chain keeps its parentheses
    return inner
