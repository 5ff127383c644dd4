"""A view in FROM: its query, planned as it was meant when the view was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.context import BoundQuery, Planner
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.select import bind_query
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bergsql.engine.plan.relations import ViewRelation


def bind_view(view: ViewRelation, planner: Planner, span: Span | None) -> BoundQuery:
    """The view's query as a part of the query that reads it, with the view's columns.

    :raises BergError: at ``span``, the view's name: the place of what is wrong is in another statement.
    """
    inner = planner.within(view.relations, view.query.hints)
    first = len(planner.unreadable)
    try:
        bound = bind_query(view.query.ast, inner, None, {})
        inner.check_hints()
        chosen = chosen_columns(view, [c.name for c in bound.columns])
    except BergError as error:
        raise unreadable(view, error, span) from None
    for refusal in planner.unreadable[first:]:
        refusal.span = span
    columns = [replace(bound.columns[i], name=name) for i, name in zip(chosen, view.names, strict=True)]
    if chosen == list(range(len(bound.columns))):
        return BoundQuery(bound.sql, columns)
    names = ", ".join(f"c{i}" for i in range(len(bound.columns)))
    return BoundQuery(f"SELECT {', '.join(f'c{i}' for i in chosen)} FROM ({bound.sql}) AS v({names})", columns)


def unreadable(view: ViewRelation, error: BergError, span: Span | None) -> BergError:
    """What is wrong with a view's query, told where the view is read."""
    message = f"View {'.'.join(view.parts)} cannot be read: {error.message}"
    return BergError(error.code, message, span=span, hint=error.hint)


def chosen_columns(view: ViewRelation, names: Sequence[str]) -> list[int]:
    """Which of the query's columns, by their names, are the view's: those of the names that it had when it was made.

    So ``SELECT *`` keeps meaning the columns that there were, in their order.
    """
    if list(names) == list(view.selected):
        return list(range(len(names)))
    spark = view.relations.flavour is Flavour.SPARK
    by_name = {n.casefold() if spark else n: i for i, n in reversed(list(enumerate(names)))}
    chosen = []
    for name in view.selected:
        place = by_name.get(name.casefold() if spark else name)
        if place is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Its query no longer gives the column '{name}'.",
                hint="ALTER VIEW … AS … gives it another query.",
            )
        chosen.append(place)
    return chosen
