"""Calls of functions that a person made: in Python, or with an expression as body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import name_span
from bergsql.engine.plan.casts import cast_hint, coerce
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.naming import call_text
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.sql_text import let_all
from bergsql.engine.plan.store_assignment import can_assign
from bergsql.engine.sql.functions.model import Special
from bergsql.engine.sql.type_names import duckdb_name, flink_name, spark_name

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.python_types import Signature
    from bergsql.engine.sql.statements.functions import CreateFunction
    from bergsql.engine.sql.types import DataType


def python_call(name: str, sql_name: str, signature: Signature) -> Special:
    """A function of DuckDB's that takes a struct of the arguments. It is called for each row, in no order.

    The struct holds how many arguments are given too: those behind them take their defaults in Python.
    """
    parameters = signature.parameters

    def bind_it(node: exp.Expr, context: Context) -> Bound:
        bound = _arguments(node, name, parameters, signature.required, context)
        left_out = [f"CAST(NULL AS {duckdb_name(type_)})" for type_ in parameters[len(bound) :]]
        members = "".join(f"a{i} := {sql}, " for i, sql in enumerate([*(b.sql for b in bound), *left_out]))
        text = call_text(name, [b.text for b in bound])
        return Bound.of(
            f"{sql_name}(struct_pack({members}given := {len(bound)}))",
            signature.result,
            text,
            *bound,
            nullable=True,
            volatile=True,
        )

    return Special(name, "fs", bind_it)


def sql_call(name: str, statement: CreateFunction, relations: Relations) -> Special:
    """A function whose body is an expression of its parameters, which means what it meant where it was made."""

    def bind_it(node: exp.Expr, context: Context) -> Bound:
        span = name_span(node)
        types = [p.type for p in statement.parameters]
        required = sum(p.default is None for p in statement.parameters)
        bound = _arguments(node, name, types, required, context)
        text = call_text(name, [b.text for b in bound])
        inside = _inside(context, relations)
        try:
            for parameter in statement.parameters[len(bound) :]:
                assert parameter.default is not None
                bound.append(coerce(bind(parameter.default.ast, inside), parameter.type, inside, None))
            result = _body(statement, bound, inside)
        except BergError as error:
            raise BergError(error.code, f"Function {name}: {error.message}", span=span, hint=error.hint) from None
        return replace(result, text=text, name=None)

    return Special(name, "fs", bind_it)


def _inside(context: Context, relations: Relations) -> Context:
    planner = context.planner.within(relations, ())
    return Context(planner, Scope(relations.flavour), "a function", aggregates_allowed=False, windows_allowed=False)


def _body(statement: CreateFunction, arguments: list[Bound], inside: Context) -> Bound:
    """The body with the arguments in the places of the parameters, each computed once."""
    assert statement.body is not None
    body = statement.body
    names = [inside.scope.fold(p.name) for p in statement.parameters]

    def bound_with(values: Sequence[str]) -> Bound:
        inside.variables = {
            key: replace(argument, sql=sql, name=None)
            for key, argument, sql in zip(names, arguments, values, strict=True)
        }
        bound = bind(body.ast, inside)
        return bound if statement.returns is None else coerce(bound, statement.returns, inside, None)

    result = bound_with([a.sql for a in arguments])
    if any(a.volatile for a in arguments):
        result = replace(result, sql=let_all([a.sql for a in arguments], lambda values: bound_with(values).sql))
    return result


def _arguments(node: exp.Expr, name: str, types: Sequence[DataType], required: int, context: Context) -> list[Bound]:
    """The arguments as the parameters' types."""
    given = node.expressions
    if not required <= len(given) <= len(types):
        wanted = str(len(types)) if required == len(types) else f"{required} to {len(types)}"
        raise BergError(
            ErrorCode.ARITY,
            f"Function {name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(given)}.",
            span=name_span(node),
        )
    shown = spark_name if context.spark else flink_name
    found = []
    for i, (argument, type_) in enumerate(zip(given, types, strict=False)):
        bound = bind(argument, context)
        if not can_assign(bound.type, type_, context.flavour):
            span: Span | None = name_span(argument)
            raise BergError(
                ErrorCode.TYPE,
                f"Argument {i + 1} of {name} is {shown(bound.type)}, not {shown(type_)}.",
                span=span,
                hint=cast_hint(bound.type, type_, context),
            )
        found.append(coerce(bound, type_, context, argument))
    return found
