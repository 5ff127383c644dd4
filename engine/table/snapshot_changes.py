"""What one snapshot did to the rows of its table, by its files.

All of it stands in the snapshot's own manifests: those say which files it added and removed. The snapshot before it may
be expired by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import EntryStatus, FileIdentity, ManifestContent, ManifestEntry, file_identity
from bergsql.engine.table.delete_index import DeleteIndex, is_equality
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_columns
from bergsql.engine.table.planning import FileTask

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestFile


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A data file that stays, of which other deletes apply than before."""

    before: FileTask
    after: FileTask

    @property
    def fresh_keys(self) -> tuple[ManifestEntry, ...]:
        """The equality deletes that apply since the snapshot."""
        return _without(self.after.deletes, self.before.deletes)

    @property
    def stale_keys(self) -> tuple[ManifestEntry, ...]:
        """The equality deletes that no longer apply."""
        return _without(self.before.deletes, self.after.deletes)


@dataclass(frozen=True, slots=True)
class SnapshotChanges:
    """Data files that came (with the deletes that apply since), went (with those from before) or are touched."""

    added: tuple[FileTask, ...]
    removed: tuple[FileTask, ...] = ()
    touched: tuple[TouchedFile, ...] = ()

    @property
    def only_adds(self) -> bool:
        """Whether no row can have gone."""
        return not self.removed and not self.touched


def snapshot_changes(metadata: TableMetadata, snapshot: Snapshot, storage: Storage) -> SnapshotChanges:
    """The changes of ``snapshot``, files in the order of its manifests.

    :raises BergError: NOT_FOUND or CORRUPT naming a manifest that cannot be read.
    """
    return _Reading(metadata, snapshot, storage).changes()


class _Reading:
    def __init__(self, metadata: TableMetadata, snapshot: Snapshot, storage: Storage) -> None:
        self._metadata, self._storage = metadata, storage
        self._id = snapshot.snapshot_id
        manifests = read_manifest_list(storage, snapshot, metadata)
        self._data = [m for m in manifests if m.content == ManifestContent.DATA]
        self._deletes = [m for m in manifests if m.content == ManifestContent.DELETES]

    def changes(self) -> SnapshotChanges:
        before, after, changed = self._delete_files()
        added, removed = self._own_files()
        old, new = DeleteIndex(before, self._metadata), DeleteIndex(after, self._metadata)
        return SnapshotChanges(
            tuple(_task(e, new) for e in added),
            tuple(_task(e, old) for e in removed),
            tuple(TouchedFile(_task(e, old), _task(e, new)) for e in self._touched(changed)),
        )

    def _is_own(self, manifest: ManifestFile) -> bool:
        return manifest.added_snapshot_id in (None, self._id)

    def _delete_files(self) -> tuple[list[ManifestEntry], list[ManifestEntry], list[ManifestEntry]]:
        """The delete files before the snapshot, those since, and those that it added or removed."""
        before: list[ManifestEntry] = []
        after: list[ManifestEntry] = []
        changed: list[ManifestEntry] = []
        for manifest in self._deletes:
            for entry in read_columns(self._storage, manifest, self._metadata).entries():
                own = entry.snapshot_id == self._id and entry.status != EntryStatus.EXISTING
                if own:
                    changed.append(entry)
                    (after if entry.live else before).append(entry)
                elif entry.live:
                    before.append(entry)
                    after.append(entry)
        return before, after, changed

    def _own_files(self) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
        """The data files that the snapshot added, and those that it removed."""
        added: list[ManifestEntry] = []
        removed: list[ManifestEntry] = []
        for manifest in filter(self._is_own, self._data):
            columns = read_columns(self._storage, manifest, self._metadata)
            for status, found in ((EntryStatus.ADDED, added), (EntryStatus.DELETED, removed)):
                rows = columns.changed_by((self._id,), status)
                if rows:
                    found += columns.entries(rows)
        return added, removed

    def _touched(self, changed: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        """The data files from before, still there, to which some of the changed delete files apply."""
        if not changed:
            return []
        index = DeleteIndex(changed, self._metadata)
        found: list[ManifestEntry] = []
        for manifest in self._data:
            if not manifest.has_live_files:
                continue
            columns = read_columns(self._storage, manifest, self._metadata)
            own = frozenset(columns.changed_by((self._id,), EntryStatus.ADDED)) if self._is_own(manifest) else ()
            rows = [i for i in columns.live() if i not in own]
            if rows:
                found += (e for e in columns.entries(rows) if index.for_file(e))
        return found


def _task(entry: ManifestEntry, deletes: DeleteIndex) -> FileTask:
    return FileTask(entry.data_file, entry.sequence_number or 0, deletes.for_file(entry))


def _without(deletes: Iterable[ManifestEntry], others: Iterable[ManifestEntry]) -> tuple[ManifestEntry, ...]:
    """The equality deletes among ``deletes`` that are not among ``others``."""
    known: set[FileIdentity] = {file_identity(d.data_file) for d in others if is_equality(d)}
    return tuple(d for d in deletes if is_equality(d) and file_identity(d.data_file) not in known)
