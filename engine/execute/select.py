"""SELECT."""

from __future__ import annotations

from collections.abc import Iterator
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
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.session import Session
    from bergsql.engine.streaming.nodes import StreamPlan

_T = TypeVar("_T")


def select(session: Session, statement: st.Select) -> Result:
    """Run a query. Rows stream: nothing is read before it is asked for."""
    relations = SessionRelations(session)
    as_changes = session.setting("execution.runtime-mode") == "streaming"
    if (plan := stream_plan(statement.query, relations, as_changes=as_changes)) is not None:
        from bergsql.engine.execute.stream_select import stream_select

        return stream_select(session, plan)
    return open_plan(session, plan_query(statement.query, relations), as_changes=as_changes)


def stream_plan(query: st.Query, relations: Relations, *, as_changes: bool) -> StreamPlan | None:
    """The plan of a query that runs as a stream; None of one that runs as a batch.

    ``as_changes``: what has an end streams too, as in Flink's mode streaming, where windows wait for watermarks and a
    sort is refused; but not where streams lack a form.
    """
    if not _has_from(query):
        return None
    from bergsql.engine.streaming.planner import is_unbounded, plan_select

    if is_unbounded(query, relations):
        return plan_select(query, relations)
    if not as_changes:
        return None
    try:
        return plan_select(query, relations)
    except BergError as error:
        if error.code is ErrorCode.UNSUPPORTED:
            return None
        raise


def _has_from(query: st.Query) -> bool:
    """Whether a query reads anything: one that does not is no stream."""
    from sqlglot import exp

    return query.ast.find(exp.From) is not None


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
