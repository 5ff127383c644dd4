"""What a condition says of the tables that it is about, so that files without matching rows are not read.

Every bound condition carries a :class:`~bergsql.engine.plan.truth.Truth`: predicates by scan that hold wherever it is
true, false or NULL. Comparisons of a column, or of a monotonic image of it, with a constant say something; what is not
understood says nothing. DuckDB still filters every row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bergsql.engine.plan import truth
from bergsql.engine.plan.bound import NOT_CONSTANT, Bound, Origin, images_of
from bergsql.engine.plan.images import UNUSABLE, Image, compared, predicate, ticks
from bergsql.engine.plan.known import constant_of, known_value
from bergsql.engine.plan.truth import ANY, NOTHING, Truth
from bergsql.engine.sql.types import BINARIES, INTEGERS, NUMBERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.plan.context import Context, OutputColumn, Planner
    from bergsql.engine.plan.scope import Scope
    from bergsql.engine.plan.truth import Facts
    from bergsql.engine.table.predicate import Column, Predicate

# The predicates' module is imported where a column of a table is met: a query without one need not wait for it.
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MOST_VALUES = 100_000
_MOST_FOLDED = 1000
"""Each takes a query of DuckDB."""


def says(bound: Bound, planner: Planner | None = None) -> Truth:
    """What the condition says; a BOOLEAN column is one too. With a ``planner`` constant conditions are worked out."""
    if bound.truth is not None:
        return bound.truth
    value = bound.constant
    if bound.fixed and planner is not None and planner.slots and len(planner.known) < _MOST_FOLDED:
        value = known_value(bound, planner)
    if value is None or isinstance(value, bool):
        return truth.UNKNOWN if value is None else truth.ALWAYS if value else truth.NEVER
    images = images_of(bound)
    if not images or bound.type.kind is not Kind.BOOLEAN:
        return ANY
    from bergsql.engine.table.predicate import Compare, IsNull, Op

    return Truth(
        {i.origin.slot: Compare(i.origin.name, Op.EQ, True) for i in images},
        {i.origin.slot: Compare(i.origin.name, Op.EQ, False) for i in images},
        {i.origin.slot: IsNull(i.origin.name) for i in images},
    )


def compare(result: Bound, symbol: str, a: Bound, b: Bound, context: Context) -> None:
    """A comparison of a column, or of an image of one, with a constant; or of two columns."""
    op, images = symbol, images_of(a)
    if not images or a.fixed:
        a, b, op = b, a, _FLIPPED.get(op, op)
        images = images_of(a)
    if not images:
        return
    value = constant_of(b, context)
    if value is NOT_CONSTANT:
        if op in ("=", "<=>") and symbol == op:
            result.equal = equal_columns(a, b)
        return
    if op in ("<=>", "<!=>"):
        found = _distinct(a, images, value, b.type)
        result.truth = found if op == "<=>" or found is None else truth.negation(found)
        return
    if value is None:
        result.truth = truth.UNKNOWN
        return
    usable = _usable(value, b.type, a.type)
    if usable is not UNUSABLE:
        result.truth = Truth(
            _facts(images, lambda i: predicate(i, compared(op, usable))),
            _facts(images, lambda i: predicate(i, compared(_NEGATED[op], usable))),
            _null_facts(images),
        )


def _distinct(a: Bound, images: Sequence[Image], value: object, type_: DataType) -> Truth | None:
    """``a IS NOT DISTINCT FROM value``, which is never NULL."""
    nulls = is_null_truth(images)
    if value is None:
        return nulls
    usable = _usable(value, type_, a.type)
    if usable is UNUSABLE:
        return None
    other = _facts(images, lambda i: predicate(i, compared("<>", usable)))
    equal = _facts(images, lambda i: predicate(i, compared("=", usable)))
    return Truth(equal, truth.either([other, nulls.true]), None)


def _usable(value: object, type_: DataType, column: DataType) -> object:
    """A constant as ranges of ``column``'s type have it, or :data:`UNUSABLE` where the two are not compared plainly."""
    comparable = (
        (type_.kind in NUMBERS and column.kind in NUMBERS)
        or (type_.kind in TEXTS and column.kind in TEXTS)
        or (type_.kind in BINARIES and column.kind in BINARIES)
        or (type_.kind is column.kind and type_.holds_nanoseconds == column.holds_nanoseconds)
    )
    return ticks(value, type_) if comparable else UNUSABLE


def _facts(images: Sequence[Image], of: Callable[[Image], Predicate]) -> Facts:
    return {i.origin.slot: of(i) for i in images}


def _null_facts(images: Sequence[Image]) -> Facts:
    """What is known where the expression is NULL."""
    from bergsql.engine.table.predicate import IsNull

    return {i.origin.slot: IsNull(i.origin.name) for i in images if i.total}


def is_null_truth(images: Sequence[Image]) -> Truth:
    from bergsql.engine.table.predicate import NotNull

    return Truth(_null_facts(images), _facts(images, lambda i: NotNull(i.origin.name)), None)


def is_null(result: Bound, operand: Bound) -> None:
    if operand.truth is not None:
        result.truth = truth.is_unknown(operand.truth)
        return
    images = images_of(operand)
    if images:
        result.truth = is_null_truth(images)


def in_list(result: Bound, a: Bound, items: Sequence[Bound], context: Context) -> None:
    """A column in a list of constants. With a NULL among them it is never FALSE."""
    images = images_of(a)
    if not images or len(items) > _MOST_VALUES:
        return
    values = [constant_of(i, context) for i in items]
    if any(v is NOT_CONSTANT for v in values):
        return
    usable = [_usable(v, i.type, a.type) for v, i in zip(values, items, strict=True) if v is not None]
    if any(v is UNUSABLE or v != v for v in usable):
        return
    has_null = len(usable) < len(values)
    ranges = tuple(r for v in dict.fromkeys(usable) for r in compared("=", v))
    result.truth = Truth(
        _facts(images, lambda i: predicate(i, ranges)),
        None if has_null else _facts(images, lambda i: _in_none(i, usable)),
        NOTHING if has_null else _null_facts(images),
    )


def _in_none(image: Image, values: Sequence[object]) -> Predicate:
    from bergsql.engine.table.predicate import In, Not, NotNull, all_of

    wanted = predicate(image, tuple(r for v in values for r in compared("=", v)))
    if not image.steps and isinstance(wanted, In) and len(wanted.values) == len(set(values)):
        return Not(wanted)
    if len(values) > 8:
        return NotNull(image.origin.name)
    return all_of(*(predicate(image, compared("<>", v)) for v in values))


def like(result: Bound, a: Bound, pattern: str, escape: str | None) -> None:
    """LIKE with a plain prefix says that the column starts with it."""
    prefix = ""
    i = 0
    while i < len(pattern) and pattern[i] not in "%_":
        if escape and pattern[i] == escape:
            i += 1
            if i >= len(pattern):
                return
        prefix += pattern[i]
        i += 1
    if i == len(pattern):
        images = images_of(a)
        if images and a.type.kind in TEXTS:
            result.truth = Truth(
                _facts(images, lambda m: predicate(m, compared("=", prefix))),
                _facts(images, lambda m: predicate(m, compared("<>", prefix))),
                _null_facts(images),
            )
    else:
        starts_with(result, a, prefix, exactly=pattern[i:] == "%")


def starts_with(result: Bound, a: Bound, prefix: str | bytes, *, exactly: bool = True) -> None:
    """Text or bytes that begin with ``prefix``; not ``exactly``: something else must hold as well."""
    kinds = TEXTS if isinstance(prefix, str) else BINARIES
    images = [i for i in images_of(a) if not i.steps]
    if a.type.kind not in kinds or not images or len(images) < len(images_of(a)):
        return
    from bergsql.engine.table.predicate import Not, NotNull, StartsWith

    def begins(image: Image) -> Predicate:
        return StartsWith(image.origin.name, prefix) if prefix else NotNull(image.origin.name)

    result.truth = Truth(
        _facts(images, begins),
        _facts(images, lambda i: Not(begins(i)) if exactly and prefix else NotNull(i.origin.name)),
        _null_facts(images),
    )


def is_nan(result: Bound, a: Bound, *, nulls_are_none: bool) -> None:
    """``isnan(a)``; ``nulls_are_none``: NULL is none, so it is FALSE for it."""
    images = [i for i in images_of(a) if not i.steps]
    if not images or len(images) < len(images_of(a)):
        return
    from bergsql.engine.table.predicate import IsNan, IsNull, Not, NotNull, any_of

    def others(image: Image) -> Predicate:
        name = image.origin.name
        number = all_numbers(name)
        return any_of(number, IsNull(name)) if nulls_are_none else number

    def all_numbers(name: str) -> Predicate:
        from bergsql.engine.table.predicate import all_of

        return all_of(Not(IsNan(name)), NotNull(name))

    result.truth = Truth(
        _facts(images, lambda i: IsNan(i.origin.name)),
        _facts(images, others),
        None if nulls_are_none else _null_facts(images),
    )


def conjunction(result: Bound, parts: Sequence[Bound], planner: Planner) -> None:
    result.truth = truth.conjunction([says(p, planner) for p in parts])
    result.equal = tuple(pair for p in parts for pair in p.equal)


def disjunction(result: Bound, parts: Sequence[Bound], planner: Planner) -> None:
    result.truth = truth.disjunction([says(p, planner) for p in parts])


def negation(result: Bound, operand: Bound, planner: Planner) -> None:
    result.truth = truth.negation(says(operand, planner))


def is_truth(result: Bound, operand: Bound, planner: Planner, *, wanted: bool) -> None:
    """``operand IS TRUE``, or IS FALSE."""
    of = says(operand, planner)
    result.truth = truth.is_true(of if wanted else truth.negation(of))


# --- columns that are equal -------------------------------------------------------------------------------------------


def equal_columns(a: Bound | OutputColumn, b: Bound | OutputColumn) -> tuple[tuple[Origin, Origin], ...]:
    """The pair of columns of scans that ``a = b`` is of, where their values may be compared with the same constants."""
    x, y = a.type, b.type
    alike = x.kind is y.kind or {x.kind, y.kind} <= set(INTEGERS) or {x.kind, y.kind} <= TEXTS
    if x.kind in (*STAMPS, Kind.TIME):
        alike = alike and x.holds_nanoseconds == y.holds_nanoseconds
    if not alike:
        return ()
    return tuple((i.origin, j.origin) for i in images_of(a) for j in images_of(b) if not i.steps and not j.steps)[:16]


# --- handing it on ----------------------------------------------------------------------------------------------------


def outcomes(
    condition: Bound, slot: int, schema: Schema, planner: Planner | None = None
) -> tuple[Predicate, Predicate]:
    """What holds of a scan's rows where a condition is true, and where it is FALSE or NULL, by the scan's own columns.

    Either may hold of other rows too: ``AlwaysTrue`` where nothing is known, ``AlwaysFalse`` for an outcome that cannot
    be. So a file that holds no row of the second has only rows that the condition takes (whole_files.py).
    """
    from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue

    def of(facts: Facts) -> Predicate:
        return AlwaysFalse() if facts is None else of_schema(facts.get(slot, AlwaysTrue()), schema)

    told = says(condition, planner)
    return of(told.true), of(truth.either([told.false, told.unknown]))


def push(planner: Planner, scope: Scope, bound: Bound, only: set[int] | None = None) -> None:
    """Hand what a condition of this FROM says of a scan to that scan, and what columns it makes equal.

    ``only`` are the scans whose rows the condition drops; None: those of all of ``scope``.
    """
    targets = scope.slots if only is None else scope.slots & only
    open_to = {n for n in targets if not planner.slots[n].sampled}
    facts = says(bound, planner).true
    if facts is None:
        from bergsql.engine.table.predicate import AlwaysFalse

        facts = dict.fromkeys(open_to, AlwaysFalse())
    for number, found in facts.items():
        slot = planner.slots[number]
        if number in open_to and is_useful(found) and (not slot.padded or rejects_null(found)):
            slot.predicates.append(found)
    for x, y in bound.equal:
        planner.equal += [(a, b) for a, b in ((x, y), (y, x)) if b.slot in open_to and a.slot != b.slot]


def spread(planner: Planner) -> None:
    """Hand what is known of a column on to those that equal it in every row that matters, as in ``a.id = b.id AND
    a.id = 5``."""
    from bergsql.engine.table.predicate import And, columns_of, map_columns

    known: dict[int, list[Predicate]] = {}
    for number, slot in enumerate(planner.slots):
        known[number] = [c for p in slot.predicates for c in (p.children if isinstance(p, And) else (p,))]
    changed = True
    while changed:
        changed = False
        for a, b in planner.equal:
            for predicate_ in list(known[a.slot]):
                if columns_of(predicate_) != {a.name}:
                    continue
                same = map_columns(predicate_, partial(_named, b.name))
                if same not in known[b.slot]:
                    known[b.slot].append(same)
                    planner.slots[b.slot].predicates.append(same)
                    changed = True


def _named(name: str, _: Column) -> Column:
    return name


def of_schema(predicate: Predicate, schema: Schema) -> Predicate:
    """What the predicate says of the table's own columns: files have no statistics of metadata columns."""
    from bergsql.engine.table.predicate import AlwaysTrue, And, Or, all_of, any_of, columns_of

    if all(schema.find(str(name)) is not None for name in columns_of(predicate)):
        return predicate
    if isinstance(predicate, And):
        return all_of(*(of_schema(c, schema) for c in predicate.children))
    if isinstance(predicate, Or):
        return any_of(*(of_schema(c, schema) for c in predicate.children))
    return AlwaysTrue()


def rejects_null(predicate: Predicate) -> bool:
    """True when a row whose columns are all NULL cannot fulfil it: it may be pushed below an outer join."""
    from bergsql.engine.table.predicate import (
        AlwaysFalse,
        And,
        Compare,
        In,
        IsNan,
        IsNull,
        Not,
        NotNull,
        Or,
        StartsWith,
    )

    if isinstance(predicate, And):
        return any(rejects_null(c) for c in predicate.children)
    if isinstance(predicate, Or):
        return all(rejects_null(c) for c in predicate.children)
    if isinstance(predicate, Not):
        return isinstance(predicate.child, Compare | In | StartsWith | IsNull)
    return isinstance(predicate, Compare | In | StartsWith | NotNull | IsNan | AlwaysFalse)


def is_useful(predicate: Predicate) -> bool:
    from bergsql.engine.table.predicate import AlwaysTrue

    return not isinstance(predicate, AlwaysTrue)
