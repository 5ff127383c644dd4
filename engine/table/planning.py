"""From a snapshot and a predicate to the files that must be read, each with the delete files that apply to it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import DataFile, ManifestContent, ManifestEntry, ManifestFile, filled, partition_key
from bergsql.engine.table.delete_index import DeleteIndex, distinct, is_equality
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_columns
from bergsql.engine.table.read_point import ancestors

if TYPE_CHECKING:
    from pyroaring import BitMap

    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.pruning import Pruner
    from bergsql.engine.table.read_point import ReadPoint
    from bergsql.engine.table.whole_files import WholeFiles


@dataclass(frozen=True, slots=True)
class FileTask:
    """A data file to read. ``sequence_number`` is its data sequence number; ``deletes`` are the files that apply.

    ``gone`` are positions of rows that are left out though no delete file names them.
    """

    data_file: DataFile
    sequence_number: int
    deletes: Sequence[ManifestEntry] = ()
    gone: BitMap | None = None


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
    pruned_by: tuple[tuple[str, int], ...] = ()
    """How many files each rule left out, in the order in which the rules were asked: ``("partition day(ts)", 12)``."""
    whole: tuple[FileTask, ...] = ()
    """Those of the tasks that hold no other rows than wanted ones (whole_files.py), if that was asked."""

    @property
    def equality_deletes(self) -> bool:
        """Whether some apply: then no count of rows is known without reading them."""
        return self.delete_files > 0 and any(map(is_equality, distinct(t.deletes for t in self.tasks)))


def plan_files(
    metadata: TableMetadata,
    point: ReadPoint,
    predicate: Predicate | None,
    storage: Storage,
    others: Predicate | None = None,
) -> FilePlan:
    """The files at ``point`` that may hold rows of ``predicate`` (None: all), whose columns are of its schema.

    Of a point with ``appended`` they are those that these snapshots added. ``others`` is what is known of the rows that
    are not wanted: files without such rows are ``whole``.
    """
    if point.snapshot is None:
        return FilePlan()
    with _without_collector():
        return _Planning(metadata, point, predicate, storage, others).plan()


def count_rows(metadata: TableMetadata, point: ReadPoint, storage: Storage) -> tuple[FilePlan, int] | None:
    """How many rows there are at ``point``, and a plan without its tasks; None where there are delete files.

    No file is made out of its manifest's entry, so very many of them cost little.
    """
    if point.snapshot is None:
        return FilePlan(), 0
    return _Planning(metadata, point, None, storage).counted()


class _Planning:
    """One plan in the making."""

    def __init__(
        self,
        metadata: TableMetadata,
        point: ReadPoint,
        predicate: Predicate | None,
        storage: Storage,
        others: Predicate | None = None,
    ) -> None:
        assert point.snapshot is not None
        self._metadata = metadata
        self._storage = storage
        self._appended = point.appended
        self._pruner = _pruner(metadata, point.schema, predicate)
        self._whole = _whole(metadata, point.schema, others)
        self._manifests = _manifests(metadata, point, point.snapshot, storage)
        self._files_total = 0

    def plan(self) -> FilePlan:
        data = [m for m in self._manifests if m.content == ManifestContent.DATA and m.has_live_files]
        if self._appended is not None:
            data = [m for m in data if m.added_files_count != 0]
        kept = data if self._pruner is None else self._pruner.manifests(data)
        found = self._data_entries(data, kept)
        deletes = DeleteIndex(self._delete_entries(found) if found else (), self._metadata)
        sequence_numbers = [e.sequence_number or 0 for e in found]
        nothing = repeat(None, len(found))
        columns = (list(map(_DATA_FILE, found)), sequence_numbers, map(deletes.for_file, found), nothing)
        tasks = tuple(filled(FileTask, len(found), columns))
        return FilePlan(
            tasks,
            manifests_total=len(data),
            manifests_kept=len(kept),
            files_total=self._files_total,
            files_kept=len(tasks),
            bytes_kept=sum(t.data_file.file_size for t in tasks),
            delete_files=len(distinct(t.deletes for t in tasks if t.deletes)),
            pruned_by=() if self._pruner is None else tuple(self._pruner.pruned_by.items()),
            whole=() if self._whole is None else self._whole.among(tasks),
        )

    def counted(self) -> tuple[FilePlan, int] | None:
        """The rows of all files, where no row can be deleted."""
        live = [m for m in self._manifests if m.has_live_files]
        if any(m.content == ManifestContent.DELETES for m in live):
            return None
        files = count = 0
        for manifest in live:
            columns = read_columns(self._storage, manifest, self._metadata)
            rows = columns.live() if self._appended is None else columns.appended_by(self._appended)
            files += len(rows)
            counts, _ = columns.fields((_RECORD_COUNT, _CONTENT), None if len(rows) == columns.count else rows)
            count += sum(counts)
        return FilePlan((), len(live), len(live), files, files), count

    def _data_entries(self, data: Sequence[ManifestFile], kept: Sequence[ManifestFile]) -> list[ManifestEntry]:
        """The live entries that the predicate keeps, oldest first."""
        self._files_total = sum(m.live_files for m in data) - sum(m.live_files for m in kept)
        found: list[ManifestEntry] = []
        for manifest in kept:
            columns = read_columns(self._storage, manifest, self._metadata)
            live = columns.live() if self._appended is None else columns.appended_by(self._appended)
            self._files_total += len(live)
            rows = live if self._pruner is None else self._pruner.files(columns, live)
            if rows:
                found += columns.entries(rows)
                if self._whole is not None:
                    self._whole.look(columns, rows)
        found.sort(key=_age)  # stable: rows come in the order they were written
        return found

    def _delete_entries(self, found: Sequence[ManifestEntry]) -> Iterator[ManifestEntry]:
        """The delete files that may apply to data files: as new as the oldest of them, and in a partition of theirs."""
        manifests = [m for m in self._manifests if m.content == ManifestContent.DELETES and m.has_live_files]
        oldest = found[0].sequence_number or 0
        manifests = [m for m in manifests if m.sequence_number >= oldest]
        if self._pruner is not None:
            manifests = self._pruner.manifests(manifests, count=False)
        partitions = {partition_key(e.data_file.spec_id, e.data_file.partition) for e in found} if manifests else set()
        for manifest in manifests:
            columns = read_columns(self._storage, manifest, self._metadata)
            rows = columns.live()
            if not columns.spec.is_unpartitioned:
                values, numbers = columns.partitions()
                there = {n for n, value in enumerate(values) if partition_key(manifest.spec_id, value) in partitions}
                rows = rows if len(there) == len(values) else [i for i in rows if numbers[i] in there]
            if rows:
                yield from (e for e in columns.entries(rows) if (e.sequence_number or 0) >= oldest)


_DATA_FILE = attrgetter("data_file")
_RECORD_COUNT, _CONTENT = 103, 134
"""The ids of fields of a manifest. The content of files is held to that of the manifest as it is read."""


def _age(entry: ManifestEntry) -> int:
    return entry.sequence_number or 0


def _manifests(
    metadata: TableMetadata, point: ReadPoint, snapshot: Snapshot, storage: Storage
) -> tuple[ManifestFile, ...]:
    """The manifests at ``point``; of one with ``appended`` those of data that these snapshots wrote.

    Each is asked for its own: a later ``replace`` may have rewritten its files.
    """
    if point.appended is None:
        return read_manifest_list(storage, snapshot, metadata)
    found: dict[str, ManifestFile] = {}
    for appending in ancestors(metadata, snapshot):
        if appending.snapshot_id in point.appended:
            for manifest in read_manifest_list(storage, appending, metadata):
                if manifest.added_snapshot_id == appending.snapshot_id and manifest.content == ManifestContent.DATA:
                    found.setdefault(manifest.path, manifest)
    return tuple(found.values())


def _pruner(metadata: TableMetadata, schema: Schema, predicate: Predicate | None) -> Pruner | None:
    if predicate is None:
        return None
    from bergsql.engine.table.pruning import Pruner

    return Pruner(metadata, schema, predicate)


def _whole(metadata: TableMetadata, schema: Schema, others: Predicate | None) -> WholeFiles | None:
    if others is None:
        return None
    from bergsql.engine.table.whole_files import WholeFiles

    return WholeFiles(metadata, schema, others)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the collector of reference cycles: a plan of very many files makes none, and it would look at each again
    and again, a third of the time."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
