"""Queries as statements."""

from __future__ import annotations

from bergsql.engine.sql.statements.base import Query, Statement


class Select(Statement):
    """A query whose rows are the result."""

    __slots__ = ("query",)

    def __init__(self, query: Query) -> None:
        self.query = query

    def __repr__(self) -> str:
        return f"Select({self.query.text!r})"
