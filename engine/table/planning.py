"""From a snapshot and a predicate to the files that must be read, each with the delete files that apply to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from bergsql.engine.table.manifests import RawEntry, entries_of, read_manifest_list, read_raw_entries

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.pruning import Pruner

DELETE_FILE_PATH_ID = 2147483546
"""The field id of ``file_path`` in position delete files."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """A data file to read. ``sequence_number`` is its data sequence number; ``deletes`` are the files that apply."""

    data_file: DataFile
    sequence_number: int
    deletes: tuple[ManifestEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a scan reads, oldest files first, and what was left out. Sizes are bytes."""

    tasks: tuple[FileTask, ...] = ()
    manifests_total: int = 0
    manifests_kept: int = 0
    files_total: int = 0
    files_kept: int = 0
    bytes_kept: int = 0
    delete_files: int = 0
    """Delete files that apply to some file kept."""


def plan_files(
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    predicate: Predicate | None,
    storage: Storage,
    *,
    schema: Schema | None = None,
) -> FilePlan:
    """The files of ``snapshot`` (None: an empty table) that may hold rows of ``predicate`` (None: all).

    ``schema`` is the one that the predicate's columns belong to; the table's current one by default.
    """
    if snapshot is None:
        return FilePlan()
    pruner = _pruner(metadata, schema or metadata.schema, predicate)
    manifests = read_manifest_list(storage, snapshot, metadata)
    data = [m for m in manifests if m.content == ManifestContent.DATA and m.has_live_files]
    files_total = manifests_kept = 0
    found: list[ManifestEntry] = []
    for manifest in data:
        if pruner is None or pruner.keeps_manifest(manifest):
            entries, live = _live_entries(storage, manifest, metadata, pruner)
            found += entries
            files_total += live
            manifests_kept += 1
        else:
            files_total += (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
    deletes = DeleteIndex(_delete_entries(storage, manifests, metadata) if found else (), metadata)
    found.sort(key=lambda e: e.sequence_number or 0)  # stable: rows come in the order they were written
    tasks = tuple(FileTask(e.data_file, e.sequence_number or 0, deletes.for_file(e)) for e in found)
    return FilePlan(
        tasks,
        manifests_total=len(data),
        manifests_kept=manifests_kept,
        files_total=files_total,
        files_kept=len(tasks),
        bytes_kept=sum(t.data_file.file_size for t in tasks),
        delete_files=len({id(d) for t in tasks for d in t.deletes}),
    )


def _pruner(metadata: TableMetadata, schema: Schema, predicate: Predicate | None) -> Pruner | None:
    if predicate is None:
        return None
    from bergsql.engine.table.pruning import Pruner

    return Pruner(metadata, schema, predicate)


def _live_entries(
    storage: Storage, manifest: ManifestFile, metadata: TableMetadata, pruner: Pruner | None
) -> tuple[list[ManifestEntry], int]:
    """The entries that the predicate keeps, and how many live ones there are."""
    live = 0

    def wanted(entry: RawEntry) -> bool:
        nonlocal live
        if entry.status == EntryStatus.DELETED:
            return False
        live += 1
        return pruner is None or pruner.keeps_file(entry, manifest.spec_id)

    return list(entries_of(read_raw_entries(storage, manifest, metadata), manifest, wanted)), live


def _delete_entries(
    storage: Storage, manifests: Iterable[ManifestFile], metadata: TableMetadata
) -> Iterable[ManifestEntry]:
    for manifest in manifests:
        if manifest.content == ManifestContent.DELETES and manifest.has_live_files:
            raw = read_raw_entries(storage, manifest, metadata)
            yield from entries_of(raw, manifest, lambda e: e.status != EntryStatus.DELETED)


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
                self._by_partition.setdefault((file.spec_id, file.partition), []).append(entry)

    def for_file(self, entry: ManifestEntry) -> tuple[ManifestEntry, ...]:
        """The delete files that apply to a data file, by scope and sequence number."""
        if not self._any:
            return ()
        file = entry.data_file
        candidates = [
            *self._by_path.get(file.path, ()),
            *self._by_partition.get((file.spec_id, file.partition), ()),
            *self._everywhere,
        ]
        return tuple(
            d for d in candidates if _later(d, entry.sequence_number or 0) and _may_name(d.data_file, file.path)
        )


def _later(delete: ManifestEntry, sequence_number: int) -> bool:
    """Equality deletes reach only older files, position deletes also those of their own commit."""
    own = delete.sequence_number or 0
    if delete.data_file.content == FileContent.EQUALITY_DELETES:
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
