"""Statement sets: INSERTs that are all checked before the first runs, and then run in order.

They are one unit in that none runs when one is wrong, and all read their tables as these were before. Each commits by
itself: what fails while it runs stops the set, and what was committed before stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.execute import at_target
from bergsql.engine.execute.insert import Prepared, is_declared, prepare, run_prepared
from bergsql.engine.execute.outcome import DONE
from bergsql.engine.execute.submit_job import started
from bergsql.engine.result import Result, ResultKind, ok
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def run(session: Session, statement: st.StatementSet) -> Result:
    """Run the INSERTs of a set; each tells what it did."""
    if not statement.inserts:
        return ok()
    job = started(session, statement.inserts)
    if job is not None:
        return job
    prepared = [_checked(session, statement, number) for number in range(len(statement.inserts))]
    messages: list[str] = []
    for number, member in enumerate(prepared):
        try:
            done = run_prepared(session, _as_now(member) if number else member)
        except BergError as error:
            raise _told(error, statement, number, prepared) from None
        messages += [f"{member.target.name}: {line}" for line in done]
    return Result(ResultKind.DML, messages=(DONE, *messages))


def _checked(session: Session, statement: st.StatementSet, number: int) -> Prepared:
    try:
        return prepare(session, statement.inserts[number])
    except BergError as error:
        if len(statement.inserts) > 1:
            error.message = f"INSERT {number + 1} of {len(statement.inserts)} of the statement set: {error.message}"
        raise at_target(error, statement.inserts[number]) from None


def _as_now(member: Prepared) -> Prepared:
    """The INSERT with its table as the INSERTs before it have left that; what it reads was decided before."""
    target = member.target
    if member.sink is not None:
        return member
    catalog, ident = target.name.catalog, target.name.ident
    if is_declared(target.table) and not catalog.table_exists(ident):
        return member
    table = catalog.load_table(ident)
    before, now = target.table.metadata, table.metadata
    same = now.schema == before.schema and now.spec == before.spec
    return member._replace(target=target._replace(table=table)) if same else member


def _told(error: BergError, statement: st.StatementSet, number: int, prepared: list[Prepared]) -> BergError:
    """The error of an INSERT that failed while it ran, with what the set has done before."""
    count = len(statement.inserts)
    if count > 1:
        done = ", ".join(str(member.target.name) for member in prepared[:number])
        before = f"What went into {done} before is committed." if done else "Nothing of the set was committed."
        error.message = f"INSERT {number + 1} of {count} of the statement set failed: {error.message} {before}"
    return error.at(statement.inserts[number].target.span)
