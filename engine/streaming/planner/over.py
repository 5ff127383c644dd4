"""OVER windows of a stream: by time ascending, over rows that only come."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.sql.functions.stream_times import PROCTIME_SQL
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import OverCall, OverNode
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.ordering import key_parts
from bergsql.engine.streaming.planner.sql_columns import column_at
from bergsql.engine.streaming.planner.types_of import types_of

if TYPE_CHECKING:
    from bergsql.engine.plan.calls_taken import TakenCall
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.calls import OverUse

_PRECEDING = re.compile(r"(ROWS|RANGE) BETWEEN (.+) PRECEDING AND CURRENT ROW\Z")
_INTERVAL = re.compile(r"\(to_days\((-?\d+)\) \+ to_microseconds\((-?\d+)\)\)")
_DAY = 86_400_000_000


def over(stream: Stream, uses: Sequence[OverUse], building: Building) -> tuple[Stream, list[int]]:
    """The stream with columns for window functions behind its own, and where they are."""
    places: list[int] = [0] * len(uses)
    groups: dict[object, list[int]] = {}
    for n, use in enumerate(uses):
        groups.setdefault(use.window, []).append(n)
    for numbers in groups.values():
        stream, added = _one_window(stream, [uses[n] for n in numbers], building)
        for n, place in zip(numbers, added, strict=True):
            places[n] = place
    return stream, places


def _one_window(stream: Stream, uses: list[OverUse], building: Building) -> tuple[Stream, list[int]]:
    first = uses[0]
    window, over_node = first.window, first.call.over
    place = span_of(over_node) or first.call.span
    if not only_inserts(stream.node):
        raise BergError(
            ErrorCode.INVALID,
            f"{first.call.name.upper()} OVER (…) takes rows that only come, and those of its input change.",
            span=first.call.span,
            hint="ROW_NUMBER() in a subquery with WHERE number <= n around it is a Top-N, which takes changes.",
        )
    if len(window.order) == 1 and key_parts(window.order[0])[0] == PROCTIME_SQL:
        column = StreamColumn("", DataType(Kind.TIMESTAMP_LTZ, 3), False)
        stream, (at,) = building.with_columns(stream, [(PROCTIME_SQL, column)])
        window = window._replace(order=(window.order[0].replace(PROCTIME_SQL, f"i.c{at}", 1),))
    time = _time(window.order, stream, place)
    types = types_of(window.partition, stream.columns, building.relations) if window.partition else []
    wanted = [(sql, StreamColumn("", t)) for sql, t in zip(window.partition, types, strict=True)]
    stream, partition = building.with_columns(stream, wanted)
    ranged, preceding, frame = _frame(first, place)
    calls = []
    for use in uses:
        _refuse_call(use.call)
        sql = call_sql(use.call)
        probe = sql if use.call.duck not in _RANKS else f"{sql} OVER ()"
        if use.call.duck in _NEED_OVER or use.call.duck in _ENDS:
            probe = f"{sql} OVER (ORDER BY 1)"
        type_ = types_of([probe], stream.columns, building.relations)[0]
        calls.append(OverCall(sql, frame, type_))
    below = stream.node
    made = OverNode(
        uid="",
        inputs=(below,),
        columns=(*below.columns, *(StreamColumn(u.call.name, c.type) for u, c in zip(uses, calls, strict=True))),
        mode=below.mode,
        key=below.key,
        partition=tuple(dict.fromkeys(partition)),
        time=time,
        calls=tuple(calls),
        ranged=ranged,
        preceding=preceding,
    )
    return Stream(made), list(range(len(below.columns), len(made.columns)))


_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_ENDS = frozenset({"first_value", "last_value"})
_NEED_OVER = frozenset({"lag", "lead", "nth_value", *_RANKS})


def _time(order: tuple[str, ...], stream: Stream, span: Span | None) -> int:
    if len(order) != 1:
        message = "OVER windows of a stream are ordered by one time attribute."
        raise BergError(ErrorCode.INVALID, message, span=span)
    sql, descending, _ = key_parts(order[0])
    at = column_at(sql)
    if at is None or not (stream.columns[at].rowtime or stream.columns[at].proctime):
        raise BergError(
            ErrorCode.INVALID,
            "OVER windows of a stream are ordered by a time attribute: a rowtime with a WATERMARK, or PROCTIME().",
            span=span,
            hint="ROW_NUMBER() in a subquery with WHERE number <= n around it is a Top-N, in any order.",
        )
    if descending:
        raise BergError(ErrorCode.INVALID, "OVER windows of a stream are ordered by time ascending.", span=span)
    return at


def _frame(use: OverUse, span: Span | None) -> tuple[bool, int | None, str]:
    """Whether the frame is a range, how far back it looks, and the frame in SQL."""
    frame = use.window.frame
    if use.call.duck in _NEED_OVER and not frame:
        if use.call.duck == "lag":
            return False, _offset(use.call), ""
        return False, None, ""
    if not frame:
        return True, None, "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    found = _PRECEDING.match(frame)
    if found is None:
        message = "Frames of a stream's OVER windows end at CURRENT ROW and begin at or before it."
        raise BergError(ErrorCode.INVALID, message, span=span)
    ranged = found[1] == "RANGE"
    if found[2] == "UNBOUNDED":
        return ranged, None, frame
    interval = _INTERVAL.search(found[2])
    if ranged and interval is not None:
        return True, int(interval[1]) * _DAY + int(interval[2]), frame
    if not ranged and found[2].strip().isdigit():
        return False, int(found[2]), frame
    raise BergError(ErrorCode.INVALID, "The length of a frame is a literal number of rows or interval.", span=span)


def _offset(call: TakenCall) -> int:
    if len(call.arguments) < 2:
        return 1
    return int(call.arguments[1]) if call.arguments[1].isdigit() else 1


def _refuse_call(call: TakenCall) -> None:
    if call.duck in ("lead", "percent_rank", "cume_dist", "ntile"):
        message = f"{call.name.upper()} needs rows that have not come yet: a stream cannot compute it."
        raise BergError(ErrorCode.INVALID, message, span=call.span)
    if call.distinct:
        raise not_supported(f"{call.name.upper()}(DISTINCT …) OVER (…) in a stream", call.span)


def call_sql(call: TakenCall) -> str:
    """The call as DuckDB has it, without OVER."""
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    order = f" ORDER BY {', '.join(call.order)}" if call.order else ""
    conditions = f" FILTER (WHERE {' AND '.join(call.conditions)})" if call.conditions else ""
    return f"{call.duck}({', '.join(call.arguments)}{order}{nulls}){conditions}"
