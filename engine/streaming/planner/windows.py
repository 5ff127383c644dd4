"""Windows of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.engine.sql.parser.query import span_of

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.streaming.nodes import AggregateCall
    from bergsql.engine.streaming.planner.build import Building, Stage, Stream
    from bergsql.engine.streaming.planner.queries import Ctes


def window_stream(call: exp.Expr, node: exp.Expr, building: Building, ctes: Ctes) -> Stream:
    raise not_supported("Window functions in a stream", span_of(node))


def spark_window(node: exp.Expr, stage: Stage, building: Building) -> tuple[exp.Expr, Stage]:
    raise not_supported("WINDOW in a stream", span_of(node))


def legacy_windows(node: exp.Expr, stage: Stage, building: Building) -> tuple[exp.Expr, Stage]:
    return node, stage


def window_aggregate(
    stream: Stream, keys: list[int], calls: list[AggregateCall], node: exp.Expr, building: Building
) -> tuple[Stream, list[int]]:
    raise not_supported("Window aggregates", span_of(node))
