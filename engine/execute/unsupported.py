"""Forms that are known and refused by name."""

from __future__ import annotations

from bergsql.catalog.errors import not_supported
from bergsql.engine.result import Result
from bergsql.engine.session import Session
from bergsql.engine.sql.statements import Unsupported


def refuse(_session: Session, statement: Unsupported) -> Result:
    """Always fails: the form is for a later version."""
    raise not_supported(statement.form, statement.span, statement.hint)
