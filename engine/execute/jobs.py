"""SHOW JOBS, DESCRIBE JOB and STOP JOB."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bergsql.engine.result import Result, listing, ok

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st


def show(session: Session, _statement: st.ShowJobs) -> Result:
    """``SHOW JOBS``, with Flink's columns, the youngest first."""
    from bergsql.engine.streaming.jobs import registry

    rows = [(job.id, job.name, job.state.value, _time(session, job.submitted)) for job in registry.jobs(session.home)]
    return listing(("job id", "job name", "status", "start time"), [*rows])


def describe(session: Session, statement: st.DescribeJob) -> Result:
    """All that is to be told of a job, a row each."""
    from bergsql.engine.streaming.jobs import figures, registry

    job = registry.job(session.home, statement.id, statement.span)
    return listing(("key", "value"), [*figures.rows(job, lambda ms: _time(session, ms))])


def stop(session: Session, statement: st.StopJob) -> Result:
    """Stop a job and wait for its end; with a savepoint, tell where that is."""
    from bergsql.catalog.errors import BergError
    from bergsql.engine.streaming.jobs import control, registry, savepoints

    job = registry.job(session.home, statement.id, statement.span)
    try:
        ended = control.stop(
            job,
            savepoint=statement.savepoint,
            drain=statement.drain,
            directory=savepoints.chosen(session.setting(savepoints.DIRECTORY_SETTING)),
        )
    except BergError as error:
        raise error.at(statement.span) from None
    if ended.status.savepoint is None:
        return ok()
    return listing(("savepoint path",), [(savepoints.shown(ended.status.savepoint),)])


def _time(session: Session, milliseconds: int) -> str:
    """A time in the session's zone, as Flink writes it here."""
    from zoneinfo import ZoneInfo

    moment = datetime.fromtimestamp(milliseconds / 1000, ZoneInfo(session.time_zone))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
