"""The pattern of LIKE in SHOW statements."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bergsql.engine.sql.flavour import Flavour


def like(pattern: str | None, names: Iterable[str], flavour: Flavour) -> list[str]:
    """The names that match, in order.

    In flink ``%`` and ``_`` are wild as in SQL; in spark ``*`` is, and ``|`` separates patterns, without case.

    >>> like("a%", ["b", "ab"], Flavour.FLINK)
    ['ab']
    >>> like("A*|c", ["b", "ab", "c"], Flavour.SPARK)
    ['ab', 'c']
    """
    ordered = sorted(names)
    if pattern is None:
        return ordered
    if flavour is Flavour.SPARK:
        parts = [re.escape(p).replace(r"\*", ".*") for p in pattern.split("|")]
        matcher = re.compile("|".join(f"(?:{p})" for p in parts), re.IGNORECASE | re.DOTALL)
    else:
        matcher = re.compile(re.escape(pattern).replace("%", ".*").replace("_", "."), re.DOTALL)
    return [name for name in ordered if matcher.fullmatch(name)]
