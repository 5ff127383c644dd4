"""ORDER BY, LIMIT, OFFSET and FETCH."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.aggregate_calls import order_key
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import BoundQuery, Context, Cte, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.nested_order import has_key
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope, Source, derived_columns
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier

_DRAWN = re.compile(r"\b(random|uuid)\(\)")
"""What must not be written twice: it would be drawn twice. So such an item is ordered as DuckDB does."""

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.plan.items import Item


def order_sql(node: exp.Expr, items: list[Item], context: Context) -> str:
    order = node.args.get("order") or node.args.get("sort") or node.args.get("cluster")
    if order is None:
        return ""
    inner = replace(context, clause="ORDER BY", aliases_first=True)
    places = {item.bound.sql: n for n, item in reversed(list(enumerate(items)))}
    written = node.args.get("distinct")
    distinct = written is not None and written.args.get("on") is None
    if _is_all(order.expressions[0]):
        order = order.copy()
        order.set("expressions", [_numbered(order.expressions[0], n) for n in range(1, len(items) + 1)])
    keys = [_order_item(key, items, places, inner, distinct=distinct) for key in order.expressions]
    return f" ORDER BY {', '.join(k for k in keys if k)}" if any(keys) else ""


def _is_all(key: exp.Expr) -> bool:
    """ORDER BY ALL: by all items, from left to right."""
    return isinstance(key, exp.Ordered) and isinstance(key.this, exp.Var) and key.this.name.upper() == "ALL"


def _numbered(key: exp.Expr, number: int) -> exp.Expr:
    made = key.copy()
    made.set("this", exp.Literal.number(number))
    return made


def ties_sql(node: exp.Expr, items: list[Item], context: Context) -> str:
    """The condition on a row of ``FETCH FIRST n ROWS WITH TIES``: it is not behind the n-th in ORDER BY."""
    limit = node.args.get("limit")
    if limit is None or not _with_ties(limit):
        return ""
    order = node.args.get("order")
    if order is None or node.args.get("distinct") is not None:
        what = "with DISTINCT" if order is not None else "without ORDER BY"
        raise BergError(ErrorCode.INVALID, f"WITH TIES has no meaning {what}.", span=span_of(limit) or span_of(node))
    keys = []
    inner = replace(context, clause="ORDER BY", aliases_first=True)
    for key in order.expressions:
        plain = key.this if isinstance(key, exp.Ordered) else key
        position = ordinal(plain, len(items), "ORDER BY")
        keys.append(order_key(key, inner, items[position].bound if position is not None else None)[0])
        if " OVER (" in keys[-1] or "unnest(" in keys[-1]:
            message = "WITH TIES cannot go by a window function, nor by what gives many rows."
            raise BergError(ErrorCode.INVALID, message, span=span_of(node), hint="Compute it in a subquery.")
    return _rank(", ".join(keys), node, context.planner)


def _with_ties(limit: exp.Expr) -> bool:
    options = limit.args.get("limit_options")
    return options is not None and bool(options.args.get("with_ties"))


def _rank(keys: str, node: exp.Expr, planner: Planner) -> str:
    limit, offset = node.args["limit"], node.args.get("offset")
    count = int(_count(limit.args.get("count"), planner, "FETCH"))
    if limit.args["limit_options"].args.get("percent"):
        raise BergError(ErrorCode.INVALID, "FETCH takes PERCENT or WITH TIES, not both.", span=span_of(limit))
    count += int(_count(offset.expression, planner, "OFFSET")) if offset is not None else 0
    return f"rank() OVER (ORDER BY {keys}) <= {count}"


def check_distribution(node: exp.Expr, context: Context) -> None:
    """DISTRIBUTE BY only says which worker gets a row: its keys must be there, and do nothing here."""
    distribute = node.args.get("distribute")
    for key in distribute.expressions if distribute is not None else ():
        order_key(key, replace(context, clause="DISTRIBUTE BY"))


def _order_item(node: exp.Expr, items: list[Item], places: dict[str, int], context: Context, *, distinct: bool) -> str:
    """A key; one that is an item (``places``: by SQL) is its number."""
    inner = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
        raise BergError(ErrorCode.INVALID, "ORDER BY takes expressions, not a star.", span=span_of(inner))
    position = ordinal(inner, len(items), "ORDER BY")
    if position is None:
        bound = bind(inner, context)
        position = places.get(bound.sql)
        if position is None:
            if distinct:
                _check_selected(inner, places, context)
            return "" if bound.is_constant else order_key(node, context, bound)[0]  # a literal orders nothing
    item = items[position].bound
    number = Bound(str(position + 1), item.type, "")
    return order_key(node, context, item if has_key(item.type) and not _DRAWN.search(item.sql) else number)[0]


def _check_selected(key: exp.Expr, places: dict[str, int], context: Context) -> None:
    """Refuse a key of SELECT DISTINCT that is not made of what is selected: one row of the result has several."""
    for column in key.find_all(exp.Column):
        if bind(column, context).sql not in places:
            raise BergError(
                ErrorCode.INVALID,
                f"SELECT DISTINCT can only be ordered by what it selects: '{column.name}' is not among that.",
                span=span_of(column),
                hint="Select it too, or use GROUP BY and an aggregate such as MIN.",
            )


def ordinal(node: exp.Expr, count: int, clause: str) -> int | None:
    """The index of the item that a number in ORDER BY or GROUP BY names; None when it is not a number."""
    if not isinstance(node, exp.Literal) or node.args.get("is_string") or not str(node.this).isdigit():
        return None
    digits = str(node.this).lstrip("0") or "0"
    number = int(digits[:9])  # nine are more than a query has columns
    if not 1 <= number <= count:
        raise BergError(
            ErrorCode.INVALID,
            f"{clause} {digits[:40]}: the query has {count} {'column' if count == 1 else 'columns'}.",
            span=span_of(node),
        )
    return number - 1


def with_tail(query: BoundQuery, node: exp.Expr, planner: Planner, ctes: Mapping[str, Cte]) -> BoundQuery:
    """A whole query with the ORDER BY and LIMIT behind it: its keys are columns of the result."""
    order = node.args.get("order") or node.args.get("sort") or node.args.get("cluster")
    limit = limit_sql(node, planner)
    if order is None:
        if not limit:
            return query
        return replace(
            query, sql=query.sql + limit, columns=[replace(c, origin=None, images=()) for c in query.columns]
        )
    alias = planner.alias("q")
    scope = Scope(planner.flavour)
    found, inner = derived_columns([replace(c, origin=None, images=()) for c in query.columns], alias)
    scope.add(Source((), found))
    context = Context(planner, scope, "ORDER BY", dict(ctes), aggregates_allowed=False)
    keys: list[str] = []
    written_keys = list(order.expressions)
    if _is_all(written_keys[0]):
        written_keys = [_numbered(written_keys[0], n) for n in range(1, len(found) + 1)]
    for key in written_keys:
        plain = key.this if isinstance(key, exp.Ordered) else key
        position = ordinal(plain, len(found), "ORDER BY")
        number = Bound(found[position].sql, found[position].type, "") if position is not None else None
        keys.append(order_key(key, context, number)[0])
    names = ", ".join(inner)
    written = node.args.get("limit")
    ties = f" QUALIFY {_rank(', '.join(keys), node, planner)}" if written is not None and _with_ties(written) else ""
    sql = f"SELECT * FROM ({query.sql}) AS {identifier(alias)}({names}){ties} ORDER BY {', '.join(keys)}{limit}"
    return replace(query, sql=sql, columns=[replace(c, origin=None, images=()) for c in query.columns])


def limit_sql(node: exp.Expr, planner: Planner) -> str:
    """LIMIT, OFFSET and FETCH."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    sql = ""
    for part in (limit, offset):
        if part is not None:
            refuse_unknown_parts(part)
    if limit is not None:
        count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
        options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
        percent = options is not None and options.args.get("percent")
        is_all = isinstance(count, exp.Var | exp.Column) and count.name.upper() == "ALL"
        if not is_all and not _with_ties(limit):
            sql += f" LIMIT {_count(count, planner, 'FETCH' if percent else 'LIMIT')}{'%' if percent else ''}"
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
