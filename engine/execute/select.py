"""SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import duckdb, fetch_batches, fetch_chunks, is_interruption, set_variables
from bergsql.engine.plan.query import QueryPlan, plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Column, Result, ResultKind
from bergsql.engine.rows import converted, presentable
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.types import STRING

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_T = TypeVar("_T")


def select(session: Session, statement: st.Select) -> Result:
    """Run a query. Rows stream: nothing is read before it is asked for."""
    relations = SessionRelations(session)
    as_changes = session.setting("execution.runtime-mode") == "streaming"
    if _has_from(statement.query):
        from bergsql.engine.streaming.planner import is_unbounded

        if is_unbounded(statement.query, relations):
            return _stream(session, statement, relations)
        if as_changes:
            with suppress(_NotOfStreams):
                return _bounded_stream(session, statement, relations)
    return open_plan(session, plan_query(statement.query, relations), as_changes=as_changes)


def _has_from(query: st.Query) -> bool:
    """Whether a query reads anything: one that does not is no stream."""
    from sqlglot import exp

    return query.ast.find(exp.From) is not None


def _stream(session: Session, statement: st.Select, relations: SessionRelations) -> Result:
    from bergsql.engine.execute.stream_select import stream_select

    return stream_select(session, statement, relations)


class _NotOfStreams(Exception):
    """Only a batch can compute it."""


def _bounded_stream(session: Session, statement: st.Select, relations: SessionRelations) -> Result:
    """Stream what has an end, as Flink does in the mode streaming: windows wait for watermarks, a sort is refused.

    :raises _NotOfStreams: where streams lack a form.
    """
    try:
        return _stream(session, statement, relations)
    except BergError as error:
        if error.code is ErrorCode.UNSUPPORTED:
            raise _NotOfStreams from error
        raise


def open_plan(session: Session, plan: QueryPlan, *, as_changes: bool = False) -> Result:
    """Start a planned query and give its result. ``as_changes``: each row is told as one that is new."""
    columns = tuple(Column(c.name, c.type, c.nullable) for c in plan.columns)
    sql = plan.sql
    if as_changes:
        columns = (Column("op", STRING, False), *columns)
        sql = f"SELECT '+I', * FROM ({sql})"
    types = [c.type for c in columns]
    cursor = session.duck.cursor()
    try:
        set_variables(cursor, plan.variables)
        cursor.execute(presentable(sql, types))
    except duckdb.Error as error:
        from bergsql.engine.execute.failures import query_failed

        session.duck.done(cursor)
        raise query_failed(session.duck, error, plan) from error
    except BergError as error:  # of what is looked up before the query runs
        from bergsql.engine.execute.failures import named

        session.duck.done(cursor)
        raise named(error, plan.scans) from None
    except BaseException:
        session.duck.done(cursor)
        raise

    def guarded(fetched: Iterator[_T]) -> Iterator[_T]:
        return _guarded(session, plan, cursor, fetched)

    return Result(
        ResultKind.ROWS,
        columns,
        converted(guarded(fetch_chunks(cursor)), types),
        close=lambda: session.duck.done(cursor),
        batches=lambda rows: guarded(fetch_batches(cursor, rows)),
        changelog=as_changes,
    )


def _guarded(
    session: Session, plan: QueryPlan, cursor: duckdb.DuckDBPyConnection, fetched: Iterator[_T]
) -> Iterator[_T]:
    """What is fetched; DuckDB's errors on the way become ours, and the cursor is released at the end."""
    try:
        yield from fetched
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.Error as error:
        from bergsql.engine.execute.failures import query_failed

        raise query_failed(session.duck, error, plan) from error
    except RuntimeError as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        session.duck.done(cursor)
