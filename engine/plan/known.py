"""Values of expressions that are computed from constants alone, worked out while planning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.bound import NOT_CONSTANT, Bound
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql import utc
from bergsql.engine.sql.types import NESTED, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context, Planner

_LONG = 10_000


def constant_of(bound: Bound, context: Context) -> object:
    """The value of what is computed from constants alone, or :data:`NOT_CONSTANT`.

    Values are as :attr:`Bound.constant` has them; an interval of months is their number, one of days and time a
    timedelta.
    """
    return known_value(bound, context.planner)


def known_value(bound: Bound, planner: Planner) -> object:
    """As :func:`constant_of`, for a whole query."""
    if bound.is_constant or not bound.fixed or bound.volatile or len(bound.sql) > _LONG:
        return bound.constant
    if bound.type.kind in NESTED or bound.type.holds_nanoseconds:
        return NOT_CONSTANT
    known = planner.known
    if bound.sql not in known:
        try:
            known[bound.sql] = planner.relations.evaluate(_readable(bound.sql, bound.type))
        except BergError:  # it fails when the query runs
            known[bound.sql] = NOT_CONSTANT
    return known[bound.sql]


def _readable(sql: str, type_: DataType) -> str:
    """The SQL of a value that Python has too."""
    if type_.kind is Kind.TIMESTAMP_LTZ:
        return utc.clock(sql)
    if type_.kind is Kind.INTERVAL_YEAR_MONTH:
        return let(sql, lambda x: f"(datepart('year', {x}) * 12 + datepart('month', {x}))")
    return sql
