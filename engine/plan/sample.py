"""TABLESAMPLE behind a relation of FROM."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of

METHODS = ("BERNOULLI", "SYSTEM")


def sampled(node: exp.Expr, bind_relation: Callable[[], str], planner: Planner) -> str:
    """The relation, and what of it is taken: ``(10 PERCENT)``, ``(5 ROWS)``, ``(BUCKET 1 OUT OF 4)``, Flink's
    ``BERNOULLI (10)`` and ``SYSTEM (10)``; ``REPEATABLE (seed)``. Every row is drawn by itself, SYSTEM too."""
    refuse_unknown_parts(node)
    method = node.args.get("method")
    if method is not None and str(method.name).upper() not in METHODS:
        hint = did_you_mean(str(method.name), METHODS) or "BERNOULLI (10) takes each row by a chance of 10 percent."
        message = f"TABLESAMPLE knows no method '{method.name}'."
        raise BergError(ErrorCode.INVALID, message, span=span_of(node), hint=hint)
    context = Context(planner, Scope(planner.flavour), "TABLESAMPLE", aggregates_allowed=False, windows_allowed=False)
    size, percent = node.args.get("size"), node.args.get("percent")
    if method is not None and percent is None:
        size, percent = None, size
    if node.args.get("bucket_numerator") is not None:
        taken = f"bernoulli({_bucket(node, context)} PERCENT)"
    elif percent is not None:
        taken = f"bernoulli({_number(percent, context, 100)} PERCENT)"
    elif size is not None:
        taken = f"reservoir({_whole(size, context)} ROWS)"
    else:
        raise BergError(ErrorCode.SYNTAX, "TABLESAMPLE needs a size.", span=span_of(node), hint="(10 PERCENT), say.")
    seed = node.args.get("seed")
    repeatable = f" REPEATABLE ({_whole(seed, context)})" if seed is not None else ""
    before = len(planner.slots)
    sql = bind_relation()
    for slot in planner.slots[before:]:
        slot.sampled = True
    return f"{sql} TABLESAMPLE {taken}{repeatable}"


def _bucket(node: exp.Expr, context: Context) -> str:
    """``BUCKET 1 OUT OF 4`` takes a quarter, whichever."""
    part = _whole(node.args["bucket_numerator"], context)
    of = _whole(node.args["bucket_denominator"], context) if node.args.get("bucket_denominator") is not None else 0
    if not 1 <= part <= of:
        raise BergError(ErrorCode.INVALID, "BUCKET x OUT OF y needs an x from 1 to y.", span=span_of(node))
    return repr(100 / of)


def _number(node: exp.Expr, context: Context, most: int) -> str:
    bound = bind(node, context)
    try:
        value = float(str(bound.constant))
    except ValueError:
        value = -1.0
    if isinstance(bound.constant, bool) or not 0 <= value <= most:
        raise BergError(ErrorCode.INVALID, f"A percentage is a number from 0 to {most}.", span=span_of(node))
    return repr(value)


def _whole(node: exp.Expr, context: Context) -> int:
    value = bind(node, context).constant
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BergError(ErrorCode.INVALID, "TABLESAMPLE takes a whole number here.", span=span_of(node))
    return value
