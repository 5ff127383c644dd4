"""ORDER BY, LIMIT and OFFSET of a stream: by time, or as a Top-N that changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.ordering import limit_sql
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import LimitNode, RankNode, SortKey, SortNode
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.types_of import types_of

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.streaming.planner.build import Building

_KEY = re.compile(r"(?s)(.*) (ASC|DESC) NULLS (FIRST|LAST)\Z")


def key_parts(key: str) -> tuple[str, bool, bool]:
    """SQL of a key of ORDER BY, whether it descends, and whether NULLs come first."""
    found = _KEY.match(key)
    if found is None:
        raise BergError(ErrorCode.INTERNAL, f"'{key}' is no key of ORDER BY.")
    return found[1], found[2] == "DESC", found[3] == "FIRST"


def sort_keys(stream: Stream, keys: Sequence[str], building: Building) -> tuple[Stream, tuple[SortKey, ...]]:
    """The keys as columns of the stream."""
    parts = [key_parts(k) for k in keys]
    types = types_of([p[0] for p in parts], stream.columns, building.relations)
    wanted = [(sql, StreamColumn("", t)) for (sql, _, _), t in zip(parts, types, strict=True)]
    stream, places = building.with_columns(stream, wanted)
    return stream, tuple(SortKey(n, d, f) for n, (_, d, f) in zip(places, parts, strict=True))


def bounds(node: exp.Expr, building: Building) -> tuple[int | None, int]:
    """How many rows LIMIT lets pass, None for all, and how many OFFSET skips."""
    sql = limit_sql(node, building.planner)
    if "%" in sql:
        raise not_supported("FETCH … PERCENT in a stream", span_of(node.args["limit"]))
    options = node.args["limit"].args.get("limit_options") if node.args.get("limit") is not None else None
    if options is not None and options.args.get("with_ties"):
        raise not_supported("WITH TIES in a stream", span_of(node.args["limit"]))
    limit = re.search(r" LIMIT (\d+)", sql)
    offset = re.search(r" OFFSET (\d+)", sql)
    return int(limit[1]) if limit else None, int(offset[1]) if offset else 0


def apply_tail(
    stream: Stream,
    items: Sequence[tuple[str, StreamColumn]],
    order: Sequence[str],
    node: exp.Expr,
    context: Context,
    building: Building,
    *,
    outermost: bool,
) -> Stream:
    """The items in order, as many as LIMIT lets pass. Keys of ``order`` are SQL over the stream, as the items are."""
    if not order and node.args.get("order") is not None:
        order = _keys_of_result(node, items, context)
    limit, offset = bounds(node, building)
    if not order or (limit is None and not offset and not outermost):
        made = building.calc(stream, items)
        return made if limit is None and not offset else _limited(made, limit, offset, node)
    projected = building.calc(stream, [*items, *_hidden(order, items, stream, building)])
    place = {sql: n for n, (sql, _) in reversed(list(enumerate([*items, *_hidden(order, items, stream, building)])))}
    keys = tuple(SortKey(place[s], d, f) for s, d, f in map(key_parts, order))
    if limit is None and not offset:
        return building.cut(_sorted(projected, keys, node), len(items))
    if limit is None:
        raise not_supported("OFFSET without LIMIT in a stream", span_of(node.args["offset"]))
    return building.cut(_top(projected, keys, offset + 1, offset + limit), len(items))


def _keys_of_result(node: exp.Expr, items: Sequence[tuple[str, StreamColumn]], context: Context) -> list[str]:
    from bergsql.engine.plan.aggregate_calls import order_key
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.ordering import ordinal

    keys: list[str] = []
    for key in node.args["order"].expressions:
        plain = key.this if isinstance(key, exp.Ordered) else key
        position = ordinal(plain, len(items), "ORDER BY")
        number = Bound(items[position][0], items[position][1].type, "") if position is not None else None
        keys.append(order_key(key, context, number)[0])
    return keys


def _hidden(
    order: Sequence[str], items: Sequence[tuple[str, StreamColumn]], stream: Stream, building: Building
) -> list[tuple[str, StreamColumn]]:
    """The keys that are no items."""
    known = {sql for sql, _ in items}
    extra = list(dict.fromkeys(sql for sql, _, _ in map(key_parts, order) if sql not in known))
    types = types_of(extra, stream.columns, building.relations) if extra else []
    return [(sql, StreamColumn("", t)) for sql, t in zip(extra, types, strict=True)]


def _limited(stream: Stream, limit: int | None, offset: int, node: exp.Expr) -> Stream:
    if limit is None:
        raise not_supported("OFFSET without LIMIT in a stream", span_of(node.args["offset"]))
    below = stream.node
    if not only_inserts(below):
        return _top(stream, (), offset + 1, offset + limit)
    made = LimitNode(
        uid="", inputs=(below,), columns=below.columns, mode=below.mode, key=below.key, count=limit, offset=offset
    )
    return Stream(made)


def _top(stream: Stream, keys: tuple[SortKey, ...], first: int, last: int) -> Stream:
    below = stream.node
    from bergsql.engine.streaming.changelog import ChangelogMode

    made = RankNode(
        uid="",
        inputs=(below,),
        columns=below.columns,
        mode=ChangelogMode.RETRACT,
        key=() if first == last else below.key,
        partition=(),
        order=keys,
        first=first,
        last=last,
        numbered=False,
    )
    return Stream(made)


def _sorted(stream: Stream, keys: tuple[SortKey, ...], node: exp.Expr) -> Stream:
    below = stream.node
    first = below.columns[keys[0].position]
    place = span_of(node.args["order"].expressions[0])
    if not (first.rowtime or first.proctime):
        raise BergError(
            ErrorCode.INVALID,
            "A stream is sorted by a time attribute first: its rows come without end.",
            span=place,
            hint="ORDER BY … LIMIT n keeps the first n as they change.",
        )
    if keys[0].descending:
        raise BergError(ErrorCode.INVALID, "A stream is sorted by time ascending.", span=place)
    if not only_inserts(below):
        message = "A stream whose rows change cannot be sorted by time."
        raise BergError(ErrorCode.INVALID, message, span=place, hint="ORDER BY … LIMIT n takes it.")
    if first.proctime:
        return stream
    made = SortNode(
        uid="",
        inputs=(below,),
        columns=below.columns,
        mode=below.mode,
        key=below.key,
        time=keys[0].position,
        order=keys[1:],
    )
    return Stream(made)
