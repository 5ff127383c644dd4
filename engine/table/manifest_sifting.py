"""From the manifests of one snapshot to those of the next: files taken away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import (
    DataFile,
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from bergsql.engine.table.delete_index import PUFFIN
from bergsql.engine.table.manifest_changes import FILES_A_MANIFEST, ManifestWriter
from bergsql.engine.table.manifests import read_columns

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.manifests import ManifestColumns
    from bergsql.engine.table.producer import Selection


def take_away(
    manifests: Iterable[ManifestFile],
    selection: Selection | None,
    metadata: TableMetadata,
    writer: ManifestWriter,
    sequence_number: int,
) -> tuple[list[ManifestFile], list[DataFile]]:
    """The manifests without the selected files, and without delete files that reach no data file; and those files.

    A manifest that loses files is written anew: what stays is EXISTING there, what goes is DELETED, so that a reader
    of changes finds it. Deletion vectors go with their data files, and delete files that are older than every data
    file go, as with Java's writers.
    """
    data: list[ManifestFile] = []
    deletes: list[ManifestFile] = []
    for manifest in manifests:
        (data if manifest.content == ManifestContent.DATA else deletes).append(manifest)
    sifting = _Sifting(metadata, writer, sequence_number)
    if selection is not None:
        data = sifting.sift(data, _Selected(selection, metadata))
    if deletes:
        oldest = min((m.min_sequence_number for m in data), default=metadata.last_sequence_number)
        selected = None if selection is None else _Selected(selection, metadata)
        sieve = _Deletes(selected, sifting.gone, metadata, min(oldest, metadata.last_sequence_number))
        deletes = sifting.sift(deletes, sieve)
    return [*data, *deletes], sifting.gone


@dataclass(frozen=True)
class _Selected:
    """The files that a selection takes."""

    selection: Selection
    metadata: TableMetadata

    def may_hold(self, manifest: ManifestFile) -> bool:
        return self.selection.may_hold(manifest, self.metadata)

    def may_take(self, columns: ManifestColumns) -> bool:
        return self.selection.may_take(columns)

    def takes(self, entry: ManifestEntry) -> bool:
        return self.selection.takes(entry.data_file, self.metadata)


class _Deletes:
    """The delete files that go: selected ones, vectors of data files that went, and what is older than all data."""

    def __init__(
        self, selected: _Selected | None, gone: Sequence[DataFile], metadata: TableMetadata, oldest: int
    ) -> None:
        from bergsql.engine.table.overwrite import InPartitions

        self._selected, self._metadata, self._oldest = selected, metadata, oldest
        self._vectors_of = {f.path for f in gone} if metadata.format_version >= 3 else set()
        self._partitions = InPartitions.of(gone if self._vectors_of else (), metadata)

    def may_hold(self, manifest: ManifestFile) -> bool:
        return (
            manifest.min_sequence_number < self._oldest
            or (bool(self._vectors_of) and self._partitions.may_hold(manifest, self._metadata))
            or (self._selected is not None and self._selected.may_hold(manifest))
        )

    def may_take(self, columns: ManifestColumns) -> bool:  # noqa: ARG002
        return True

    def takes(self, entry: ManifestEntry) -> bool:
        file = entry.data_file
        return (
            0 < (entry.sequence_number or 0) < self._oldest
            or (file.format == PUFFIN and file.referenced_data_file in self._vectors_of)
            or (self._selected is not None and self._selected.takes(entry))
        )


@dataclass
class _Sifting:
    """Manifests without the files that go. ``gone`` collects these."""

    metadata: TableMetadata
    writer: ManifestWriter
    sequence_number: int
    gone: list[DataFile] = field(default_factory=list)

    def sift(self, manifests: Iterable[ManifestFile], sieve: _Selected | _Deletes) -> list[ManifestFile]:
        kept: list[ManifestFile] = []
        emptied: list[tuple[ManifestFile, list[ManifestEntry]]] = []
        for manifest in manifests:
            going, staying = self._sifted(manifest, sieve) if sieve.may_hold(manifest) else ([], [])
            self.gone += (e.data_file for e in going)
            if not going:
                kept.append(manifest)
            elif staying:
                kept.append(self._write([*going, *staying], manifest.spec_id, manifest.content))
            else:
                emptied.append((manifest, going))
        return [*kept, *self._write_deleted(emptied)]

    def _sifted(
        self, manifest: ManifestFile, sieve: _Selected | _Deletes
    ) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
        """The entries of files that go, and of files that stay."""
        columns = read_columns(self.writer.storage, manifest, self.metadata)
        if not sieve.may_take(columns):
            return [], []
        going, staying = [], []
        for entry in columns.entries(columns.live()):
            if sieve.takes(entry):
                going.append(replace(entry, status=EntryStatus.DELETED, snapshot_id=self.writer.snapshot_id))
            else:
                staying.append(replace(entry, status=EntryStatus.EXISTING))
        return going, staying

    def _write_deleted(self, emptied: Iterable[tuple[ManifestFile, list[ManifestEntry]]]) -> Iterator[ManifestFile]:
        """The entries of manifests that lost all their files, together in few manifests."""
        groups: dict[tuple[int, int], list[ManifestEntry]] = {}
        for manifest, entries in emptied:
            groups.setdefault((manifest.spec_id, manifest.content), []).extend(entries)
        for (spec_id, content), entries in groups.items():
            for at in range(0, len(entries), FILES_A_MANIFEST):
                yield self._write(entries[at : at + FILES_A_MANIFEST], spec_id, content)

    def _write(self, entries: Sequence[ManifestEntry], spec_id: int, content: int) -> ManifestFile:
        return self.writer.write(entries, spec_id, content, self.metadata, self.sequence_number)
