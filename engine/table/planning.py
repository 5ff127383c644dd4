"""From a snapshot and a predicate to the files that must be read, each with the delete files that apply to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from bergsql.engine.table.delete_index import DeleteIndex
from bergsql.engine.table.manifests import RawEntry, entries_of, read_manifest_list, read_raw_entries

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.pruning import Pruner
    from bergsql.engine.table.read_point import ReadPoint


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


def plan_files(metadata: TableMetadata, point: ReadPoint, predicate: Predicate | None, storage: Storage) -> FilePlan:
    """The files at ``point`` that may hold rows of ``predicate`` (None: all), whose columns are of its schema."""
    if point.snapshot is None:
        return FilePlan()
    pruner = _pruner(metadata, point.schema, predicate)
    manifests = read_manifest_list(storage, point.snapshot, metadata)
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
