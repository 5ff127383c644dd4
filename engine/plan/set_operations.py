"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import images_of
from bergsql.engine.plan.casts import convert_sql, same_in_duckdb, type_text
from bergsql.engine.plan.coercion import common_type
from bergsql.engine.plan.context import BoundQuery, Context, Cte, OutputColumn, Planner, refuse_unordered, type_error
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import NULL

if TYPE_CHECKING:
    from bergsql.engine.plan.images import Image
    from bergsql.engine.sql.types import DataType

_WORDS = ((exp.Union, "UNION"), (exp.Except, "EXCEPT"), (exp.Intersect, "INTERSECT"))


def bind_set_operation(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """A chain of set operations; each column takes the type that all parts have in common."""
    from bergsql.engine.plan.ordering import with_tail
    from bergsql.engine.plan.select import bind_query

    spine: list[exp.Expr] = []
    at = node
    while isinstance(at, exp.SetOperation) and (at is node or not has_tail(at)):
        spine.append(at)
        at = at.this
    query = bind_query(at, planner, parent, ctes)
    for operation in reversed(spine):
        right_node = operation.expression
        right = bind_query(right_node, planner, parent, ctes)
        query = _combine(
            word_of(operation), query, right, right_node, planner, by_name=bool(operation.args.get("by_name"))
        )
    return with_tail(query, node, planner, ctes)


def has_tail(node: exp.Expr) -> bool:
    """Whether a side of a set operation is closed by what follows it."""
    return any(node.args.get(k) for k in ("order", "limit", "offset", "with_", "sort", "cluster"))


def word_of(node: exp.Expr) -> str:
    """UNION, UNION ALL, EXCEPT …"""
    for key, form in (("side", "An outer UNION"), ("kind", "UNION of that kind"), ("on", "UNION … ON")):
        if node.args.get(key):
            raise not_supported(form, span_of(node.expression))
    word = next(w for class_, w in _WORDS if isinstance(node, class_))
    return f"{word} ALL" if node.args.get("distinct") is False else word


def _combine(
    word: str, left: BoundQuery, right: BoundQuery, node: exp.Expr, planner: Planner, *, by_name: bool
) -> BoundQuery:
    if by_name:
        left, right = _by_name(left, right, node, planner)
    if len(left.columns) != len(right.columns):
        raise BergError(
            ErrorCode.ARITY,
            f"The two sides of {word.split()[0]} have {len(left.columns)} and {len(right.columns)} columns.",
            span=span_of(node),
        )
    columns: list[OutputColumn] = []
    for position, (a, b) in enumerate(zip(left.columns, right.columns, strict=True), start=1):
        shared = common_type(a.type, b.type, planner.flavour)
        if shared is None:
            x, y = type_text(a.type, planner.flavour), type_text(b.type, planner.flavour)
            raise type_error(
                f"Column {position} of {word.split()[0]} is {x} on one side and {y} on the other.",
                span_of(node),
                f"CAST(… AS {x}) makes them equal.",
            )
        if word != "UNION ALL":
            refuse_unordered(shared, Context(planner, Scope(planner.flavour)), node, word)
        columns.append(OutputColumn(a.name, shared, a.nullable or b.nullable, images=_images(a, b, shared, planner)))
    return BoundQuery(
        f"{_side(left, columns, planner)} {word} {_side(right, columns, planner)}", columns, left.outer + right.outer
    )


def _images(a: OutputColumn, b: OutputColumn, shared: DataType, planner: Planner) -> tuple[Image, ...]:
    """The columns of scans on both sides: what a filter wants of a row, it wants of the side that the row is from."""
    found: tuple[Image, ...] = ()
    for side in (a, b):
        images = images_of(side)
        if images and side.type != shared and not same_in_duckdb(side.type, shared):
            from bergsql.engine.plan.monotone import cast_images

            images = cast_images(images, side.type, shared, Context(planner, Scope(planner.flavour)))
        found += images
    return found


def _by_name(left: BoundQuery, right: BoundQuery, node: exp.Expr, planner: Planner) -> tuple[BoundQuery, BoundQuery]:
    """Both sides with the columns of both, in the order they are met; what one side lacks is NULL there."""
    scope = Scope(planner.flavour)
    columns: dict[str, OutputColumn] = {}
    for side in (left, right):
        seen: set[str] = set()
        for column in side.columns:
            key = scope.fold(column.name)
            if key in seen:
                message = f"BY NAME needs columns of different names: '{column.name}' is there twice."
                raise BergError(ErrorCode.INVALID, message, span=span_of(node))
            seen.add(key)
            columns.setdefault(key, column)
    return _arranged(left, columns, scope), _arranged(right, columns, scope)


def _arranged(query: BoundQuery, columns: dict[str, OutputColumn], scope: Scope) -> BoundQuery:
    places = {scope.fold(c.name): n for n, c in enumerate(query.columns)}
    items = ", ".join(f"c{places[key]}" if key in places else "NULL" for key in columns)
    made = [query.columns[places[key]] if key in places else OutputColumn(c.name, NULL) for key, c in columns.items()]
    names = ", ".join(f"c{n}" for n in range(len(query.columns)))
    return BoundQuery(f"SELECT {items} FROM ({query.sql}) AS q({names})", made, query.outer)


def _side(query: BoundQuery, columns: list[OutputColumn], planner: Planner) -> str:
    """One side, its columns cast where their type differs from the common one."""
    different = [
        c.type != q.type and not same_in_duckdb(q.type, c.type) for c, q in zip(columns, query.columns, strict=True)
    ]
    if not any(different):
        return f"({query.sql})"
    context = Context(planner, Scope(planner.flavour))
    names = [f"c{i}" for i in range(len(columns))]
    items = ", ".join(
        convert_sql(n, q.type, c.type, context) if d else n
        for n, q, c, d in zip(names, query.columns, columns, different, strict=True)
    )
    return f"(SELECT {items} FROM ({query.sql}) AS q({', '.join(names)}))"
