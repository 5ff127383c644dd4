"""Whether a query runs as a stream: found from its tables alone, before anything is planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.from_clause import table_parts
from bergsql.engine.plan.relations import ConnectorRelation, ViewRelation
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import table_name_span
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.sources.base import Source

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import ReadableSource, Relation, Relations
    from bergsql.engine.sql.statements import Option, Query, TableHint

STREAMING = "connector.iceberg.streaming"
"""The setting that stands for the option ``streaming`` of every read."""


class _Read(NamedTuple):
    """A table that a query reads as a stream."""

    name: str
    span: Span | None
    why: str = "is read as a stream, which has no end"


def streams(query: Query, relations: Relations) -> bool:
    """As :func:`bergsql.engine.streaming.planner.is_unbounded`."""
    batch = relations.setting("execution.runtime-mode") == "batch"
    for read in _reads(query, relations):
        if not batch:
            return True
        raise BergError(
            ErrorCode.INVALID,
            f"Table {read.name} {read.why}, and 'execution.runtime-mode' is 'batch'.",
            span=read.span,
            hint="SET 'execution.runtime-mode' = 'streaming';",
        )
    return False


def _reads(query: Query, relations: Relations) -> Iterator[_Read]:
    """What is read as a stream, in the query and in the views that it reads."""
    own = {_folded(cte.args["alias"].name, relations) for cte in query.ast.find_all(exp.CTE)}
    every = relations.setting(STREAMING) == "true"
    for table in query.ast.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier | exp.Dot):
            yield from _read_in_call(table, query, relations, own, every=every)
            continue
        yield from _read_of(tuple(table_parts(table)), table_name_span(table), query.hints, relations, own, every)


def _read_in_call(
    table: exp.Table, query: Query, relations: Relations, own: set[str], *, every: bool
) -> Iterator[_Read]:
    """The tables that are arguments, as in TUMBLE(TABLE t, …)."""
    from bergsql.engine.sql.parser.query import span_of

    for call in table.this.find_all(exp.Anonymous):
        if str(call.this).upper() == "TABLE" and call.expressions and isinstance(call.expressions[0], exp.Column):
            column = call.expressions[0]
            parts = tuple(p.name for p in (column.args.get(k) for k in ("db", "table", "this")) if p is not None)
            yield from _read_of(parts, span_of(column), query.hints, relations, own, every)


def _read_of(
    parts: tuple[str, ...],
    span: Span | None,
    hints: tuple[TableHint, ...],
    relations: Relations,
    own: set[str],
    every: bool,
) -> Iterator[_Read]:
    if len(parts) == 1 and _folded(parts[0], relations) in own:
        return
    try:
        relation: Relation = relations.resolve(parts, span)
    except BergError:
        return  # told when the query is planned
    if isinstance(relation, ViewRelation):
        for read in _reads(relation.query, relation.relations):
            yield read._replace(span=span)
        return
    options = [o for h in hints if span is not None and h.after == span.end for o in h.options]
    name = ".".join(relation.parts)
    if isinstance(relation, ConnectorRelation):
        source = _source(relation, options, span)
        if source is not None and not source.bounded:
            yield _Read(name, span)
        elif isinstance(source, Source) and source.mode is not ChangelogMode.INSERT_ONLY:
            yield _Read(name, span, "gives changes of rows, which only a stream reads")
        return
    told = [o for o in (*relation.options, *options) if o.key == "streaming"]
    if relation.suffix is None and (told[-1].value.lower() == "true" if told else every):
        yield _Read(name, span)


def _source(relation: ConnectorRelation, options: list[Option], span: Span | None) -> ReadableSource | None:
    try:
        return relation.source(options, span) if relation.source is not None else None
    except BergError:
        return None  # told when the query is planned


def _folded(name: str, relations: Relations) -> str:
    return name if relations.flavour is Flavour.FLINK else name.casefold()
