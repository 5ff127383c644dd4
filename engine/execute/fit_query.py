"""A query made to fit the table that its rows go to: by position, by a column list or by name; with PARTITION (…)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.execute.constants import constants
from bergsql.engine.execute.default_word import all_defaults, with_defaults
from bergsql.engine.names import TableName
from bergsql.engine.plan.casts import cast_hint
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.query import PlannedColumn, QueryPlan, plan_expression, plan_query
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.store_assignment import assign, can_assign
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.type_names import flink_name, from_iceberg, spark_name
from bergsql.engine.sql.types import NULL, DataType
from bergsql.engine.table.projection import literal_sql

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


def assign_query(session: Session, statement: st.Insert, table: LoadedTable, name: TableName) -> Assigned:
    """Plan the query of an INSERT and cast its columns to the table's.

    :raises BergError: ARITY, TYPE or NOT_FOUND, at the place in the statement.
    """
    relations = SessionRelations(session)
    schema = table.metadata.schema
    static_sql = _static_values(session, statement, table)
    if statement.by_name:
        plan = plan_query(statement.query, relations)
        targets = _columns_by_name(session, statement, schema, static_sql, name, plan.columns)
        return fit(session, plan, schema, targets, statement.query, static_sql)
    targets = _target_columns(session, statement, schema, static_sql, name)
    query = (all_defaults if statement.defaults else with_defaults)(statement.query, targets)
    plan = plan_query(query, relations)
    _check_arity(statement, targets, plan.columns, name)
    return fit(session, plan, schema, targets, statement.query, static_sql)


def fit_stream(
    session: Session, statement: st.Insert, table: LoadedTable, name: TableName
) -> tuple[st.Query, Callable[[Sequence[PlannedColumn]], list[str]]]:
    """The query of an INSERT that streams, and what makes SQL of the table's columns of the query's columns, which it
    reads as ``i.c0`` and on.

    :raises BergError: ARITY, TYPE or NOT_FOUND, at the place in the statement; what it gives raises too.
    """
    schema = table.metadata.schema
    static_sql = _static_values(session, statement, table)
    query = statement.query
    fixed: list[NestedField] = []
    if not statement.by_name:
        fixed = _target_columns(session, statement, schema, static_sql, name)
        query = (all_defaults if statement.defaults else with_defaults)(query, fixed)

    def items(columns: Sequence[PlannedColumn]) -> list[str]:
        targets = fixed
        if statement.by_name:
            targets = _columns_by_name(session, statement, schema, static_sql, name, columns)
        else:
            _check_arity(statement, targets, columns, name)
        _check_types(session, columns, targets, statement.query)
        return list(_stored_items(session, columns, schema, targets, static_sql, "i.").values())

    return query, items


def fit(
    session: Session,
    plan: QueryPlan,
    schema: Schema,
    targets: Sequence[NestedField],
    query: st.Query,
    static_sql: Mapping[str, str],
) -> Assigned:
    """A planned query whose columns go to ``targets``, one by one; ``static_sql``: values of other columns.

    :raises BergError: TYPE, at the query.
    """
    _check_types(session, plan.columns, targets, query)
    narrowed = [(t.name, from_iceberg(t.type), s.type) for t, s in zip(targets, plan.columns, strict=True)]
    static = constants(session, list(static_sql.values()), plan) if static_sql else ()
    return Assigned(
        _stored_sql(session, plan, schema, targets, static_sql),
        plan,
        dict(zip(static_sql, static, strict=True)),
        tuple((name, to) for name, to, source in narrowed if source not in (to, NULL)),
    )


def _stored_sql(
    session: Session, plan: QueryPlan, schema: Schema, targets: Sequence[NestedField], given: Mapping[str, str]
) -> str:
    """The table's columns in order: ``targets`` from the query's, ``given`` as they are, the rest their defaults."""
    values = _stored_items(session, plan.columns, schema, targets, given)
    items = [f"{sql} AS {identifier(name)}" for name, sql in values.items()]
    columns = ", ".join(f"c{i}" for i in range(len(plan.columns)))
    return f"SELECT {', '.join(items)} FROM ({plan.sql}) AS q({columns})"


def _stored_items(
    session: Session,
    sources: Sequence[PlannedColumn],
    schema: Schema,
    targets: Sequence[NestedField],
    given: Mapping[str, str],
    prefix: str = "",
) -> dict[str, str]:
    """The values of the table's columns as SQL over the query's, by name and in order."""
    context = Context(Planner(SessionRelations(session)), Scope(session.flavour), "a stored column")
    values = dict(given)
    for i, (target, source) in enumerate(zip(targets, sources, strict=True)):
        values[target.name] = assign(f"{prefix}c{i}", source.type, from_iceberg(target.type), context)
    return {f.name: values.get(f.name) or literal_sql(f.type, f.write_default) for f in schema.fields}


def _check_types(
    session: Session, sources: Sequence[PlannedColumn], targets: Sequence[NestedField], query: st.Query
) -> None:
    for i, (target, source) in enumerate(zip(targets, sources, strict=True)):
        if not can_assign(source.type, from_iceberg(target.type), session.flavour):
            raise _cannot_assign(session, target, source, query, i)


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
            values[field.name] = _static_value(session, part, part.value, field)
    return values


def _static_value(session: Session, part: st.PartitionValue, value: st.Expression, field: NestedField) -> str:
    """SQL of a value cast to its column; a cast that gives NULL of something else is refused, as ANSI casts are."""
    relations, to = SessionRelations(session), from_iceberg(field.type)
    stored = plan_expression(value, relations, to)
    given, kept = constants(session, [plan_expression(value, relations), stored])
    if given is not None and kept is None:
        raise BergError(
            ErrorCode.EXECUTION,
            f"The value {value.text} is no {flink_name(to)} for column '{part.column}'.",
            span=part.span,
        )
    return stored


def _target_columns(
    session: Session, statement: st.Insert, schema: Schema, static: Mapping[str, str], name: TableName
) -> list[NestedField]:
    """The columns that the query's columns go to, in the query's order."""
    if statement.columns is None:
        return [f for f in schema.fields if f.name not in static]
    named = list(zip(statement.columns, statement.column_spans, strict=True))
    targets = _named_columns(session, named, schema, static, name)
    _check_whole(session, schema, targets, static, name, _list_span(statement))
    return targets


def _columns_by_name(
    session: Session,
    statement: st.Insert,
    schema: Schema,
    static: Mapping[str, str],
    name: TableName,
    sources: Sequence[PlannedColumn],
) -> list[NestedField]:
    """The columns that the query's columns go to BY NAME."""
    span = statement.query.span
    targets = _named_columns(session, [(source.name, span) for source in sources], schema, static, name)
    _check_whole(session, schema, targets, static, name, span)
    return targets


def _named_columns(
    session: Session,
    named: Sequence[tuple[str, Span]],
    schema: Schema,
    static: Mapping[str, str],
    name: TableName,
) -> list[NestedField]:
    targets: list[NestedField] = []
    for column, span in named:
        field = next(
            (f for f in schema.fields if f.name == column or (_folds(session) and f.name.lower() == column.lower())),
            None,
        )
        if field is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Table {name} has no column '{column}'.",
                span=span,
                hint=did_you_mean(column, schema.names) or f"It has {', '.join(schema.names)}.",
            )
        if field in targets or field.name in static:
            raise BergError(ErrorCode.INVALID, f"Column '{column}' gets two values.", span=span)
        targets.append(field)
    return targets


def _check_whole(
    session: Session,
    schema: Schema,
    targets: Sequence[NestedField],
    static: Mapping[str, str],
    name: TableName,
    span: Span,
) -> None:
    """Refuse to leave out a column that must have a value; in spark, any that has no default."""
    missing = [f for f in schema.fields if f not in targets and f.name not in static and f.write_default is None]
    required = [f.name for f in missing if f.required]
    if missing and (required or session.flavour is Flavour.SPARK):
        first = required[0] if required else missing[0].name
        why = "which is NOT NULL" if required else "and spark inserts whole rows"
        raise BergError(
            ErrorCode.ARITY,
            f"There is no value for column '{first}' of table {name}, {why}.",
            span=span,
            hint="Name every column, or SET 'sql.dialect' = 'flink'; which fills the rest with NULL."
            if not required
            else f"Add '{first}' to the columns.",
        )


def _folds(session: Session) -> bool:
    return session.flavour is Flavour.SPARK


def _list_span(statement: st.Insert) -> Span:
    if not statement.column_spans:
        return statement.target.span
    return Span(statement.column_spans[0].start, statement.column_spans[-1].end)


def _check_arity(
    statement: st.Insert, targets: list[NestedField], sources: Sequence[PlannedColumn], name: TableName
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
    session: Session, target: NestedField, source: PlannedColumn, query: st.Query, position: int
) -> BergError:
    name = spark_name if session.flavour is Flavour.SPARK else flink_name
    to = from_iceberg(target.type)
    context = Context(Planner(SessionRelations(session)), Scope(session.flavour), "a stored column")
    return BergError(
        ErrorCode.TYPE,
        f"Column {position + 1} of the query is {name(source.type)} and cannot be stored in '{target.name}', "
        f"which is {name(to)}.",
        span=query.span,
        hint=cast_hint(source.type, to, context),
    )
