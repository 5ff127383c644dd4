"""Entries of manifests, with everything that is inherited filled in (spec, "Inheritance")."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

from bergsql.engine.table.datafile import (
    NO_BOUNDS,
    NO_COUNTS,
    DataFile,
    EntryStatus,
    FileContent,
    ManifestEntry,
    ManifestFile,
    filled,
)
from bergsql.engine.table.manifest_schemas import entry_ids


class RawEntry(NamedTuple):
    """A manifest entry as it is written, nothing inherited; in the order of :func:`entry_ids`."""

    status: int
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    content: int | None
    path: str
    format: str
    partition: tuple[object, ...]
    record_count: int
    file_size: int
    column_sizes: dict[int, int] | None
    value_counts: dict[int, int] | None
    null_counts: dict[int, int] | None
    nan_counts: dict[int, int] | None
    lower_bounds: dict[int, bytes] | None
    upper_bounds: dict[int, bytes] | None
    key_metadata: bytes | None
    split_offsets: tuple[int, ...] | None
    equality_ids: tuple[int, ...] | None
    sort_order_id: int | None
    first_row_id: int | None
    referenced_data_file: str | None
    content_offset: int | None
    content_size: int | None


ENTRY_IDS = entry_ids()
"""The ids of the fields of an entry, by name."""
RAW_IDS = tuple(ENTRY_IDS.values())


def row_ids_of(
    own: Sequence[int | None], statuses: Sequence[int], records: Sequence[int], first: int
) -> list[int | None]:
    """The first row id of every file of a manifest whose own is ``first`` (spec, "First Row ID Inheritance")."""
    found = list(own)
    for i, (row_id, status) in enumerate(zip(own, statuses, strict=True)):
        if row_id is None and status != EntryStatus.DELETED:
            found[i] = first
            first += records[i]
    return found


def entries_of(
    values: Sequence[list[Any]], manifest: ManifestFile, row_ids: Sequence[int | None] | None
) -> list[ManifestEntry]:
    """Entries of the values of each field of a raw entry, in order."""
    raw: Any = RawEntry._make(values)
    count = len(raw.path)
    formats = {f: f.upper() for f in set(raw.format)}
    contents = [c or 0 for c in raw.content]
    if row_ids is None:
        row_ids = raw.first_row_id
    if any(contents):
        row_ids = [n if c == FileContent.DATA else None for n, c in zip(row_ids, contents, strict=True)]
    files = filled(
        DataFile,
        count,
        (
            raw.path,
            raw.record_count,
            raw.file_size,
            [formats[f] for f in raw.format],
            contents,
            raw.partition,
            repeat(manifest.spec_id, count),
            *([NO_COUNTS if m is None else m for m in maps] for maps in raw[10:14]),
            *([NO_BOUNDS if m is None else m for m in maps] for maps in raw[14:16]),
            raw.key_metadata,
            raw.split_offsets,
            raw.equality_ids,
            raw.sort_order_id,
            row_ids,
            raw.referenced_data_file,
            raw.content_offset,
            raw.content_size,
        ),
    )
    snapshot_ids = [manifest.added_snapshot_id if s is None else s for s in raw.snapshot_id]
    numbers = (_inherited(n, raw.status, manifest) for n in (raw.sequence_number, raw.file_sequence_number))
    return filled(ManifestEntry, count, (raw.status, files, snapshot_ids, *numbers))


def _inherited(numbers: Sequence[int | None], statuses: Sequence[int], manifest: ManifestFile) -> Sequence[int | None]:
    """Sequence numbers, the manifest's where an added file has none (v1: where any has none)."""
    if None not in numbers:
        return numbers
    own = manifest.sequence_number
    return [
        own if n is None and (own == 0 or status == EntryStatus.ADDED) else n
        for n, status in zip(numbers, statuses, strict=True)
    ]
