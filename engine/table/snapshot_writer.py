"""Carries out a producer on one version of a table: writes the manifests and the list, and makes the snapshot."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from os import urandom
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.engine.table.datafile import DataFile, ManifestContent, ManifestFile
from bergsql.engine.table.durable import directories_of, make_durable
from bergsql.engine.table.manifest_changes import ManifestWriter, at_sequence_number, merge
from bergsql.engine.table.manifest_lists import read_manifest_list, remember_manifest_list
from bergsql.engine.table.manifest_sifting import take_away
from bergsql.engine.table.manifest_writing import as_listed, encode_manifest_list
from bergsql.engine.table.producer import CommitIdentity
from bergsql.engine.table.properties import CommitProperties, data_location
from bergsql.engine.table.summary import Tally

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.producer import Producer


def new_snapshot_id() -> int:
    """An id that no other snapshot has."""
    return int.from_bytes(urandom(8)) >> 1 or 1


class SnapshotWriter:
    """One commit in the making. The snapshot's id, and the manifests of added files, are the same in all attempts."""

    def __init__(self, storage: Storage, producer: Producer, properties: CommitProperties) -> None:
        identity = producer.identity or CommitIdentity(new_snapshot_id(), str(uuid4()))
        self.snapshot_id = identity.snapshot_id
        self._storage = storage
        self._producer = producer
        self._properties = properties
        self._commit_id = identity.commit_id
        self._attempts = 0
        self._lists: list[str] = []
        self._listed: set[str] = set()
        self._durable: set[str] = set()
        self._added: list[ManifestFile] | None = None
        self._manifests = ManifestWriter(storage, properties.metadata_location, self._commit_id, self.snapshot_id)

    def make(self, metadata: TableMetadata, parent: Snapshot | None) -> Snapshot:
        """The snapshot that follows ``parent`` (None: the first of its branch, or of a replaced table), all durable."""
        self._attempts += 1
        version = metadata.format_version
        sequence_number = metadata.last_sequence_number + 1 if version > 1 else 0
        if self._added is None:
            self._added = self._manifests.write_added(self._producer.added, metadata)
        manifests, gone = self._remaining(metadata, parent, sequence_number)
        added = at_sequence_number(self._added, sequence_number)
        manifests = merge([*added, *manifests], metadata, self._properties, self._manifests, sequence_number)
        first_row_id, added_rows = None, None
        if version > 2:
            first_row_id = metadata.next_row_id
            manifests, added_rows = _with_row_ids(manifests, first_row_id)
        parent_id = None if parent is None else parent.snapshot_id
        self._listed = {m.path for m in manifests}
        manifests = [as_listed(m, version, self.snapshot_id) for m in manifests]
        encoded = encode_manifest_list(manifests, self.snapshot_id, parent_id, sequence_number, version, first_row_id)
        path = self._write_list(encoded)
        remember_manifest_list(path, manifests, metadata, len(encoded))
        self._make_durable(metadata)
        return Snapshot(
            snapshot_id=self.snapshot_id,
            parent_id=parent_id,
            sequence_number=sequence_number,
            timestamp_ms=max(now_ms(), metadata.last_updated_ms),
            manifest_list=path,
            summary=self._summary(gone, parent),
            schema_id=metadata.current_schema_id,
            first_row_id=first_row_id,
            added_rows=added_rows,
        )

    def _remaining(
        self, metadata: TableMetadata, parent: Snapshot | None, sequence_number: int
    ) -> tuple[list[ManifestFile], list[DataFile]]:
        """The manifests of ``parent`` as far as they stay, and the files that do not."""
        if parent is None:
            return [], []
        listed = read_manifest_list(self._storage, parent, metadata)
        live = [m for m in listed if m.has_live_files]
        selection = self._producer.selection(metadata)
        left, gone = take_away(live, selection, metadata, self._manifests, sequence_number)
        if selection is not None:
            selection.check_taken(gone, parent.snapshot_id)
        return left, gone

    def _summary(self, gone: list[DataFile], parent: Snapshot | None) -> dict[str, str]:
        tally = Tally()
        tally.add(self._producer.added)
        tally.remove(gone)
        previous = None if parent is None else parent.summary
        return tally.summary(self._producer.operation.value, self._producer.properties, previous)

    def _write_list(self, data: bytes) -> str:
        location = self._properties.metadata_location
        path = f"{location}/snap-{self.snapshot_id}-{self._attempts}-{self._commit_id}.avro"
        self._lists.append(path)
        self._storage.write_new(path, data, fsync=False, make_dirs=False)
        return path

    def _make_durable(self, metadata: TableMetadata) -> None:
        """Sync all that the snapshot refers to and that is new: the data files once, in the first attempt."""
        paths = [*self._manifests.paths, *self._lists]
        new = [p for p in paths if p not in self._durable]
        directories = {self._properties.metadata_location}
        if not self._durable:
            data = list(self._producer.written)
            outside = data_location(metadata.properties, metadata.location).rpartition("/")[0]
            directories |= directories_of(data, metadata.location) | directories_of(data, outside)
            new += data
        make_durable(self._storage, new, sorted(directories))
        self._durable.update(paths)

    def drop_attempt(self) -> None:
        """Delete what the last attempt wrote for it alone."""
        kept = {m.path for m in self._added or ()}
        self._delete([*self._lists, *(p for p in self._manifests.paths if p not in kept)])
        self._lists = []
        self._manifests.paths = [p for p in self._manifests.paths if p in kept]

    def drop_unlisted(self) -> None:
        """Delete, after the commit, the manifests that were merged into others before it."""
        self._delete([p for p in self._manifests.paths if p not in self._listed])

    def discard(self) -> None:
        """Delete everything that was written, and the directory if it was made for that."""
        self._delete([*self._lists, *self._manifests.paths])
        location = self._properties.metadata_location
        for directory in (location, location.rpartition("/")[0]):
            with suppress(BergError):
                self._storage.delete_empty_dir(directory)

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            with suppress(BergError):  # what is left is only an orphan
                self._storage.delete(path)


def _with_row_ids(manifests: list[ManifestFile], first_row_id: int) -> tuple[list[ManifestFile], int]:
    """v3: data manifests that have no first row id yet get one, counted on; and how many ids that took."""
    next_row_id = first_row_id
    out = []
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA and manifest.first_row_id is None:
            manifest = replace(manifest, first_row_id=next_row_id)
            next_row_id += (manifest.existing_rows_count or 0) + (manifest.added_rows_count or 0)
        out.append(manifest)
    return out, next_row_id - first_row_id
