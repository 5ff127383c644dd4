"""Rows that go and rows that come, in one snapshot: what DELETE, UPDATE and MERGE commit.

One producer for both ways of writing. Copy-on-write removes data files and adds their other rows anew; merge-on-read
adds delete files. Both may be in one change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.predicate import AlwaysTrue, Predicate
from bergsql.engine.table.producer import Operation, Producer


class Isolation(StrEnum):
    """What a statement may miss of others: nothing, or rows that came to the table since it read it."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class RowDelta(Producer):
    """``files`` and ``deletes`` are added; ``removed`` and ``removed_deletes`` go.

    Data files go by their path, delete files by path and ``content_offset``: a Puffin file may hold the vectors of
    many data files. The deletion vectors of removed data files go without being named. ``read`` is what the statement
    looked at in the table it changes, ``isolation`` how much others may have changed of it.
    """

    deletes: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    removed_deletes: Sequence[DataFile] = ()
    read: Predicate = field(default_factory=AlwaysTrue, kw_only=True)
    isolation: Isolation = field(default=Isolation.SERIALIZABLE, kw_only=True)

    @property
    def operation(self) -> Operation:
        """As Java's RowDelta and OverwriteFiles say it."""
        if not self.deletes and not self.removed and not self.removed_deletes:
            return Operation.APPEND
        if not self.files and not (self.deletes and self.removed):
            return Operation.DELETE
        return Operation.OVERWRITE

    @property
    def added(self) -> Sequence[DataFile]:
        return [*self.files, *self.deletes]
