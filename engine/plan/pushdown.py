"""What a condition says of the tables that it is about, so that files without matching rows are not read.

Every bound condition carries, by scan, a predicate that holds wherever the condition is true; ``exact`` says that it is
no weaker than the condition, so that NOT may turn it around. Comparisons of a column with a literal are exact; what is
not understood contributes nothing. DuckDB still filters every row.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound, Origin
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.table.predicate import Predicate

# The predicates' module is imported where a column of a table is met: a query without one need not wait for it.
_OPS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_UNUSABLE = object()


def _value(bound: Bound, column: DataType) -> object:
    """The literal as a value of the column's type, or :data:`_UNUSABLE`."""
    value, kind = bound.constant, column.kind
    if isinstance(value, bool):
        return value if kind is Kind.BOOLEAN else _UNUSABLE
    if kind in INTEGERS and isinstance(value, int | Decimal):
        return int(value) if value == int(value) else _UNUSABLE
    if kind is Kind.DECIMAL and isinstance(value, int | Decimal):
        return _decimal(Decimal(value), column.scale or 0)
    if kind in FLOATS and isinstance(value, int | float | Decimal):
        number = float(value)
        return number if abs(number) < 1 << 53 else _UNUSABLE
    if (kind in TEXTS and isinstance(value, str)) or (kind in BINARIES and isinstance(value, bytes)):
        return value
    if kind is Kind.DATE and isinstance(value, date) and not isinstance(value, datetime):
        return value
    if kind in STAMPS and bound.type.kind is kind:
        wide = column.holds_nanoseconds
        if isinstance(value, datetime) and not wide:
            return value.replace(tzinfo=UTC) if kind is Kind.TIMESTAMP_LTZ else value
        if isinstance(value, int) and wide and bound.type.holds_nanoseconds:
            return value
    return _UNUSABLE


def _decimal(value: Decimal, scale: int) -> object:
    exponent = value.as_tuple().exponent
    return value if isinstance(exponent, int) and exponent >= -scale else _UNUSABLE


def _about(result: Bound, origin: Origin, predicate: Predicate) -> None:
    result.predicates = {origin.slot: predicate}
    result.exact = True


def compare(result: Bound, symbol: str, a: Bound, b: Bound) -> None:
    """A comparison of a column with a literal."""
    op = symbol
    if a.origin is None and b.origin is not None:
        a, b, op = b, a, _FLIPPED.get(op, op)
    if a.origin is None or not b.is_constant:
        return
    from bergsql.engine.table.predicate import Compare, IsNull, Op

    if symbol == "<=>":
        op = "="
        if b.constant is None:
            _about(result, a.origin, IsNull(a.origin.name))
            return
    if op not in _OPS or b.constant is None:
        return
    value = _value(b, a.type)
    if value is not _UNUSABLE:
        _about(result, a.origin, Compare(a.origin.name, Op(op), value))
        # ``a <=> 1`` is never NULL, so its negation also holds where a is NULL.
        result.exact = symbol != "<=>"


def in_list(result: Bound, a: Bound, items: list[Bound]) -> None:
    """A column in a list of literals. A NULL among them only matters under NOT."""
    if a.origin is None or not all(i.is_constant for i in items):
        return
    from bergsql.engine.table.predicate import In

    values = [_value(i, a.type) for i in items if i.constant is not None]
    if _UNUSABLE not in values and values:
        _about(result, a.origin, In(a.origin.name, tuple(values)))
        result.exact = len(values) == len(items)


def is_null(result: Bound, operand: Bound) -> None:
    if operand.origin is not None:
        from bergsql.engine.table.predicate import IsNull

        _about(result, operand.origin, IsNull(operand.origin.name))


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
    if a.origin is None or a.type.kind not in TEXTS:
        return
    from bergsql.engine.table.predicate import Compare, Op, StartsWith

    if i == len(pattern):
        _about(result, a.origin, Compare(a.origin.name, Op.EQ, prefix))
    elif prefix:
        _about(result, a.origin, StartsWith(a.origin.name, prefix))
        result.exact = pattern[i:] == "%"


def truth(bound: Bound) -> None:
    """A BOOLEAN column that is a condition itself."""
    if bound.origin is not None and not bound.predicates:
        from bergsql.engine.table.predicate import Compare, Op

        _about(bound, bound.origin, Compare(bound.origin.name, Op.EQ, True))


def conjunction(result: Bound, parts: list[Bound]) -> None:
    """All hold, on every scan that any is about."""
    slots = {s for p in parts for s in p.predicates}
    if not slots:
        return
    from bergsql.engine.table.predicate import all_of

    result.predicates = {s: all_of(*(p.predicates[s] for p in parts if s in p.predicates)) for s in sorted(slots)}
    result.exact = all(p.exact for p in parts) and len(slots) == 1


def disjunction(result: Bound, parts: list[Bound]) -> None:
    """One holds: only what all say something of."""
    slots = set(parts[0].predicates).intersection(*(p.predicates.keys() for p in parts[1:]))
    if not slots:
        return
    from bergsql.engine.table.predicate import any_of

    result.predicates = {s: any_of(*(p.predicates[s] for p in parts)) for s in sorted(slots)}
    result.exact = all(p.exact and len(p.predicates) == 1 for p in parts) and len(slots) == 1


def negation(result: Bound, operand: Bound) -> None:
    if operand.exact and len(operand.predicates) == 1:
        from bergsql.engine.table.predicate import IsNull, Not, NotNull

        ((slot, predicate),) = operand.predicates.items()
        result.predicates = {slot: NotNull(predicate.column) if isinstance(predicate, IsNull) else Not(predicate)}
        result.exact = True


def rejects_null(predicate: Predicate) -> bool:
    """True when a row whose columns are all NULL cannot fulfil it: it may be pushed below an outer join."""
    from bergsql.engine.table.predicate import And, Compare, In, NotNull, Or, StartsWith

    if isinstance(predicate, And):
        return any(rejects_null(c) for c in predicate.children)
    if isinstance(predicate, Or):
        return all(rejects_null(c) for c in predicate.children)
    return isinstance(predicate, Compare | In | StartsWith | NotNull)


def is_useful(predicate: Predicate) -> bool:
    from bergsql.engine.table.predicate import AlwaysTrue

    return not isinstance(predicate, AlwaysTrue)
