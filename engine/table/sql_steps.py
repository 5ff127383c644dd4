"""SQL expressions computed step by step, each step a column that later ones may name as often as they like."""

from __future__ import annotations

import re


class Steps:
    """Helper columns behind those of a source.

    A value that is needed twice becomes a column of a subquery: written out in place, an expression of many such steps
    would double with each of them.
    """

    def __init__(self, prefix: str) -> None:
        """``prefix`` begins the helpers' names; it must begin no column of the source."""
        self._prefix = prefix
        self._names = re.compile(rf"\b{re.escape(prefix)}\d+\b")
        self._levels: list[list[str]] = []
        self._level_of: dict[str, int] = {}

    def given(self, sql: str) -> str:
        """Computes ``sql``, made from the source's columns alone, as a new column; its name.

        Whatever else it holds: names and texts in it may look like steps.
        """
        return self._at(0, sql)

    def add(self, sql: str) -> str:
        """Computes ``sql``, made from earlier steps and from nothing that is not ours, as a new column; its name."""
        return self._at(max((self._level_of[used] + 1 for used in self._names.findall(sql)), default=0), sql)

    def _at(self, level: int, sql: str) -> str:
        name = f"{self._prefix}{len(self._level_of)}"
        self._level_of[name] = level
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(f"{sql} AS {name}")
        return name

    def over(self, source: str) -> str:
        """``source`` (something to select from) with all steps behind its columns."""
        for level in self._levels:
            source = f"(SELECT *, {', '.join(level)} FROM {source})"
        return source
