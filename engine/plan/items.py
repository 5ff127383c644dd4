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
    generator: exp.Expr | None = None
    for node in nodes:
        if is_star(node):
            items.extend(_expand(node, context))
            continue
        alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
        inner = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
        if is_generator(inner):
            _refuse_second(inner, generator)
            generator = inner
            items.extend(_generated(inner, node, context))
            continue
        if isinstance(node, exp.Aliases):
            raise BergError(
                ErrorCode.INVALID, "Only a generator such as EXPLODE has several names.", span=span_of(node)
            )
        bound = bind(inner, context)
        if alias is not None:
            item = Item(str(alias.this), bound, True)
            if context.spark:  # later items may use it, as in SELECT 1 AS a, a + 1
                context.aliases.setdefault(context.scope.fold(item.name), bound)
        else:
            item = Item(_name(inner, bound, len(items), context), bound)
        items.append(item)
    return items if context.spark else _made_unique(items)


def is_generator(node: exp.Expr) -> bool:
    """Whether an item gives many rows: one of Spark's generators, which both flavours know."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _GENERATORS


_GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple".split()
)


def _refuse_second(node: exp.Expr, first: exp.Expr | None) -> None:
    if first is not None:
        message = f"SELECT takes one generator, and {str(first.this).upper()} is there already."
        raise BergError(ErrorCode.INVALID, message, span=span_of(node), hint="LATERAL VIEW takes as many as you like.")


def _generated(call: exp.Expr, node: exp.Expr, context: Context) -> list[Item]:
    """The columns of a generator in SELECT."""
    from bergsql.engine.plan.generators import generated

    columns, lists = generated(call, context)
    names = [c.name for c in columns]
    if isinstance(node, exp.Alias):
        names = [str(node.args["alias"].this)]
    elif isinstance(node, exp.Aliases):
        names = [n.name for n in node.expressions]
    if len(names) != len(columns):
        message = f"{str(call.this).upper()} gives {len(columns)} columns, and {len(names)} are named."
        raise BergError(ErrorCode.ARITY, message, span=span_of(node), hint="AS (a, b) names two.")
    return [
        Item(n, Bound(f"unnest({sql})", c.type, n, c.nullable, volatile=True), node is not call)
        for n, c, sql in zip(names, columns, lists, strict=True)
    ]


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
    replaced = _replacements(star, columns, context)
    renamed = _renames(star, columns, context)
    items = []
    for column in columns:
        key = context.scope.fold(column.name)
        if key in replaced:
            items.append(Item(column.name, replaced[key], True))
            continue
        bound = Bound(
            column.sql, column.type, column.name, nullable=column.nullable, name=column.name, origin=column.origin
        )
        bound.images = column.images
        context.planner.note_read(bound)
        if bound.sql not in context.group_keys:
            context.found.loose.append((column.name, span_of(node)))
        else:
            bound = context.grouped(bound)
        items.append(Item(renamed.get(key, column.name), bound, key in renamed))
    return items


def _replacements(star: exp.Expr, columns: list[SourceColumn], context: Context) -> dict[str, Bound]:
    """``* REPLACE (a + 1 AS a)``: what stands in the place of a column, by its folded name."""
    found: dict[str, Bound] = {}
    for node in star.args.get("replace") or []:
        if not isinstance(node, exp.Alias):
            raise BergError(ErrorCode.SYNTAX, "REPLACE takes expressions with AS and a column.", span=span_of(node))
        name = node.args["alias"]
        found[_starred(str(name.this), columns, name, context)] = bind(node.this, context)
    return found


def _renames(star: exp.Expr, columns: list[SourceColumn], context: Context) -> dict[str, str]:
    """``* RENAME (a AS b)``: new names, by the folded old one."""
    found: dict[str, str] = {}
    for node in star.args.get("rename") or []:
        if not isinstance(node, exp.Alias) or not isinstance(node.this, exp.Column):
            raise BergError(ErrorCode.SYNTAX, "RENAME takes columns with AS and a name.", span=span_of(node))
        found[_starred(node.this.name, columns, node.this, context)] = str(node.args["alias"].this)
    return found


def _starred(name: str, columns: list[SourceColumn], node: exp.Expr, context: Context) -> str:
    """The folded name of a column that the star stands for.

    :raises BergError: NOT_FOUND.
    """
    if not any(context.scope.same(c.name, name) for c in columns):
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"Column '{name}' was not found.",
            span=span_of(node),
            hint=did_you_mean(name, [c.name for c in columns]),
        )
    return context.scope.fold(name)


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
        hint=did_you_mean(parts[-1], known) or (f"Tables here: {', '.join(known)}." if known else None),
    )


def _of_struct(node: exp.Expr, context: Context) -> list[SourceColumn]:
    """``s.*``: the fields of a struct column."""
    from bergsql.engine.plan.columns import bind_name, name_parts
    from bergsql.engine.plan.resolve import part_of

    parts, spans = name_parts(node)
    bound = bind_name(parts[:-1], spans[:-1], context)
    if bound.type.kind is not Kind.ROW:
        raise BergError(
            ErrorCode.TYPE, f"'{'.'.join(parts[:-1])}' is neither a table of FROM nor a struct.", span=spans[-2]
        )
    fields = [part_of(bound, i, f.name) for i, f in enumerate(bound.type.children)]
    return [SourceColumn(f.name or "", f.sql, f.type, f.nullable, f.origin, f.images) for f in fields]


def _without(columns: list[SourceColumn], star: exp.Expr, context: Context) -> list[SourceColumn]:
    """``* EXCEPT (a, b)``."""
    excluded = star.args.get("except_") or star.args.get("except")
    if not excluded:
        return columns
    names = {_starred(str(e.this.this if isinstance(e, exp.Column) else e.this), columns, e, context) for e in excluded}
    return [c for c in columns if context.scope.fold(c.name) not in names]
