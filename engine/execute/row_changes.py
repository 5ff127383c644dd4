"""DELETE, UPDATE and MERGE carried out: their change query is run once, what it says is written and committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.destination import Target, destination
from bergsql.engine.execute.failures import named, query_failed, with_column
from bergsql.engine.execute.outcome import DONE, NOTHING, change_outcome, counted
from bergsql.engine.execute.run_again import run_again
from bergsql.engine.plan.hints import write_properties
from bergsql.engine.plan.query import QueryPlan
from bergsql.engine.plan.relations import IcebergRelation, is_branch
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.delete_index import is_equality
from bergsql.engine.table.producer import Operation
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

Plan = Callable[[IcebergRelation, SessionRelations], "ChangeQuery"]
"""What plans a statement for its target; the relations see the target in the state that it is changed in."""


def run(session: Session, name: Name, command: str, plan: Plan, hints: Sequence[Option] = ()) -> Result:
    """Carry out a DELETE, UPDATE or MERGE (``delete``, ``update``, ``merge``) of the table that ``name`` stands for."""
    first = destination(session, name)
    loaded = [first]

    def once() -> str:
        target = loaded.pop() if loaded else destination(session, name)
        return _once(session, target, name, command, plan, hints)

    message = run_again(session, first.name, once)
    return Result(ResultKind.DML, messages=(DONE, message))


def _once(session: Session, target: Target, name: Name, command: str, plan: Plan, hints: Sequence[Option]) -> str:
    """Plan, write and commit; what was done, in one line."""
    table, catalog = target.table, target.name.catalog
    catalog.check_writable(table)
    hinted = write_properties(hints, table.metadata, SessionRelations(session))
    given = {**table.metadata.properties, **hinted}
    properties = RowLevelProperties.of(given, command, table.metadata.format_version)
    query = planned(session, target, name, plan)
    counts, files = _written(session, query, target, properties, hinted)
    if files.nothing and not query.updates and session.flavour is Flavour.FLINK:
        return NOTHING
    producer = RowDelta(
        files.added,
        deletes=files.deletes,
        removed=files.removed,
        removed_deletes=files.removed_deletes,
        read=query.read,
        isolation=properties.isolation,
        updates=query.updates,
        properties=target.summary,
        # Of what changes nothing, Spark keeps what it would have been.
        empty=Operation.OVERWRITE if query.target.scan.plan.tasks or command != "delete" else Operation.DELETE,
    )
    committed = commit_snapshot(catalog, table, producer, catalog.storage(), to=target.to)
    dropped, uncounted = _rows_of(session, query.whole, target)
    counts["delete"] = counts.get("delete", 0) + dropped
    shown = {kind: counts[kind] for kind in ("update", "delete", "insert") if counts.get(kind) or kind == command}
    return change_outcome(shown, uncounted, files, committed, target.place)


def planned(session: Session, target: Target, name: Name, plan: Plan) -> ChangeQuery:
    """The change query of a statement. All that it reads of the target is in the state that is changed."""
    table = target.table
    reference = name.parts[-1] if target.point is not None and is_branch(name.parts[-1]) else None
    relation = IcebergRelation(target.name.parts, table, target.name.catalog.storage(), None, target.point, reference)
    return plan(relation, SessionRelations(session, loaded={target.name.parts: table}))


def _written(
    session: Session,
    query: ChangeQuery,
    target: Target,
    properties: RowLevelProperties,
    hinted: Mapping[str, str],
) -> tuple[dict[str, int], ChangedFiles]:
    """Run a change query and write what it says; how many rows it changes, by kind, and the files."""
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
                table=target.table,
                schema=query.schema,
                storage=target.name.catalog.storage(),
                mode=properties.mode,
                properties=hinted,
            )
    except duckdb.Error as error:
        failed = with_column(query_failed(session.duck, error, as_plan(query)), query.narrowed)
        raise _placed(failed, query) from error
    except BergError as error:
        raise _placed(named(error, query.scans), query) from None
    counts: dict[str, int] = {}
    for clause, count in zip(query.clauses, changes.counts, strict=True):
        counts[clause.kind] = counts.get(clause.kind, 0) + count
    return counts, files


def _placed(error: BergError, query: ChangeQuery) -> BergError:
    """The error at the value of the column that it names, if it has no place of its own in the statement."""
    whole = query.written.span if query.written else None
    if error.span is None or error.span == whole:
        places = [span for name, span in query.values.items() if f"'{name}'" in error.message]
        error.span = places[0] if len(places) == 1 else whole
    return error


def as_plan(query: ChangeQuery) -> QueryPlan:
    """The change query as errors and EXPLAIN look at plans."""
    return QueryPlan(query.sql, (), query.scans, query.variables, query.written)


def _rows_of(session: Session, whole: Sequence[FileTask], target: Target) -> tuple[int, str]:
    """How many rows there were in files that are dropped unread, and what is told of those that nobody counted."""
    known = [t for t in whole if not any(map(is_equality, t.deletes))]
    unknown = len(whole) - len(known)
    rows = row_count(target.name.catalog.storage(), target.table.metadata, known)
    if not isinstance(rows, int):
        cursor = session.duck.cursor()
        try:
            rows = rows.found(cursor, "dropped")
        finally:
            session.duck.done(cursor)
    return rows, f"all rows of {counted(unknown, 'file')} deleted" if unknown else ""
