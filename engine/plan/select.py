"""SELECT, VALUES, WITH and parenthesised queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.plan.aggregate_calls import order_key
from bergsql.engine.plan.bound import Bound, identifier
from bergsql.engine.plan.comparison import condition
from bergsql.engine.plan.context import BoundQuery, Context, Cte, Found, OutputColumn, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.from_clause import bind_from, push
from bergsql.engine.plan.grouping import bind_group
from bergsql.engine.plan.items import Item, bind_items
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope, Source, derived_columns
from bergsql.engine.plan.set_operations import bind_set_operation
from bergsql.engine.plan.values import bind_values
from bergsql.engine.sql.parser.query import span_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def bind_query(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """Any query as DuckDB's SQL.

    ``parent`` is the scope of the query around a subquery; ``ctes`` the named queries that it sees.
    """
    named, head = _bind_with(node.args.get("with_"), planner, parent, ctes)
    if isinstance(node, exp.Select):
        query = bind_select(node, planner, parent, named)
    elif isinstance(node, exp.SetOperation):
        query = bind_set_operation(node, planner, parent, named)
    elif isinstance(node, exp.Values):
        query = bind_values(node, planner, parent, named)
    elif isinstance(node, exp.Subquery | exp.Paren):
        query = _bind_parenthesised(node, planner, parent, named)
    elif isinstance(node, exp.Table):
        query = bind_select(exp.select("*").from_(node, copy=False), planner, parent, named)
    else:
        raise not_supported(f"The query {type(node).__name__.upper()}", span_of(node))
    if head:
        query = replace(query, sql=f"WITH {', '.join(head)} {query.sql}")
    return query


def _bind_with(
    node: exp.Expr | None, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]
) -> tuple[dict[str, Cte], list[str]]:
    """The named queries that a query sees, and those of its own WITH as SQL."""
    named = dict(ctes)
    head: list[str] = []
    if node is None:
        return named, head
    if node.args.get("recursive"):
        raise not_supported("WITH RECURSIVE", span_of(node))
    scope = Scope(planner.flavour)
    own: set[str] = set()
    for cte in node.expressions:
        name = cte.args["alias"].name
        key = scope.fold(name)
        if key in own:
            raise BergError(ErrorCode.INVALID, f"WITH names '{name}' twice.", span=span_of(cte.args["alias"]))
        own.add(key)
        query = bind_query(cte.this, planner, parent, named)
        columns = query.columns
        if _references(node.parent, name, scope) > 1:
            # What one of its readers filters, the other may need.
            columns = [replace(c, origin=None) for c in columns]
        columns = rename(columns, cte.args["alias"].args.get("columns") or [], name, span_of(cte.args["alias"]))
        sql_name = planner.alias(name)
        inner = ", ".join(identifier(f"c{i}") for i in range(len(columns)))
        named[key] = Cte(name, sql_name, columns)
        head.append(f"{identifier(sql_name)}({inner}) AS ({query.sql})")
    return named, head


def _references(root: exp.Expr | None, name: str, scope: Scope) -> int:
    if root is None:
        return 2
    return sum(1 for t in root.find_all(exp.Table) if t.args.get("db") is None and scope.same(t.name, name))


def rename(columns: list[OutputColumn], names: list[exp.Expr], relation: str, span: Span | None) -> list[OutputColumn]:
    """The columns under the names that an alias gives them: ``t(a, b)``."""
    if not names:
        return columns
    if len(names) != len(columns):
        raise BergError(
            ErrorCode.ARITY,
            f"'{relation}' has {len(columns)} {'column' if len(columns) == 1 else 'columns'}, not {len(names)}.",
            span=span_of(names[-1]) or span,
        )
    return [replace(c, name=n.name) for c, n in zip(columns, names, strict=True)]


def _bind_parenthesised(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    query = bind_query(node.this, planner, parent, ctes)
    if not any(node.args.get(k) for k in ("order", "limit", "offset", "sort", "cluster")):
        return query
    columns = [replace(c, origin=None) for c in query.columns]
    return with_tail(BoundQuery(f"SELECT * FROM ({query.sql})", columns), node, planner, ctes)


# --- one SELECT -------------------------------------------------------------------------------------------------------


def bind_select(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """One SELECT."""
    _refuse(node)
    scope, from_sql = bind_from(node, planner, parent, ctes)
    context = Context(planner, scope, ctes=dict(ctes))
    context.windows = {scope.fold(str(w.this.this)): w for w in node.args.get("windows") or []}
    clauses: list[str] = []
    if from_sql:
        clauses.append(f"FROM {from_sql}")
    where = node.args.get("where")
    if where is not None:
        bound = _filter(where.this, context, "WHERE")
        push(planner, scope, bound)
        clauses.append(f"WHERE {bound.sql}")
    items, group_sql = _items_and_group(node, context)
    if group_sql:
        clauses.append(f"GROUP BY {group_sql}")
    context.aliases = {scope.fold(i.name): i.bound for i in items if i.aliased}
    having = node.args.get("having")
    if having is not None:
        context.found.aggregate = True
        inner = replace(context, clause="HAVING", windows_allowed=False)
        clauses.append(f"HAVING {condition(bind(having.this, inner), inner, having.this, 'HAVING').sql}")
    qualify = node.args.get("qualify")
    if qualify is not None:
        inner = replace(context, clause="QUALIFY")
        clauses.append(f"QUALIFY {condition(bind(qualify.this, inner), inner, qualify.this, 'QUALIFY').sql}")
    order = _order(node, items, context)
    if group_sql or context.found.aggregate:
        context.check_grouped()
    distinct = "DISTINCT " if node.args.get("distinct") is not None else ""
    select = f"SELECT {distinct}{', '.join(_item_sql(i, n) for n, i in enumerate(items))}"
    tail = order + limit_sql(node, planner)
    plain = not (tail or distinct or group_sql or context.found.aggregate or qualify is not None)
    window = any(" OVER (" in i.bound.sql for i in items)
    columns = [
        OutputColumn(i.name, i.bound.type, i.bound.nullable, i.bound.origin if plain and not window else None)
        for i in items
    ]
    return BoundQuery(" ".join([select, *clauses]) + tail, columns, scope.outer)


def _item_sql(item: Item, position: int) -> str:
    return f"{item.bound.sql} AS {identifier(f'c{position}')}"


_READ = frozenset(
    "with_ distinct expressions from_ joins laterals where group having qualify windows order sort cluster distribute "
    "limit offset hint operation_modifiers".split()
)
_REFUSED = {
    "into": "SELECT INTO",
    "match": "MATCH_RECOGNIZE",
    "pivots": "PIVOT",
    "connect": "CONNECT BY",
    "prewhere": "PREWHERE",
    "settings": "SETTINGS",
    "format": "FORMAT",
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "kind": "SELECT AS STRUCT",
}


def _refuse(node: exp.Expr) -> None:
    for key, value in node.args.items():
        if value and key not in _READ:
            raise not_supported(_REFUSED.get(key, f"The clause {key.upper()}"), span_of(node))
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise not_supported("DISTINCT ON", span_of(distinct))


def _filter(node: exp.Expr, context: Context, clause: str) -> Bound:
    inner = replace(context, clause=clause, aggregates_allowed=False, windows_allowed=False, found=Found())
    return condition(bind(node, inner), inner, node, clause)


def _items_and_group(node: exp.Expr, context: Context) -> tuple[list[Item], str]:
    """The SELECT items and what stands behind GROUP BY.

    Group keys come first, because an item is right or wrong by them; but ``GROUP BY 1`` and ``GROUP BY alias`` need the
    items.
    """
    group = node.args.get("group")
    if group is None:
        return bind_items(node.expressions, context), ""
    keys_sql, keys = bind_group(group, node.expressions, context)
    context.group_keys = keys
    return bind_items(node.expressions, context), keys_sql


# --- ORDER BY, LIMIT --------------------------------------------------------------------------------------------------


def _order(node: exp.Expr, items: list[Item], context: Context) -> str:
    order = node.args.get("order") or node.args.get("sort") or node.args.get("cluster")
    if order is None:
        return ""
    inner = replace(context, clause="ORDER BY", aliases_first=True)
    keys = [_order_item(key, items, inner) for key in order.expressions]
    return f" ORDER BY {', '.join(k for k in keys if k)}" if any(keys) else ""


def _order_item(node: exp.Expr, items: list[Item], context: Context) -> str:
    inner = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
        raise BergError(ErrorCode.INVALID, "ORDER BY takes expressions, not a star.", span=span_of(inner))
    if str(getattr(inner, "name", "")).upper() == "ALL" and isinstance(inner, exp.Column) and context.spark:
        bare = Bound("ALL", items[0].bound.type, "ALL")
        return order_key(node, context, bare)[0]
    position = ordinal(inner, len(items), "ORDER BY")
    if position is None:
        bound = bind(inner, context)
        found = [n for n, i in enumerate(items) if i.bound.sql == bound.sql]
        if bound.is_constant and not found:
            return ""  # a literal orders nothing
        position = found[0] if found else None
        if position is None:
            return order_key(node, context, bound)[0]
    number = Bound(str(position + 1), items[position].bound.type, "")
    return order_key(node, context, number)[0]


def ordinal(node: exp.Expr, count: int, clause: str) -> int | None:
    """The index of the item that a number in ORDER BY or GROUP BY names; None when it is not a number."""
    if not isinstance(node, exp.Literal) or node.args.get("is_string") or not str(node.this).isdigit():
        return None
    number = int(node.this)
    if not 1 <= number <= count:
        raise BergError(
            ErrorCode.INVALID,
            f"{clause} {number}: the query has {count} {'column' if count == 1 else 'columns'}.",
            span=span_of(node),
        )
    return number - 1


def with_tail(query: BoundQuery, node: exp.Expr, planner: Planner, ctes: Mapping[str, Cte]) -> BoundQuery:
    """A whole query with the ORDER BY and LIMIT behind it: its keys are columns of the result."""
    order = node.args.get("order") or node.args.get("sort") or node.args.get("cluster")
    limit = limit_sql(node, planner)
    if order is None:
        return replace(query, sql=query.sql + limit) if limit else query
    alias = planner.alias("q")
    scope = Scope(planner.flavour)
    found, inner = derived_columns([replace(c, origin=None) for c in query.columns], alias)
    scope.sources.append(Source((), found))
    context = Context(planner, scope, "ORDER BY", dict(ctes), aggregates_allowed=False)
    keys: list[str] = []
    for key in order.expressions:
        plain = key.this if isinstance(key, exp.Ordered) else key
        position = ordinal(plain, len(found), "ORDER BY")
        number = Bound(found[position].sql, found[position].type, "") if position is not None else None
        keys.append(order_key(key, context, number)[0])
    names = ", ".join(inner)
    sql = f"SELECT * FROM ({query.sql}) AS {identifier(alias)}({names}) ORDER BY {', '.join(keys)}{limit}"
    return replace(query, sql=sql, columns=[replace(c, origin=None) for c in query.columns])


def limit_sql(node: exp.Expr, planner: Planner) -> str:
    """LIMIT, OFFSET and FETCH."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    sql = ""
    if limit is not None:
        count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
        options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise not_supported("FETCH … WITH TIES", span_of(limit))
        is_all = isinstance(count, exp.Var | exp.Column) and count.name.upper() == "ALL"
        if not is_all:
            sql += f" LIMIT {_count(count, planner, 'LIMIT')}"
    if offset is not None:
        sql += f" OFFSET {_count(offset.expression, planner, 'OFFSET')}"
    return sql


def _count(node: exp.Expr | None, planner: Planner, clause: str) -> str:
    if node is None:
        return "1"
    bound = bind(node, Context(planner, Scope(planner.flavour), clause, aggregates_allowed=False))
    if not isinstance(bound.constant, int) or isinstance(bound.constant, bool) or bound.constant < 0:
        raise BergError(ErrorCode.INVALID, f"{clause} takes a whole number that is not negative.", span=span_of(node))
    return str(bound.constant)
