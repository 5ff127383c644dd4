"""DELETE and UPDATE as change queries: a condition chooses rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, Span
from bergsql.engine.plan.assignments import assigned_columns
from bergsql.engine.plan.comparison import condition
from bergsql.engine.plan.context import Context, Cte, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.row_changes import Clause, bind_target, change_query, place_columns
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.statements import Delete, Expression, Query, Update

if TYPE_CHECKING:
    from bergsql.engine.plan.assignments import Narrowed, Places
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.plan.row_changes import ChangeQuery, Target
    from bergsql.engine.table.predicate import Predicate


def plan_chosen(statement: Delete | Update, target: IcebergRelation, relations: Relations) -> ChangeQuery:
    """The change query of a DELETE or an UPDATE of ``target``, which its name stands for.

    :raises BergError: with its place, when a name, a type or a form is wrong.
    """
    values = [a.value for a in statement.assignments if a.value] if isinstance(statement, Update) else []
    written = [*values, *([statement.where] if statement.where else [])]
    before = statement.queries.hints if statement.queries is not None else ()
    planner = Planner(relations, (*before, *(h for e in written for h in e.hints)))
    planner.reads = planner.prunes = True
    span = statement.target.span
    try:
        return _planned(statement, target, planner, written)._replace(written=as_query(written, span))
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("The statement", span) from None
    except BergError as error:
        raise error.at(written[-1].span if written else span) from None


def _planned(
    statement: Delete | Update, relation: IcebergRelation, planner: Planner, written: Sequence[Expression]
) -> ChangeQuery:
    ctes, head = _with(statement.queries, planner, written)
    scope = Scope(planner.flavour)
    target = bind_target(relation, statement.alias, scope, planner, statement.target.span)
    narrowed: Narrowed = ()
    values: Places = ()
    behind = ["CAST(NULL AS BIGINT)"]
    if isinstance(statement, Update):
        context = Context(planner, scope, "SET", ctes, aggregates_allowed=False, windows_allowed=False)
        stored = assigned_columns(statement.assignments, target, context)
        behind, narrowed, values = [target.row_id, *stored.columns], stored.narrowed, stored.places
    where = _where(statement.where, scope, planner, ctes)
    clause = Clause("update", "UPDATE") if isinstance(statement, Update) else Clause("delete", "DELETE")
    if clause.kind == "delete":
        planner.slots[target.slot].others = _others(where, target)
    items = [*place_columns(target), "CAST(0 AS INTEGER)", *behind]
    columns = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(items))
    sql = f"{head}SELECT {columns} FROM {target.sql}" + (f" WHERE {where.sql}" if where is not None else "")
    return change_query(sql, target, planner, (clause,))._replace(narrowed=narrowed, values=values)


def _with(queries: Query | None, planner: Planner, written: Sequence[Expression]) -> tuple[dict[str, Cte], str]:
    """The queries of the WITH before a statement whose expressions are ``written``, and its SQL."""
    if queries is None:
        return {}, ""
    from bergsql.engine.plan.ctes import bind_with

    try:
        ctes, head = bind_with(queries.ast, planner, None, {}, [e.ast for e in written])
    except BergError as error:
        raise error.at(queries.span) from None
    recursive = "RECURSIVE " if queries.ast.args["with_"].args.get("recursive") else ""
    return ctes, f"WITH {recursive}{', '.join(head)} " if head else ""


def _where(where: Expression | None, scope: Scope, planner: Planner, ctes: dict[str, Cte]) -> Bound | None:
    if where is None:
        return None
    from bergsql.engine.plan.pushdown import push

    context = Context(planner, scope, "WHERE", ctes, aggregates_allowed=False, windows_allowed=False)
    bound = condition(bind(where.ast, context), context, where.ast, "WHERE")
    push(planner, scope, bound)
    return bound


def _others(where: Bound | None, target: Target) -> Predicate:
    """What holds of the rows that a DELETE leaves."""
    from bergsql.engine.plan.pushdown import outcomes
    from bergsql.engine.table.predicate import AlwaysFalse

    return AlwaysFalse() if where is None else outcomes(where, target.slot, target.schema)[1]


def as_query(written: Sequence[Expression], span: Span) -> Query:
    """The expressions of a statement, in which a failed operation is looked for; else it is at ``span``."""
    return Query("", written[0].span if len(written) == 1 else span, exp.Tuple(expressions=[e.ast for e in written]))
