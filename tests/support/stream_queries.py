"""Queries of streams run whole: planned, run by a runner over bounded sources, their changelog folded into rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from bergsql.engine.relations import SessionRelations
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.changelog import OP, RowKind
from bergsql.engine.streaming.nodes import StreamPlan
from bergsql.engine.streaming.planner import explain, plan_select
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store

Row = tuple[Any, ...]
Change = tuple[Any, ...]


def session_at(home: Path, flavour: Flavour = Flavour.FLINK, setup: str = "") -> Session:
    """A session in which the statements of ``setup``, one a line that ends in a semicolon, have run."""
    session = Session(SessionConfig(home, flavour))
    for statement in setup.split(";\n"):
        if statement.strip():
            session.execute(statement.strip()).close()
    return session


def plan_of(session: Session, query: str) -> StreamPlan:
    """The plan of a SELECT."""
    statement = parse(query, session.flavour)
    assert isinstance(statement, st.Select)
    return plan_select(statement.query, SessionRelations(session))


def explained(session: Session, query: str) -> str:
    return "\n".join(explain(plan_of(session, query)))


def run(
    session: Session,
    plan: StreamPlan,
    directory: Path,
    *,
    settings: Mapping[str, str] | None = None,
    between: Callable[[Runner], None] = lambda _: None,
    restarts: bool = False,
) -> list[Change]:
    """The changelog of a plan whose sources end, ``("+I", …)``; what goes to sinks is in them.

    ``restarts``: behind each round there is a checkpoint, from which another runner goes on.
    """
    changes: list[Change] = []

    def collect(rows: pa.Table) -> None:
        names = [n for n in rows.column_names if n != OP]
        columns = [rows.column(n).to_pylist() for n in names]
        kinds = rows.column(OP).to_pylist()
        for place, kind in enumerate(kinds):
            changes.append((RowKind(kind).symbol, *(c[place] for c in columns)))

    def runner() -> Runner:
        made = Runner(
            plan,
            session.duck,
            store,
            job_id="0" * 32,
            setting=lambda key: (settings or {}).get(key) or session.setting(key),
            time_zone=session.time_zone,
            collect=collect,
            note=lambda _: None,
        )
        made.open()
        return made

    store = Store.open(directory, durable=False)
    at_work = runner()
    try:
        for _ in range(10_000):
            at_work.round()
            between(at_work)
            if at_work.finished:
                at_work.finish()
                return changes
            if restarts:
                at_work.checkpoint()
                at_work.close()
                at_work = runner()
        raise AssertionError("The stream did not end.")
    finally:
        at_work.close()
        store.close()


def folded(changes: list[Change]) -> Counter[Row]:
    """The rows that are there in the end; each change must be of rows that are there."""
    rows: Counter[Row] = Counter()
    for symbol, *values in changes:
        row = tuple(_hashable(v) for v in values)
        rows[row] += 1 if symbol in ("+I", "+U") else -1
    wrong = {row: n for row, n in rows.items() if n < 0}
    assert not wrong, f"taken back, but never there: {wrong}"
    return Counter({row: n for row, n in rows.items() if n})


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(v) for v in value)
    if isinstance(value, dict):
        return tuple(_hashable(v) for v in value.values())
    return value


def batch_rows(session: Session, query: str) -> Counter[Row]:
    """The rows of a query that is run at once."""
    result = session.execute(query)
    return Counter(tuple(_hashable(v) for v in row) for row in result.rows())
