"""Joins whose conditions bound the time between two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import IntervalJoinNode, JoinKind
    from bergsql.engine.streaming.planner.build import Building, Stage
    from bergsql.engine.streaming.planner.joins import Conditions, Sides


def interval_join(
    stage: Stage, right: Stage, sides: Sides, kind: JoinKind, found: Conditions, building: Building
) -> IntervalJoinNode | None:
    """The node of a join with bounds of time; None where it has none."""
    return None
