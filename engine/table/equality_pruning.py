"""Which equality deletes cannot delete a row of a data file, by what the manifests say of both.

Two files can only meet where the values of each key can: their intervals overlap, or both may hold NULL, or both may
hold NaN. What is not known never prunes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.engine.table.binding import Bound, Term
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.delete_index import Thinning, distinct, is_equality
from bergsql.engine.table.equality_keys import KeyColumn, key_columns
from bergsql.engine.table.facets import Facet, possible
from bergsql.engine.table.file_facets import Span, column_facets, span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.planning import FileTask

_TRIES = 20_000
"""Pairs of files that are compared even if none can be told apart (about 20 ms)."""
_REWARD = 20
"""How many more pairs are compared for each that could be told apart."""
_MOST_KEPT = 2_000_000
"""So many deletes may tasks hold of their own, not as a part of what they share (16 MB)."""


class EqualityPruner:
    """Judges equality deletes of one table. ``bound`` is what is wanted of the table's rows."""

    def __init__(self, metadata: TableMetadata, bound: Bound = True) -> None:
        self._metadata = metadata
        self._bound = bound
        self._keys: dict[tuple[int, ...], tuple[KeyColumn, ...]] = {}
        self._spans: dict[tuple[str, tuple[int, ...]], tuple[Span, ...]] = {}
        self._tries = _TRIES
        self._left = _MOST_KEPT

    def pruned(self, tasks: Iterable[FileTask]) -> tuple[FileTask, ...]:
        """The tasks without the equality deletes that can delete no wanted row of theirs."""
        tasks = tuple(tasks)
        deletes = filter(is_equality, distinct(t.deletes for t in tasks))
        unwanted = {id(d) for d in deletes if not self._is_wanted(d.data_file)}
        if unwanted:
            thinned = Thinning(lambda d: id(d) in unwanted)
            tasks = tuple(replace(t, deletes=thinned(t.deletes)) if t.deletes else t for t in tasks)
        return tuple(map(self._pruned, tasks))

    def _pruned(self, task: FileTask) -> FileTask:
        if self._tries <= 0 or self._left <= 0:
            return task
        kept = tuple(d for d in task.deletes if not is_equality(d) or self._may_delete(d.data_file, task.data_file))
        if len(kept) == len(task.deletes):
            return task
        self._left -= len(kept)
        return replace(task, deletes=kept)

    def _may_delete(self, delete: DataFile, data: DataFile) -> bool:
        if self._tries <= 0:
            return True
        ids = delete.equality_ids or ()
        meets = all(map(_meet, self._spans_of(delete, ids), self._spans_of(data, ids)))
        self._tries += -1 if meets else _REWARD
        return meets

    def _is_wanted(self, delete: DataFile) -> bool:
        """Whether some row that it deletes may be wanted. Columns that are no keys may be different in the data."""
        if self._bound is True:
            return True
        ids = delete.equality_ids or ()

        def facets_of(term: Term) -> Iterable[Facet]:
            return column_facets(delete, term) if term.field.field_id in ids else ()

        return possible(self._bound, facets_of)

    def _spans_of(self, file: DataFile, ids: tuple[int, ...]) -> tuple[Span, ...]:
        spans = self._spans.get((file.path, ids))
        if spans is None:
            keys = self._keys.get(ids)
            if keys is None:
                keys = self._keys[ids] = key_columns(self._metadata, ids)
            spans = self._spans[(file.path, ids)] = tuple(span(file, k.leaf, k.nested) for k in keys)
        return spans


def _meet(one: Span, other: Span) -> bool:
    if (one.nulls and other.nulls) or (one.nans and other.nans):
        return True
    if not (one.values and other.values):
        return False
    apart = (one.lower is not None and other.upper is not None and one.lower > other.upper) or (
        one.upper is not None and other.lower is not None and one.upper < other.lower
    )
    return not apart
