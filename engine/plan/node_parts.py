"""The parts of nodes that planning reads: any other part is refused, so that nothing is ignored."""

from __future__ import annotations

import re

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.sql.parser.query import span_of

_TAIL = frozenset("order sort cluster limit offset".split())
_SET_OPERATION = frozenset("this expression with_ distinct by_name side kind on".split()) | _TAIL
_PARTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        "with_ distinct expressions from_ joins laterals where group having qualify windows distribute hint sample "
        "operation_modifiers".split()
    )
    | _TAIL,
    exp.Union: _SET_OPERATION,
    exp.Except: _SET_OPERATION,
    exp.Intersect: _SET_OPERATION,
    exp.Values: frozenset({"expressions", "alias", "joins", "with_", "pivots", "sample"}) | _TAIL,
    exp.Subquery: frozenset({"this", "alias", "joins", "with_", "pivots", "sample"}) | _TAIL,
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins", "version", "pivots", "sample"}),
    exp.Pivot: frozenset(
        "expressions fields unpivot include_nulls alias columns identify_pivot_strings prefixed_pivot_columns "
        "pivot_column_naming value_columns_first".split()
    ),
    exp.TableSample: frozenset("method bucket_numerator bucket_denominator percent size seed".split()),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method", "pivots"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset", "joins"}),
    exp.Lateral: frozenset({"this", "view", "outer", "alias", "joins"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Group: frozenset({"expressions", "rollup", "cube", "grouping_sets", "all"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.Star: frozenset({"except_", "except", "replace", "rename"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Cast: frozenset({"this", "to", "safe"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Bracket: frozenset({"this", "expressions", "offset", "safe"}),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias", "over"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.HexString: frozenset({"this", "is_integer"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
}
_PLAIN_PARTS = frozenset({"this", "expression", "expressions"})

_CLAUSES = {
    "match": "MATCH_RECOGNIZE",
    "prewhere": "PREWHERE",
    "settings": "SETTINGS",
    "format": "FORMAT",
    "match_condition": "MATCH_CONDITION of an ASOF JOIN",
    "bucket_field": "TABLESAMPLE (BUCKET … ON a column)",
    "totals": "GROUP BY … WITH TOTALS",
    "exclude": "EXCLUDE in a window's frame",
}
"""What parts are called that stand for a clause of their own."""

_REFUSED = {
    "into": ("SELECT INTO has nowhere to write to here.", "CREATE TABLE … AS SELECT makes a table of a query."),
    "locks": (
        "FOR UPDATE and FOR SHARE lock rows, and an Iceberg table has no locks.",
        "Leave it out: a query reads one snapshot, whatever others write meanwhile.",
    ),
}
"""Clauses that mean nothing for Iceberg tables: what is said, and what to do instead."""

_FORMS = {
    "Adjacent": "-|-",
    "ArrayContainedBy": "<@",
    "ArrayContainsAll": "@>",
    "ArrayOverlaps": "&&",
    "BitwiseLeftShift": "<<",
    "BitwiseRightShift": ">>",
    "Cbrt": "||/",
    "Distance": "<->",
    "DistanceNd": "<<->>",
    "JSONBContains": "?",
    "JSONBExtract": "#>",
    "JSONBExtractScalar": "#>>",
    "JSONExtract": "->",
    "JSONExtractScalar": "->>",
    "Pow": "**",
    "RegexpILike": "~*",
    "Sqrt": "|/",
}
"""Operators whose class has another name than they have."""


def refuse_unknown_parts(node: exp.Expr) -> None:
    """A part of a node that nobody here reads would be ignored without a word: refuse it."""
    known = _PARTS.get(type(node), _PLAIN_PARTS)
    for part, value in node.args.items():
        if value and part not in known:
            first = value[0] if isinstance(value, list) else value
            place = span_of(first) if isinstance(first, exp.Expr) and part in (*_CLAUSES, *_REFUSED) else None
            if part in _REFUSED:
                message, hint = _REFUSED[part]
                raise BergError(ErrorCode.INVALID, message, span=place or span_of(node), hint=hint)
            raise not_supported(_CLAUSES.get(part, f"The '{part}' of {form_of(node)}"), place or span_of(node))


def members(node: exp.Expr) -> list[exp.Expr]:
    """What ``(a, b)``, ``(a)`` or ``a`` lists."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def form_of(node: exp.Expr) -> str:
    """What to call a node in a message: the SQL of it, not the parser's class."""
    name = type(node).__name__
    return _FORMS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()
