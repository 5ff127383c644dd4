"""MERGE INTO."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bergsql.engine.execute.row_changes import Plan, run
from bergsql.engine.plan.merge import plan_merge

if TYPE_CHECKING:
    from bergsql.engine.result import Result
    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st


def arguments(statement: st.Merge) -> tuple[st.Name, str, Plan, tuple[st.Option, ...]]:
    """The target, the command, what plans it, and the options of a hint."""
    return statement.target, "merge", partial(plan_merge, statement), statement.hints


def merge(session: Session, statement: st.Merge) -> Result:
    """Change the rows of a table by those of a source that match them, in one commit."""
    return run(session, *arguments(statement))
