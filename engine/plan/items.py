"""The items of a SELECT: their values and the names of the result's columns."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.scope import SourceColumn
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import Kind


class Item:
    """A column of the result. ``aliased`` says that AS named it: only then may other clauses use the name."""

    __slots__ = ("aliased", "bound", "name")

    def __init__(self, name: str, bound: Bound, aliased: bool = False) -> None:
        self.name = name
        self.bound = bound
        self.aliased = aliased


def bind_items(nodes: list[exp.Expr], context: Context) -> list[Item]:
    """The items, stars expanded."""
    items: list[Item] = []
    for node in nodes:
        if is_star(node):
            items.extend(_expand(node, context))
            continue
        alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
        inner = node.this if isinstance(node, exp.Alias) else node
        bound = bind(inner, context)
        if alias is not None:
            item = Item(str(alias.this), bound, True)
            if context.spark:  # later items may use it, as in SELECT 1 AS a, a + 1
                context.aliases.setdefault(context.scope.fold(item.name), bound)
        else:
            item = Item(_name(inner, bound, len(items), context), bound)
        items.append(item)
    return items if context.spark else _made_unique(items)


def _name(node: exp.Expr, bound: Bound, position: int, context: Context) -> str:
    """The name of a column that AS does not name."""
    while isinstance(node, exp.Paren):
        node = node.this
    if bound.name is not None and isinstance(node, exp.Column | exp.Dot | exp.Identifier):
        return bound.name
    return bound.text if context.spark else f"EXPR${position}"


def _made_unique(items: list[Item]) -> list[Item]:
    """Flink numbers columns of the same name: ``id``, ``id0``."""
    counts: dict[str, int] = {}
    for item in items:
        name = item.name
        while name in counts:
            counts[item.name] += 1
            name = f"{item.name}{counts[item.name]}"
        item.name = name
        counts[name] = -1
    return items


# --- stars ------------------------------------------------------------------------------------------------------------


def is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _expand(node: exp.Expr, context: Context) -> list[Item]:
    star = node.this if isinstance(node, exp.Column) else node
    refuse_unknown_parts(star)
    scope = context.scope
    if isinstance(node, exp.Column):
        columns = _of_table(node, context) or _of_struct(node, context)
    else:
        columns = scope.all_columns()
        if not columns:
            raise BergError(ErrorCode.INVALID, "SELECT * needs a FROM.", span=span_of(node))
    columns = _without(columns, star, context)
    items = []
    for column in columns:
        bound = Bound(
            column.sql, column.type, column.name, nullable=column.nullable, name=column.name, origin=column.origin
        )
        context.planner.note_read(bound)
        if bound.sql not in context.group_keys:
            context.found.loose.append((column.name, span_of(node)))
        items.append(Item(column.name, bound))
    return items


def _of_table(node: exp.Expr, context: Context) -> list[SourceColumn]:
    from bergsql.engine.plan.columns import name_parts

    parts, spans = name_parts(node)
    parts, spans = parts[:-1], spans[:-1]
    sources = context.scope.source(parts)
    if sources or context.scope.columns(parts[0]):
        return [c for s in sources for c in s.columns]
    known = [s.names[-1] for s in context.scope.sources if s.names]
    first, last = spans[0], spans[-1]
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"FROM has no table '{'.'.join(parts)}'.",
        span=Span(first.start, last.end) if first and last else None,
        hint=did_you_mean(parts[-1], known) or (f"FROM names {', '.join(known)}." if known else None),
    )


def _of_struct(node: exp.Expr, context: Context) -> list[SourceColumn]:
    """``s.*``: the fields of a struct column."""
    from bergsql.engine.plan.columns import bind_name, name_parts
    from bergsql.engine.plan.resolve import field_of

    parts, spans = name_parts(node)
    bound = bind_name(parts[:-1], spans[:-1], context)
    fields = [field_of(bound, f.name, spans[-2], context.flavour) for f in bound.type.children]
    if bound.type.kind is not Kind.ROW:
        raise BergError(
            ErrorCode.TYPE, f"'{'.'.join(parts[:-1])}' is neither a table of FROM nor a struct.", span=spans[-2]
        )
    return [SourceColumn(f.name or "", f.sql, f.type, f.nullable, f.origin) for f in fields]


def _without(columns: list[SourceColumn], star: exp.Expr, context: Context) -> list[SourceColumn]:
    """``* EXCEPT (a, b)``."""
    excluded = star.args.get("except_") or star.args.get("except")
    if not excluded:
        return columns
    names = [str(e.this.this if isinstance(e, exp.Column) else e.this) for e in excluded]
    for name, node in zip(names, excluded, strict=True):
        if not any(context.scope.same(c.name, name) for c in columns):
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Column '{name}' was not found.",
                span=span_of(node),
                hint=did_you_mean(name, [c.name for c in columns]),
            )
    return [c for c in columns if not any(context.scope.same(c.name, n) for n in names)]
