"""Functions that take a lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import type_text
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.model import Function, Special
from bergsql.engine.sql.types import BOOLEAN, INT, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parts(node: exp.Expr, context: Context, name: str) -> tuple[Bound, exp.Expr]:
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Lambda):
        raise BergError(
            ErrorCode.ARITY, f"{name.upper()} takes an array and a lambda, as in x -> x + 1.", span=span_of(node)
        )
    array = bind(node.expressions[0], context)
    if array.type.kind is not Kind.ARRAY:
        what = type_text(array.type, context.flavour)
        raise type_error(f"{name.upper()} takes an array here, not {what}.", span_of(node.expressions[0]))
    return array, node.expressions[1]


_ELEMENT = "{0}"
_INDEX = "CAST({0} - 1 AS INTEGER)"  # DuckDB counts from 1


def _body(function: exp.Expr, variables: Sequence[tuple[DataType, str]], context: Context) -> tuple[list[str], Bound]:
    """The names of the lambda's variables in DuckDB, and its body.

    ``variables`` are their types, and how DuckDB's variable becomes what was written.
    """
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    names = [str(v.this) for v in function.expressions]
    if len(names) > len(variables):
        most = f"{len(variables)} {'variable' if len(variables) == 1 else 'variables'}"
        raise BergError(ErrorCode.ARITY, f"The lambda takes at most {most}.", span=span_of(function))
    known = dict(context.variables)
    duck: list[str] = []
    for name, (type_, template) in zip(names, variables, strict=False):
        sql = f"l{len(known)}_{len(duck)}"
        duck.append(sql)
        known[context.scope.fold(name)] = Bound(template.format(sql), type_, "namedlambdavariable()", name=name)
    return duck, bind(function.this, replace(context, variables=known))


def _transform(node: exp.Expr, context: Context) -> Bound:
    array, function = _parts(node, context, "transform")
    names, body = _body(function, ((array.type.children[0].type, _ELEMENT), (INT, _INDEX)), context)
    text = f"transform({array.text}, lambdafunction({body.text}, {', '.join('namedlambdavariable()' for _ in names)}))"
    sql = f"list_transform({array.sql}, lambda {', '.join(names)}: {body.sql})"
    return Bound.of(sql, array_of(body.type), text, array, body, nullable=array.nullable)


def _test(name: str, template: str, result: DataType | None) -> Callable[[exp.Expr, Context], Bound]:
    def made(node: exp.Expr, context: Context) -> Bound:
        from bergsql.engine.plan.comparison import condition

        array, function = _parts(node, context, name)
        names, body = _body(function, ((array.type.children[0].type, _ELEMENT),), context)
        body = condition(body, context, function.this, name.upper())
        text = f"{name}({array.text}, lambdafunction({body.text}, namedlambdavariable()))"
        sql = template.format(array.sql, f"lambda {names[0]}: {body.sql}")
        return Bound.of(sql, result or array.type, text, array, body, nullable=True)

    return made


def _explode(node: exp.Expr, context: Context) -> Bound:
    """A generator anywhere but as an item of SELECT, which items.py makes rows of."""
    from bergsql.engine.sql.parser.query import span_of

    name = str(node.this).upper()
    where = f"in {context.clause}" if context.clause != "SELECT" else "inside another expression"
    hint = "It stands alone in SELECT, or in FROM."
    raise BergError(
        ErrorCode.INVALID, f"{name} gives many rows: it cannot stand {where}.", span=span_of(node), hint=hint
    )


FUNCTIONS: tuple[Function, ...] = (
    Special("explode posexplode explode_outer posexplode_outer inline inline_outer stack json_tuple", "s", _explode),
    Special("transform", "s", _transform),
    Special("filter", "s", _test("filter", "list_filter({0}, {1})", None)),
    Special("exists", "s", _test("exists", "list_bool_or(list_transform({0}, {1}))", BOOLEAN)),
    Special("forall", "s", _test("forall", "list_bool_and(list_transform({0}, {1}))", BOOLEAN)),
)
