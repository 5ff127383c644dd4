"""WITH: named queries, and the names that an alias gives columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.context import Cte, OutputColumn, Planner
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.select import bind_query
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def bind_with(
    query: exp.Expr,
    planner: Planner,
    parent: Scope | None,
    ctes: Mapping[str, Cte],
    others: Sequence[exp.Expr] = (),
) -> tuple[dict[str, Cte], list[str]]:
    """The named queries that ``query`` sees, and those of its own WITH as SQL. ``others`` may read them too."""
    named = dict(ctes)
    head: list[str] = []
    node = query.args["with_"]
    recursive = bool(node.args.get("recursive"))
    scope = Scope(planner.flavour)
    own: set[str] = set()
    tables = (t for q in (query, *others) for t in q.find_all(exp.Table))
    readers = Counter(scope.fold(t.name) for t in tables if not t.args.get("db"))
    refuse_unknown_parts(node)
    for cte in node.expressions:
        refuse_unknown_parts(cte)
        name = cte.args["alias"].name
        key = scope.fold(name)
        if key in own:
            raise BergError(ErrorCode.INVALID, f"WITH names '{name}' twice.", span=span_of(cte.args["alias"]))
        own.add(key)
        if recursive and _reads(cte.this, key, scope):
            from bergsql.engine.plan.recursion import bind_recursive

            named[key], sql = bind_recursive(cte, planner, parent, named)
            head.append(sql)
            continue
        bound = bind_query(cte.this, planner, parent, named)
        columns = bound.columns
        if readers[key] > 1:
            # What one of its readers filters, the other may need.
            columns = [replace(c, origin=None, images=()) for c in columns]
        columns = rename(columns, cte.args["alias"].args.get("columns") or [], name, span_of(cte.args["alias"]))
        sql_name = planner.alias(name)
        whole = planner.whole.get(f"({bound.sql})")
        if whole is not None and readers[key] < 2:
            planner.whole[identifier(sql_name)] = whole
        inner = ", ".join(identifier(f"c{i}") for i in range(len(columns)))
        named[key] = Cte(name, sql_name, columns)
        head.append(f"{identifier(sql_name)}({inner}) AS ({bound.sql})")
    return named, head


def _reads(query: exp.Expr, key: str, scope: Scope) -> bool:
    """Whether a query of WITH reads itself."""
    return any(scope.fold(t.name) == key and not t.args.get("db") for t in query.find_all(exp.Table))


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
