"""The frame of a window: ``ROWS BETWEEN 2 PRECEDING AND CURRENT ROW``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import type_text
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INTEGERS, INTERVALS, NUMBERS, STAMPS, Kind


class _End(NamedTuple):
    """One end of a frame. ``rank`` is -2 (UNBOUNDED PRECEDING) to 2 (UNBOUNDED FOLLOWING), 0 for the row; ``size``
    is the written number with the sign of the rank, 0 where it is none."""

    sql: str
    rank: int
    size: int


def frame_sql(spec: exp.Expr, order: Sequence[exp.Expr], context: Context, place: Span | None) -> str:
    """The frame as SQL, which is Spark's text of it too. ``order`` is the ORDER BY of its window.

    :raises BergError: INVALID when it begins behind its end, TYPE when its size does not suit what it is measured in.
    """
    refuse_unknown_parts(spec)
    kind = str(spec.args.get("kind") or "ROWS").upper()
    start = _end(spec.args["start"], spec.args.get("start_side"), kind, order, context, place)
    end = _End("CURRENT ROW", 0, 0)
    if spec.args.get("end") is not None:
        end = _end(spec.args["end"], spec.args.get("end_side"), kind, order, context, place)
    elif kind == "GROUPS":
        return f"{kind} {start.sql}"
    if start[1:] > end[1:] or start.rank == 2 or end.rank == -2:
        message = f"A window's frame cannot run from {start.sql} to {end.sql}: it would begin behind its end."
        raise BergError(ErrorCode.INVALID, message, span=span_of(spec) or place)
    return f"{kind} BETWEEN {start.sql} AND {end.sql}"


def _end(
    value: exp.Expr | str, side: str | None, kind: str, order: Sequence[exp.Expr], context: Context, place: Span | None
) -> _End:
    if isinstance(value, exp.Var):
        value = str(value.this)
    sign = 1 if (side or "PRECEDING").upper() == "FOLLOWING" else -1
    if isinstance(value, str):
        word = value.upper()
        if word == "CURRENT ROW":
            return _End(word, 0, 0)
        return _End(f"{word} {(side or '').upper()}".strip(), 2 * sign, 0)
    bound = bind(value, context)
    where = span_of(value) or place
    if kind == "RANGE":
        _check_distance(bound, order, context, where)
    elif bound.type.kind not in INTEGERS:
        what = type_text(bound.type, context.flavour)
        raise type_error(f"{kind} of a window's frame are counted by a whole number, not by {what}.", where)
    elif not bound.is_constant:
        raise not_supported("A window's frame whose size is not a literal", where)
    size = bound.constant if isinstance(bound.constant, int) else 0
    if size < 0:
        raise BergError(ErrorCode.INVALID, "The size of a window's frame cannot be negative.", span=where)
    return _End(f"{bound.sql} {(side or 'PRECEDING').upper()}", sign, size * sign)


def _check_distance(distance: Bound, order: Sequence[exp.Expr], context: Context, place: Span | None) -> None:
    """RANGE reaches so far from the row's own value of the one ORDER BY key."""
    if len(order) != 1:
        raise BergError(ErrorCode.INVALID, "RANGE with a distance needs one ORDER BY key.", span=place)
    key = order[0].this if isinstance(order[0], exp.Ordered) else order[0]
    of, by = bind(key, context).type, distance.type
    if of.kind in NUMBERS and by.kind in NUMBERS:
        return
    if of.kind in STAMPS and by.kind in INTERVALS:
        return
    if of.kind is Kind.DATE and (by.kind in INTERVALS or by.kind in INTEGERS):
        return
    a, b = type_text(of, context.flavour), type_text(by, context.flavour)
    raise type_error(f"RANGE cannot measure {a} by {b}.", place)
