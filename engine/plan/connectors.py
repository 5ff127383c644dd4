"""Connector tables: their columns, which are known though a table cannot be read (a view or an EXPLAIN needs them), and
the SQL that reads those that can."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound, Origin, images_of
from bergsql.engine.plan.casts import cast
from bergsql.engine.plan.context import Context, OutputColumn
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.sql.types import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.plan.relations import ConnectorRelation
    from bergsql.engine.sql.statements import ColumnDef, Option


class Item(NamedTuple):
    """A column of a connector table, and its value as SQL over the source ``s`` with the columns c0 and on."""

    column: OutputColumn
    sql: str
    refusal: BergError | None = None
    """Why a computed column cannot be computed."""


def connector_columns(relation: ConnectorRelation, planner: Planner) -> list[OutputColumn]:
    """Its columns in order, computed ones with the type of their expressions."""
    return [item.column for item in connector_items(relation, planner)]


def connector_items(relation: ConnectorRelation, planner: Planner, slot: int | None = None) -> list[Item]:
    """Its columns in order; the source gives those that are not computed. ``slot``: the scan that reads it."""
    given = [c for c in relation.columns if c.computed is None]
    keys = relation.definition.primary_key if relation.definition is not None else None
    in_key = keys.columns if keys is not None else ()
    scope = Scope(planner.flavour)
    stored, refusals = {}, {}
    for i, c in enumerate(given):
        sql, origin = f"s.c{i}", _origin(slot, c.name)
        try:
            sql, origin = (sql, origin) if (made := _as_declared(c, sql, relation, planner)) is None else (made, None)
        except BergError as error:
            refusals[c.name] = error
        stored[c.name] = SourceColumn(c.name, sql, c.type, c.nullable and c.name not in in_key, origin)
    scope.add(Source((relation.parts[-1],), list(stored.values())))
    items = [_item(c, stored.get(c.name), scope, planner) for c in relation.columns]
    return [i._replace(refusal=refusals.get(i.column.name, i.refusal)) for i in items]


def check_metadata(relation: ConnectorRelation, planner: Planner) -> None:
    """Refuse METADATA columns of types to which what the connector gives cannot be cast.

    :raises BergError: TYPE, at the column.
    """
    for column in relation.columns:
        try:
            _as_declared(column, "x", relation, planner)
        except BergError as error:
            raise error.at(column.span) from None


def _as_declared(column: ColumnDef, sql: str, relation: ConnectorRelation, planner: Planner) -> str | None:
    """SQL of metadata as the type that is declared, as an explicit CAST makes it; None where it is of that type."""
    known = relation.metadata.get(column.metadata) if column.metadata is not None else None
    if known is None or known.kind is column.type.kind:
        return None
    name = flink_name(known)
    context = Context(planner, Scope(planner.flavour), "a metadata column")
    try:
        return cast(Bound(sql, known, sql), column.type, context).sql
    except BergError as error:
        message = f"The metadata '{column.metadata}' is {name}, which cannot be cast to {flink_name(column.type)}."
        raise BergError(error.code, message, hint=f"Declare '{column.name}' {name} METADATA.") from None


def _origin(slot: int | None, name: str) -> Origin | None:
    return None if slot is None else Origin(slot, (name,))


def _item(column: ColumnDef, stored: SourceColumn | None, scope: Scope, planner: Planner) -> Item:
    if column.computed is None:
        assert stored is not None
        return Item(OutputColumn(column.name, column.type, column.nullable, stored.origin), stored.sql)
    try:
        bound = bind(column.computed.ast, Context(planner, scope, "a computed column"))
    except BergError as error:
        # Its definition was not checked when it was made; its use is.
        message = f"The computed column '{column.name}' cannot be read: {error.message}"
        refusal = BergError(error.code, message, hint=error.hint)
        return Item(OutputColumn(column.name, NULL, column.nullable), "NULL", refusal)
    return Item(OutputColumn(column.name, bound.type, column.nullable, images=images_of(bound)), bound.sql)


def read_connector(
    relation: ConnectorRelation, hints: Sequence[Option], planner: Planner, span: Span | None
) -> tuple[str, list[OutputColumn]]:
    """SQL of the rows of a connector table, and its columns. What is in the way of reading it is noted: the columns are
    known all the same."""
    number = planner.source_slot()
    items = connector_items(relation, planner, number)
    columns = [item.column for item in items]
    assert relation.source is not None
    refusal = None
    slot = planner.slots[number]
    try:
        source = slot.source = relation.source(hints, span)
        if not source.bounded:
            raise BergError(
                ErrorCode.INVALID,
                f"{'.'.join(relation.parts)} has no end: a batch cannot read it.",
                span=span,
                hint="SET 'execution.runtime-mode' = 'streaming'; reads it as it comes.",
            )
    except BergError as error:
        refusal = error
    refusal = refusal or next((item.refusal.at(span) for item in items if item.refusal is not None), None)
    if refusal is not None:
        planner.unreadable.append(refusal)
        return f"(SELECT {', '.join('NULL' for _ in columns)})", columns  # which never runs
    names = ", ".join(f"c{i}" for i, c in enumerate(c for c in relation.columns if c.computed is None))
    sql = f"(SELECT {', '.join(i.sql for i in items)} FROM {slot.mark} AS s({names}))"
    return sql, columns
