"""The parts of expression nodes that binding reads: any other part is refused, so that nothing is ignored."""

from __future__ import annotations

import re

from sqlglot import exp

from bergsql.catalog.errors import not_supported
from bergsql.engine.sql.parser.query import span_of

_PARTS: dict[type[exp.Expr], frozenset[str]] = {
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


_SUBQUERIES = (exp.Subquery, exp.Select)


def refuse_unknown_parts(node: exp.Expr) -> None:
    """A part of a node that nobody here reads would be ignored without a word: refuse it."""
    known = _PARTS.get(type(node), _PLAIN_PARTS)
    for part, value in node.args.items():
        if value and part not in known and type(node) not in _SUBQUERIES:
            raise not_supported(f"The '{part}' of {form_of(node)}", span_of(node))


def form_of(node: exp.Expr) -> str:
    """What to call a node in a message: the SQL of it, not the parser's class."""
    name = type(node).__name__
    return _FORMS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()
