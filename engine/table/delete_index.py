"""Which delete files apply to which data file (spec, "Scan Planning")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import DataFile, FileContent, ManifestEntry

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata

DELETE_FILE_PATH_ID = 2147483546
"""The field id of ``file_path`` in position delete files."""


def is_equality(entry: ManifestEntry) -> bool:
    """Whether it is an equality delete file."""
    return entry.data_file.content == FileContent.EQUALITY_DELETES


def partition_key(spec_id: int, partition: tuple[object, ...]) -> tuple[int, tuple[object, ...]]:
    """What is equal for one partition alone: NaN is NaN, and -0.0 another partition than 0.0, as in Java."""
    if not any(isinstance(v, float) for v in partition):
        return spec_id, partition
    return spec_id, tuple(repr(v) if isinstance(v, float) else v for v in partition)


class DeleteIndex:
    """Delete files by what they apply to (spec, "Scan Planning")."""

    def __init__(self, entries: Iterable[ManifestEntry], metadata: TableMetadata) -> None:
        self._by_path: dict[str, list[ManifestEntry]] = {}
        self._by_partition: dict[tuple[int, tuple[object, ...]], list[ManifestEntry]] = {}
        self._everywhere: list[ManifestEntry] = []
        self._any = False
        unpartitioned = {s.spec_id for s in metadata.specs if s.is_unpartitioned}
        for entry in entries:
            self._any = True
            file = entry.data_file
            path = _referenced_path(file) if file.content == FileContent.POSITION_DELETES else None
            if path is not None:
                self._by_path.setdefault(path, []).append(entry)
            elif file.content == FileContent.EQUALITY_DELETES and file.spec_id in unpartitioned:
                self._everywhere.append(entry)
            else:
                self._by_partition.setdefault(partition_key(file.spec_id, file.partition), []).append(entry)

    def for_file(self, entry: ManifestEntry) -> tuple[ManifestEntry, ...]:
        """The delete files that apply to a data file, by scope and sequence number."""
        if not self._any:
            return ()
        file = entry.data_file
        candidates = [
            *self._by_path.get(file.path, ()),
            *self._by_partition.get(partition_key(file.spec_id, file.partition), ()),
            *self._everywhere,
        ]
        return tuple(
            d for d in candidates if _later(d, entry.sequence_number or 0) and _may_name(d.data_file, file.path)
        )


def _later(delete: ManifestEntry, sequence_number: int) -> bool:
    """Equality deletes reach only older files, position deletes also those of their own commit."""
    own = delete.sequence_number or 0
    if is_equality(delete):
        return own > sequence_number
    return own >= sequence_number


def _referenced_path(file: DataFile) -> str | None:
    """The one data file that a position delete file or deletion vector belongs to, when that is known."""
    if file.referenced_data_file is not None:
        return file.referenced_data_file
    lower, upper = file.lower_bounds.get(DELETE_FILE_PATH_ID), file.upper_bounds.get(DELETE_FILE_PATH_ID)
    # Bounds of the path are exact only when they agree: a truncated upper bound is above the path.
    return lower.decode() if lower is not None and lower == upper else None


def _may_name(delete: DataFile, path: str) -> bool:
    """Whether a position delete file may hold positions of the data file ``path``, by its bounds."""
    if delete.content != FileContent.POSITION_DELETES:
        return True
    lower, upper = delete.lower_bounds.get(DELETE_FILE_PATH_ID), delete.upper_bounds.get(DELETE_FILE_PATH_ID)
    name = path.encode()
    return (lower is None or lower <= name) and (upper is None or name <= upper)
