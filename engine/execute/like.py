"""The pattern of LIKE in SHOW statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements.base import LikePattern


def like(pattern: LikePattern | None, names: Iterable[str], flavour: Flavour) -> list[str]:
    """The names that match, or with NOT those that do not, in order.

    >>> like(LikePattern("a%"), ["b", "ab"], Flavour.FLINK)
    ['ab']
    >>> like(LikePattern("A*|c", negated=True), ["b", "ab", "c"], Flavour.SPARK)
    ['b']
    """
    ordered = sorted(names)
    if pattern is None:
        return ordered
    keeps = matcher(pattern, flavour)
    return [name for name in ordered if keeps(name)]


def matcher(pattern: LikePattern, flavour: Flavour) -> Callable[[str], bool]:
    """Whether a name is one that ``pattern`` asks for.

    In flink ``%`` and ``_`` are wild as in SQL; in spark ``*`` is, and ``|`` separates patterns, without case.
    """
    flags = re.DOTALL
    if pattern.any_case or flavour is Flavour.SPARK:
        flags |= re.IGNORECASE
    if flavour is Flavour.SPARK:
        parts = [re.escape(p.strip()).replace(r"\*", ".*") for p in pattern.text.split("|")]
        regex = re.compile("|".join(f"(?:{p})" for p in parts), flags)
    else:
        regex = re.compile(re.escape(pattern.text).replace("%", ".*").replace("_", "."), flags)
    return lambda name: (regex.fullmatch(name) is not None) != pattern.negated
