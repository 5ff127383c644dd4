"""Relations that give all rows of a scan, each once: a table, and queries, views and WITH that only choose columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound, Origin, images_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from bergsql.engine.plan.context import Context, Planner
    from bergsql.engine.plan.items import Item

_NAME = r'(?:"(?:[^"]|"")*"|\w+)'
_ALIAS = re.compile(rf"{_NAME}(?:\({_NAME}(?:, {_NAME})*\))?")
_COLUMN = re.compile(rf"{_NAME}\.{_NAME}")
_PLAIN = frozenset(("expressions", "from_", "with_", "hint"))


def whole_scan(from_sql: str, planner: Planner) -> int | None:
    """The number of the scan of which FROM gives all rows; None where it is of something else, or of more."""
    relation, _, alias = from_sql.rpartition(" AS ")
    return planner.whole.get(relation) if _ALIAS.fullmatch(alias) else None


def plain_column(bound: Bound) -> Origin | None:
    """The column of a scan that an expression is, unchanged, also through queries in FROM."""
    images = images_of(bound)
    if len(images) != 1 or images[0].steps or len(images[0].origin.path) > 1 or not _COLUMN.fullmatch(bound.sql):
        return None
    return images[0].origin


def only_asks(node: exp.Expr, *more: str) -> bool:
    """Whether a SELECT has nothing but items, FROM and the clauses that are named."""
    return {key for key, value in node.args.items() if value} <= _PLAIN | set(more)


def note_whole(node: exp.Expr, items: Sequence[Item], from_sql: str, sql: str, context: Context) -> None:
    """Remember the SQL of a query that gives all rows of a scan, in some of its columns."""
    found = context.found
    if found.aggregate or found.calls or found.partitions or context.scope.outer or not only_asks(node):
        return
    number = whole_scan(from_sql, context.planner)
    if number is not None and all(i.bound.is_constant or plain_column(i.bound) for i in items):
        context.planner.whole[f"({sql})"] = number
