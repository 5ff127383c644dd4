"""What the clauses of a MERGE write: a row of the target's columns for each row that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.plan.assignments import (
    Stored,
    assigned_columns,
    assigned_field,
    default_value,
    note_place,
    stored_value,
)
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.resolve import column_of
from bergsql.engine.sql.statements.merge import MergeAction

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.plan.context import Context
    from bergsql.engine.plan.merge_sides import Sides
    from bergsql.engine.sql.statements.merge import MergeClause
    from bergsql.engine.sql.types import DataType


def clause_row(clause: MergeClause, sides: Sides, context: Context, *, evolves: bool) -> Stored:
    """What a clause that updates or inserts writes. ``evolves``: ``*`` may do without columns of the target.

    :raises BergError: at the place of what is wrong.
    """
    if clause.star is not None:
        return _by_name(clause, clause.star, sides, context, evolves=evolves)
    if clause.action is MergeAction.UPDATE:
        return assigned_columns(clause.assignments, sides.merged_target, context)
    return _inserted(clause, sides, context)


def _by_name(clause: MergeClause, star: Span, sides: Sides, context: Context, *, evolves: bool) -> Stored:
    """``UPDATE SET *`` and ``INSERT *``: columns of the source that the target does not have are left out."""
    fold, target = context.scope.fold, sides.merged_target
    columns: list[str] = []
    narrowed: list[tuple[str, DataType]] = []
    places: list[tuple[str, Span]] = []
    for field in target.schema.fields:
        found = [c for c in sides.source_columns if fold(c.name) == fold(field.name)]
        if len(found) > 1:
            raise BergError(
                ErrorCode.INVALID,
                f"The source has column '{field.name}' more than once: * takes it by name.",
                span=star,
            )
        if found:
            value = column_of(found[0], found[0].name)
            context.planner.note_read(value)
            columns.append(stored_value(value, field, field.name, context, star))
            note_place(value, field, field.name, star, narrowed, places)
        elif not evolves:
            raise _not_in_source(field, sides, star)
        elif clause.action is MergeAction.UPDATE:
            columns.append(target.column(field).sql)
        else:
            columns.append(_left_out(field, star))
    return Stored(columns, tuple(narrowed), tuple(places))


def _not_in_source(field: NestedField, sides: Sides, star: Span) -> BergError:
    return BergError(
        ErrorCode.NOT_FOUND,
        f"* takes columns by name, and the source has no column '{field.name}'.",
        span=star,
        hint=did_you_mean(field.name, [c.name for c in sides.source_columns])
        or "Name the columns: UPDATE SET column = value, …; INSERT (column, …) VALUES (value, …).",
    )


def _inserted(clause: MergeClause, sides: Sides, context: Context) -> Stored:
    """``INSERT [(columns)] VALUES (…)``: the other columns get their defaults, or NULL."""
    fields = sides.target.schema.fields
    given = _places_in_order(clause, fields) if clause.is_positional else _places(clause, sides, context)
    columns: list[str] = []
    narrowed: list[tuple[str, DataType]] = []
    places: list[tuple[str, Span]] = []
    for i, field in enumerate(fields):
        if i not in given:
            columns.append(_left_out(field, clause.span))
            continue
        assignment = clause.assignments[given[i]]
        if assignment.value is None:
            columns.append(default_value(field))
            places.append((field.name, assignment.value_span))
            continue
        span = assignment.value.span
        try:
            value = bind(assignment.value.ast, context)
            columns.append(stored_value(value, field, field.name, context, span))
            note_place(value, field, field.name, span, narrowed, places)
        except BergError as error:
            raise error.at(span) from None
    return Stored(columns, tuple(narrowed), tuple(places))


def _places_in_order(clause: MergeClause, fields: Sequence[NestedField]) -> Mapping[int, int]:
    values = clause.assignments
    if len(values) != len(fields):
        raise BergError(
            ErrorCode.ARITY,
            f"INSERT gives {len(values)} {'value' if len(values) == 1 else 'values'}, the table has {len(fields)} "
            f"{'column' if len(fields) == 1 else 'columns'}.",
            span=Span(values[0].value_span.start, values[-1].value_span.end),
            hint="INSERT (column, …) VALUES (value, …) leaves columns out.",
        )
    return {i: i for i in range(len(fields))}


def _places(clause: MergeClause, sides: Sides, context: Context) -> Mapping[int, int]:
    """By the place of a column in the schema, that of its value."""
    places: dict[int, int] = {}
    for number, assignment in enumerate(clause.assignments):
        path, _ = assigned_field(assignment, sides.target.source, sides.target.schema, context.flavour)
        if len(path) > 1:
            raise BergError(
                ErrorCode.INVALID,
                f"INSERT fills whole columns: '{assignment}' is a field of one.",
                span=assignment.span,
                hint="named_struct(…) makes a struct of values, ROW(…) too.",
            )
        if path[0] in places:
            raise BergError(ErrorCode.INVALID, f"Column '{assignment}' gets two values.", span=assignment.span)
        places[path[0]] = number
    return places


def _left_out(field: NestedField, span: Span) -> str:
    """The value of a column that an INSERT says nothing of."""
    if field.required and field.write_default is None:
        raise BergError(ErrorCode.ARITY, f"There is no value for column '{field.name}', which is NOT NULL.", span=span)
    return default_value(field)
