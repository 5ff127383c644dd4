"""MERGE INTO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.execute.row_changes import run
from bergsql.engine.plan.merge import plan_merge

if TYPE_CHECKING:
    from bergsql.engine.result import Result
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Merge


def merge(session: Session, statement: Merge) -> Result:
    """Change the rows of a table by those of a source that match them, in one commit."""
    return run(
        session,
        statement.target,
        "merge",
        lambda relation, relations: plan_merge(statement, relation, relations),
        statement.hints,
    )
