"""SELECT, VALUES, WITH and parenthesised queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.context import BoundQuery, Context, Cte, Found, OutputColumn, Planner, refuse_unordered
from bergsql.engine.plan.items import Item, bind_items
from bergsql.engine.plan.node_parts import members, refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.plan.images import Image


def bind_query(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """Any query as DuckDB's SQL.

    ``parent`` is the scope of the query around a subquery; ``ctes`` the named queries that it sees.
    """
    refuse_unknown_parts(node)
    named = dict(ctes)
    head: list[str] = []
    if node.args.get("with_") is not None:
        from bergsql.engine.plan.ctes import bind_with

        named, head = bind_with(node, planner, parent, ctes)
    if isinstance(node, exp.Select):
        query = bind_select(node, planner, parent, named)
    elif isinstance(node, exp.SetOperation):
        from bergsql.engine.plan.set_operations import bind_set_operation

        query = bind_set_operation(node, planner, parent, named)
    elif isinstance(node, exp.Values):
        from bergsql.engine.plan.values import bind_values

        query = bind_values(node, planner, parent, named)
    elif isinstance(node, exp.Subquery | exp.Paren):
        query = _bind_parenthesised(node, planner, parent, named)
    elif isinstance(node, exp.Table):
        query = bind_select(exp.select("*").from_(node, copy=False), planner, parent, named)
    else:
        raise BergError(ErrorCode.SYNTAX, "A query must stand here, not a value.", span=span_of(node))
    if head:
        word = "WITH RECURSIVE" if node.args["with_"].args.get("recursive") else "WITH"
        query = replace(query, sql=f"{word} {', '.join(head)} {query.sql}")
    return query


def _bind_parenthesised(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    query = bind_query(node.this, planner, parent, ctes)
    if not any(node.args.get(k) for k in ("order", "limit", "offset", "sort", "cluster")):
        return query
    from bergsql.engine.plan.ordering import with_tail

    columns = [replace(c, origin=None, images=()) for c in query.columns]
    return with_tail(BoundQuery(f"SELECT * FROM ({query.sql})", columns), node, planner, ctes)


# --- one SELECT -------------------------------------------------------------------------------------------------------


def bind_select(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """One SELECT."""
    scope, from_sql = _from(node, planner, parent, ctes)
    context = Context(planner, scope, ctes=dict(ctes))
    if _has_window_call(node):
        from bergsql.engine.plan.time_windows import bind_spark_windows

        node, joined = bind_spark_windows(node, scope, context)
        from_sql = (from_sql or "(SELECT 1) AS one_row") + joined
    context.windows = {scope.fold(str(w.this.this)): w for w in node.args.get("windows") or []}
    clauses: list[str] = []
    if from_sql:
        clauses.append(f"FROM {from_sql}")
    where, bound = node.args.get("where"), None
    if where is not None:
        from bergsql.engine.plan.pushdown import push

        inner = replace(context, clause="WHERE", aggregates_allowed=False, windows_allowed=False, found=Found())
        bound = _condition(where.this, inner)
        push(planner, scope, bound)
        clauses.append(f"WHERE {bound.sql}")
    items, group_sql = _items_and_group(node, context)
    if group_sql:
        clauses.append(f"GROUP BY {group_sql}")
    context.aliases = {scope.fold(i.name): i.bound for i in items if i.aliased or _is_field(i, scope)}
    having = node.args.get("having")
    if having is not None:
        context.found.aggregate = True
        inner = replace(context, clause="HAVING", windows_allowed=False)
        kept = _condition(having.this, inner)
        if group_sql and is_plain_group(node.args["group"]):
            from bergsql.engine.plan.pushdown import push

            push(planner, scope, kept)  # what it says of a column, it says of a key
        clauses.append(f"HAVING {kept.sql}")
    qualify = node.args.get("qualify")
    if qualify is not None:
        check_qualify(node, qualify)
        clauses.append(f"QUALIFY {_condition(qualify.this, replace(context, clause='QUALIFY')).sql}")
    tail, ties = _tail(node, items, context)
    if ties:
        clauses.append(f"AND {ties}" if qualify is not None else f"QUALIFY {ties}")
    if group_sql or context.found.aggregate:
        context.check_grouped()
    distinct = _distinct(node, items, context)
    if not group_sql and context.found.calls and planner.reads:
        from bergsql.engine.plan.metadata_answers import answer

        if answer(node, items, from_sql, context, bound):
            clauses = []
    select = f"SELECT {distinct}{', '.join(_item_sql(i, n) for n, i in enumerate(items))}"
    columns = [
        OutputColumn(i.name, i.bound.type, i.bound.nullable, images=_handed_on(i.bound, node, context)) for i in items
    ]
    sql = " ".join([select, *clauses]) + tail
    if planner.reads and from_sql:
        from bergsql.engine.plan.whole_scans import note_whole

        note_whole(node, items, from_sql, sql, context)
    return BoundQuery(sql, columns, scope.outer)


def _handed_on(bound: Bound, node: exp.Expr, context: Context) -> tuple[Image, ...]:
    """The columns of scans that an item is of, if filtering it after this SELECT is as good as before.

    So it is not behind a limit; behind GROUP BY only for a key, behind window functions only for what they all are
    partitioned by.
    """
    if any(node.args.get(k) for k in ("limit", "offset")) or (node.args.get("distinct") or node).args.get("on"):
        return ()
    group = node.args.get("group")
    if group is not None and (not is_plain_group(group) or bound.sql not in context.group_keys):
        return ()
    if group is None and context.found.aggregate:
        return ()
    return images_of(bound) if all(bound.sql in keys for keys in context.found.partitions) else ()


def is_plain_group(group: exp.Expr) -> bool:
    """Whether GROUP BY makes one set of groups: no ROLLUP, CUBE or GROUPING SETS."""
    if any(group.args.get(k) for k in ("rollup", "cube", "grouping_sets", "totals")):
        return False
    return not any(isinstance(e, exp.Rollup | exp.Cube | exp.GroupingSets) for e in group.expressions)


def _has_window_call(node: exp.Expr) -> bool:
    """Whether WINDOW is called somewhere among the items, or GROUP BY a window."""
    parts = [*node.expressions, *([node.args["group"]] if node.args.get("group") else [])]
    return any(
        isinstance(n.this, str) and n.this.lower() == "window"
        for part in parts
        for n in part.find_all(exp.Anonymous)
        if isinstance(n, exp.Anonymous)
    )


def _is_field(item: Item, scope: Scope) -> bool:
    """Whether an item without an alias is a field of a struct: its column has that name, and no column of FROM."""
    return item.bound.name == item.name and not scope.columns(item.name)


def check_qualify(node: exp.Expr, qualify: exp.Expr) -> None:
    """Refuse a QUALIFY without a window function, in it or among the items: it would be a WHERE of another name."""
    for part in (qualify, *node.expressions):
        if any(isinstance(n, exp.Window) for n in part.walk(prune=lambda n: isinstance(n, exp.Query))):
            return
    raise BergError(
        ErrorCode.INVALID,
        "QUALIFY needs a window function, in it or in SELECT.",
        span=span_of(qualify),
        hint="WHERE filters rows, HAVING filters groups.",
    )


def _distinct(node: exp.Expr, items: list[Item], context: Context) -> str:
    """``DISTINCT``, and ``DISTINCT ON (a, b)``: the first row of each, as ORDER BY has them."""
    distinct = node.args.get("distinct")
    if distinct is None:
        return ""
    on = distinct.args.get("on")
    if on is None:
        for item in items:
            refuse_unordered(item.bound.type, context, node.expressions[0], "DISTINCT")
        return "DISTINCT "
    from bergsql.engine.plan.expressions import bind

    inner = replace(context, clause="DISTINCT ON", windows_allowed=False)
    return f"DISTINCT ON ({', '.join(bind(k, inner).sql for k in members(on))}) "


def _from(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> tuple[Scope, str]:
    if node.args.get("from_") is None:
        return Scope(planner.flavour, parent), ""
    from bergsql.engine.plan.from_clause import bind_from

    return bind_from(node, planner, parent, ctes)


def _tail(node: exp.Expr, items: list[Item], context: Context) -> tuple[str, str]:
    """ORDER BY and LIMIT; and what QUALIFY must ask for where the limit is WITH TIES."""
    if not any(node.args.get(k) for k in ("order", "sort", "cluster", "distribute", "limit", "offset")):
        return "", ""
    from bergsql.engine.plan.ordering import check_distribution, limit_sql, order_sql, ties_sql

    check_distribution(node, context)
    ties = ties_sql(node, items, context)
    return order_sql(node, items, context) + limit_sql(node, context.planner), ties


def _item_sql(item: Item, position: int) -> str:
    return f"{item.bound.sql} AS {identifier(f'c{position}')}"


def _condition(node: exp.Expr, context: Context) -> Bound:
    """What a clause keeps rows by."""
    from bergsql.engine.plan.comparison import condition
    from bergsql.engine.plan.expressions import bind

    return condition(bind(node, context), context, node, context.clause)


def _items_and_group(node: exp.Expr, context: Context) -> tuple[list[Item], str]:
    """The SELECT items and what stands behind GROUP BY.

    Group keys come first, because an item is right or wrong by them; but ``GROUP BY 1`` and ``GROUP BY alias`` need the
    items.
    """
    group = node.args.get("group")
    if group is None:
        return bind_items(node.expressions, context), ""
    from bergsql.engine.plan.grouping import bind_group, may_repeat

    keys_sql, keys = bind_group(group, node.expressions, context)
    context.group_keys = keys
    context.repeats_sets = may_repeat(group)
    return bind_items(node.expressions, context), keys_sql
