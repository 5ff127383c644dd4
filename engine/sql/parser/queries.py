"""SELECT and its kin as statements."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.query import parse_query
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.queries import Select


def select(cursor: Cursor) -> Statement:
    """A query as a statement."""
    return Select(parse_query(cursor))
