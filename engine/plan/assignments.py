"""``SET column = value, struct.field = value``: what UPDATE and MERGE store in the columns of a row.

As Spark aligns them (its ``AssignmentUtils``): a column or a field gets one value, and no part of it another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.types import NestedField, StructType
from bergsql.engine.plan.casts import cast_hint
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.resolve import METADATA_COLUMNS, ROW_LINEAGE, unknown_name
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.store_assignment import assign, can_assign
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.type_names import flink_name, from_iceberg, spark_name
from bergsql.engine.sql.types import NESTED, NULL, DataType
from bergsql.engine.table.projection import literal_sql

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context
    from bergsql.engine.plan.row_changes import Target
    from bergsql.engine.plan.scope import Source
    from bergsql.engine.sql.statements import Assignment

Path = tuple[int, ...]
"""The place of a column in its schema, then those of fields in their structs."""

Narrowed = tuple[tuple[str, DataType], ...]
"""Columns that take values of another type, which may not fit, with their own types: messages name them."""


Places = tuple[tuple[str, Span], ...]
"""Columns, or fields of them, that get a value which may be NULL or not fit, with the places of these values."""


class Stored(NamedTuple):
    """SQL of a table's columns in order, in the types that they are stored in."""

    columns: list[str]
    narrowed: Narrowed = ()
    places: Places = ()


class _Given(NamedTuple):
    """What is assigned: SQL of it as it is stored, and its name as it was written."""

    sql: str
    assignment: Assignment


def assigned_columns(
    assignments: Sequence[Assignment], target: Target, context: Context, schema: Schema | None = None
) -> Stored:
    """The columns that a row of the target has when ``assignments`` are made, those of ``schema``: by default the
    target's own; an evolved one has more, which are NULL where nothing is assigned to them.

    Names before ``=`` are the target's columns, values are bound in ``context``.

    :raises BergError: at the name of a column that is not there or is assigned twice; at a value that cannot be stored.
    """
    schema = schema or target.schema
    given: dict[Path, _Given] = {}
    narrowed: list[tuple[str, DataType]] = []
    places: list[tuple[str, Span]] = []
    for assignment in assignments:
        path, field = assigned_field(assignment, target.source, schema, context.flavour)
        _refuse_second(assignment, path, given)
        name = schema.name_of(field.field_id) or field.name
        if assignment.value is None:
            sql = default_value(field)
            places.append((name, assignment.value_span))
        else:
            bound = bind(assignment.value.ast, context)
            sql = stored_value(bound, field, str(assignment), context, assignment.value.span)
            note_place(bound, field, name, assignment.value_span, narrowed, places)
        given[path] = _Given(sql, assignment)
    own = {f.field_id: f for f in target.schema.fields}
    columns = []
    for i, field in enumerate(schema.fields):
        parts = {path[1:]: g.sql for path, g in given.items() if path[0] == i}
        if () in parts:
            columns.append(parts[()])
            continue
        there = own.get(field.field_id)
        old = target.column(there).sql if there is not None else _null(field)
        columns.append(_with_parts(field, old, parts))
    return Stored(columns, tuple(narrowed), tuple(places))


def note_place(
    value: Bound,
    field: NestedField,
    name: str,
    span: Span,
    narrowed: list[tuple[str, DataType]],
    places: list[tuple[str, Span]],
) -> None:
    """Remember where the value of the column called ``name`` stands, if it may be the fault of an error."""
    to = from_iceberg(field.type)
    is_narrowed = value.type not in (to, NULL)
    if is_narrowed:
        narrowed.append((name, to))
    if is_narrowed or value.nullable or to.kind in NESTED:
        places.append((name, span))


def assigned_field(
    assignment: Assignment, source: Source, schema: Schema, flavour: Flavour
) -> tuple[Path, NestedField]:
    """The column, or the field of one, that the name before ``=`` means: the target's own name may lead it."""
    scope = Scope(flavour)
    scope.add(source)
    parts, spans = assignment.parts, assignment.spans
    for taken in range(len(parts) - 1, 0, -1):
        if scope.source(parts[:taken]) and _named(schema.fields, parts[taken], flavour):
            parts, spans = parts[taken:], spans[taken:]
            break
    path: list[int] = []
    fields: Sequence[NestedField] = schema.fields
    for n, (part, span) in enumerate(zip(parts, spans, strict=True)):
        whole, place = ".".join(parts[: n + 1]), Span(spans[0].start, span.end)
        found = _named(fields, part, flavour)
        if not found:
            if part.casefold() in METADATA_COLUMNS | ROW_LINEAGE:
                message = f"'{part}' is a metadata column: it is only read."
                raise BergError(ErrorCode.INVALID, message, span=span)
            if n:
                raise unknown_name(whole, part, [f.name for f in fields], place, flavour)
            raise unknown_name(str(assignment), part, [f.name for f in fields], assignment.span, flavour)
        if len(found) > 1:
            names = " and ".join(f"'{fields[i].name}'" for i in found)
            raise BergError(ErrorCode.INVALID, f"'{whole}' is ambiguous: it may be {names}.", span=place)
        path.append(found[0])
        field = fields[found[0]]
        if n + 1 < len(parts):
            if not isinstance(field.type, StructType):
                kind = _type_name(from_iceberg(field.type), flavour)
                message = f"'{whole}' is {kind}: only fields of structs are assigned by themselves."
                raise BergError(ErrorCode.TYPE, message, span=place, hint=f"SET {whole} = … replaces it whole.")
            fields = field.type.fields
    return tuple(path), field


def _named(fields: Sequence[NestedField], name: str, flavour: Flavour) -> list[int]:
    """The fields that ``name`` may mean; in spark in any case, but one of just that name goes before."""
    same = [i for i, f in enumerate(fields) if f.name == name]
    if same or flavour is Flavour.FLINK:
        return same
    return [i for i, f in enumerate(fields) if f.name.casefold() == name.casefold()]


def _refuse_second(assignment: Assignment, path: Path, given: Mapping[Path, _Given]) -> None:
    for other, first in given.items():
        if other == path:
            raise BergError(ErrorCode.INVALID, f"'{assignment}' gets two values.", span=assignment.span)
        if other == path[: len(other)] or path == other[: len(path)]:
            message = f"'{assignment}' and '{first.assignment}' are assigned both: one is a part of the other."
            raise BergError(ErrorCode.INVALID, message, span=assignment.span)


def _with_parts(field: NestedField, old: str, parts: Mapping[Path, str]) -> str:
    """The value ``old`` of ``field`` with other values in the parts that ``parts`` tell."""
    if not parts:
        return old
    if () in parts:
        return parts[()]
    assert isinstance(field.type, StructType)
    inner = field.type.fields
    items = []
    for i, (name, child) in enumerate(zip(distinct_names(f.name for f in inner), inner, strict=True)):
        own = {path[1:]: sql for path, sql in parts.items() if path[0] == i}
        items.append(f"{identifier(name)} := {_with_parts(child, f'struct_extract_at({old}, {i + 1})', own)}")
    return f"struct_pack({', '.join(items)})"


def stored_value(bound: Bound, field: NestedField, name: str, context: Context, span: Span) -> str:
    """SQL of a value as it is stored in a column, or a field of one, that is called ``name``.

    :raises BergError: TYPE or NOT_FOUND at ``span`` where the flavour does not store it there.
    """
    sql, source, to = bound.sql, bound.type, from_iceberg(field.type)
    if context.spark and source.kind in NESTED:
        from bergsql.engine.plan.struct_names import by_name

        sql, source = by_name(sql, source, to, name, span)
    if not can_assign(source, to, context.flavour):
        wanted = _type_name(to, context.flavour)
        raise BergError(
            ErrorCode.TYPE,
            f"The value is {_type_name(source, context.flavour)} and cannot be stored in '{name}', which is {wanted}.",
            span=span,
            hint=cast_hint(source, to, context),
        )
    if source.kind in NESTED:
        return let(sql, lambda v: assign(v, source, to, context))
    return assign(sql, source, to, context)


def default_value(field: NestedField) -> str:
    """SQL of what DEFAULT is in a column: its default, or NULL."""
    return literal_sql(field.type, field.write_default)


def _null(field: NestedField) -> str:
    return literal_sql(field.type, None)


def _type_name(type_: DataType, flavour: Flavour) -> str:
    return spark_name(type_) if flavour is Flavour.SPARK else flink_name(type_)
