"""Every function that Flink or Spark has, ours or not: a known one that is missing is said to be so.

The names stand in ``known_*.py`` by subject, a line each: names, the engines that have them (``f``, ``s``), what they
do, and, where they are not supported here, why. What is supported is never written down: the registry
knows it. Spark's are those of versions 3.5 to 4.1, Flink's those of its documentation up to version 2.2.
docs/functions.md is made of it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import NamedTuple

from bergsql.engine.sql.flavour import Flavour

SUBJECTS = ("known_text", "known_numbers", "known_times", "known_nested")


class Known(NamedTuple):
    """A function as the engines have it: ``engines`` is ``"f"``, ``"s"`` or ``"fs"``; ``why`` it is not there."""

    name: str
    engines: str
    does: str
    why: str


@cache
def sections() -> dict[str, tuple[Known, ...]]:
    """All lines by section; a name may stand in two lines, one for each engine."""
    found: dict[str, tuple[Known, ...]] = {}
    for subject in SUBJECTS:
        tables: dict[str, str] = import_module(f"bergsql.engine.sql.functions.{subject}").SECTIONS
        found.update({title: tuple(_lines(table)) for title, table in tables.items()})
    return found


def _lines(table: str) -> list[Known]:
    found = []
    for line in table.strip().splitlines():
        names, engines, does, *why = (part.strip() for part in line.split("|"))
        found += [Known(name.strip(), engines, does, why[0] if why else "") for name in names.split(",")]
    return found


@cache
def _known() -> dict[tuple[str, str], Known]:
    return {(letter, k.name): k for known in sections().values() for k in known for letter in k.engines}


def known(name: str, flavour: Flavour) -> Known | None:
    """What the flavour's own engine has by that lower-case name."""
    return _known().get((flavour.value[0], name))


def known_names(flavour: Flavour) -> frozenset[str]:
    """The lower-case names of the engine's own functions."""
    return frozenset(name for letter, name in _known() if letter == flavour.value[0])
