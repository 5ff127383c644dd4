"""An INSERT that never ends becomes a job: a process of its own, which has all it needs from its folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.execute.session_spec import session_spec
from bergsql.engine.names import table_name
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.streaming.jobs import control, registry, savepoints
from bergsql.engine.streaming.jobs.hidden import taken_apart
from bergsql.engine.version import version

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.streaming.jobs.registry import Job
    from bergsql.engine.streaming.nodes import StreamPlan


SUBMITTING = "Submitting SQL update statement to the cluster..."
SUBMITTED = "SQL update statement has been successfully submitted to the cluster:"


def started(session: Session, inserts: Sequence[st.Insert]) -> Result | None:
    """What the statement that runs gives as a job; None where its queries end, so that it runs here."""
    from bergsql.engine.relations import SessionRelations
    from bergsql.engine.streaming.planner import is_unbounded

    if not any(is_unbounded(each.query, SessionRelations(session)) for each in inserts):
        return None
    job = submit(session, inserts)
    return Result(ResultKind.DML, messages=(SUBMITTING, f"{SUBMITTED}\nJob ID: {job.id}\n"), job=job)


def submit(session: Session, inserts: Sequence[st.Insert], name: str | None = None) -> Job:
    """Start the job of the statement that runs, which is ``inserts``, and wait until it runs.

    :param name: default: ``pipeline.name``, else that of its tables, as Flink has it.
    :raises BergError: what keeps it from running; then there is no such job.
    """
    from bergsql.engine.execute.stream_insert import plan_insert_jobs, schemas_of

    plan = plan_insert_jobs(session, inserts)  # which tells what is wrong with it, here and now
    id_ = registry.new_id()
    path = session.setting(savepoints.PATH_SETTING)
    savepoint = savepoints.load(path) if path else None
    spec, hidden = taken_apart(
        {
            "id": id_,
            "identity": savepoint.identity if savepoint is not None else id_,
            "name": name or session.setting("pipeline.name") or job_name(session, inserts),
            "submitted": round(time.time() * 1000),
            "bergsql": version(),
            "statement": session.text,
            "schemas": [*schemas_of(plan)],
            "savepoint": str(savepoint.path) if savepoint is not None else None,
            "session": session_spec(session),
        }
    )
    job = registry.create(session.home, spec, hidden, savepoint)
    try:
        return control.start(job)
    except BergError as error:
        if error.code is not ErrorCode.INTERNAL:
            registry.remove(job)
        raise
    except BaseException:
        registry.remove(job)
        raise


def planned(session: Session, text: str, schemas: Sequence[int | None] = ()) -> StreamPlan:
    """The plan of a job's statement; ``schemas`` as in ``plan_insert_jobs``."""
    from bergsql.engine.execute.stream_insert import plan_insert_jobs

    return plan_insert_jobs(session, inserts_of(text, session), schemas=schemas)


def job_name(session: Session, inserts: Sequence[st.Insert]) -> str:
    """What Flink calls a job: ``insert-into_catalog.database.table``, of all its tables."""
    names = (str(table_name(session, each.target.parts, each.target.span)) for each in inserts)
    return f"insert-into_{','.join(names)}"


def inserts_of(text: str, session: Session) -> tuple[st.Insert, ...]:
    """The INSERTs that the statement of a job is; of a table AS a query, the one that fills it.

    :raises BergError: CORRUPT where it is none.
    """
    from bergsql.engine.execute.create_table_as import insert_of
    from bergsql.engine.sql.parser import parse

    statement = parse(text, session.flavour)
    if isinstance(statement, st.Insert):
        return (statement,)
    if isinstance(statement, st.StatementSet):
        return statement.inserts
    if isinstance(statement, st.CreateTable) and statement.query is not None:
        return (insert_of(statement),)
    raise BergError(ErrorCode.CORRUPT, "The statement of the job is no INSERT.")
