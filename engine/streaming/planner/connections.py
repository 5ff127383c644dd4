"""Tables that are followed as streams: an Iceberg table, a table of a connector with its watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.types import STAMPS
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import SourceNode, WatermarkNode
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.sql_columns import column_at, rewritten
from bergsql.engine.streaming.sources.base import Source

if TYPE_CHECKING:
    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.relations import ConnectorRelation, IcebergRelation, Relations
    from bergsql.engine.sql.statements import Option, TableHint, Watermark
    from bergsql.engine.streaming.planner.build import Building


def followed(relation: IcebergRelation, hints: Sequence[TableHint], relations: Relations, span: Span | None) -> Stream:
    """An Iceberg table as a stream of what comes to it."""
    from bergsql.engine.plan.read_options import read_options
    from bergsql.engine.streaming.planner.tables import source_stream
    from bergsql.engine.streaming.sources.iceberg import iceberg_source

    asked = read_options(hints, relations, span, relation.options)
    try:
        source = iceberg_source(relation, asked, relations)
    except BergError as error:
        raise error.at(span) from None
    stream = source_stream(source)
    column = asked.stream.watermark_column if asked.stream is not None else None
    return stream if column is None else _timed(stream, column)


def _timed(stream: Stream, name: str) -> Stream:
    """The stream with the column by which its source knows how far time is."""
    from dataclasses import replace

    def timed(columns: tuple[StreamColumn, ...]) -> tuple[StreamColumn, ...]:
        return tuple(
            c._replace(rowtime=True) if c.name.casefold() == name.casefold() and c.type.kind in STAMPS else c
            for c in columns
        )

    node = stream.node
    if not isinstance(node, SourceNode):
        node = replace(node, inputs=tuple(replace(i, columns=timed(i.columns)) for i in node.inputs))
    return Stream(replace(node, columns=timed(node.columns)))


def connected(relation: ConnectorRelation, hints: Sequence[Option], building: Building, span: Span | None) -> Stream:
    """A table of a connector: what it stores and tells of its rows, computed columns, and its watermark."""
    from bergsql.engine.plan.connectors import connector_items
    from bergsql.engine.plan.hints import check_enabled
    from bergsql.engine.streaming.planner.tables import source_stream

    check_enabled(hints, building.relations)
    if relation.source is None:
        raise BergError(ErrorCode.INVALID, f"{'.'.join(relation.parts)} cannot be read.", span=span)
    source = relation.source(hints, span)
    if not isinstance(source, Source):
        raise BergError(ErrorCode.INTERNAL, "The source of a connector is none of a stream.")
    stream = source_stream(source)
    items = connector_items(relation, building.planner)
    for item in items:
        if item.refusal is not None:
            raise item.refusal.at(span)
    columns = [
        (rewritten(i.sql, lambda _, n: f"i.c{n}"), StreamColumn(i.column.name, i.column.type, i.column.nullable))
        for i in items
    ]
    if [column_at(sql) for sql, _ in columns] != list(range(len(stream.columns))):
        stream = building.calc(stream, columns)
    definition = relation.definition
    if definition is None or definition.watermark is None:
        return stream
    return watermarked(stream, definition.watermark, relation, building, span)


def watermarked(
    stream: Stream, watermark: Watermark, relation: ConnectorRelation, building: Building, span: Span | None
) -> Stream:
    """The stream with a rowtime and the watermark that is declared for it."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.scope import Scope
    from bergsql.engine.streaming.planner.build import stage_of

    scope = Scope(building.relations.flavour)
    stage_of(stream, (relation.parts[-1],), scope)
    context = building.context(scope, "WATERMARK", aggregates=False, windows=False)
    at = next((n for n, c in enumerate(stream.columns) if scope.same(c.name, watermark.column)), None)
    if at is None or stream.columns[at].type.kind not in STAMPS:
        message = f"The WATERMARK of {'.'.join(relation.parts)} is for '{watermark.column}', which is no timestamp."
        raise BergError(ErrorCode.INVALID, message, span=span)
    try:
        bound = bind(watermark.expression.ast, context)
    except BergError as error:  # its place is in another statement
        message = f"The WATERMARK of {'.'.join(relation.parts)} cannot be computed: {error.message}"
        raise BergError(error.code, message, span=span, hint=error.hint) from None
    if bound.type.kind not in STAMPS:
        message = f"The WATERMARK of {'.'.join(relation.parts)} is no timestamp."
        raise BergError(ErrorCode.INVALID, message, span=span)
    below = stream.node
    made = WatermarkNode(
        uid="",
        inputs=(below,),
        columns=tuple(c._replace(rowtime=n == at) for n, c in enumerate(below.columns)),
        mode=below.mode,
        key=below.key,
        time=at,
        sql=bound.sql,
    )
    return Stream(made)
