"""The columns that a query or a view gives, be it a batch or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.query import PlannedColumn, query_columns
from bergsql.engine.plan.views import chosen_columns, unreadable

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import Relations, ViewRelation
    from bergsql.engine.sql.statements import Query


def given_columns(query: Query, relations: Relations) -> tuple[PlannedColumn, ...]:
    """The columns that a query gives when it runs. No data is looked at.

    A form that no batch has is looked at as a stream, where the query would run as one.
    """
    try:
        return query_columns(query, relations)
    except BergError as error:
        if error.code is not ErrorCode.UNSUPPORTED:
            raise
        from bergsql.engine.execute.select import stream_plan

        plan = stream_plan(query, relations, as_changes=relations.setting("execution.runtime-mode") == "streaming")
        if plan is None:
            raise
    return tuple(PlannedColumn(c.name, c.type, c.nullable) for c in plan.ends[0].columns)


def view_columns(view: ViewRelation, span: Span | None) -> tuple[PlannedColumn, ...]:
    """The columns that a view gives now.

    :raises BergError: at ``span``, the view's name, where its query cannot be read any more.
    """
    try:
        columns = given_columns(view.query, view.relations)
        chosen = chosen_columns(view, [c.name for c in columns])
    except BergError as error:
        raise unreadable(view, error, span) from None
    return tuple(columns[i]._replace(name=name) for i, name in zip(chosen, view.names, strict=True))
