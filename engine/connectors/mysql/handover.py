"""The hand-over from the snapshot of some tables to the log of their changes: pure rules.

Tables are read one after the other, each in the order of its key, chunk by chunk; between two chunks the log is read
up to the place of which the next one is. So at any time there is one place in the log, and all rows up to one key are
as of it: what comes in the log for them is given, what comes for rows behind is left out, as their chunk will have it.
What is kept is that place, that key, and the tables that are left: it never grows with a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.keys import Key, key_from_json, key_to_json
from bergsql.engine.streaming.changelog import RowKind
from bergsql.engine.streaming.sources.base import Json

Name = tuple[str, str]
"""A table by its schema (database) and its name."""


@dataclass(frozen=True)
class Progress:
    """How far a snapshot is: ``left`` begins with the table that is being read, ``bound`` is the last key of it that
    was given, None before the first. What is not in ``left`` is read from the log alone."""

    left: tuple[Name, ...] = ()
    bound: Key | None = None

    @property
    def current(self) -> Name | None:
        return self.left[0] if self.left else None

    def given(self, table: Name) -> bool | None:
        """Whether changes of a table are given: None where that is up to their keys, by ``bound``."""
        if table not in self.left:
            return True
        return None if table == self.current and self.bound is not None else False

    def upto(self, bound: Key) -> Progress:
        """Behind a chunk that ends with that key."""
        return replace(self, bound=bound)

    def done(self) -> Progress:
        """Behind the last chunk of the current table."""
        return Progress(self.left[1:])

    def to_json(self) -> dict[str, Json]:
        """Empty behind the snapshot."""
        if not self.left:
            return {}
        bound = None if self.bound is None else key_to_json(self.bound)
        return {"left": [list(name) for name in self.left], "bound": bound}

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> Progress:
        """
        :raises BergError: CORRUPT for what :meth:`to_json` has not made.
        """
        left, bound = value.get("left", []), value.get("bound")
        names: list[Name] = []
        for each in left if isinstance(left, list) else [None]:
            if not isinstance(each, list) or len(each) != 2:
                raise BergError(ErrorCode.CORRUPT, "What was kept of a snapshot is not understood.")
            names.append((str(each[0]), str(each[1])))
        return Progress(tuple(names), None if bound is None else key_from_json(bound))


def update_kinds(before: bool, after: bool) -> tuple[RowKind | None, RowKind | None]:
    """What an update's two rows are, each being up to the bound or not: a row may move over it by its key."""
    if before and after:
        return RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER
    return (RowKind.DELETE if before else None), (RowKind.INSERT if after else None)
