"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.default_word import with_defaults
from bergsql.engine.names import TableName, load
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.plan.hints import check_write_hints
from bergsql.engine.plan.query import PlannedColumn, QueryPlan, plan_expression, plan_query
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.store_assignment import assign, can_assign
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.type_names import flink_name, from_iceberg, spark_name
from bergsql.engine.sql.types import NULL, DataType
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import Committed, commit_snapshot
from bergsql.engine.table.overwrite import OverwriteAll, OverwritePartitions, OverwriteWhere
from bergsql.engine.table.producer import Producer
from bergsql.engine.table.projection import literal_sql
from bergsql.engine.table.writer import Written, write_rows

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.session import Session


@dataclass(frozen=True, slots=True)
class Assigned:
    """A query made to fit a table: SQL that yields the table's columns in order, and what it reads."""

    sql: str
    plan: QueryPlan
    static: dict[str, object]
    """Values of PARTITION (column = value), by column, as the table's type."""
    narrowed: tuple[tuple[str, DataType], ...] = ()
    """The columns that take values of another type, whose values may not fit, with their own types."""


def insert(session: Session, statement: st.Insert) -> Result:
    """Write the rows of a query to a table, in one commit."""
    name, table = _target(session, statement)
    assigned = assign_query(session, statement, table, name)
    written = write(session, assigned, table, name)
    producer = _producer(session, statement, assigned, written)
    if producer is None:
        return Result(ResultKind.DML, messages=(DONE, "No rows: nothing was committed."))
    committed = commit_snapshot(name.catalog, table, producer, name.catalog.storage())
    return Result(ResultKind.DML, messages=(DONE, *outcome(written, committed)))


def _target(session: Session, statement: st.Insert) -> tuple[TableName, LoadedTable]:
    """The table to be written to.

    Refused where a hint, the table or the session asks for more than rows that are added: that would be wrong, and
    nobody would notice.
    """
    check_write_hints(statement.hints, SessionRelations(session))
    name, table = load(session, statement.target)
    properties, span = table.metadata.properties, statement.target.span
    if session.flavour is Flavour.FLINK and properties.get("write.upsert.enabled", "").casefold() == "true":
        raise not_supported("INSERT into a table with 'write.upsert.enabled'", span)
    if properties.get("write.wap.enabled", "").casefold() == "true":
        for key in ("spark.wap.branch", "spark.wap.id"):
            if session.setting(key) is not None:
                raise not_supported(f"INSERT with '{key}' set into a table with 'write.wap.enabled'", span)
    return name, table


DONE = "Complete execution of the SQL update statement."


def write(session: Session, assigned: Assigned, table: LoadedTable, name: TableName) -> Written:
    """Write the rows of ``assigned`` as data files of ``table``, which no snapshot holds yet."""
    name.catalog.check_writable(table)
    try:
        return write_rows(
            session.duck,
            assigned.sql,
            assigned.plan.variables,
            metadata=table.metadata,
            storage=name.catalog.storage(),
        )
    except duckdb.Error as error:
        raise _with_column(from_duckdb_error(error, assigned.plan), assigned.narrowed) from error
    except BergError as error:
        query = assigned.plan.query
        raise error.at(query.span if query is not None else None) from None


def _with_column(error: BergError, narrowed: Sequence[tuple[str, DataType]]) -> BergError:
    """An error of a value that does not fit into a type, with the name of the column that has the type, if one has."""
    found = re.fullmatch(r"(The value .+ does not fit into) (.+)\.", error.message)
    if found is None:
        return error
    columns = [f"'{name}'" for name, type_ in narrowed if _holds(type_, found[2])]
    if not columns:
        return error
    message = f"{found[1]} {found[2]} in column {' or '.join(columns)}."
    return BergError(error.code, message, span=error.span, hint=error.hint)


def _holds(type_: DataType, name: str) -> bool:
    """Whether the type, or a part of it, is called so."""
    return flink_name(type_) == name or any(_holds(c.type, name) for c in type_.children)


def _producer(session: Session, statement: st.Insert, assigned: Assigned, written: Written) -> Producer | None:
    """The change that the commit makes; None when there is nothing to commit."""
    if not statement.overwrite:
        # Spark records an INSERT of no rows as a snapshot, Flink does not.
        return Append(written.files) if written.files or session.flavour is Flavour.SPARK else None
    spark = session.flavour is Flavour.SPARK
    static = spark and session.setting("spark.sql.sources.partitionOverwriteMode") == "static"
    if static:
        if assigned.static:
            return OverwriteWhere(written.files, values=assigned.static)
        return OverwriteAll(written.files)
    if not written.files:
        return None
    return OverwritePartitions(written.files)


def outcome(written: Written, committed: Committed) -> list[str]:
    """What a commit did, in one line."""
    summary = committed.snapshot.summary
    rows, files = written.rows, len(written.files)
    parts = [f"{_count(rows, 'row')} written in {_count(files, 'file')}"]
    removed = summary.get("deleted-data-files")
    if removed:
        parts.append(f"{_count(summary.get('deleted-records', '0'), 'row')} removed with {_count(removed, 'file')}")
    partitions = summary.get("changed-partition-count")
    if partitions and committed.table.metadata.spec.fields:
        parts.append(f"{_count(partitions, 'partition')} changed")
    return [", ".join(parts) + f"; snapshot {committed.snapshot.snapshot_id}."]


def _count(number: int | str, what: str) -> str:
    return f"{number} {what if str(number) == '1' else what + 's'}"


# --- the query made to fit --------------------------------------------------------------------------------------------


def assign_query(session: Session, statement: st.Insert, table: LoadedTable, name: TableName) -> Assigned:
    """Plan the query of an INSERT and cast its columns to the table's.

    :raises BergError: ARITY, TYPE or NOT_FOUND, at the place in the statement.
    """
    relations = SessionRelations(session)
    schema = table.metadata.schema
    static_sql = _static_values(session, statement, table)
    targets = _target_columns(session, statement, schema, static_sql, name)
    plan = plan_query(with_defaults(statement.query, targets), relations)
    sources = plan.columns
    static = _evaluated(session, static_sql, plan)
    _check_arity(statement, targets, sources, name)
    for i, (target, source) in enumerate(zip(targets, sources, strict=True)):
        if not can_assign(source.type, from_iceberg(target.type), session.flavour):
            raise _cannot_assign(session, target, source, statement, i)
    narrowed = [(t.name, from_iceberg(t.type), s.type) for t, s in zip(targets, sources, strict=True)]
    return Assigned(
        _stored_sql(session, plan, schema, targets, static_sql),
        plan,
        static,
        tuple((name, to) for name, to, source in narrowed if source not in (to, NULL)),
    )


def stored(session: Session, plan: QueryPlan, schema: Schema) -> Assigned:
    """A query whose columns are those of the table, in order: CREATE TABLE … AS made the one from the other."""
    return Assigned(_stored_sql(session, plan, schema, schema.fields, {}), plan, {})


def _stored_sql(
    session: Session, plan: QueryPlan, schema: Schema, targets: Sequence[NestedField], given: Mapping[str, str]
) -> str:
    """The table's columns in order: ``targets`` from the query's, ``given`` as they are, the rest their defaults."""
    context = Context(Planner(SessionRelations(session)), Scope(session.flavour), "a stored column")
    values = dict(given)
    for i, (target, source) in enumerate(zip(targets, plan.columns, strict=True)):
        values[target.name] = assign(f"c{i}", source.type, from_iceberg(target.type), context)
    items = [
        f"{values.get(f.name) or literal_sql(f.type, f.write_default)} AS {identifier(f.name)}" for f in schema.fields
    ]
    columns = ", ".join(f"c{i}" for i in range(len(plan.columns)))
    return f"SELECT {', '.join(items)} FROM ({plan.sql}) AS q({columns})"


def _evaluated(session: Session, static_sql: dict[str, str], plan: QueryPlan) -> dict[str, object]:
    """The values of PARTITION (…)."""
    if not static_sql:
        return {}
    cursor = session.duck.cursor()
    try:
        row = cursor.execute(f"SELECT {', '.join(static_sql.values())}").fetchall()[0]
    except duckdb.Error as error:
        raise from_duckdb_error(error, plan) from error
    finally:
        session.duck.done(cursor)
    return dict(zip(static_sql, row, strict=True))


def _static_values(session: Session, statement: st.Insert, table: LoadedTable) -> dict[str, str]:
    """SQL of the values that PARTITION (…) gives, cast to their columns, by column."""
    schema, spec = table.metadata.schema, table.metadata.spec
    partitioned = {schema.name_of(f.source_id): f for f in spec.fields if f.transform.kind is TransformKind.IDENTITY}
    values: dict[str, str] = {}
    for part in statement.partition:
        field = schema.find(part.column, case_sensitive=session.flavour is Flavour.FLINK)
        if field is None or schema.name_of(field.field_id) not in partitioned:
            raise BergError(
                ErrorCode.INVALID,
                f"PARTITION names '{part.column}', which is not a partition column of the table.",
                span=part.span,
                hint=did_you_mean(part.column, [n for n in partitioned if n])
                or "Hidden partitions (transforms) follow from the rows and cannot be named.",
            )
        if field.name in values:
            raise BergError(ErrorCode.INVALID, f"PARTITION names '{part.column}' twice.", span=part.span)
        if part.value is not None:
            values[field.name] = plan_expression(part.value, SessionRelations(session), from_iceberg(field.type))
    return values


def _target_columns(
    session: Session, statement: st.Insert, schema: Schema, static: dict[str, str], name: TableName
) -> list[NestedField]:
    """The columns that the query's columns go to, in the query's order."""
    open_columns = [f for f in schema.fields if f.name not in static]
    if statement.columns is None:
        return open_columns
    targets = []
    for column, span in zip(statement.columns, statement.column_spans, strict=True):
        field = next(
            (f for f in schema.fields if f.name == column or (_folds(session) and f.name.lower() == column.lower())),
            None,
        )
        if field is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Table {name} has no column '{column}'.",
                span=span,
                hint=did_you_mean(column, schema.names),
            )
        if field in targets or field.name in static:
            raise BergError(ErrorCode.INVALID, f"Column '{column}' gets two values.", span=span)
        targets.append(field)
    missing = [f for f in open_columns if f not in targets and f.write_default is None]
    required = [f.name for f in missing if f.required]
    if missing and (required or session.flavour is Flavour.SPARK):
        first = required[0] if required else missing[0].name
        why = "which is NOT NULL" if required else "and spark inserts whole rows"
        raise BergError(
            ErrorCode.ARITY,
            f"There is no value for column '{first}' of table {name}, {why}.",
            span=_list_span(statement),
            hint="Name every column, or SET 'sql.dialect' = 'flink'; which fills the rest with NULL."
            if not required
            else f"Add '{first}' to the column list.",
        )
    return targets


def _folds(session: Session) -> bool:
    return session.flavour is Flavour.SPARK


def _list_span(statement: st.Insert) -> Span:
    if not statement.column_spans:
        return statement.target.span
    return Span(statement.column_spans[0].start, statement.column_spans[-1].end)


def _check_arity(
    statement: st.Insert, targets: list[NestedField], sources: tuple[PlannedColumn, ...], name: TableName
) -> None:
    if len(targets) == len(sources):
        return
    too = "many" if len(sources) > len(targets) else "few"
    raise BergError(
        ErrorCode.ARITY,
        f"The query has too {too} columns for table {name}: {len(sources)}, not {len(targets)}.",
        span=statement.query.span,
        hint=f"Columns to fill: {', '.join(f.name for f in targets) or 'none'}.",
    )


def _cannot_assign(
    session: Session, target: NestedField, source: PlannedColumn, statement: st.Insert, position: int
) -> BergError:
    name = spark_name if session.flavour is Flavour.SPARK else flink_name
    wanted = name(from_iceberg(target.type))
    return BergError(
        ErrorCode.TYPE,
        f"Column {position + 1} of the query is {name(source.type)} and cannot be stored in '{target.name}', "
        f"which is {wanted}.",
        span=statement.query.span,
        hint=f"CAST(… AS {wanted}) converts it.",
    )


def explain_insert(session: Session, statement: st.Insert) -> list[str]:
    """The plan of an INSERT: what it would do to which table, and the plan of its query."""
    name, table = _target(session, statement)
    assigned = assign_query(session, statement, table, name)
    verb = "Overwrite" if statement.overwrite else "Append"
    return [f"{verb} {name}", *("  " + line for line in assigned.plan.explain())]
