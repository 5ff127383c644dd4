"""From a parsed query to the plan of a stream.

The batch planner says what names, types and expressions mean; here a query is taken apart into nodes that work on
changes. Everything is imported when it is first needed: a query without streams asks :func:`is_unbounded` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.streaming.nodes import Node, StreamPlan
    from bergsql.engine.streaming.planner.inserts import PlannedInsert
    from bergsql.engine.streaming.sources.base import Json


def is_unbounded(query: Query, relations: Relations) -> bool:
    """Whether a query runs as a stream, as no batch can read what it reads: a source has no end, or gives changes.

    :raises BergError: INVALID where there is such a source, and ``execution.runtime-mode`` is ``batch``.
    """
    from bergsql.engine.streaming.planner.unbounded import streams

    return streams(query, relations)


def plan_select(query: Query, relations: Relations) -> StreamPlan:
    """The plan of a SELECT: its one end is a CollectNode with the columns that the batch plan has.

    :raises BergError: with its place, for what is wrong, and for what cannot be computed as a stream.
    """
    from bergsql.engine.streaming.planner.plans import select_plan

    return select_plan(query, relations)


def plan_inserts(inserts: Sequence[PlannedInsert], relations: Relations, name: str = "") -> StreamPlan:
    """One plan for INSERTs that run together: a source that several read is read once.

    :raises BergError: as :func:`plan_select`, and where a sink does not take the changes of its query.
    """
    from bergsql.engine.streaming.planner.plans import insert_plan

    return insert_plan(inserts, relations, name)


def explain(plan: StreamPlan, details: Sequence[str] = (), settings: Mapping[str, str] | None = None) -> list[str]:
    """The plan as indented lines, each node above its inputs. ``details``: words of EXPLAIN, as CHANGELOG_MODE."""
    from bergsql.engine.streaming.planner.plan_text import lines

    return lines(plan, details, settings or {})


def signature(node: Node) -> Json:
    """What must be the same for the state of a node to be taken up again by the node of the same uid."""
    from bergsql.engine.streaming.signature import signature_of

    return signature_of(node)
