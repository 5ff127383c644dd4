"""GROUP BY: columns, ordinals, aliases, ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Context, Found, refuse_unordered
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.items import is_star
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.parser.query import span_of


def bind_group(group: exp.Expr, items: list[exp.Expr], context: Context) -> tuple[str, dict[str, Bound]]:
    """What stands behind GROUP BY, and the keys by their SQL."""
    inner = replace(
        context, clause="GROUP BY", aggregates_allowed=False, windows_allowed=False, found=Found(), group_keys={}
    )
    refuse_unknown_parts(group)
    keys: dict[str, Bound] = {}
    if group.args.get("all"):
        return _all_plain(items, inner, keys)
    parts = [_element(e, items, inner, keys) for e in group.expressions]
    for name, word in (("rollup", "ROLLUP"), ("cube", "CUBE"), ("grouping_sets", "GROUPING SETS")):
        for extra in group.args.get(name) or []:
            if isinstance(extra, exp.Expr):
                if extra.expressions:
                    parts.append(_element(extra, items, inner, keys))
                    if name == "grouping_sets":  # GROUP BY a, b GROUPING SETS ((a), (b)): only the sets count
                        parts = parts[-1:]
                elif parts:  # GROUP BY a, b WITH ROLLUP
                    parts = [f"{word} ({', '.join(parts)})"]
    return ", ".join(parts), keys


def may_repeat(group: exp.Expr) -> bool:
    """Whether two of the grouping sets may be of the same columns: GROUPING SETS (a, a), ROLLUP (a), CUBE (a)."""
    constructs = [
        node
        for node in [
            *group.expressions,
            *(n for key in ("rollup", "cube", "grouping_sets") for n in group.args.get(key) or []),
        ]
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)
    ]
    if len(constructs) != 1:
        return len(constructs) > 1
    parts = constructs[0].expressions
    if any(isinstance(p, exp.Rollup | exp.Cube | exp.GroupingSets) for p in parts):
        return True
    plain = {e.sql() for e in group.expressions}
    sets = []
    for part in parts:
        inner = part.expressions if isinstance(part, exp.Tuple) else [part.unnest()]
        sets.append(frozenset(e.sql() for e in inner) - plain)
    return len(set(sets)) < len(sets)


def _all_plain(items: list[exp.Expr], context: Context, keys: dict[str, Bound]) -> tuple[str, dict[str, Bound]]:
    """GROUP BY ALL: every item without an aggregate function."""
    probe = replace(context, aggregates_allowed=True, windows_allowed=True, clause="SELECT")
    for item in items:
        inner = item.this if isinstance(item, exp.Alias) else item
        if is_star(inner):
            continue
        fresh = replace(probe, found=Found())
        bound = bind(inner, fresh)
        if not fresh.found.aggregate and " OVER (" not in bound.sql:
            keys[bound.sql] = bound
    return ", ".join(keys), keys


def _element(node: exp.Expr, items: list[exp.Expr], context: Context, keys: dict[str, Bound]) -> str:
    for class_, word in ((exp.Rollup, "ROLLUP"), (exp.Cube, "CUBE"), (exp.GroupingSets, "GROUPING SETS")):
        if isinstance(node, class_):
            return f"{word} ({', '.join(_set(e, items, context, keys) for e in node.expressions)})"
    if isinstance(node, exp.Tuple) and not node.expressions:
        return "()"
    bound = group_key(node, items, context)
    refuse_unordered(bound.type, context, node, "GROUP BY")
    keys[bound.sql] = bound
    if bound.is_constant:
        # DuckDB would take a number for an ordinal.
        return f"({bound.sql} || '')" if isinstance(bound.constant, str) else f"CAST({bound.sql} AS VARCHAR)"
    return bound.sql


def _set(node: exp.Expr, items: list[exp.Expr], context: Context, keys: dict[str, Bound]) -> str:
    """A grouping set: ``(a, b)``, ``a`` or ``()``."""
    if isinstance(node, exp.Tuple):
        return f"({', '.join(_element(e, items, context, keys) for e in node.expressions)})"
    if isinstance(node, exp.Paren):
        return f"({_element(node.this, items, context, keys)})"
    return _element(node, items, context, keys)


def group_key(node: exp.Expr, items: list[exp.Expr], context: Context) -> Bound:
    """One key: a number of an item, a column, an expression, or the alias of an item."""
    from bergsql.engine.plan.ordering import ordinal

    position = ordinal(node, len(items), "GROUP BY")
    if position is not None:
        target = items[position]
        if is_star(target):
            raise BergError(
                ErrorCode.INVALID, "GROUP BY counts the items of SELECT, and this one is a star.", span=span_of(node)
            )
        return bind(target.this if isinstance(target, exp.Alias) else target, context)
    try:
        return bind(node, context)
    except BergError as error:
        # A column goes before an alias of its name.
        aliased = _aliased(node, items, context) if error.code is ErrorCode.NOT_FOUND else None
        if aliased is None:
            raise
        return bind(aliased, context)


def _aliased(node: exp.Expr, items: list[exp.Expr], context: Context) -> exp.Expr | None:
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    for item in items:
        if isinstance(item, exp.Alias) and context.scope.same(str(item.args["alias"].this), node.name):
            found: exp.Expr = item.this
            return found
    return None
