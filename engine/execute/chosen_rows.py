"""DELETE and UPDATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.execute.row_changes import run
from bergsql.engine.plan.chosen_rows import plan_chosen
from bergsql.engine.result import Result
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def change(session: Session, statement: st.Delete | st.Update) -> Result:
    """Change the rows that a condition chooses, in one commit."""
    command = "update" if isinstance(statement, st.Update) else "delete"
    return run(
        session,
        statement.target,
        command,
        lambda target, relations: plan_chosen(statement, target, relations),
        statement.hints,
    )
