"""Which expressions are monotonic images of a column: casts, arithmetic with a constant, and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from bergsql.engine.plan import steps, time_steps
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.images import DAY_MICROS, Image, Step
from bergsql.engine.plan.integers import BITS
from bergsql.engine.plan.known import constant_of
from bergsql.engine.plan.zones import fixed_offset
from bergsql.engine.sql.types import BINARIES, DATE, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_WIDE_DAY = 3 * 3_600_000_000
"""By how much a day of the session's clock may be longer or shorter than 24 hours."""


def attach(result: Bound, operand: Bound, *taken: Step) -> None:
    """Say that ``result`` is ``operand`` taken through the steps."""
    images = images_of(operand)
    for step in taken:
        images = tuple(i.then(step) for i in images)
    result.images = images


def tick_of(type_: DataType) -> int:
    """How many ticks of a timestamp's type are a microsecond; 0 for a DATE, which counts days."""
    return 0 if type_.kind is Kind.DATE else 1000 if type_.holds_nanoseconds else 1


# --- casts ------------------------------------------------------------------------------------------------------------


def attach_cast(result: Bound, operand: Bound, to: DataType, context: Context, *, safe: bool = False) -> None:
    result.images = cast_images(images_of(operand), operand.type, to, context, safe=safe)


def cast_images(
    images: Sequence[Image], source: DataType, to: DataType, context: Context, *, safe: bool = False
) -> tuple[Image, ...]:
    """The images of what is cast, behind the cast: none where it is not monotonic."""
    taken = cast_steps(source, to, context, safe=safe)
    if taken is None:
        return ()
    found = tuple(images)
    for step in taken:
        found = tuple(i.then(step) for i in found)
    return found


def cast_steps(source: DataType, to: DataType, context: Context, *, safe: bool) -> tuple[Step, ...] | None:
    a, b = source.kind, to.kind
    if a in INTEGERS:
        return _from_integer(source, to, safe=safe)
    if a is Kind.DECIMAL:
        return _from_decimal(source, to)
    if a in FLOATS:
        return _from_float(source, to, safe=safe)
    if a in (Kind.DATE, *STAMPS) and b in (Kind.DATE, *STAMPS):
        return _of_time(source, to, context.planner.relations.time_zone)
    if a is Kind.TIMESTAMP_LTZ and b is Kind.BIGINT and context.spark and not source.holds_nanoseconds:
        return (steps.indexed(lambda second: second * 1_000_000),)
    if (a in TEXTS and b in TEXTS and b is Kind.STRING) or (a in BINARIES and b is Kind.BYTES):
        return (steps.same(),)
    return None


def _from_integer(source: DataType, to: DataType, *, safe: bool) -> tuple[Step, ...] | None:
    if to.kind in INTEGERS:
        if BITS[source.kind] <= BITS[to.kind]:
            return (steps.same(),)
        return (steps.same(total=False),) if safe else None
    if to.kind is Kind.DECIMAL:
        return (steps.same(total=False),)
    if to.kind is Kind.DOUBLE:
        return (steps.near(relative=2.0**-50),) if source.kind is Kind.BIGINT else (steps.same(),)
    if to.kind is Kind.FLOAT:
        return (steps.near(relative=2.0**-21),)
    return None


def _from_decimal(source: DataType, to: DataType) -> tuple[Step, ...] | None:
    scale = source.scale or 0
    if to.kind is Kind.DECIMAL:
        kept = to.scale or 0
        return (steps.near(Decimal((0, (1,), -kept)) if kept < scale else 0, total=False),)
    if to.kind in FLOATS:
        return (steps.near(relative=2.0**-50 if to.kind is Kind.DOUBLE else 2.0**-21),)
    if to.kind in (Kind.INT, Kind.BIGINT) and (source.precision or 38) - scale <= (9 if to.kind is Kind.INT else 18):
        return (steps.cut(None),)
    return None


def _from_float(source: DataType, to: DataType, *, safe: bool) -> tuple[Step, ...] | None:
    if to.kind in FLOATS:
        return (steps.same(),) if to.kind is Kind.DOUBLE else (steps.near(relative=2.0**-21),)
    if to.kind in (Kind.INT, Kind.BIGINT):
        # Only within its type a value that is too large is NULL under TRY_CAST.
        return (steps.cut(BITS[to.kind], total=not safe, nan_is_zero=not safe),)
    if to.kind is Kind.DECIMAL:
        unit = Decimal((0, (1,), -(to.scale or 0)))
        relative = 2.0**-21 if source.kind is Kind.FLOAT else 2.0**-50
        return (steps.near(relative=relative, total=False), steps.near(unit, total=False))
    return None


def _of_time(source: DataType, to: DataType, zone_name: str) -> tuple[Step, ...] | None:
    """Between dates, timestamps and instants."""
    taken: list[Step] = []
    tick, wanted = tick_of(source), tick_of(to)
    if source.kind is Kind.DATE:
        tick = wanted or 1
        taken.append(time_steps.scaled(DAY_MICROS * tick, 1))
        if to.kind is Kind.TIMESTAMP_LTZ:
            taken.append(time_steps.instant(zone_name, tick))
        return tuple(taken)
    if source.kind is Kind.TIMESTAMP_LTZ and to.kind is not Kind.TIMESTAMP_LTZ:
        taken.append(time_steps.local(zone_name, tick))
    if source.kind is Kind.TIMESTAMP and to.kind is Kind.TIMESTAMP_LTZ:
        taken.append(time_steps.instant(zone_name, tick))
    if to.kind is Kind.DATE:
        return (*taken, time_steps.day_of(tick))
    if tick != wanted:
        taken.append(time_steps.scaled(wanted, tick, slack=1))
    if to.fractional_digits < min(source.fractional_digits, 9):
        unit = 10 ** (6 - min(to.fractional_digits, 6)) * wanted
        taken.append(_cut_ticks(unit))
    return tuple(taken)


def _cut_ticks(unit: int) -> Step:
    """Cut to a whole number of ``unit`` ticks."""
    return time_steps.moved(0, slack=unit)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def attach_integer(result: Bound, symbol: str, a: Bound, b: Bound, context: Context) -> None:
    """``a symbol b`` of two whole numbers of the result's type."""
    bits = BITS[result.type.kind]
    if images_of(a) and (number := _whole(b, context)) is not None:
        if symbol == "+":
            attach(result, a, steps.affine(1, number, bits))
        elif symbol == "-":
            attach(result, a, steps.affine(1, -number, bits))
        elif symbol in ("/", "div") and number > 0:
            attach(result, a, steps.divided(number))
    elif images_of(b) and symbol in "+-" and (number := _whole(a, context)) is not None:
        attach(result, b, steps.affine(1 if symbol == "+" else -1, number, bits))


def _whole(bound: Bound, context: Context) -> int | None:
    value = constant_of(bound, context) if bound.fixed else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def attach_float(result: Bound, symbol: str, a: Bound, b: Bound, context: Context) -> None:
    """``+`` and ``-`` of two numbers of the result's type, FLOAT or DOUBLE."""
    if symbol not in "+-":
        return
    single = result.type.kind is Kind.FLOAT
    operand, other = (a, b) if images_of(a) else (b, a)
    value = constant_of(other, context) if other.fixed and images_of(operand) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return
    if symbol == "+":
        attach(result, operand, steps.added(value, single=single))
    elif operand is a:
        attach(result, operand, steps.added(-value, single=single))
    else:
        attach(result, operand, steps.negated(), steps.added(value, single=single))


def attach_decimal(result: Bound, symbol: str, a: Bound, b: Bound, context: Context) -> None:
    """``+`` and ``-`` of two exact numbers, a DECIMAL among them."""
    if symbol not in "+-":
        return
    operand, other = (a, b) if images_of(a) else (b, a)
    value = constant_of(other, context) if other.fixed and images_of(operand) else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return
    sign = -1 if symbol == "-" and operand is b else 1
    offset = -Decimal(value) if symbol == "-" and operand is a else Decimal(value)
    attach(result, operand, steps.added_exactly(sign, offset, result.type.scale or 0))


def attach_negation(result: Bound, operand: Bound) -> None:
    kind = operand.type.kind
    if kind in INTEGERS:
        attach(result, operand, steps.affine(-1, 0, BITS[kind]))
    elif kind in FLOATS or kind is Kind.DECIMAL:
        attach(result, operand, steps.negated())


def attach_moved(result: Bound, symbol: str, a: Bound, interval: Bound, context: Context) -> None:
    """A date or timestamp and an interval; the result may be a TIMESTAMP of a DATE."""
    if not images_of(a) or not interval.fixed:
        return
    amount = constant_of(interval, context)
    sign = 1 if symbol == "+" else -1
    of_months = interval.type.kind is Kind.INTERVAL_YEAR_MONTH
    if of_months and isinstance(amount, int):
        taken = time_steps.moved_by_months(sign * amount, tick_of(a.type))
    elif not of_months and isinstance(amount, timedelta):
        micros = sign * (amount // timedelta(microseconds=1))
        if a.type.kind is Kind.DATE:
            # What is left of a day is cut off.
            taken = time_steps.moved(micros // DAY_MICROS, slack=1 if micros % DAY_MICROS else 0)
        else:
            tick = tick_of(a.type)
            taken = time_steps.moved(micros * tick, _slack(a, context) * tick)
    else:
        return
    attach(result, a, taken)


def _slack(a: Bound, context: Context) -> int:
    """How long a day of the session's clock may differ from 24 hours, for instants."""
    if a.type.kind is not Kind.TIMESTAMP_LTZ:
        return 0
    return 0 if fixed_offset(context.planner.relations.time_zone) is not None else _WIDE_DAY


_UNIT_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_UNIT_MICROS = {
    "week": 7 * DAY_MICROS,
    "day": DAY_MICROS,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}


def attach_units(result: Bound, value: Bound, amount: Bound, unit: str, context: Context) -> None:
    """TIMESTAMPADD: a date or timestamp some units later, of the same type."""
    number = _whole(amount, context) if images_of(value) and value.type.kind in (Kind.DATE, *STAMPS) else None
    if number is None or result.type.kind is not value.type.kind:
        return
    tick = tick_of(value.type)
    if unit in _UNIT_MONTHS:
        attach(result, value, time_steps.moved_by_months(number * _UNIT_MONTHS[unit], tick))
    elif unit in _UNIT_MICROS and tick:
        attach(result, value, time_steps.moved(number * _UNIT_MICROS[unit] * tick, _slack(value, context) * tick))
    elif unit in ("day", "week"):
        attach(result, value, time_steps.moved(number * (7 if unit == "week" else 1)))


def attach_days(result: Bound, date: Bound, days: Bound, sign: int, context: Context) -> None:
    """A DATE some days later."""
    if images_of(date) and (number := _whole(days, context)) is not None:
        attach(result, date, time_steps.moved(sign * number))


# --- functions --------------------------------------------------------------------------------------------------------


def attach_call(name: str, result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    """What a function says of its arguments, which are as its parameters want them."""
    rule = _RULES.get(name)
    if rule is not None and not (result.images or result.origin or result.truth):
        rule(result, arguments, context)


def _year(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    _year_of(result, arguments[0], context)


def _year_of(result: Bound, value: Bound, context: Context) -> None:
    if value.type.kind in (Kind.DATE, *STAMPS):
        tick = tick_of(value.type)
        attach(result, value, *_on_clock(value, context), steps.indexed(time_steps.year_start(tick)))


def _on_clock(value: Bound, context: Context) -> tuple[Step, ...]:
    if value.type.kind is not Kind.TIMESTAMP_LTZ:
        return ()
    return (time_steps.local(context.planner.relations.time_zone, tick_of(value.type)),)


def _extract(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    word = arguments[0].constant
    if isinstance(word, str) and word.upper() in ("YEAR", "Y", "YEARS", "YR", "YRS"):
        _year_of(result, arguments[1], context)


_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    **dict.fromkeys(("MONTH", "MON", "MM"), "month"),
    **dict.fromkeys(("DAY", "DD"), "day"),
    **{u.upper(): u for u in ("quarter", "week", "hour", "minute", "second", "millisecond", "microsecond")},
}


def _date_trunc(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    _truncated(result, arguments[1], arguments[0], context)


def _trunc(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    _truncated(result, arguments[0], arguments[1], context)


def _truncated(result: Bound, value: Bound, unit: Bound, context: Context) -> None:
    word = _UNITS.get(unit.constant.upper()) if isinstance(unit.constant, str) else None
    if word is not None and images_of(value) and value.type.kind in (Kind.DATE, *STAMPS):
        _attach_cut(result, value, context, time_steps.cut_to(word, tick_of(value.type)))


def _attach_cut(result: Bound, value: Bound, context: Context, step: Step) -> None:
    """A cut on the session's clock. Of a DATE, Spark's DATE_TRUNC cuts the instant at which it begins."""
    if value.type.kind is not Kind.TIMESTAMP_LTZ and result.type.kind is not value.type.kind:
        return
    back: tuple[Step, ...] = ()
    if value.type.kind is Kind.TIMESTAMP_LTZ:
        back = (time_steps.instant(context.planner.relations.time_zone, tick_of(value.type)),)
    attach(result, value, *_on_clock(value, context), step, *back)


def attach_floor(result: Bound, word: str, value: Bound, unit: str, context: Context) -> None:
    """Flink's FLOOR and CEIL to a unit; a week begins on Sunday."""
    unit = "sunday week" if unit == "week" else unit
    if unit in time_steps.CUT_UNITS and images_of(value) and value.type.kind in (Kind.DATE, *STAMPS):
        made = time_steps.cut_to if word == "floor" else time_steps.raised_to
        _attach_cut(result, value, context, made(unit, tick_of(value.type)))


def _floor(up: bool) -> Rule:
    def made(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
        value = arguments[0]
        if len(arguments) > 1 or not images_of(value):
            return
        if value.type.kind in INTEGERS:
            attach(result, value, steps.same())
        elif value.type.kind in FLOATS or value.type.kind is Kind.DECIMAL:
            whole = result.type.kind is Kind.BIGINT
            attach(result, value, steps.floored(up=up, whole=whole and value.type.kind in FLOATS))

    return made


def _left(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    _beginning(result, arguments[0], arguments[1])


def _substring(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    if len(arguments) == 3 and arguments[1].constant in (0, 1) and isinstance(arguments[1].constant, int):
        _beginning(result, arguments[0], arguments[2])


def _beginning(result: Bound, value: Bound, length: Bound) -> None:
    size = length.constant
    if value.type.kind not in (*TEXTS, *BINARIES) or not isinstance(size, int) or size <= 0:
        return
    if (value.type.kind in TEXTS) == (result.type.kind in TEXTS):
        attach(result, value, steps.beginning(size))


def _starts_with(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    from bergsql.engine.plan.pushdown import starts_with

    value, prefix = arguments[0], constant_of(arguments[1], context)
    if isinstance(prefix, str | bytes):
        starts_with(result, value, prefix)


def _isnan(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    from bergsql.engine.plan.pushdown import is_nan

    if arguments[0].type.kind in FLOATS:
        is_nan(result, arguments[0], nulls_are_none=True)


def _isnull(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    from bergsql.engine.plan.pushdown import is_null

    is_null(result, arguments[0])


def _isnotnull(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    from bergsql.engine.plan import truth
    from bergsql.engine.plan.pushdown import is_null

    is_null(result, arguments[0])
    result.truth = truth.negation(result.truth) if result.truth is not None else None


def _to_date(result: Bound, arguments: Sequence[Bound], context: Context) -> None:
    if len(arguments) == 1 and result.type == DATE and arguments[0].type.kind in (Kind.DATE, *STAMPS):
        attach_cast(result, arguments[0], DATE, context)


Rule = Callable[[Bound, Sequence[Bound], "Context"], None]
_RULES: dict[str, Rule] = {
    "year": _year,
    "extract": _extract,
    "date_part": _extract,
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "floor": _floor(up=False),
    "ceil": _floor(up=True),
    "left": _left,
    "substring": _substring,
    "startswith": _starts_with,
    "isnan": _isnan,
    "isnull": _isnull,
    "isnotnull": _isnotnull,
    "to_date": _to_date,
}
"""By the first name of a function."""
