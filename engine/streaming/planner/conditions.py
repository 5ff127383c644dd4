"""WHERE: its parts, one by one; a subquery in one becomes a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.engine.streaming.planner.calls import Calls

if TYPE_CHECKING:
    from bergsql.engine.streaming.planner.build import Building, Stage
    from bergsql.engine.streaming.planner.queries import Ctes


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins, those in parentheses too."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, exp.And):
            waiting += [at.expression, at.this]
        elif isinstance(at, exp.Paren) and isinstance(at.this, exp.And | exp.Paren):
            waiting.append(at.this)
        else:
            found.append(at)
    return found


def plan_where(stage: Stage, parts: list[exp.Expr], building: Building, ctes: Ctes) -> Stage:
    """The stage without the rows that do not fulfil ``parts``."""
    from bergsql.engine.streaming.planner.subqueries import as_join, is_subquery_condition

    plain = [p for p in parts if not is_subquery_condition(p)]
    bound = bound_conditions(plain, stage, building, ctes)
    stage.stream = building.filtered(stage.stream, bound)
    for part in parts:
        if is_subquery_condition(part):
            stage = as_join(part, stage, building, ctes)
    return stage


def bound_conditions(
    parts: list[exp.Expr], stage: Stage, building: Building, ctes: Ctes, clause: str = "WHERE"
) -> list[str]:
    """Conditions as SQL over the stage; subqueries that are values become columns of it."""
    from bergsql.engine.plan.comparison import condition
    from bergsql.engine.plan.expressions import bind

    if not parts:
        return []
    calls = Calls(building, ctes)
    context = building.context(stage.scope, clause, aggregates=False, windows=False)
    with building.taking(calls):
        found = [condition(bind(part, context), context, part, clause).sql for part in parts]
    if calls.queries:
        from bergsql.engine.streaming.planner.subqueries import with_values

        stage.stream, found = with_values(stage.stream, calls.queries, found, building)
    return found
