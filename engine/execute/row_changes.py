"""DELETE, UPDATE and MERGE carried out: their change query is run once, what it says is written and committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.destination import Target, destination
from bergsql.engine.execute.failures import named, query_failed, with_column
from bergsql.engine.execute.outcome import DONE, KINDS, NOTHING, change_outcome, counted
from bergsql.engine.execute.run_again import run_again
from bergsql.engine.plan.hints import write_properties
from bergsql.engine.plan.query import PlannedColumn, QueryPlan
from bergsql.engine.plan.relations import IcebergRelation, is_branch
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import from_iceberg
from bergsql.engine.sql.types import BIGINT, INT
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.delete_index import is_equality
from bergsql.engine.table.producer import Operation
from bergsql.engine.table.properties import PropertyError
from bergsql.engine.table.row_changes import collect_changes
from bergsql.engine.table.row_counts import row_count
from bergsql.engine.table.row_delta import RowDelta
from bergsql.engine.table.row_level_properties import RowLevelProperties
from bergsql.engine.table.row_rewrite import write_changes

if TYPE_CHECKING:
    from bergsql.engine.plan.row_changes import ChangeQuery
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Name, Option
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.row_rewrite import ChangedFiles


class RowLevelCommand(NamedTuple):
    """What a DELETE, UPDATE or MERGE says: ``kind`` is "delete", "update" or "merge"."""

    name: Name
    """The table that is changed."""
    kind: str
    plan: Callable[[IcebergRelation, SessionRelations], ChangeQuery]
    """Plans it for its target; the relations see the target in the state that is changed."""
    hints: Sequence[Option]


def command_of(statement: st.Delete | st.Update | st.Merge) -> RowLevelCommand:
    """A statement that changes rows, and what plans it."""
    name, hints = statement.target, statement.hints
    if isinstance(statement, st.Merge):
        from bergsql.engine.plan.merge import plan_merge

        return RowLevelCommand(name, "merge", partial(plan_merge, statement), hints)
    from bergsql.engine.plan.chosen_rows import plan_chosen

    kind = "update" if isinstance(statement, st.Update) else "delete"
    return RowLevelCommand(name, kind, partial(plan_chosen, statement), hints)


def change_rows(session: Session, statement: st.Delete | st.Update | st.Merge) -> Result:
    """Carry out a DELETE, UPDATE or MERGE, in one commit."""
    command = command_of(statement)
    first = destination(session, command.name)
    loaded = [first]

    def once() -> str:
        target = loaded.pop() if loaded else destination(session, command.name)
        return _once(session, target, command)

    message = run_again(session, first.name, once)
    return Result(ResultKind.DML, messages=(DONE, message))


def _once(session: Session, target: Target, command: RowLevelCommand) -> str:
    """Plan, write and commit; what was done, in one line."""
    table, catalog = target.table, target.name.catalog
    catalog.check_writable(table)
    planned = plan_changes(session, target, command)
    query = planned.query
    counts, files = _written(session, planned)
    if files.nothing and not query.updates and session.flavour is Flavour.FLINK:
        return NOTHING
    producer = RowDelta(
        files.added,
        deletes=files.deletes,
        removed=files.removed,
        removed_deletes=files.removed_deletes,
        read=query.read,
        isolation=planned.properties.isolation,
        rereads=sum(scan.table == query.target.table for scan in query.scans) > 1,
        updates=query.updates,
        properties=target.summary,
        empty=_empty(command.kind, query),
    )
    committed = commit_snapshot(catalog, table, producer, catalog.storage(), to=target.to)
    dropped, uncounted = rows_of(session, query.whole, target)
    counts["delete"] = counts.get("delete", 0) + dropped
    said = {clause.kind for clause in query.clauses}
    shown = {kind: counts[kind] for kind in KINDS if counts.get(kind) or kind in said}
    unread = f"all rows of {counted(uncounted, 'file')} deleted" if uncounted else ""
    return change_outcome(shown, unread, files, committed, target.place, query.evolution)


def _empty(command: str, query: ChangeQuery) -> Operation:
    """What a snapshot that changes nothing is called: as Spark does, what it would have been."""
    if command == "delete" and not query.target.scan.plan.tasks:
        return Operation.DELETE
    only_inserts = all(clause.kind == "insert" for clause in query.clauses)
    return Operation.APPEND if only_inserts else Operation.OVERWRITE


class Planned(NamedTuple):
    """A statement that is ready to run."""

    target: Target
    hinted: Mapping[str, str]
    """Table properties that a hint says for it."""
    properties: RowLevelProperties
    query: ChangeQuery


def plan_changes(session: Session, target: Target, command: RowLevelCommand) -> Planned:
    """Plan a statement. All that it reads of its target is in the state that is changed."""
    table, parts = target.table, command.name.parts
    hinted = write_properties(command.hints, table.metadata, SessionRelations(session))
    given = {**table.metadata.properties, **hinted}
    properties = RowLevelProperties.of(given, command.kind, table.metadata.format_version)
    reference = parts[-1] if target.point is not None and is_branch(parts[-1]) else None
    relation = IcebergRelation(target.name.parts, table, target.name.catalog.storage(), None, target.point, reference)
    query = command.plan(relation, SessionRelations(session, loaded={target.name.parts: table}))
    return Planned(target, hinted, properties, query)


def _written(session: Session, planned: Planned) -> tuple[dict[str, int], ChangedFiles]:
    """Run a change query and write what it says; how many rows it changes, by kind, and the files."""
    query = planned.query
    try:
        with collect_changes(
            session.duck,
            query.sql,
            query.variables,
            tasks=query.target.scan.plan.tasks,
            clauses=[c.kind for c in query.clauses],
            unique=query.unique,
        ) as changes:
            files = write_changes(
                changes,
                whole=query.whole,
                table=planned.target.table,
                schema=query.schema,
                storage=planned.target.name.catalog.storage(),
                mode=planned.properties.mode,
                properties=planned.hinted,
            )
    except (duckdb.Error, BergError) as error:
        raise failure(session, error, query) from error
    return by_kind(query, changes.counts), files


def by_kind(query: ChangeQuery, counts: Sequence[int]) -> dict[str, int]:
    """The rows that clauses change, by what they do."""
    found: dict[str, int] = {}
    for clause, count in zip(query.clauses, counts, strict=True):
        found[clause.kind] = found.get(clause.kind, 0) + count
    return found


def failure(session: Session, error: duckdb.Error | BergError, query: ChangeQuery) -> BergError:
    """The error to tell when a change query, or the writing of its rows, failed."""
    if isinstance(error, BergError):
        return _placed(named(error, query.scans), query)
    return _placed(with_column(query_failed(session.duck, error, as_plan(query)), query.narrowed), query)


def _placed(error: BergError, query: ChangeQuery) -> BergError:
    """The error at the value of the column that it names, if it has no place of its own in the statement."""
    if isinstance(error, PropertyError):
        return error  # it is about the table, not about a value
    whole = query.written.span if query.written else None
    if error.span is None or error.span == whole:
        places = {span for name, span in query.values if f"'{name}'" in error.message or f"'{name}." in error.message}
        error.span = places.pop() if len(places) == 1 else whole
    return error


def as_plan(query: ChangeQuery) -> QueryPlan:
    """The change query as errors and EXPLAIN look at plans."""
    columns = [PlannedColumn(n, INT if n == "clause" else BIGINT) for n in ("file", "position", "clause", "row_id")]
    if query.writes:
        columns += [PlannedColumn(f.name, from_iceberg(f.type), not f.required) for f in query.schema.fields]
    return QueryPlan(query.sql, tuple(columns), query.scans, query.variables, query.written)


def rows_of(session: Session, files: Sequence[FileTask], target: Target) -> tuple[int, int]:
    """How many rows there are in files, and of how many files it is not known without reading them."""
    known = [t for t in files if not any(map(is_equality, t.deletes))]
    rows = row_count(target.name.catalog.storage(), target.table.metadata, known)
    if not isinstance(rows, int):
        cursor = session.duck.cursor()
        try:
            rows = rows.found(cursor, "counted")
        finally:
            session.duck.done(cursor)
    return rows, len(files) - len(known)
