"""EXPLAIN of what changes rows: what it would do to which files and rows. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.destination import destination
from bergsql.engine.execute.outcome import KINDS, VERBS, counted
from bergsql.engine.execute.row_changes import as_plan, by_kind, command_of, failure, plan_changes, rows_of
from bergsql.engine.table.row_changes import collect_changes
from bergsql.engine.table.row_level_properties import Mode

if TYPE_CHECKING:
    from bergsql.engine.execute.destination import Target
    from bergsql.engine.execute.row_changes import Planned
    from bergsql.engine.plan.query import QueryPlan
    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.producer import Producer
    from bergsql.engine.table.row_changes import RowChanges

MOST_ROWS = 10_000_000
"""Rows are counted where the files looked at hold no more: counting takes as long as the statement's query."""

_TITLES = {"delete": "Delete from", "update": "Update", "merge": "Merge into"}


def explained_changes(
    session: Session, statement: st.Delete | st.Update | st.Merge
) -> tuple[QueryPlan, str, list[str]]:
    """The plan of a statement's change query; what the statement does to which table; and lines that tell more."""
    command = command_of(statement)
    target = destination(session, command.name)
    planned = plan_changes(session, target, command)
    query, properties = planned.query, planned.properties
    scan = query.target.scan.plan
    lines = [f"  mode: {properties.mode}", f"  isolation: {properties.isolation}"]
    if query.evolution:
        lines.append(f"  {query.evolution}")
    lines.append(f"  files looked at: {len(scan.tasks)} of {scan.files_total}{_rows(scan.tasks)}")
    if query.whole:
        lines.append(f"  files dropped unread: {len(query.whole)}{_rows(query.whole)}")
    lines += _counted(session, planned)
    return as_plan(query), f"{_TITLES[command.kind]} {target.name}{target.place}", lines


def _counted(session: Session, planned: Planned) -> list[str]:
    """What rows and files would be changed, found by the change query without the columns of its rows."""
    query = planned.query
    tasks = query.target.scan.plan.tasks
    if sum(t.data_file.record_count for t in tasks) > MOST_ROWS:
        return ["  rows to be changed: not counted, there are too many to be looked at"]
    try:
        with collect_changes(
            session.duck,
            query.sql,
            query.variables,
            tasks=tasks,
            clauses=["delete"] * len(query.clauses),
            unique=query.unique,
        ) as changes:
            files = _files(planned, changes)
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except (duckdb.Error, BergError) as error:
        return [f"  rows to be changed: not counted: {failure(session, error, query).message}"]
    counts = by_kind(query, changes.counts)
    dropped, unknown = rows_of(session, query.whole, planned.target)
    counts["delete"] = counts.get("delete", 0) + dropped
    known = {c.kind for c in query.clauses}
    told = [f"{counts.get(k, 0)} {VERBS[k]}" for k in KINDS if k in known]
    more = f", and all of {counted(unknown, 'file')}" if unknown else ""
    return [f"  rows to be changed: {', '.join(told)}{more}", *files]


def _files(planned: Planned, changes: RowChanges) -> list[str]:
    from bergsql.engine.table.touched_files import touched_files

    metadata, storage = planned.target.table.metadata, planned.target.name.catalog.storage()
    touched = touched_files(changes.cursor, changes.tasks, changes.gone, metadata, storage)
    whole = [t.task for t in touched if t.whole]
    partly = [t.task for t in touched if not t.whole]
    lines = []
    if whole:
        # Rows that are updated come again in new files; of which file they are, is not kept.
        again = by_kind(planned.query, changes.counts).get("update", 0) > 0
        does = "rewritten, all of their rows being changed" if again else "dropped, no row being left"
        lines.append(f"  files {does}: {len(whole)}{_rows(whole)}")
    if partly and planned.properties.mode is Mode.COPY_ON_WRITE:
        lines.append(f"  files written anew: {len(partly)}{_rows(partly)}")
    elif partly:
        lines.append(f"  files that get deletes: {len(partly)}{_rows(partly)}")
    return lines


def replaced(target: Target, producer: Producer | None) -> list[str]:
    """Which files an INSERT OVERWRITE replaces; without a ``producer`` the rows tell, when they are there."""
    from bergsql.engine.table.planning import plan_files
    from bergsql.engine.table.read_point import current

    metadata = target.table.metadata
    point = target.point or current(metadata)
    tasks = plan_files(metadata, point, None, target.name.catalog.storage()).tasks
    selection = None if producer is None else producer.selection(metadata)
    if selection is not None:
        tasks = tuple(t for t in tasks if selection.takes(t.data_file, metadata))
    elif not metadata.spec.is_unpartitioned:
        return [f"  files replaced: those of the partitions that get rows, of {len(tasks)}{_rows(tasks)}"]
    return [f"  files replaced: {len(tasks)}{_rows(tasks)}"]


def _rows(tasks: Sequence[FileTask]) -> str:
    """How many rows the files hold, those that are deleted too."""
    return f" ({counted(sum(t.data_file.record_count for t in tasks), 'row')})" if tasks else ""
