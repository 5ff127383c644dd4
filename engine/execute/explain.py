"""EXPLAIN in all its forms: one plan of ours, with what a form adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_text
from bergsql.engine.duck import duckdb, set_variables
from bergsql.engine.execute import at_target
from bergsql.engine.names import named_table
from bergsql.engine.plan.explain import cost_lines, json_plan
from bergsql.engine.plan.query import QueryPlan, plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Column, Result, ResultKind
from bergsql.engine.rows import presentable
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import STRING

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.streaming.nodes import StreamPlan

_PHYSICAL = ("EXTENDED", "FORMATTED")


class _Explained(NamedTuple):
    """What is explained: the plan of a query and, if its rows go somewhere, what is done with them."""

    plan: QueryPlan
    sink: str | None = None
    told: tuple[str, ...] = ()
    """Lines that tell more of that."""


def explain(session: Session, statement: st.Explain) -> Result:
    """The plan as one multi-line cell, as Flink's and Spark's clients print it."""
    details = statement.mode.split(", ")
    if "CODEGEN" in details:
        raise BergError(
            ErrorCode.INVALID,
            "EXPLAIN CODEGEN shows generated Java code, and bergsql generates none.",
            span=statement.span,
            hint="EXPLAIN EXTENDED shows how DuckDB runs the query.",
        )
    inner = statement.statement
    members = inner.inserts if isinstance(inner, st.StatementSet) else (inner,)
    lines: list[str] = _stream_lines(session, members, statement)
    for number, member in enumerate(() if lines else members, 1):
        try:
            told = _lines(session, member, statement)
        except BergError as error:
            if len(members) > 1:
                error.message = f"INSERT {number} of {len(members)} of the statement set: {error.message}"
            raise at_target(error, member).at(statement.span) from None
        lines += ["", *told] if lines else told
    title = "plan" if session.flavour is Flavour.SPARK else "result"
    return Result(ResultKind.LISTING, (Column(title, STRING),), [[("\n".join(lines) + "\n",)]])


def _stream_lines(session: Session, members: Sequence[st.Statement], statement: st.Explain) -> list[str]:
    """What is told of statements that stream; nothing where none does."""
    from bergsql.engine.streaming.planner import explain as explain_stream

    plan = _stream_of(session, members)
    if plan is None:
        return []
    details = statement.mode.split(", ")
    if "ANALYZE" in details:
        message = "EXPLAIN ANALYZE runs a batch, and this statement runs as a stream."
        raise BergError(ErrorCode.INVALID, message, span=statement.span, hint="EXPLAIN shows its plan.")
    ttl = session.setting("table.exec.state.ttl")
    lines = ["Stream", *("  " + line for line in explain_stream(plan, details, {"table.exec.state.ttl": ttl or ""}))]
    if "JSON_EXECUTION_PLAN" in details:
        from bergsql.engine.streaming.planner.plan_text import json_plan as json_of_stream

        lines += ["", "== Physical Execution Plan ==", json_of_stream(plan)]
    if "PLAN_ADVICE" in details:
        lines += ["", "No available advice..."]
    return lines


def _stream_of(session: Session, members: Sequence[st.Statement]) -> StreamPlan | None:
    """The plan of statements that stream when they run, as :func:`select` and ``insert`` decide it."""
    if isinstance(members[0], st.Select):
        from bergsql.engine.execute.select import stream_plan

        as_changes = session.setting("execution.runtime-mode") == "streaming"
        return stream_plan(members[0].query, SessionRelations(session), as_changes=as_changes)
    if isinstance(members[0], st.CreateTable) and members[0].query is not None:
        from bergsql.engine.execute.select import stream_plan

        return stream_plan(members[0].query, SessionRelations(session), as_changes=False)
    inserts = [m for m in members if isinstance(m, st.Insert)]
    from bergsql.engine.streaming.planner import is_unbounded

    if not any(is_unbounded(m.query, SessionRelations(session)) for m in inserts):
        return None
    from bergsql.engine.execute.stream_insert import plan_insert_jobs

    return plan_insert_jobs(session, inserts, makes=False)


def _lines(session: Session, inner: st.Statement, statement: st.Explain) -> list[str]:
    """What is told of one statement."""
    if isinstance(inner, st.Truncate):
        from bergsql.engine.execute.truncate import planned_truncate

        return planned_truncate(session, inner)
    explained = _explained(session, inner)
    details = statement.mode.split(", ")
    if "ANALYZE" in details and explained.sink is not None:
        raise BergError(
            ErrorCode.INVALID,
            "EXPLAIN ANALYZE runs the statement: only a query can be looked at so.",
            span=statement.span,
            hint="EXPLAIN EXTENDED shows the plan without running it.",
        )
    lines = _plan_lines(explained, details)
    if "JSON_EXECUTION_PLAN" in details:
        lines += ["", "== Physical Execution Plan ==", json_plan(explained.plan, explained.sink)]
    if "PLAN_ADVICE" in details:
        lines += ["", "No available advice..."]
    if "ANALYZE" in details or any(word in details for word in _PHYSICAL):
        lines += ["", "== Physical Plan ==", *_duckdb_lines(session, explained.plan, analyze="ANALYZE" in details)]
    return lines


def _explained(session: Session, inner: st.Statement) -> _Explained:
    if isinstance(inner, st.Select):
        return _Explained(plan_query(inner.query, SessionRelations(session)))
    if isinstance(inner, st.Insert):
        from bergsql.engine.execute.insert import planned_insert

        plan, sink, told = planned_insert(session, inner)
        return _Explained(plan, sink, tuple(told))
    if isinstance(inner, st.Delete | st.Update | st.Merge):
        from bergsql.engine.execute.explain_changes import explained_changes

        plan, sink, told = explained_changes(session, inner)
        return _Explained(plan, sink, tuple(told))
    if isinstance(inner, st.CreateTable) and inner.query is not None:
        plan = plan_query(inner.query, SessionRelations(session))
        return _Explained(plan, f"{inner.mode.capitalize()} {named_table(session, inner.name)}")
    if isinstance(inner, st.Unsupported):
        from bergsql.engine.execute.unsupported import refusal

        raise refusal(inner)
    raise BergError(ErrorCode.INVALID, "EXPLAIN shows the plan of a query, or of a statement that writes rows.")


def _plan_lines(explained: _Explained, details: list[str]) -> list[str]:
    lines = explained.plan.explain()
    added = []
    if "CHANGELOG_MODE" in details:
        added.append("  changelog mode: [I]")  # a batch only inserts
    if "ESTIMATED_COST" in details or "COST" in details:
        added += cost_lines(explained.plan)
    lines[1:1] = added
    return lines if explained.sink is None else [explained.sink, *explained.told, *("  " + line for line in lines)]


def _duckdb_lines(session: Session, plan: QueryPlan, *, analyze: bool) -> list[str]:
    """DuckDB's own plan of the query; with ``analyze`` it is run, and times and rows are true."""
    cursor = session.duck.cursor()
    sql = presentable(plan.sql, [c.type for c in plan.columns])
    try:
        set_variables(cursor, plan.variables)
        rows = cursor.execute(f"EXPLAIN {'ANALYZE ' if analyze else ''}{sql}").fetchall()
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.Error as error:
        from bergsql.engine.execute.failures import query_failed

        raise query_failed(session.duck, error, plan) from error
    except BergError as error:
        from bergsql.engine.execute.failures import named

        raise named(error, plan.scans) from None
    finally:
        session.duck.done(cursor)
    return mask_text("\n".join(str(row[-1]) for row in rows)).rstrip("\n").split("\n")
