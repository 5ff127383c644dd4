"""ROW_NUMBER() in a subquery with a condition on it around: Top-N and deduplication."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.resolve import resolve
from bergsql.engine.sql.types import BIGINT
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import RankNode
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stage, Stream
from bergsql.engine.streaming.planner.sql_columns import column_at, rewritten

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import SortKey
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.calls import Calls, OverUse
    from bergsql.engine.streaming.planner.queries import Ctes

_NUMBER = re.compile(r"(?:CAST\()?s\.c0(?: AS [A-Z]+\))?\Z")


class Numbering(NamedTuple):
    """A SELECT with ROW_NUMBER(): its input with keys as columns, and its items over ``i`` and ``s.c0``.

    ``conditions``, over the same, are what rows fulfil that have their numbers: they leave gaps.
    """

    input: Stream
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    items: tuple[tuple[str, StreamColumn], ...]
    use: OverUse
    conditions: tuple[str, ...] = ()


def numbering_of(
    stream: Stream, items: Sequence[tuple[str, StreamColumn]], calls: Calls, building: Building
) -> Stream | None:
    """The stream of a SELECT whose one window function is ROW_NUMBER(), as an item of its own."""
    from bergsql.engine.streaming.planner.ordering import sort_keys
    from bergsql.engine.streaming.planner.types_of import types_of

    if len(calls.overs) != 1 or calls.overs[0].call.duck != "row_number" or calls.overs[0].window.frame:
        return None
    if not any(_NUMBER.match(sql) for sql, _ in items):
        return None
    use = calls.overs[0]
    types = types_of(use.window.partition, stream.columns, building.relations)
    wanted = [(sql, StreamColumn("", t)) for sql, t in zip(use.window.partition, types, strict=True)]
    below, partition = building.with_columns(stream, wanted)
    below, order = sort_keys(below, use.window.order, building)
    numbering = Numbering(below, tuple(dict.fromkeys(partition)), order, tuple(items), use)
    return Stream(_Standing(numbering).node, None, numbering)


class _Standing:
    """The node that a numbering has until it is settled: it says which columns there are, and never runs."""

    def __init__(self, numbering: Numbering) -> None:
        below = numbering.input.node
        columns = []
        for sql, column in numbering.items:
            was = column_at(sql)
            if was is not None:
                source = below.columns[was]
                column = column._replace(rowtime=source.rowtime, proctime=source.proctime)
            columns.append(column)
        self.node = RankNode(
            uid="",
            inputs=(below,),
            columns=tuple(columns),
            mode=ChangelogMode.RETRACT,
            partition=numbering.partition,
            order=numbering.order,
            first=1,
            last=0,
            numbered=True,
        )


def projected(stream: Stream, items: Sequence[tuple[str, StreamColumn]]) -> Stream:
    """A plain SELECT over a numbering: its items in the place of those below."""
    numbering = stream.numbering
    if numbering is None:
        return stream
    above = numbering._replace(items=tuple((_within(sql, numbering), c) for sql, c in items))
    return Stream(_Standing(above).node, None, above)


def _within(sql: str, numbering: Numbering) -> str:
    """SQL over the columns of a numbering, as SQL over what it is made of."""
    inner = numbering.items
    return rewritten(sql, lambda s, n: inner[n][0] if s == "i" else f"{s}.c{n}")


def settle(stream: Stream, building: Building) -> Stream:
    """A numbering that no condition made a Top-N: a window function by time like others."""
    numbering = stream.numbering
    if stream.window is not None:
        from bergsql.engine.streaming.planner.windows import refuse_open_session

        refuse_open_session(stream.window)
    if numbering is None:
        return stream
    from bergsql.engine.streaming.planner.over import over

    below, places = over(numbering.input, [numbering.use], building)
    return _numbered(below, f"i.c{places[0]}", numbering, building)


def _numbered(stream: Stream, number: str, numbering: Numbering, building: Building) -> Stream:
    """The items of a numbering over a stream in which the number is there, as SQL."""

    def new(side: str, place: int) -> str:
        return number if side == "s" else f"{side}.c{place}"

    items = [(rewritten(sql, new), c) for sql, c in numbering.items]
    return building.calc(stream, items, [rewritten(sql, new) for sql in numbering.conditions])


# --- the condition around ---------------------------------------------------------------------------------------------


def ranked(stage: Stage, parts: list[exp.Expr], building: Building, ctes: Ctes) -> tuple[Stage, list[exp.Expr]]:
    """A numbering with the conditions on its number as a Top-N; the other conditions are left.

    Without a last number it stays a numbering, which a condition further out may make a Top-N.
    """
    numbering = stage.stream.numbering
    if numbering is None:
        return stage, parts
    limits, rest = _limits(parts, stage, numbering)
    if limits is not None:
        stage.stream = _top(numbering, *limits, building)
        return stage, rest
    from bergsql.engine.streaming.planner.conditions import bound_conditions
    from bergsql.engine.streaming.planner.drawn import is_drawn
    from bergsql.engine.streaming.planner.subqueries import holds_subquery

    if any(holds_subquery(part) for part in parts):
        stage.stream = settle(stage.stream, building)
        return stage, parts
    bound = bound_conditions(parts, stage, building, ctes)
    if any(is_drawn(sql) for sql in bound):
        stage.stream = settle(stage.stream, building)
        return stage, parts
    conditions = (*numbering.conditions, *(_within(sql, numbering) for sql in bound))
    made = numbering._replace(conditions=conditions)
    stage.stream = Stream(_Standing(made).node, None, made)
    return stage, []


def ranked_side(stage: Stage, parts: list[exp.Expr], building: Building) -> None:
    """A relation of a join as a Top-N, if it is a numbering and ``parts`` have conditions on its number.

    The conditions stay where they are. None is true of NULL: so a row that finds no partner any more, or one that had
    one that is left out now, does not pass them either.
    """
    numbering = stage.stream.numbering
    if numbering is not None:
        limits, _ = _limits(parts, stage, numbering)
        if limits is not None:
            stage.stream = _top(numbering, *limits, building)


def _limits(parts: list[exp.Expr], stage: Stage, numbering: Numbering) -> tuple[tuple[int, int] | None, list[exp.Expr]]:
    """The first and the last number that conditions let pass, None without a last; and the conditions beside them."""
    numbers = {n for n, (sql, _) in enumerate(numbering.items) if _NUMBER.match(sql)}
    first, last = 1, None
    rest: list[exp.Expr] = []
    for part in parts:
        bounds = _bounds(part, stage, numbers)
        if bounds is None:
            rest.append(part)
            continue
        first = max(first, bounds.first)
        if bounds.last is not None:
            last = bounds.last if last is None else min(last, bounds.last)
        if bounds.gaps:
            rest.append(part)
    if last is None:
        return None, parts
    if last < first:  # no number is both
        last = max(last, 1)
        first = last + 1
    return (first, last), rest


def _top(numbering: Numbering, first: int, last: int, building: Building) -> Stream:
    below = numbering.input.node
    width = len(below.columns)
    inserts = (
        only_inserts(below)
        and last == first == 1
        and bool(numbering.order)
        and below.columns[numbering.order[0].position].proctime
        and not numbering.order[0].descending
    )
    key: tuple[int, ...] | None = (*numbering.partition, width)
    if first == last:
        key = numbering.partition
    made = RankNode(
        uid="",
        inputs=(below,),
        columns=(*below.columns, StreamColumn("rank", BIGINT, False)),
        mode=ChangelogMode.INSERT_ONLY if inserts else ChangelogMode.RETRACT,
        key=key,
        partition=numbering.partition,
        order=numbering.order,
        first=first,
        last=last,
        numbered=True,
    )
    # One number is no column that is kept.
    number = f"CAST({first} AS BIGINT)" if first == last else f"i.c{width}"
    return _numbered(Stream(made), number, numbering, building)


class _Bounds(NamedTuple):
    """The first and the last number that a condition lets pass; ``gaps``: not all between them."""

    first: int
    last: int | None
    gaps: bool = False


_TURNED = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
}


def _bounds(node: exp.Expr, stage: Stage, numbers: set[int]) -> _Bounds | None:
    """What a condition on the number says, None for any other."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Between) and _is_number(node.this, stage, numbers):
        low, high = _literal(node.args["low"]), _literal(node.args["high"])
        if low is None or high is None or node.args.get("symmetric"):
            return None
        return _Bounds(max(low, 1), high)
    if isinstance(node, exp.In) and _is_number(node.this, stage, numbers):
        values = [_literal(each) for each in node.expressions]
        listed = [value for value in values if value is not None]
        if not listed or len(listed) < len(values):
            return None
        return _Bounds(max(min(listed), 1), max(listed), len(set(listed)) <= max(listed) - min(listed))
    kind = type(node)
    if kind not in _TURNED:
        return None
    left, right = node.this, node.expression
    if _is_number(right, stage, numbers):
        left, right, kind = right, left, _TURNED[kind]
    value = _literal(right)
    if value is None or not _is_number(left, stage, numbers):
        return None
    return {
        exp.EQ: _Bounds(max(value, 1), value),
        exp.NullSafeEQ: _Bounds(max(value, 1), value),
        exp.LT: _Bounds(1, value - 1),
        exp.LTE: _Bounds(1, value),
        exp.GT: _Bounds(value + 1, None),
        exp.GTE: _Bounds(max(value, 1), None),
    }[kind]


def _literal(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Literal) and not node.args.get("is_string") and str(node.this).isdigit():
        return int(str(node.this))
    return None


def _is_number(node: exp.Expr, stage: Stage, numbers: set[int]) -> bool:
    from bergsql.engine.plan.columns import name_parts

    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    try:
        bound, taken, _ = resolve(stage.scope, *name_parts(node))
    except BergError:
        return False
    return taken == len(name_parts(node)[0]) and column_at(bound.sql) in numbers


def unnumbered(node: RankNode) -> RankNode:
    """The same Top-N without its number, which nobody reads."""
    from dataclasses import replace as with_fields

    width = len(node.columns) - 1
    key = node.key if node.key is None or width not in node.key else node.inputs[0].key
    return with_fields(node, columns=node.columns[:-1], numbered=False, key=key)


# --- QUALIFY ----------------------------------------------------------------------------------------------------------


def without_qualify(node: exp.Expr) -> exp.Expr:
    """``SELECT … QUALIFY c`` as ``SELECT … FROM (SELECT …, the window functions of c) WHERE c``."""
    from bergsql.engine.plan.select import check_qualify

    qualify = node.args["qualify"]
    check_qualify(node, qualify)
    inner = node.copy()
    tail = {key: inner.args.get(key) for key in ("order", "limit", "offset")}
    for key in ("qualify", *tail):
        inner.set(key, None)
    condition = qualify.this.copy()
    holder = exp.Paren(this=condition)
    added: list[exp.Expr] = []
    aliases = {str(i.args["alias"].this) for i in node.expressions if isinstance(i, exp.Alias)}
    for n, window in enumerate(list(holder.find_all(exp.Window))):
        name = f"qualify${n}"
        added.append(exp.Alias(this=window.copy(), alias=exp.to_identifier(name, quoted=True)))
        window.replace(exp.column(exp.to_identifier(name, quoted=True)))
    for n, column in enumerate(list(holder.find_all(exp.Column))):
        if column.name not in aliases and not column.name.startswith("qualify$"):
            name = f"qualify$c{n}"
            added.append(exp.Alias(this=column.copy(), alias=exp.to_identifier(name, quoted=True)))
            column.replace(exp.column(exp.to_identifier(name, quoted=True)))
    inner.set("expressions", [*inner.expressions, *added])
    gone = [exp.to_identifier(a.alias, quoted=True) for a in added]
    star = exp.Star(except_=gone) if gone else exp.Star()
    outer = exp.select(star).from_(exp.Subquery(this=inner), copy=False)
    outer.set("where", exp.Where(this=holder))
    for key, value in tail.items():
        if value is not None:
            outer.set(key, value)
    return outer
