"""What a value says of a column that it is computed from: monotonic steps, turned around range by range.

``YEAR(ts) = 2024`` is a range of ``ts``, ``x + 1 > 5`` one or two of ``x``. An expression that is a chain of such steps
over one column of a scan carries an :class:`Image`; a comparison of it becomes a predicate on the column, which holds
wherever the comparison does. A step may give too wide a range, never too narrow a one.

Within ranges, dates are days since 1970, and timestamps are ticks of their type (microseconds or nanoseconds), instants
in UTC: both then have no end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.engine.plan.bound import Origin
from bergsql.engine.sql.types import FLOATS, INTEGERS, STAMPS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.table.predicate import Predicate

DAY_MICROS = 86_400_000_000
_EPOCH = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - 719_163
MOST_RANGES = 64


class End(NamedTuple):
    """An end of a range; ``closed``: the value itself belongs to it."""

    value: Any
    closed: bool = True


class Range(NamedTuple):
    """Values from ``low`` to ``high`` (None: no end), and NaN if ``nan``."""

    low: End | None = None
    high: End | None = None
    nan: bool = True


EVERYTHING = Range()
Ranges = tuple[Range, ...]


class Step(NamedTuple):
    """``back`` gives the ranges of operands whose results may lie in a range; ``total``: NULL comes of NULL only."""

    back: Callable[[Range], Ranges]
    total: bool = True


class Image(NamedTuple):
    """``origin``, of type ``column``, taken through ``steps``, the innermost first."""

    origin: Origin
    column: DataType
    steps: tuple[Step, ...] = ()

    @property
    def total(self) -> bool:
        return all(s.total for s in self.steps)

    def then(self, step: Step) -> Image:
        return Image(self.origin, self.column, (*self.steps, step))

    def back(self, ranges: Ranges) -> Ranges:
        """The ranges of the column from which a result may come that lies in one of ``ranges``."""
        if self.steps and len(ranges) > MOST_RANGES:
            ranges = _hull(ranges)
        for step in reversed(self.steps):
            ranges = tuple(r for wanted in ranges for r in step.back(wanted))
            if len(ranges) > MOST_RANGES:
                return (EVERYTHING,)
        return ranges


def _hull(ranges: Ranges) -> Ranges:
    """One range around all of them."""
    lows, highs = [r.low for r in ranges], [r.high for r in ranges]
    low = None if None in lows else End(min(e.value for e in lows if e is not None))
    high = None if None in highs else End(max(e.value for e in highs if e is not None))
    return (Range(low, high, any(r.nan for r in ranges)),)


# --- values -----------------------------------------------------------------------------------------------------------

UNUSABLE: Final = object()


def ticks(value: object, type_: DataType) -> Any:
    """A constant of ``type_`` as ranges have it, or :data:`UNUSABLE`."""
    kind = type_.kind
    if isinstance(value, datetime):
        if kind not in STAMPS:
            return UNUSABLE
        micros = (value.replace(tzinfo=None) - _EPOCH) // _MICRO
        return micros * 1000 if type_.holds_nanoseconds else micros
    if isinstance(value, date):
        return value.toordinal() - 719_163 if kind is Kind.DATE else UNUSABLE
    if isinstance(value, time):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        return UNUSABLE if type_.holds_nanoseconds else micros
    if isinstance(value, bool):
        return value if kind is Kind.BOOLEAN else UNUSABLE
    if kind is Kind.DATE or (kind in STAMPS and not type_.holds_nanoseconds):
        return UNUSABLE
    if isinstance(value, int | float | Decimal | str | bytes):
        return value
    return UNUSABLE


def shown(value: Any, type_: DataType) -> object:
    """A value of a range as a predicate on a column of ``type_`` has it: a date and not a number, where it is one."""
    kind = type_.kind
    if kind is Kind.DATE and isinstance(value, int):
        return date.fromordinal(value + 719_163) if _FIRST_DAY <= value <= _LAST_DAY else value
    if kind in STAMPS and isinstance(value, int) and not type_.holds_nanoseconds:
        if not _FIRST_DAY * DAY_MICROS <= value < (_LAST_DAY + 1) * DAY_MICROS:
            return value
        stamp = _EPOCH + timedelta(microseconds=value)
        return stamp.replace(tzinfo=UTC) if kind is Kind.TIMESTAMP_LTZ else stamp
    if kind is Kind.TIME and isinstance(value, int):
        seconds, micros = divmod(value, 1_000_000)
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros) if 0 <= seconds < 86_400 else value
    return value


# --- ranges as predicates ---------------------------------------------------------------------------------------------


def predicate(image: Image, ranges: Ranges) -> Predicate:
    """What is true of the column where the expression lies in one of ``ranges``."""
    from bergsql.engine.table.predicate import AlwaysTrue, any_of

    found = [_one(image, r) for r in image.back(ranges)]
    if any(isinstance(p, AlwaysTrue) for p in found):
        from bergsql.engine.table.predicate import NotNull

        return NotNull(image.origin.name)
    return any_of(*_merged(found))


def _merged(found: list[Predicate]) -> Iterable[Predicate]:
    """Equalities of one column become an IN, ``x < 5 OR x > 5`` becomes ``x <> 5``."""
    from bergsql.engine.table.predicate import Compare, In, Op

    compares = [p for p in found if isinstance(p, Compare)]
    if len(found) == 2 == len(compares):
        below, above = compares
        if (below.op, above.op) == (Op.LT, Op.GT) and below.value == above.value:
            return [Compare(below.column, Op.NE, below.value)]
    equal = [c for c in compares if c.op is Op.EQ]
    if len(equal) < 2:
        return found
    values = tuple(dict.fromkeys(c.value for c in equal))
    merged = In(equal[0].column, values) if len(values) > 1 else equal[0]
    return [merged, *(p for p in found if not (isinstance(p, Compare) and p.op is Op.EQ))]


def _one(image: Image, wanted: Range) -> Predicate:
    from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue, Compare, IsNan, Op, all_of, any_of

    name, type_ = image.origin.name, image.column
    low, high = _fitted(wanted, type_)
    if low is not None and high is not None:
        if low.value > high.value or (low.value == high.value and not (low.closed and high.closed)):
            return IsNan(name) if wanted.nan and type_.kind in FLOATS else AlwaysFalse()
        if low.value == high.value:
            result: Predicate = Compare(name, Op.EQ, shown(low.value, type_))
            return any_of(result, IsNan(name)) if wanted.nan and type_.kind in FLOATS else result
    parts: list[Predicate] = []
    if low is not None:
        parts.append(Compare(name, Op.GE if low.closed else Op.GT, shown(low.value, type_)))
    if high is not None:
        parts.append(Compare(name, Op.LE if high.closed else Op.LT, shown(high.value, type_)))
    result = all_of(*parts) if parts else AlwaysTrue()
    if high is not None and wanted.nan and type_.kind in FLOATS:
        return any_of(result, IsNan(name))
    return result


_EXACT_DOUBLES = 1 << 53


def _fitted(wanted: Range, type_: DataType) -> tuple[End | None, End | None]:
    """The ends as values of the column's type, a little further out where engines round to compare."""
    low, high = wanted.low, wanted.high
    if type_.kind in INTEGERS:
        return _whole_low(low), _whole_high(high)
    if type_.kind is Kind.DECIMAL:
        return _of_decimal(low, type_), _of_decimal(high, type_)
    return low, high


def _whole_low(end: End | None) -> End | None:
    if end is None or isinstance(end.value, int):
        return end
    value = widened(end.value, -1)
    if value != value or value in (float("inf"), float("-inf")):
        return None if value < 0 else End(1 << 64)
    whole = math.ceil(value)
    return End(whole, closed=end.closed or whole != end.value)


def _whole_high(end: End | None) -> End | None:
    if end is None or isinstance(end.value, int):
        return end
    value = widened(end.value, 1)
    if value != value or value in (float("inf"), float("-inf")):
        return None if value > 0 else End(-(1 << 64))
    whole = math.floor(value)
    return End(whole, closed=end.closed or whole != end.value)


def widened(value: Any, sign: int) -> Any:
    """A number that is compared as a double with wider ones, moved by more than what that rounds off."""
    if isinstance(value, float) and abs(value) < _EXACT_DOUBLES:
        return value
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -18:
            return value
        value = float(value)
    return value + sign * abs(value) * 2.0**-50


def _of_decimal(end: End | None, type_: DataType) -> End | None:
    """With more digits than a DECIMAL has, DuckDB compares doubles."""
    if end is None or isinstance(end.value, float):
        return end
    exponent = Decimal(end.value).as_tuple().exponent
    scale = max(type_.scale or 0, -exponent if isinstance(exponent, int) else 0)
    whole = max((type_.precision or 38) - (type_.scale or 0), len(str(abs(int(end.value)))))
    return end if whole + scale <= 38 else End(float(end.value), end.closed)


# --- comparisons as ranges --------------------------------------------------------------------------------------------


def compared(op: str, value: Any) -> Ranges:
    """The values that are true in ``… op value`` (``=``, ``<>``, ``<``, ``<=``, ``>``, ``>=``). NaN is above all."""
    if value != value:
        return _compared_with_nan(op)
    closed, open_ = End(value), End(value, closed=False)
    match op:
        case "=":
            return (Range(closed, closed, nan=False),)
        case "<>":
            return (Range(None, open_, nan=False), Range(open_, None))
        case "<":
            return (Range(None, open_, nan=False),)
        case "<=":
            return (Range(None, closed, nan=False),)
        case ">":
            return (Range(open_, None),)
    return (Range(closed, None),)


def _compared_with_nan(op: str) -> Ranges:
    only = Range(End(1), End(0), nan=True)
    match op:
        case "=" | ">=":
            return (only,)
        case "<>" | "<":
            return (Range(None, None, nan=False),)
        case "<=":
            return (EVERYTHING,)
    return ()
