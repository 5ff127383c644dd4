"""Iceberg tables as sources: read once, or as streams of what is appended to them or of all that changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH
from bergsql.engine.plan.read_options import ReadOptions
from bergsql.engine.plan.relations import is_branch

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog
    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.plan.streaming_options import StreamingOptions
    from bergsql.engine.streaming.sources.iceberg.source import IcebergSource

__all__ = ["iceberg_source"]


def iceberg_source(
    relation: IcebergRelation,
    options: Mapping[str, str] | ReadOptions,
    relations: Relations,
    catalog: Catalog | None = None,
) -> IcebergSource:
    """The source that reads a table as a stream, as its read options say.

    ``options`` are best as ``read_options`` gives them of the hints behind the table's name, whose places errors then
    tell; plain keys and values will do. ``relation`` is as the binder has it, at the state that is asked for, or as
    ``relations`` resolves the name. ``catalog`` is the relation's own if not given.

    :raises BergError: at the option, for what is wrong with it or is not there.
    """
    from bergsql.engine.plan.streaming_options import StreamingOptions
    from bergsql.engine.streaming.sources.iceberg.source import IcebergSource, IcebergTable
    from bergsql.engine.table.read_point import current

    asked = options if isinstance(options, ReadOptions) else _parsed(options, relations)
    stream = asked.stream or StreamingOptions()
    loaded, metadata = relation.table, relation.table.metadata
    where = catalog or relation.catalog
    if where is None or not loaded.metadata_location:
        message = f"Table {'.'.join(relation.parts)} is not there yet."
        raise BergError(ErrorCode.NOT_FOUND, message, hint="The first INSERT makes it.")
    table = IcebergTable(".".join(relation.parts), loaded.ident, where, relation.storage, metadata.table_uuid)
    _check_state(relation, stream)
    schema = (relation.point or current(metadata)).schema
    source = IcebergSource(
        table,
        schema,
        stream,
        _branch(relation, stream),
        asked.limit,
        frozenset(range(len(schema.fields))),
    )
    return _as_stream(source, stream, relation)


def _parsed(options: Mapping[str, str], relations: Relations) -> ReadOptions:
    """Read options without places."""
    from bergsql.engine.plan.read_options import read_options
    from bergsql.engine.sql.statements import Option, TableHint

    nowhere = Span(0, 0)
    given = tuple(Option(key, value, nowhere) for key, value in options.items())
    try:
        return read_options([TableHint(0, given, nowhere)] if given else [], relations, None)
    except BergError as error:
        error.span = None
        raise


def _branch(relation: IcebergRelation, stream: StreamingOptions) -> str:
    """The branch that is read: of an option, of the table's name, or of ``spark.wap.branch``."""
    if stream.branch is not None:
        return stream.branch.value
    point = relation.point
    if point is not None and point.reference.startswith("branch_"):
        return point.reference.removeprefix("branch_")
    return MAIN_BRANCH


def _check_state(relation: IcebergRelation, stream: StreamingOptions) -> None:
    """Refuse a stream of what never changes."""
    if relation.suffix is not None:
        message = f"The metadata table '{relation.suffix}' is not read as a stream."
        raise BergError(ErrorCode.INVALID, message, span=stream.span)
    reference = relation.reference
    if reference is not None and (not is_branch(reference) or stream.branch is not None):
        message = f"'{reference}' asks for one state of {relation.parts[-1]}, and a stream reads on."
        if is_branch(reference):
            message = f"'{reference}' and 'branch' both say which branch of {relation.parts[-1]} to read."
        place = stream.span if stream.branch is None else stream.branch.span
        raise BergError(ErrorCode.INVALID, message, span=place, hint="Leave one of them out.")


def _as_stream(source: IcebergSource, stream: StreamingOptions, relation: IcebergRelation) -> IcebergSource:
    """The source of a stream, once it is known that its options fit the table as it is now."""
    from dataclasses import replace

    from bergsql.engine.streaming.sources.iceberg.line import head_of, last_of, start_of, unread
    from bergsql.engine.streaming.sources.iceberg.rows import watermark_column

    metadata = relation.table.metadata
    place, last = start_of(metadata, source.branch, stream), last_of(metadata, stream)
    if stream.end is not None:
        ahead = unread(metadata, head_of(metadata, source.branch), place.after, source.name)
        if all(s.snapshot_id != last for s in ahead):
            message = f"The stream does not come to snapshot {last}: it is not behind the start on this branch."
            raise BergError(ErrorCode.INVALID, message, span=stream.end.span)
    watermarks = None
    if stream.watermark_column is not None:
        try:
            watermarks = watermark_column(
                source.schema, stream.watermark_column, stream.watermark_unit, case_sensitive=stream.case_sensitive
            )
        except BergError as error:
            raise error.at(stream.watermark_span) from None
    return replace(source, last=last, watermarks=watermarks)
