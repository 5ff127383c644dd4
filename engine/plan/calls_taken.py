"""Aggregates and window functions that are not written as DuckDB's SQL where they stand: a stream's plan takes them.

It computes them in nodes of their own; what is around them is bound as ever, over the columns that stand for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.context import BoundQuery, Context


class TakenCall(NamedTuple):
    """One call of a DuckDB aggregate: what the binder would have written.

    ``order`` are keys such as ``i.c0 DESC NULLS LAST``, ``conditions`` those of FILTER; ``over`` is the window behind.
    """

    duck: str
    arguments: tuple[str, ...]
    distinct: bool
    order: tuple[str, ...]
    conditions: tuple[str, ...]
    ignore_nulls: bool
    over: exp.Expr | None
    name: str
    """The function as it was called."""
    span: Span | None


class TakesCalls(Protocol):
    """Who takes them."""

    def call(self, call: TakenCall, context: Context) -> str:
        """The SQL that stands for the call."""

    def query(self, node: exp.Expr, context: Context) -> BoundQuery:
        """What stands for a subquery in an expression."""
