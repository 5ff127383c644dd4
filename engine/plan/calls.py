"""Function calls: found by name in the flavour's functions, their arguments bound and coerced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.engine.plan.arguments import fit_arguments
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.naming import call_text
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let_all, tries
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.model import Aggregate, Function, Scalar, Special
from bergsql.engine.sql.functions.registry import function_named, functions
from bergsql.engine.sql.parser.query import Place, span_of
from bergsql.engine.sql.types import NULL, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.sql.functions.model import Result


def bind_call(node: exp.Expr, context: Context) -> Bound:
    """A call as it was written: ``exp.Anonymous``."""
    return bind_function(call_name(node), node.expressions, node, context)


def call_name(node: exp.Expr) -> str:
    return str(node.this if isinstance(node.this, str) else node.this.name)


def name_span(node: exp.Expr) -> Span | None:
    """Where the name of a call stands: an error about the call points at it, not at all its arguments."""
    meta = node.meta
    return Span(meta["start"], meta["end"] + 1) if "start" in meta else span_of(node)


def find(name: str, context: Context, span: Span | None) -> Function:
    """The function of that name.

    :raises BergError: UNSUPPORTED when the engine has such a function; NOT_FOUND, with the nearest name as hint.
    """
    made = context.planner.relations.function
    found = made((name,), span, system=True) or function_named(name, context.flavour) or made((name,), span)
    if found is not None:
        return found
    from bergsql.engine.sql.functions.known_names import known

    key = name.lower()
    theirs = known(key, context.flavour) or known(key, Flavour.FLINK if context.spark else Flavour.SPARK)
    if theirs is None:
        message = f"There is no function '{name}' in the {context.flavour.value} dialect."
        hint = did_you_mean(name, functions(context.flavour))
        raise BergError(ErrorCode.NOT_FOUND, message, span=span, hint=hint)
    if not theirs.why:
        raise not_supported(f"The function {name.upper()}", span)
    message = f"The function {name.upper()} is not supported here: {theirs.why}."
    raise BergError(ErrorCode.UNSUPPORTED, message, span=span)


def bind_function(
    name: str, arguments: Sequence[exp.Expr], node: exp.Expr, context: Context, over: exp.Expr | None = None
) -> Bound:
    """A call of ``name``; ``over``: the window that follows it."""
    from bergsql.engine.plan.aggregate_calls import bind_aggregate

    span = name_span(node)
    function = find(name, context, span)
    if isinstance(function, Aggregate):
        return bind_aggregate(function, name, arguments, node, context, over)
    if over is not None:
        raise BergError(ErrorCode.INVALID, f"{name.upper()} is no window function: OVER cannot follow it.", span=span)
    if isinstance(function, Special):
        return function.bind(node, context)
    from bergsql.engine.plan.expressions import bind

    bound = [bind(a, context) for a in arguments]
    return apply_scalar(function, name, bound, context, span, arguments)


def apply_scalar(
    function: Scalar,
    name: str,
    bound: list[Bound],
    context: Context,
    span: Span | None,
    places: Sequence[Place] = (),
) -> Bound:
    """A scalar function of bound arguments."""
    volatile = function.volatile or any(b.volatile for b in bound)
    ready = fit_arguments(function.parameters, name, bound, context, span, places)
    result = _made(function, ready, context, span)
    if volatile and tries(result.sql):

        def tried(values: list[str]) -> str:
            plain = [replace(b, sql=v, volatile=False) for b, v in zip(ready, values, strict=True)]
            return _made(function, plain, context, span).sql

        result.sql = let_all([b.sql for b in ready], tried)
    result.text = result.text or call_text(name, [*(b.text for b in bound), *function.defaults[len(bound) :]])
    result.volatile = result.volatile or volatile
    result.fixed = bool(ready) and not volatile and all(b.fixed for b in ready)
    if any(images_of(b) for b in ready):
        from bergsql.engine.plan.monotone import attach_call

        attach_call(function.name.partition(" ")[0], result, ready, context)
    return result


def _made(function: Scalar, ready: list[Bound], context: Context, span: Span | None) -> Bound:
    if not callable(function.sql):
        return Bound(fill(function.sql, [b.sql for b in ready]), result_type(function.result, ready), "")
    try:
        made = function.sql(ready, context)
    except BergError as error:
        raise error.at(span) from None
    return made if isinstance(made, Bound) else Bound(made, result_type(function.result, ready), "")


def fill(template: str, arguments: Sequence[str]) -> str:
    """The template with its arguments. Their text is never looked at for marks of its own."""
    parts: list[str] = []
    rest = template
    while True:
        before, mark, after = rest.partition("{")
        parts.append(before)
        if not mark:
            return "".join(parts)
        key, _, rest = after.partition("}")
        parts.append(", ".join(arguments) if key == "*" else arguments[int(key)])


def result_type(result: Result, arguments: Sequence[Bound]) -> DataType:
    if isinstance(result, DataType):
        return result
    if isinstance(result, int):
        return arguments[result].type
    if callable(result):
        return result(arguments)
    return next((a.type for a in arguments if a.type.kind is not Kind.NULL), NULL)


# --- calls that have a node of their own ------------------------------------------------------------------------------

_NAMELESS: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentTime: "current_time",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentSchema: "current_schema",
}


def bind_special_call(node: exp.Expr, context: Context) -> Bound:
    """Calls that the grammar knows: windows, FILTER, EXTRACT, TRIM, CURRENT_DATE, dotted names."""
    from bergsql.engine.plan import aggregate_calls
    from bergsql.engine.plan.expressions import bind

    if type(node) in _NAMELESS:
        name = _NAMELESS[type(node)]
        result = bind_function(name, [], node, context)
        result.text = f"{name}()"
        return result
    if isinstance(node, exp.Window):
        return aggregate_calls.bind_window(node, context)
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        return aggregate_calls.bind_wrapped(node, context)
    if isinstance(node, exp.Extract):
        written = str(node.this.this if node.this is not None else "")
        unit = exp.Literal.string(written.upper())
        result = bind_function("extract", [unit, node.expression], node, context)
        result.text = f"extract({node.meta.get('unit', written)} FROM {bind(node.expression, context).text})"
        return result
    if isinstance(node, exp.Trim):
        return _bind_trim(node, context)
    return _bind_dotted(node, context)


def _bind_trim(node: exp.Expr, context: Context) -> Bound:
    """``TRIM(BOTH 'x' FROM y)``."""
    where = str(node.args.get("position") or "BOTH").upper()
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(where, "btrim")
    characters = node.args.get("expression")
    arguments = [node.this, *([characters] if characters is not None else [])]
    if context.spark and name != "btrim":  # there LTRIM and RTRIM as calls take the characters first
        arguments.reverse()
    result = bind_function(name, arguments, node, context)
    if characters is not None:
        from bergsql.engine.plan.expressions import bind

        result.text = f"TRIM({where} {bind(characters, context).text} FROM {bind(node.this, context).text})"
    return result


def _bind_dotted(node: exp.Expr, context: Context) -> Bound:
    """``catalog.system.bucket(16, x)``: the functions that Iceberg adds to a catalog."""
    call = node.expression
    names = [str(i.this) for i in node.this.find_all(exp.Identifier)]
    name = call_name(call)
    if names and names[-1].lower() == "system":
        function = function_named(f"system.{name}", context.flavour)
        if function is None:
            known = [k.removeprefix("system.") for k in functions(context.flavour) if k.startswith("system.")]
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"There is no function '{'.'.join([*names, name])}'.",
                span=name_span(call),
                hint=did_you_mean(name, known) or f"system has {', '.join(known)}.",
            )
        result = bind_function(f"system.{name}", call.expressions, call, context)
        result.text = result.text.replace("system.", f"{'.'.join(names)}.", 1)
        return result
    own = context.planner.relations.function((*names, name), span_of(call))
    if own is not None:
        return own.bind(call, context)
    raise BergError(ErrorCode.NOT_FOUND, f"There is no function '{'.'.join([*names, name])}'.", span=span_of(call))
