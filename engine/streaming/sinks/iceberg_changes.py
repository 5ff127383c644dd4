"""Changes of rows with keys, folded: of each key, what was there before the checkpoint and what is there behind it.

Within a checkpoint the last change of a key counts. So a checkpoint has at most one row a key, and no row of it is
deleted by it: equality deletes, which reach what is older, are all that is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.streaming.changelog import OP, ChangelogMode, RowKind, column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField

_COMES = f"({RowKind.INSERT:d}, {RowKind.UPDATE_AFTER:d})"


class KeyedChanges(NamedTuple):
    """How changes are to be taken. ``key``: positions of columns.

    ``mode`` RETRACT: a key whose first change is +I was not there before, and -U and -D hold the row as it was. UPSERT:
    any key may have been there.
    """

    key: tuple[int, ...]
    mode: ChangelogMode

    @property
    def whole(self) -> bool:
        """Whether the rows that go are known with all their columns."""
        return self.mode is ChangelogMode.RETRACT

    def last_rows(self, table: str) -> str:
        """The condition of the rows of ``table`` that are there behind its changes."""
        return f"{OP} IN {_COMES} AND rowid IN (SELECT max(rowid) FROM {table} GROUP BY {self._keys})"

    def gone(self, table: str, columns: Iterable[str]) -> str:
        """The keys that may have been there before the changes: some columns of their rows, as those were then."""
        items = ", ".join(columns)
        if not self.whole:
            return f"SELECT DISTINCT {items} FROM {table}"
        first = f"rowid IN (SELECT min(rowid) FROM {table} GROUP BY {self._keys})"
        return f"SELECT {items} FROM {table} WHERE {OP} <> {RowKind.INSERT:d} AND {first}"

    @property
    def _keys(self) -> str:
        return ", ".join(map(column, self.key))


def partition_columns(schema: Schema, specs: Iterable[PartitionSpec], key: Sequence[NestedField]) -> list[NestedField]:
    """The columns outside of the key that the partitions of some specs are made of."""
    wanted = {field.source_id for spec in specs for field in spec.fields}
    found = []
    for f in schema.fields:
        if f not in key and not wanted.isdisjoint(_ids(f)):
            found.append(f)
    return found


def _ids(field: NestedField) -> set[int]:
    from bergsql.catalog.metadata.types import walk

    return {f.field_id for f in walk((field,))}
