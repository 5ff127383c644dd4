"""What a condition says of the scans that it is about, for each of its three outcomes.

``true`` are predicates that hold, scan by scan, wherever the condition is TRUE; ``false`` and ``unknown`` wherever it
is FALSE or NULL. They may be weaker than the condition, never stronger, so files are pruned by them, and DuckDB still
filters every row. With all three, NOT, IS TRUE and their like say as much as what they are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bergsql.engine.table.predicate import Predicate

Facts = Mapping[int, "Predicate"] | None
"""Predicates by slot, of rows that come from that scan; None where the outcome cannot be."""

NOTHING: Facts = {}


class Truth(NamedTuple):
    true: Facts = NOTHING
    false: Facts = NOTHING
    unknown: Facts = NOTHING


ALWAYS = Truth(NOTHING, None, None)
NEVER = Truth(None, NOTHING, None)
UNKNOWN = Truth(None, None, NOTHING)
ANY = Truth()


def conjunction(parts: Sequence[Truth]) -> Truth:
    return Truth(
        together([p.true for p in parts]),
        either([p.false for p in parts]),
        either([p.unknown for p in parts]),
    )


def disjunction(parts: Sequence[Truth]) -> Truth:
    return Truth(
        either([p.true for p in parts]),
        together([p.false for p in parts]),
        either([p.unknown for p in parts]),
    )


def negation(of: Truth) -> Truth:
    return Truth(of.false, of.true, of.unknown)


def is_true(of: Truth) -> Truth:
    """IS TRUE, which is never NULL."""
    return Truth(of.true, either([of.false, of.unknown]), None)


def is_unknown(of: Truth) -> Truth:
    """IS UNKNOWN, IS NULL of a condition."""
    return Truth(of.unknown, either([of.true, of.false]), None)


def together(facts: Iterable[Facts]) -> Facts:
    """All of them hold."""
    from bergsql.engine.table.predicate import all_of

    by_slot: dict[int, list[Predicate]] = {}
    for fact in facts:
        if fact is None:
            return None
        for slot, predicate in fact.items():
            by_slot.setdefault(slot, []).append(predicate)
    return {slot: all_of(*by_slot[slot]) for slot in sorted(by_slot)}


def either(facts: Iterable[Facts]) -> Facts:
    """One of them holds: only what all say something of."""
    from bergsql.engine.table.predicate import any_of

    possible = [f for f in facts if f is not None]
    if not possible:
        return None
    slots = set(possible[0]).intersection(*possible[1:])
    return {slot: any_of(*_as_list([f[slot] for f in possible])) for slot in sorted(slots)}


def _as_list(predicates: Sequence[Predicate]) -> Sequence[Predicate]:
    """Equalities of one column as one IN, which a long chain of ORs is."""
    from bergsql.engine.table.predicate import Compare, In, Op

    if len(predicates) < 2:
        return predicates
    values: dict[object, None] = {}
    column = None
    for predicate in predicates:
        if isinstance(predicate, Compare) and predicate.op is Op.EQ and column in (None, predicate.column):
            column = predicate.column
            values[predicate.value] = None
        elif isinstance(predicate, In) and column in (None, predicate.column):
            column = predicate.column
            values.update(dict.fromkeys(predicate.values))
        else:
            return predicates
    return [In(column, tuple(values))] if column is not None and len(values) > 1 else predicates[:1]
