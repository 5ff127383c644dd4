"""Joins of streams: by equal columns, by time, with the version of a time, with a table as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.comparison import comparable, condition
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.join_clause import commas_last
from bergsql.engine.plan.joins import join_kind, merged_column, one_column
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.resolve import column_of
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import JoinKind, JoinNode
from bergsql.engine.streaming.planner.attributes import join_key, join_mode
from bergsql.engine.streaming.planner.build import Stage, Stream
from bergsql.engine.streaming.planner.calls import Calls
from bergsql.engine.streaming.planner.conditions import conjuncts_of
from bergsql.engine.streaming.planner.drawn import is_drawn
from bergsql.engine.streaming.planner.from_clause import plan_relation, settled
from bergsql.engine.streaming.planner.ranks import ranked_side
from bergsql.engine.streaming.planner.sql_columns import reads, rewritten

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.plan.scope import SourceColumn
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.queries import Ctes


class KeyPair(NamedTuple):
    """Two expressions that are equal: over ``l`` and over ``r``."""

    left: str
    right: str
    type: DataType
    null_safe: bool


class Conditions:
    """What a join asks of its rows."""

    def __init__(self) -> None:
        self.keys: list[KeyPair] = []
        self.left: list[str] = []
        self.right: list[str] = []
        self.both: list[str] = []
        self.nodes: list[exp.Expr] = []
        """The conditions of ``both`` as written: bounds of time are looked for there."""

    @property
    def condition(self) -> str | None:
        return " AND ".join(self.both) or None


def plan_joins(stage: Stage, joins: list[exp.Expr], building: Building, ctes: Ctes, where: list[exp.Expr]) -> Stage:
    """The stage joined to each of ``joins``; what of ``where`` holds before all of them is taken out and done first."""
    if not joins:
        return stage
    ordered = joins if building.planner.spark else commas_last(joins)
    all_of_where = list(where)
    ranked_side(stage, [*where, *_on(ordered[0], "INNER", "CROSS", "RIGHT", "SEMI")], building)
    stage = settled(stage, building)
    padded = any(str(j.args.get("side") or "").upper() in ("RIGHT", "FULL") for j in ordered)
    if where and not padded:
        _sink(stage, building, ctes, where)
    for number, join in enumerate(ordered):
        later = ordered[number + 1 :]
        free = not any(str(j.args.get("side") or "").upper() in ("RIGHT", "FULL") for j in later)
        stage = _join(stage, join, building, ctes, where if free else [], all_of_where)
    stage.point()
    return stage


def _sink(stage: Stage, building: Building, ctes: Ctes, where: list[exp.Expr]) -> None:
    """Filter the first relation by what of WHERE is about it alone."""
    from bergsql.engine.streaming.planner.subqueries import holds_subquery

    found: list[str] = []
    for part in list(where):
        sql = None if holds_subquery(part) else _tried(part, stage, building, ctes)
        if sql is not None:
            found.append(sql)
            where.remove(part)
    stage.stream = building.filtered(stage.stream, found)


def _tried(part: exp.Expr, stage: Stage, building: Building, ctes: Ctes) -> str | None:
    """A condition as SQL, if all it names is there already."""
    if part.find(exp.Column) is None:
        return None
    context = building.context(stage.scope, "WHERE", aggregates=False, windows=False)
    try:
        with building.taking(Calls(building, ctes)):
            bound = bind(part, context)
            return None if is_drawn(bound.sql) else condition(bound, context, part, "WHERE").sql
    except BergError:
        return None


def _on(join: exp.Expr, *kinds: str) -> list[exp.Expr]:
    """The conditions of ON, if the join is one of those of which they may be done before."""
    on = join.args.get("on")
    return conjuncts_of(on) if on is not None and join_kind(join) in kinds else []


def _join(
    stage: Stage,
    join: exp.Expr,
    building: Building,
    ctes: Ctes,
    where: list[exp.Expr],
    all_of_where: list[exp.Expr],
) -> Stage:
    """``where``: what this join may do and take out; ``all_of_where``: what its rows must fulfil in the end."""
    refuse_unknown_parts(join)
    if join.args.get("pivots"):
        raise not_supported("PIVOT in a stream", span_of(join.this))
    kind = join_kind(join)
    if kind.startswith("ASOF"):
        raise not_supported("ASOF JOIN in a stream", span_of(join.this))
    stage.point()
    stage.stream = building.cut(stage.stream, len(stage.columns))
    if _is_lateral(join.this):
        from bergsql.engine.streaming.planner.laterals import lateral_join

        return lateral_join(stage, join, kind, building)
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    if version is not None and version.name == "TIMESTAMP" and version.expression.find(exp.Column) is not None:
        from bergsql.engine.streaming.planner.temporal_joins import versioned_join

        return versioned_join(stage, join, kind, version, building, ctes)
    right = plan_relation(join.this, building, ctes)
    nested = join.this.args.get("joins") or []
    right = plan_joins(right, nested, building, ctes, [])
    shown = [] if kind in ("SEMI", "ANTI") else all_of_where
    ranked_side(right, [*shown, *_on(join, "INNER", "CROSS", "LEFT", "SEMI", "ANTI")], building)
    right = settled(right, building)
    right.stream = building.cut(right.stream, len(right.columns))
    found, scope_parts = joined_conditions(stage, right, join, kind, building, ctes, where)
    return finish(stage, right, kind, found, scope_parts, building)


def _is_lateral(node: exp.Expr) -> bool:
    if isinstance(node, exp.Unnest | exp.Lateral):
        return True
    call = node.this if isinstance(node, exp.Table) else None
    return isinstance(call, exp.Anonymous) and str(call.this).lower() in ("unnest", "explode", "posexplode", "inline")


class StarParts(NamedTuple):
    """What ``*`` stands for behind a join, None where that is all columns."""

    star: list[SourceColumn] | None
    merged: list[SourceColumn]


def joined_conditions(
    stage: Stage, right: Stage, join: exp.Expr, kind: str, building: Building, ctes: Ctes, where: list[exp.Expr]
) -> tuple[Conditions, StarParts]:
    """The conditions of ON, USING and NATURAL, and those of WHERE that an inner join does as well.

    The scope of ``stage`` has the columns of both sides then: those on the left are read from ``l``, the others from
    ``r``.
    """
    stage.point("l")
    right.point("r")
    scope = stage.scope
    left_shown, right_shown = scope.all_columns(), right.scope.all_columns()
    starred = scope.star is not None or right.scope.star is not None
    scope.adopt(right.scope)
    context = building.context(scope, "ON", aggregates=False, windows=False)
    found = Conditions()
    on, using = join.args.get("on"), list(join.args.get("using") or [])
    if join.args.get("method") == "NATURAL":
        names = {scope.fold(c.name) for c in left_shown}
        using = [exp.to_identifier(c.name) for c in right_shown if scope.fold(c.name) in names]
    star = [*left_shown, *right_shown] if starred else None
    merged: list[SourceColumn] = []
    if using:
        nodes = [u.this if isinstance(u, exp.Column) else u for u in using]
        merged, gone = _using(nodes, kind, left_shown, right_shown, found, context)
        rest = [c for c in [*left_shown, *right_shown] if not any(c is g for g in gone)]
        star = [*merged, *rest]
    parts = conjuncts_of(on) if on is not None else []
    classify(parts, kind, found, stage, building, ctes)
    if kind in ("CROSS", "INNER"):
        from bergsql.engine.streaming.planner.subqueries import holds_subquery

        for part in list(where):
            if not holds_subquery(part) and _tried(part, stage, building, ctes) is not None:
                classify([part], "INNER", found, stage, building, ctes, "WHERE")
                where.remove(part)
    return found, StarParts(star, merged)


def _using(
    names: list[exp.Expr],
    kind: str,
    left: list[SourceColumn],
    right: list[SourceColumn],
    found: Conditions,
    context: Context,
) -> tuple[list[SourceColumn], list[SourceColumn]]:
    """The columns that USING makes one, and those that they are made of."""
    merged: list[SourceColumn] = []
    gone: list[SourceColumn] = []
    for node in names:
        name = str(node.this)
        a, b = one_column(name, left, node, context.scope), one_column(name, right, node, context.scope)
        x, y = column_of(a, name), column_of(b, name)
        found.keys.append(_pair(x, y, exp.EQ(this=node, expression=node), context, null_safe=False))
        merged.append(merged_column(a, b, x, y, kind, context))
        gone += [a, b]
    return merged, gone


def _pair(a: Bound, b: Bound, node: exp.Expr, context: Context, *, null_safe: bool) -> KeyPair:
    from bergsql.engine.plan.casts import coerce

    a, b = comparable(a, b, context, node)
    if a.type != b.type:
        shared = context.common_type(a.type, b.type)
        if shared is not None:
            a, b = coerce(a, shared, context), coerce(b, shared, context)
    return KeyPair(a.sql, b.sql, a.type, null_safe)


def classify(
    parts: list[exp.Expr],
    kind: str,
    found: Conditions,
    stage: Stage,
    building: Building,
    ctes: Ctes,
    clause: str = "ON",
) -> None:
    """Each condition to where it is done: a key of both sides, a filter of one, or what pairs of rows must fulfil."""
    context = building.context(stage.scope, clause, aggregates=False, windows=False)
    calls = Calls(building, ctes)
    with building.taking(calls):
        for part in parts:
            pair = _equality(part, context)
            if pair is not None:
                found.keys.append(pair)
                continue
            sql = condition(bind(part, context), context, part, clause).sql
            sides = {side for side, _ in reads(sql)}
            if sides == {"l"} and kind in ("INNER", "CROSS", "RIGHT", "SEMI"):
                found.left.append(sql)
            elif sides == {"r"} and kind in ("INNER", "CROSS", "LEFT", "SEMI", "ANTI"):
                found.right.append(sql)
            else:
                found.both.append(sql)
                found.nodes.append(part)
    if calls.queries:
        raise not_supported(f"A subquery in {clause} of a stream's join", span_of(calls.queries[0].node))


def _equality(node: exp.Expr, context: Context) -> KeyPair | None:
    """The pair of keys that a condition is, if it compares one side with the other."""
    while isinstance(node, exp.Paren):
        node = node.this
    null_safe = isinstance(node, exp.NullSafeEQ)
    if not isinstance(node, exp.EQ | exp.NullSafeEQ):
        return None
    if isinstance(node.expression, exp.Any | exp.All | exp.Query):
        return None
    a, b = bind(node.this, context), bind(node.expression, context)
    sides = {s for s, _ in reads(a.sql)}, {s for s, _ in reads(b.sql)}
    if sides == ({"r"}, {"l"}):
        a, b = b, a
    elif sides != ({"l"}, {"r"}):
        return None
    return _pair(a, b, node, context, null_safe=null_safe)


# --- the node ---------------------------------------------------------------------------------------------------------


class Sides(NamedTuple):
    """Both inputs with their keys as columns; ``width`` are the columns of the left that the query knows."""

    left: Stream
    right: Stream
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    null_safe: tuple[bool, ...]


def sides_of(left: Stream, right: Stream, found: Conditions, building: Building) -> Sides:
    """Both sides filtered, with columns for keys that are computed."""
    left = building.filtered(left, [_as_input(c) for c in found.left])
    right = building.filtered(right, [_as_input(c) for c in found.right])
    left, left_keys = building.with_columns(left, [(_as_input(k.left), StreamColumn("", k.type)) for k in found.keys])
    right, right_keys = building.with_columns(
        right, [(_as_input(k.right), StreamColumn("", k.type)) for k in found.keys]
    )
    pairs: dict[tuple[int, int], bool] = {}
    for a, b, key in zip(left_keys, right_keys, found.keys, strict=True):
        pairs[a, b] = pairs.get((a, b), True) and key.null_safe
    return Sides(left, right, tuple(a for a, _ in pairs), tuple(b for _, b in pairs), tuple(pairs.values()))


def _as_input(sql: str) -> str:
    return rewritten(sql, lambda _, n: f"i.c{n}")


def joined_columns(left: Stream, right: Stream, kind: JoinKind, *, times: bool = False) -> tuple[StreamColumn, ...]:
    """The columns of both sides, nullable where rows without a partner have NULLs.

    Without ``times`` none is a rowtime any more: a join without bounds of time gives rows however late.
    """

    def made(column: StreamColumn, *, padded: bool) -> StreamColumn:
        return column._replace(
            nullable=column.nullable or padded, rowtime=column.rowtime and times, proctime=column.proctime and times
        )

    first = [made(c, padded=kind in (JoinKind.RIGHT, JoinKind.FULL)) for c in left.columns]
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return tuple(c._replace(nullable=o.nullable) for c, o in zip(first, left.columns, strict=True))
    return (*first, *(made(c, padded=kind in (JoinKind.LEFT, JoinKind.FULL)) for c in right.columns))


KINDS = {
    "CROSS": JoinKind.INNER,
    "INNER": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "SEMI": JoinKind.SEMI,
    "ANTI": JoinKind.ANTI,
}


def finish(stage: Stage, right: Stage, kind: str, found: Conditions, shown: StarParts, building: Building) -> Stage:
    """The stage behind the join: its columns are those of the node."""
    joined = KINDS[kind]
    from bergsql.engine.streaming.planner.interval_joins import interval_join

    sides = sides_of(stage.stream, right.stream, found, building)
    node = interval_join(stage, right, sides, joined, found, building) or make_join(sides, joined, found.condition)
    return placed(stage, right, Stream(node), len(sides.left.columns), joined, shown, building)


def make_join(sides: Sides, kind: JoinKind, condition_sql: str | None) -> JoinNode:
    left, right = sides.left.node, sides.right.node
    return JoinNode(
        uid="",
        inputs=(left, right),
        columns=joined_columns(sides.left, sides.right, kind),
        mode=join_mode(kind, left, right),
        key=join_key(kind, left, right, sides.left_keys, sides.right_keys),
        kind=kind,
        left_keys=sides.left_keys,
        right_keys=sides.right_keys,
        null_safe=sides.null_safe,
        condition=condition_sql,
    )


def placed(
    stage: Stage, right: Stage, stream: Stream, offset: int, kind: JoinKind, shown: StarParts, building: Building
) -> Stage:
    """The columns of both sides at their places behind a join; those that were made for it are dropped."""
    only_left = kind in (JoinKind.SEMI, JoinKind.ANTI)
    width = len(stage.columns)
    kept = list(range(width))
    columns = list(stage.columns)
    if not only_left:
        kept += [offset + n for n in range(len(right.columns))]
        columns += right.columns
    if kept != list(range(len(stream.columns))):
        stream = building.calc(stream, [(f"i.c{n}", stream.columns[n]) for n in kept])
    scope = stage.scope
    if only_left:
        scope.cut(len(scope.sources) - len(right.scope.sources))
    for column, made in zip(columns, stream.columns, strict=True):
        column.nullable = made.nullable
    computed = [*stage.computed, *right.computed, *(m for m in shown.merged if not any(m is c for c in columns))]
    for column in computed:
        column.sql = rewritten(column.sql, lambda s, n: f"i.c{width + n if s == 'r' else n}")
    if only_left:
        scope.star = shown.star[: len(shown.star) - len(right.scope.all_columns())] if shown.star else None
    else:
        scope.star = shown.star
        for column in shown.merged:
            scope.merged[scope.fold(column.name)] = column
    made_stage = Stage(scope, stream, columns, computed)
    made_stage.point()
    return made_stage
