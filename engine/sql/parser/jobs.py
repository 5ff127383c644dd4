"""Statements on jobs."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.jobs import DescribeJob, StopJob


def stop(cursor: Cursor) -> StopJob:
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""
    cursor.expect("STOP", "JOB")
    span = cursor.token.span
    id_ = cursor.string("the job's id in quotes")
    savepoint = drain = False
    if cursor.accept("WITH"):
        savepoint = cursor.expect_any("SAVEPOINT", "DRAIN") == "SAVEPOINT"
        drain = not savepoint
        if savepoint and cursor.accept("WITH"):
            cursor.expect("DRAIN")
            drain = True
    if drain and not savepoint:
        hint = f"STOP JOB '{id_}' WITH SAVEPOINT WITH DRAIN;"
        raise cursor.error("WITH DRAIN stands behind WITH SAVEPOINT.", cursor.previous.span, hint)
    return StopJob(id_, span, savepoint, drain)


def describe(cursor: Cursor) -> DescribeJob:
    """The rest of ``DESCRIBE JOB 'id'``, behind JOB."""
    span = cursor.token.span
    return DescribeJob(cursor.string("the job's id in quotes"), span)
