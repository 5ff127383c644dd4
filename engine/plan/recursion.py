"""WITH RECURSIVE: a query of WITH that reads itself."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.context import BoundQuery, Cte, OutputColumn, Planner
from bergsql.engine.plan.ctes import rename
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.select import bind_query
from bergsql.engine.plan.set_operations import bind_set_operation
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import NULL, STRING

_ROUNDS = 4


def bind_recursive(cte: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> tuple[Cte, str]:
    """The named query, and its SQL for the head of WITH.

    The first part of the UNION says which columns there are; a type that the recursive part widens is widened for both.
    """
    query, alias = cte.this, cte.args["alias"]
    name, place = alias.name, span_of(alias)
    if not isinstance(query, exp.Union) or any(query.args.get(k) for k in ("order", "limit", "offset")):
        raise BergError(
            ErrorCode.INVALID,
            f"'{name}' reads itself, so it must be a first query, UNION ALL or UNION, and the query that reads it.",
            span=place,
        )
    slots = len(planner.slots)
    columns = _plain(bind_query(query.this, planner, parent, ctes).columns)
    sql_name = planner.alias(name)
    written = alias.args.get("columns") or []
    key = Scope(planner.flavour).fold(name)
    for _ in range(_ROUNDS):
        del planner.slots[slots:]  # what was bound only to learn its columns is not read
        named = Cte(name, sql_name, rename(columns, written, name, place))
        bound: BoundQuery = bind_set_operation(query, planner, parent, {**ctes, key: named})
        found = _plain(bound.columns)
        if [c.type for c in found] == [c.type for c in columns]:
            inner = ", ".join(identifier(f"c{i}") for i in range(len(columns)))
            return named, f"{identifier(sql_name)}({inner}) AS ({bound.sql})"
        columns = found
    raise BergError(
        ErrorCode.TYPE,
        f"The columns of '{name}' get wider with each step of the recursion.",
        span=place,
        hint="CAST them to one type in both parts.",
    )


def _plain(columns: list[OutputColumn]) -> list[OutputColumn]:
    """The columns, of which any row may be NULL and no filter may be pushed below the recursion."""
    return [replace(c, origin=None, nullable=True, type=STRING if c.type == NULL else c.type) for c in columns]
