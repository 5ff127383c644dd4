"""What is known of one column in many sets of rows, and the one evaluator of predicates over that.

A row here is a set of the table's rows: a data file, a partition, the files of a manifest. A facet knows something of a
column for each: an interval of possible values, whether there may be NULLs and NaNs. The evaluator narrows a list of
rows down, test by test, so that most rows are looked at for the first test only. What is not known never prunes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from bergsql.engine.table.binding import AllOf, AnyOf, Bound, Literal, Term, TermTest

Rows = Sequence[int]
"""Numbers of rows, in order."""


class Facet(Protocol):
    """Something known of one column, for every row."""

    def allowing(self, term: Term, rows: Rows) -> Rows:
        """Those of ``rows`` in which ``term`` may be true."""
        ...


class Intervals:
    """In each row all values that are neither NULL nor NaN lie from ``lower`` to ``upper`` (None: not known).

    ``nulls``, ``values`` and ``nans`` say whether there may be any; a single bool says so for all rows.
    """

    def __init__(
        self,
        lower: Sequence[Any],
        upper: Sequence[Any],
        nulls: Sequence[bool] | bool = True,
        values: Sequence[bool] | bool = True,
        nans: Sequence[bool] | bool = True,
    ) -> None:
        self._bounds = lower, upper
        self._flags = nulls, values, nans

    def lower(self) -> Sequence[Any]:
        return self._bounds[0]

    def upper(self) -> Sequence[Any]:
        return self._bounds[1]

    def with_nulls(self, rows: Rows) -> Rows:
        return _flagged(self._flags[0], rows)

    def with_values(self, rows: Rows) -> Rows:
        return _flagged(self._flags[1], rows)

    def with_nans(self, rows: Rows) -> Rows:
        return _flagged(self._flags[2], rows)

    def allowing(self, term: Term, rows: Rows) -> Rows:
        literals = term.literals
        match term.test:
            case TermTest.IS_NULL:
                return self.with_nulls(rows)
            case TermTest.NOT_NULL:
                return _either(rows, self.with_values, self.with_nans)
            case TermTest.IS_NAN:
                return self.with_nans(rows)
            case TermTest.NOT_NAN:
                return self.with_values(rows)
            case TermTest.EQ | TermTest.IN:
                return self._valued(self._reaching(literals, rows), self.lower)
            case TermTest.NE | TermTest.NOT_IN:
                return _either(rows, self.with_nans, lambda r: self.with_values(self._not_only(literals, r)))
            case TermTest.LT | TermTest.LE:
                return self._valued(self._below(literals[0], term.test is TermTest.LT, rows), self.lower)
            case TermTest.GT | TermTest.GE:
                strict = term.test is TermTest.GT
                return _either(
                    rows, self.with_nans, lambda r: self._valued(self._above(literals[0], strict, r), self.upper)
                )
            case TermTest.STARTS:
                return self._valued(self._starting(literals[0].low, rows), self.lower)
            case TermTest.NOT_STARTS:
                return self.with_values(self._not_all_starting(literals[0].low, rows))

    def _valued(self, rows: Rows, bounds: Callable[[], Sequence[Any]]) -> Rows:
        """Rows in which there may be values. Where there is a bound there are: the rest are asked, which costs more."""
        if not rows:
            return rows
        known = bounds()
        unknown = [i for i in rows if known[i] is None]
        kept = self.with_values(unknown)
        if len(kept) == len(unknown):
            return rows
        gone = set(unknown).difference(kept)
        return [i for i in rows if i not in gone]

    def _reaching(self, literals: Sequence[Literal], rows: Rows) -> Rows:
        """Rows whose interval holds some literal. Of many literals those outside of all are left out at once."""
        least, most = min(v.low for v in literals), max(v.high for v in literals)
        lower = self.lower()
        rows = [i for i in rows if (low := lower[i]) is None or low <= most]
        upper = self.upper() if rows else ()
        rows = [i for i in rows if (high := upper[i]) is None or high >= least]
        if len(literals) == 1:
            return rows
        if all(v.exact for v in literals):
            values = sorted(v.low for v in literals)
            return [i for i in rows if _holds_some(lower[i], upper[i], values)]
        return [i for i in rows if any(_reaches(lower[i], upper[i], v) for v in literals)]

    def _not_only(self, literals: Sequence[Literal], rows: Rows) -> Rows:
        """Rows that may hold something else than one of the literals."""
        exact = [v.low for v in literals if v.exact]
        if not exact:
            return rows
        lower, upper = self.lower(), self.upper()
        return [
            i
            for i in rows
            if (low := lower[i]) is None or (high := upper[i]) is None or not (low == high and low in exact)
        ]

    def _below(self, literal: Literal, strict: bool, rows: Rows) -> Rows:
        lower, most = self.lower(), literal.high
        if strict and literal.exact:
            return [i for i in rows if (low := lower[i]) is None or low < most]
        return [i for i in rows if (low := lower[i]) is None or low <= most]

    def _above(self, literal: Literal, strict: bool, rows: Rows) -> Rows:
        upper, least = self.upper(), literal.low
        if strict and literal.exact:
            return [i for i in rows if (high := upper[i]) is None or high > least]
        return [i for i in rows if (high := upper[i]) is None or high >= least]

    def _starting(self, prefix: Any, rows: Rows) -> Rows:
        upper, lower, n = self.upper(), self.lower(), len(prefix)
        rows = [i for i in rows if (high := upper[i]) is None or high >= prefix]
        return [i for i in rows if (low := lower[i]) is None or low[:n] <= prefix]

    def _not_all_starting(self, prefix: Any, rows: Rows) -> Rows:
        upper, lower, n = self.upper(), self.lower(), len(prefix)
        return [
            i
            for i in rows
            if (low := lower[i]) is None or (high := upper[i]) is None or not low[:n] == prefix == high[:n]
        ]


def _holds_some(lower: Any, upper: Any, values: Sequence[Any]) -> bool:
    """Whether one of the sorted ``values`` may lie from ``lower`` to ``upper``."""
    first = 0 if lower is None else bisect_left(values, lower)
    return first < len(values) and (upper is None or values[first] <= upper)


def _reaches(lower: Any, upper: Any, literal: Literal) -> bool:
    return (lower is None or lower <= literal.high) and (upper is None or upper >= literal.low)


class Buckets:
    """In each row all values that are not NULL fall into buckets from ``lowest`` to ``highest`` (None: not known)."""

    def __init__(
        self,
        lowest: Sequence[int | None],
        highest: Sequence[int | None],
        nulls: Sequence[bool],
        values: Sequence[bool],
        bucket_of: Callable[[Literal], int | None],
    ) -> None:
        self._lowest, self._highest = lowest, highest
        self._nulls, self._values = nulls, values
        self._bucket_of = bucket_of

    def allowing(self, term: Term, rows: Rows) -> Rows:
        if term.test is TermTest.IS_NULL:
            return _flagged(self._nulls, rows)
        rows = _flagged(self._values, rows)
        if term.test not in (TermTest.EQ, TermTest.IN):
            return rows
        wanted = {self._bucket_of(v) for v in term.literals}
        if None in wanted:
            return rows
        lowest, highest = self._lowest, self._highest
        numbers = sorted(b for b in wanted if b is not None)
        return [i for i in rows if _holds_some(lowest[i], highest[i], numbers)]


def surviving(bound: Bound, facets_of: Callable[[Term], Iterable[Facet]], rows: Rows) -> Rows:
    """Those of ``rows`` in which ``bound`` may be true, going by what ``facets_of`` knows of each term's column."""
    match bound:
        case bool():
            return rows if bound else ()
        case AllOf(children):
            for child in children:
                if not rows:
                    break
                rows = surviving(child, facets_of, rows)
            return rows
        case AnyOf(children):
            return _either(rows, *(_Child(child, facets_of) for child in children))
        case Term():
            for facet in facets_of(bound):
                rows = facet.allowing(bound, rows)
            return rows


def possible(bound: Bound, facets_of: Callable[[Term], Iterable[Facet]]) -> bool:
    """Whether ``bound`` may be true in the one row that ``facets_of`` knows of."""
    return bool(surviving(bound, facets_of, (0,)))


class _Child:
    def __init__(self, bound: Bound, facets_of: Callable[[Term], Iterable[Facet]]) -> None:
        self._bound, self._facets_of = bound, facets_of

    def __call__(self, rows: Rows) -> Rows:
        return surviving(self._bound, self._facets_of, rows)


def _flagged(flags: Sequence[bool] | bool, rows: Rows) -> Rows:
    if isinstance(flags, bool):
        return rows if flags else ()
    return [i for i in rows if flags[i]]


def _either(rows: Rows, *tests: Callable[[Rows], Rows]) -> Rows:
    """Rows that pass some test; each is given only what has not passed yet."""
    passed: list[int] = []
    for test in tests:
        found = test(rows)
        if len(found) == len(rows):
            return sorted([*passed, *rows]) if passed else rows
        if found:
            passed += found
            gone = set(found)
            rows = [i for i in rows if i not in gone]
    return sorted(passed)
