"""Which state of a table a query reads: what AS OF, a name such as ``t.branch_b`` and the options of a hint ask for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.plan.calls import call_name
from bergsql.engine.plan.read_options import ReadOptions, long_of
from bergsql.engine.plan.relations import REFERENCE, is_branch
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import NUMBERS, STAMPS, TEXTS, DataType, Kind
from bergsql.engine.table import read_point
from bergsql.engine.table.read_point import ReadPoint

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context, Planner
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.plan.streaming_options import StreamingOptions
    from bergsql.engine.sql.statements import Option

NO_TIME = "This is not a time."
_EPOCH = datetime(1970, 1, 1)
_LONG = 1 << 63


# --- names ------------------------------------------------------------------------------------------------------------


def reference_point(metadata: TableMetadata, name: str, zone_name: str) -> ReadPoint:
    """The state that the last part of a name asks for. Raises NOT_FOUND, without a place."""
    found = REFERENCE.match(name)
    if found is None:
        raise BergError(ErrorCode.INTERNAL, f"'{name}' names no state of a table.")
    kind, reference, word, number = found.groups()
    if kind:
        return read_point.at_reference(metadata, reference, kind.lower())
    value = long_of(number)
    if word.lower() == "snapshot_id":
        if value is None:
            shown = number if len(number) <= 40 else f"{number[:40]}…"
            raise BergError(ErrorCode.NOT_FOUND, f"The table has no snapshot {shown}.")
        return read_point.at_snapshot(metadata, value)
    if value is None:
        raise BergError(ErrorCode.INVALID, NO_TIME, hint="It is in milliseconds since 1970, a number of 64 bits.")
    return read_point.as_of(metadata, value, shown_in(zone_name))


def shown_in(zone_name: str) -> Callable[[int], str]:
    """What writes a time in milliseconds as the clocks of a zone show it, so that AS OF reads it again."""
    from bergsql.engine.plan.times import from_utc, zone

    def text(millis: int) -> str:
        where = zone(zone_name)
        local = from_utc(_EPOCH + timedelta(milliseconds=millis), where) if where is not None else None
        return read_point.utc_text(millis) if local is None else local.isoformat(sep=" ", timespec="milliseconds")

    return text


# --- one state --------------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """One that says which state to read. ``is_branch``: it may be asked for what was appended lately."""

    text: str
    span: Span | None
    point: Callable[[], ReadPoint | None]
    is_branch: bool = False


def travelled(
    relation: IcebergRelation, version: exp.Expr | None, asked: ReadOptions, planner: Planner, span: Span | None
) -> IcebergRelation:
    """The table in the state that is asked for; ``span`` is its name.

    :raises BergError: at what asks: OPTION for a wrong option, INVALID where two ask for different states, NOT_FOUND
        for a state that there is not.
    """
    metadata = relation.table.metadata
    ways: list[_Way] = []
    if relation.reference is not None:
        ways.append(_Way(f"'{relation.reference}'", span, lambda: relation.point, is_branch(relation.reference)))
    if version is not None:
        place = span_of(version) or span
        ways.append(_Way(f"{version.name} AS OF", place, lambda: _at_version(version, metadata, planner, place)))
    for option in asked.states:
        at = _at_option(option, metadata, planner)
        ways.append(_Way(f"'{option.key}'", option.span, at, option.key == "branch"))
    if asked.stream is not None:
        _refuse_stream(relation, asked.stream, ways)
    increment = asked.increment[0] if asked.increment else None
    if increment is not None and relation.suffix is not None:
        message = f"The metadata table '{relation.suffix}' is read in one state."
        raise BergError(ErrorCode.INVALID, message, span=increment.span)
    if increment is not None and not all(way.is_branch for way in ways):
        ways.append(_Way(f"'{increment.key}'", increment.span, lambda: None))
    if len(ways) > 1:
        message = f"{ways[0].text} and {ways[1].text} both say which state of {relation.parts[-1]} to read."
        raise BergError(ErrorCode.INVALID, message, span=ways[1].span, hint="Leave one of them out.")
    if ways and relation.suffix is not None:
        from bergsql.engine.plan.metadata_tables import check_state

        check_state(relation, span)  # whatever the state is, which is not looked up then
    try:
        point = ways[0].point() if ways else relation.point
        if increment is not None:
            point = _appended(asked.increment, metadata, point)
    except BergError as error:
        raise error.at(increment.span if increment is not None else ways[0].span) from None
    return relation._replace(point=point)


def _refuse_stream(relation: IcebergRelation, stream: StreamingOptions, ways: Sequence[_Way]) -> None:
    """Refuse a stream of what never changes. The session's setting does not mean metadata tables."""
    if relation.suffix is not None and stream.span is not None:
        message = f"The metadata table '{relation.suffix}' is not read as a stream."
        raise BergError(ErrorCode.INVALID, message, span=stream.span)
    for way in ways:
        if relation.suffix is None and not way.is_branch:
            message = f"{way.text} asks for one state of {relation.parts[-1]}, and a stream reads on."
            hint = "'streaming' = 'false' reads the table once." if stream.span is None else None
            raise BergError(ErrorCode.INVALID, message, span=way.span, hint=hint)


def _at_option(option: Option, metadata: TableMetadata, planner: Planner) -> Callable[[], ReadPoint]:
    value = option.value
    match option.key:
        case "snapshot-id":
            return lambda: read_point.at_snapshot(metadata, int(value))
        case "as-of-timestamp":
            return lambda: read_point.as_of(metadata, int(value), shown_in(planner.relations.time_zone))
    return lambda: read_point.at_reference(metadata, value, option.key)


# --- what was appended ------------------------------------------------------------------------------------------------


def _appended(options: tuple[Option, ...], metadata: TableMetadata, branch: ReadPoint | None) -> ReadPoint:
    """What was appended between two snapshots of ``branch`` (None: the table's)."""
    given = {o.key: o for o in options}
    ends: list[int | None] = []
    for word in ("start", "end"):
        by_id, by_tag = given.get(f"{word}-snapshot-id"), given.get(f"{word}-tag")
        if by_id is not None and by_tag is not None:
            message = f"'{by_id.key}' and '{by_tag.key}' both say where to {word}."
            raise BergError(ErrorCode.INVALID, message, span=by_tag.span, hint="Leave one of them out.")
        ends.append(_snapshot_id(by_id or by_tag, metadata))
    start, end = ends
    if branch is not None:
        head = branch.snapshot
        if end is None and head is not None:
            end = head.snapshot_id
        elif end is not None and all(s.snapshot_id != end for s in read_point.ancestors(metadata, head)):
            option = given.get("end-snapshot-id") or given["end-tag"]
            raise BergError(ErrorCode.INVALID, f"Snapshot {end} is not on the branch that is read.", span=option.span)
    if start is not None and start == end:
        last = given.get("end-snapshot-id") or given.get("end-tag")
        if last is not None:  # without an end: nothing came since
            message = f"Snapshot {start} is both the start and the end: nothing is between them."
            hint = "The start is an ancestor of the end, and does not belong to what is read."
            raise BergError(ErrorCode.INVALID, message, span=last.span, hint=hint)
    return read_point.between(metadata, start, end)


def _snapshot_id(option: Option | None, metadata: TableMetadata) -> int | None:
    if option is None:
        return None
    if option.key.endswith("-snapshot-id"):
        return int(option.value)
    try:
        snapshot = read_point.at_reference(metadata, option.value, "tag").snapshot
    except BergError as error:
        raise error.at(option.span) from None
    return None if snapshot is None else snapshot.snapshot_id


# --- AS OF ------------------------------------------------------------------------------------------------------------


def _at_version(version: exp.Expr, metadata: TableMetadata, planner: Planner, span: Span | None) -> ReadPoint:
    if version.args.get("kind") != "AS OF":
        message = f"A table is read as of one time, not {version.args.get('kind')} times."
        raise BergError(ErrorCode.INVALID, message, span=span, hint="FOR SYSTEM_TIME AS OF a time.")
    if version.name == "TIMESTAMP":
        millis = _millis(version.expression, planner)
        return read_point.as_of(metadata, millis, shown_in(planner.relations.time_zone))
    named = version.expression
    value = None if isinstance(named, exp.Column) else _constant(named, planner)[0].constant
    if isinstance(value, int) and not isinstance(value, bool):
        return read_point.at_snapshot(metadata, value)
    if not isinstance(value, str):
        hint = f"Write '{named.name}' in quotes." if isinstance(named, exp.Column) else None
        message = "VERSION AS OF takes the id of a snapshot, or the name of a branch or tag in quotes."
        raise BergError(ErrorCode.INVALID, message, span=span_of(named) or span, hint=hint)
    number = long_of(value)
    if number is not None and (value not in metadata.refs or metadata.snapshot(number) is not None):
        return read_point.at_snapshot(metadata, number)
    return read_point.at_reference(metadata, value, "snapshot, branch or tag")


def _constant(node: exp.Expr, planner: Planner) -> tuple[Bound, Context]:
    """What stands behind AS OF, bound in a planner of its own: it is no part of the query's SQL.

    :raises BergError: UNSUPPORTED where it names a column.
    """
    from bergsql.engine.plan.context import Context
    from bergsql.engine.plan.context import Planner as OtherPlanner
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.scope import Scope

    own = OtherPlanner(planner.relations)
    context = Context(own, Scope(own.flavour), "AS OF", aggregates_allowed=False, windows_allowed=False)
    try:
        return bind(node, context), context
    except BergError as error:
        if error.code is ErrorCode.NOT_FOUND and error.message.startswith("Column "):
            place = error.span or span_of(node)
            raise not_supported("AS OF a column", place, "A constant time can be read.") from None
        raise


def _millis(node: exp.Expr, planner: Planner) -> int:
    """A constant time in milliseconds since 1970, cut down: numbers are seconds, what has no zone is the session's."""
    _refuse_random(node)
    bound, context = _constant(node, planner)
    if re.search(r"\b(?:random|uuid)\(\)", re.sub("'[^']*'", "", bound.sql)):  # within a function of the session's
        raise _is_random(call_name(node) if isinstance(node, exp.Anonymous) else "this", span_of(node))
    kind = bound.type.kind
    if kind in NUMBERS:
        number = bound.constant if bound.is_constant else _evaluated(bound.sql, context)
        seconds = Decimal(str(number)) if number is not None else Decimal("NaN")
        if seconds.is_finite() and abs(seconds) < _LONG:
            millis = math.floor(seconds * 1000)
            if -_LONG <= millis < _LONG:
                return millis
    elif kind in TEXTS or kind in STAMPS or kind is Kind.DATE:
        from bergsql.engine.plan.casts import coerce

        instant = coerce(bound, DataType(Kind.TIMESTAMP_LTZ, precision=6), context, node)
        value = instant.constant
        if isinstance(value, datetime):
            return (value - _EPOCH) // timedelta(milliseconds=1)
        micros = None if value is None else _evaluated(f"epoch_us({instant.sql})", context)
        if isinstance(micros, int):
            return micros // 1000
    elif kind is Kind.NULL:
        if not bound.is_constant:
            _evaluated(bound.sql, context)  # raise_error() tells its own
    else:
        from bergsql.engine.plan.casts import type_text

        message = f"AS OF takes a time, not {type_text(bound.type, planner.flavour)}."
        raise BergError(ErrorCode.TYPE, message, span=span_of(node))
    raise BergError(ErrorCode.INVALID, NO_TIME, span=span_of(node), hint="'2024-01-31 12:00:00', say.")


_RANDOM = frozenset("rand random randn rand_integer randstr uniform uuid shuffle monotonically_increasing_id".split())


def _refuse_random(node: exp.Expr) -> None:
    """Refuse what gives another value each time, as Spark does. Raises INVALID."""
    for call in node.find_all(exp.Anonymous):
        if call_name(call).lower() in _RANDOM:
            raise _is_random(call_name(call), span_of(call))


def _is_random(name: str, span: Span | None) -> BergError:
    message = f"AS OF takes a time that is the same whenever it is asked for, and {name} is random."
    return BergError(ErrorCode.INVALID, message, span=span)


def _evaluated(sql: str, context: Context) -> object:
    """The value of SQL in which nothing is left open but the tables of its subqueries."""
    from bergsql.engine.plan.query import ready, variables_of

    filled, scans = ready(sql, context.planner)
    return context.planner.relations.evaluate(filled, variables_of(scans, context.planner))
