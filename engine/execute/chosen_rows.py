"""DELETE and UPDATE."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bergsql.engine.execute.row_changes import Plan, run
from bergsql.engine.plan.chosen_rows import plan_chosen
from bergsql.engine.result import Result
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def arguments(statement: st.Delete | st.Update) -> tuple[st.Name, str, Plan, tuple[st.Option, ...]]:
    """The target, the command, what plans it, and the options of a hint."""
    command = "update" if isinstance(statement, st.Update) else "delete"
    return statement.target, command, partial(plan_chosen, statement), statement.hints


def change(session: Session, statement: st.Delete | st.Update) -> Result:
    """Change the rows that a condition chooses, in one commit."""
    return run(session, *arguments(statement))
