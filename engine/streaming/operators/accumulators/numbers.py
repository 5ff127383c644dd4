"""COUNT, SUM, AVG and the variances: a few numbers for each group, whatever goes in."""

from __future__ import annotations

from typing import Final

from bergsql.engine.sql.types import FLOATS, INTEGERS, INTERVALS, DataType, Kind
from bergsql.engine.streaming.operators.accumulators.layout import MINUS, PLUS, Result, State, Term

_WIDE: Final = "DECIMAL(38,0)"
"""Of sums of BIGINTs: ten billion billions of them fit. (A HUGEINT leaves DuckDB as such a decimal anyhow.)"""
_CUT: Final = 10**19
"""Decimals of more digits than :data:`_SAFE_DIGITS` are added up as two numbers: the digits before these, and these."""
_SAFE_DIGITS: Final = 28


Moments = tuple[str, str, str]
"""Count, mean and the sum of squared differences from it, in SQL."""


def count(term: Term) -> Result:
    """Of rows, or of those where no argument is NULL."""
    there = [f"i.c{position} IS NOT NULL" for position in term.call.arguments]
    n = term.total("count(*)", "BIGINT", *there)
    return lambda s: s(n)


def count_if(term: Term) -> Result:
    n = term.total("count(*)", "BIGINT", term.x)
    return lambda s: s(n)


def sum_(term: Term) -> Result:
    kind = term.type.kind
    if kind in FLOATS:
        return _float_sum(term)
    if kind in INTERVALS:
        from bergsql.engine.sql.functions.aggregates import interval_of

        whole = _whole(term)
        return lambda s: interval_of(f"CAST({whole(s)} AS BIGINT)", term.call.type)
    if kind is Kind.DECIMAL:
        return _decimal_sum(term)
    whole = _whole(term)
    target = term.call.type.kind
    if target not in INTEGERS:
        return whole
    from bergsql.engine.plan.integers import wrapped

    # Sums wrap in the flavour's type, as Java's.
    return lambda s: wrapped(f"CAST({whole(s)} AS HUGEINT)" if target is Kind.BIGINT else whole(s), target)


def avg(term: Term) -> Result:
    kind, target = term.type.kind, term.call.type
    n = _number(term)
    if kind in FLOATS:
        total = _float_sum(term)
        return lambda s: f"({total(s)} / {s(n)})"
    if kind in INTERVALS:
        from bergsql.engine.sql.functions.aggregates import interval_of

        whole = _whole(term)
        return lambda s: interval_of(f"CAST(round(CAST({whole(s)} AS DOUBLE) / nullif({s(n)}, 0)) AS BIGINT)", target)
    if kind is Kind.DECIMAL:
        from bergsql.engine.plan.decimals import quotient

        added = _decimal_sum(term)
        dividend = DataType(Kind.DECIMAL, 38, term.type.scale or 0)
        return lambda s: quotient(added(s), dividend, f"nullif({s(n)}, 0)", DataType(Kind.DECIMAL, 20, 0), target)
    whole = _whole(term)
    if target.kind in INTEGERS:
        return lambda s: f"(CAST({whole(s)} AS HUGEINT) // nullif({s(n)}, 0))"
    return lambda s: f"(CAST({whole(s)} AS DOUBLE) / nullif({s(n)}, 0))"


def _number(term: Term) -> str:
    """How many values that are not NULL there are."""
    return term.total("count(*)", "BIGINT", f"{term.x} IS NOT NULL")


def _value(term: Term) -> tuple[str, str]:
    """A whole number of each row, and the type in which they are added up."""
    if term.type.kind in INTERVALS:
        from bergsql.engine.plan.bound import Bound
        from bergsql.engine.sql.functions.aggregates import interval_count

        return interval_count(Bound(term.x, term.type, "")), "BIGINT"
    return term.x, _WIDE if term.type.kind in (Kind.BIGINT, Kind.HUGEINT) else "BIGINT"


def _whole(term: Term) -> Result:
    """The exact sum of whole numbers; NULL for none."""
    value, type_ = _value(term)
    if not term.retracts:
        delta = term.stage.delta(f"CAST({term.over(f'sum({value})')} AS {type_})")
        total = term.merged(type_, delta, f"CAST(OLD + {delta} AS {type_})")
        return lambda s: s(total)
    total, n = term.total(f"sum({value})", type_), _number(term)
    return lambda s: f"CASE WHEN {s(n)} > 0 THEN {s(total)} END"


def _decimal_sum(term: Term) -> Result:
    """The sum with the argument's scale and 38 digits; NULL where it has more, as in a batch."""
    digits, scale = term.type.precision or 38, term.type.scale or 0
    n = _number(term)
    if digits <= _SAFE_DIGITS:
        total = term.total(f"sum({term.x})", f"DECIMAL(38,{scale})")
        return lambda s: f"CASE WHEN {s(n)} > 0 THEN {s(total)} END"
    from bergsql.engine.plan.decimals import digits_of, of_digits

    whole = digits_of(term.x, term.type)
    high = term.total(f"sum({whole} // {_CUT})", _WIDE)
    low = term.total(f"sum({whole} % {_CUT})", _WIDE)
    to = DataType(Kind.DECIMAL, 38, scale)

    def result(s: State) -> str:
        added = f"TRY(CAST({s(high)} AS HUGEINT) * CAST({_CUT} AS HUGEINT) + CAST({s(low)} AS HUGEINT))"
        return f"CASE WHEN {s(n)} > 0 THEN {of_digits(added, to)} END"

    return result


def _float_sum(term: Term) -> Result:
    x = f"CAST({term.x} AS DOUBLE)"
    if not term.retracts:
        delta = term.delta(f"sum({x})")
        total = term.merged("DOUBLE", delta, f"OLD + {delta}")
        return lambda s: s(total)
    # What is no finite number is counted, or it could not be taken back. What rounding loses when a batch is added is
    # kept in a second number (Knuth's TwoSum), so that sums do not drift away with the changes that pass.
    finite = f"isfinite({x})"
    n, ends = _number(term), term.total("count(*)", "BIGINT", finite)
    b = f"coalesce({term.difference(f'sum({x})', 'DOUBLE', finite)}, 0)"
    some = f"({term.layout.states[ends][1]}) > 0"
    total = term.layout.state("DOUBLE", f"CASE WHEN {some} THEN coalesce(OLD, 0) + {b} ELSE 0 END")
    a = f"coalesce(o.{total}, 0)"
    again = f"(({a} + {b}) - {a})"
    error = f"(({a} - (({a} + {b}) - {again})) + ({b} - {again}))"
    lost = term.layout.state("DOUBLE", f"CASE WHEN {some} THEN coalesce(OLD, 0) + {error} ELSE 0 END")
    nan = term.total("count(*)", "BIGINT", f"isnan({x})")
    above = term.total("count(*)", "BIGINT", f"{x} = CAST('inf' AS DOUBLE)")

    def result(s: State) -> str:
        below = f"{s(n)} - {s(ends)} - {s(nan)} - {s(above)} > 0"
        return (
            f"CASE WHEN {s(n)} = 0 THEN NULL"
            f" WHEN {s(nan)} > 0 OR ({s(above)} > 0 AND {below}) THEN CAST('nan' AS DOUBLE)"
            f" WHEN {s(above)} > 0 THEN CAST('inf' AS DOUBLE) WHEN {below} THEN CAST('-inf' AS DOUBLE)"
            f" ELSE {s(total)} + {s(lost)} END"
        )

    return result


def _variance(term: Term, *, sample: bool, root: bool) -> Result:
    odd = term.total("count(*)", "BIGINT", f"NOT isfinite(CAST({term.x} AS DOUBLE))")
    n, spread = term.layout.once(("variance", term.stage.alias, term.where(term.x)), lambda: _moments(term))

    def result(s: State) -> str:
        least, below = (2, f"({s(n)} - 1)") if sample else (1, s(n))
        value = f"{s(spread)} / {below}"
        value = f"sqrt({value})" if root else value
        nan = f"WHEN {s(odd)} > 0 THEN CAST('nan' AS DOUBLE) "
        return f"CASE WHEN {s(n)} + {s(odd)} < {least} THEN NULL {nan}ELSE {value} END"

    return result


def _moments(term: Term) -> tuple[str, str]:
    """Count, mean and sum of squared differences, which are put together and taken apart (Chan, Golub, LeVeque)."""
    x = f"CAST({term.x} AS DOUBLE)"
    finite = f"isfinite({x})"

    def part(*side: str) -> Moments:
        n, mean, spread = (
            term.over(f"{f}({a})", finite, *side) for f, a in (("count", "*"), ("avg", x), ("var_pop", x))
        )
        stage = term.stage
        return stage.delta(n), stage.delta(f"coalesce({mean}, 0)"), stage.delta(f"coalesce({spread} * {n}, 0)")

    def known(part: Moments) -> Moments:
        n, mean, spread = (f"coalesce({each}, 0)" for each in part)
        return n, mean, spread

    layout = term.layout
    names = tuple(f"s{len(layout.states) + i}" for i in range(3))
    come = part(PLUS) if term.retracts else part()
    made = _together(known((f"o.{names[0]}", f"o.{names[1]}", f"o.{names[2]}")), known(come))
    if term.retracts:
        made = _apart(made, known(part(MINUS)))
    for type_, sql, like in zip(("BIGINT", "DOUBLE", "DOUBLE"), made, come, strict=True):
        layout.state(type_, sql, like)
    return names[0], names[2]


def _together(a: Moments, b: Moments) -> Moments:
    n = f"({a[0]} + {b[0]})"
    between = f"({b[1]} - {a[1]})"
    mean = f"CASE WHEN {n} = 0 THEN 0 ELSE {a[1]} + {between} * {b[0]} / {n} END"
    spread = f"CASE WHEN {n} = 0 THEN 0 ELSE {a[2]} + {b[2]} + {between} * {between} * {a[0]} * {b[0]} / {n} END"
    return n, mean, spread


def _apart(a: Moments, b: Moments) -> Moments:
    n = f"({a[0]} - {b[0]})"
    mean, spread = f"({a[1]})", f"({a[2]})"
    between = f"({b[1]} - {mean})"
    return (
        n,
        f"CASE WHEN {n} <= 0 THEN 0 WHEN {b[0]} = 0 THEN {mean} ELSE {mean} - {between} * {b[0]} / {n} END",
        f"CASE WHEN {n} <= 1 THEN 0 WHEN {b[0]} = 0 THEN {spread} ELSE greatest(0,"
        f" {spread} - {b[2]} - {between} * {between} * {a[0]} * {b[0]} / {n}) END",
    )


def var_pop(term: Term) -> Result:
    return _variance(term, sample=False, root=False)


def var_samp(term: Term) -> Result:
    return _variance(term, sample=True, root=False)


def stddev_pop(term: Term) -> Result:
    return _variance(term, sample=False, root=True)


def stddev_samp(term: Term) -> Result:
    return _variance(term, sample=True, root=True)
