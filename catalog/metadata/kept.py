"""Whether what a commit changed can still be seen in a later version of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from bergsql.catalog.metadata.table_metadata import TableMetadata

_MOVES_ON = frozenset({"last_updated_ms", "last_sequence_number", "next_row_id", "metadata_log", "snapshot_log"})
"""What every commit may change, whatever it is for."""


def keeps_changes(before: TableMetadata, after: TableMetadata, later: TableMetadata) -> bool:
    """True when ``later`` has all that made ``after`` of ``before``: a version built on ``after`` has that."""
    names = (f.name for f in fields(TableMetadata) if f.name not in _MOVES_ON)
    return all(_keeps(getattr(before, n), getattr(after, n), getattr(later, n)) for n in names)


def _keeps(before: object, after: object, later: object) -> bool:
    if before == after:
        return True
    if isinstance(before, Mapping) and isinstance(after, Mapping) and isinstance(later, Mapping):
        changed = (k for k in before.keys() | after.keys() if before.get(k) != after.get(k))
        return all(later.get(k) == after.get(k) for k in changed)
    if isinstance(before, tuple) and isinstance(after, tuple) and isinstance(later, tuple):
        added = (e for e in after if e not in before)
        removed = (e for e in before if e not in after)
        return all(e in later for e in added) and not any(e in later for e in removed)
    return later == after
