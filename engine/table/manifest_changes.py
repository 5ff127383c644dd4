"""From the manifests of one snapshot to those of the next: files added, small manifests merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.datafile import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest
from bergsql.engine.table.manifests import read_manifest

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.properties import CommitProperties

FILES_A_MANIFEST = 20_000
"""About as many entries as make a manifest of the usual eight megabytes."""


@dataclass(slots=True)
class ManifestWriter:
    """Writes the manifests of one commit, under the names that Java's writers give; remembers them all."""

    storage: Storage
    location: str
    commit_id: str
    snapshot_id: int
    paths: list[str] = field(default_factory=list)
    _count: int = 0

    def write(
        self,
        entries: Sequence[ManifestEntry],
        spec_id: int,
        content: int,
        metadata: TableMetadata,
        sequence_number: int,
    ) -> ManifestFile:
        """Write one manifest, which is not durable yet; what a manifest list says of it."""
        spec = metadata.spec_by_id(spec_id)
        if spec is None:
            raise BergError(ErrorCode.CORRUPT, f"The table has no partition spec {spec_id}.")
        version = metadata.format_version
        data = encode_manifest(entries, spec, metadata.schema, version, content, self.snapshot_id)
        path = f"{self.location}/{self.commit_id}-m{self._count}.avro"
        self._count += 1
        self.paths.append(path)
        self.storage.write_new(path, data, fsync=False, make_dirs=False)
        return describe_manifest(
            path,
            data,
            entries,
            spec,
            metadata.schema,
            snapshot_id=self.snapshot_id,
            sequence_number=sequence_number,
            content=content,
        )

    def write_added(self, files: Iterable[DataFile], metadata: TableMetadata) -> list[ManifestFile]:
        """Manifests of files that the snapshot adds. They inherit the sequence number, so a retry may reuse them."""
        found = []
        for spec_id, content, some in _groups(files):
            entries = [ManifestEntry(EntryStatus.ADDED, f) for f in some]
            found.append(self.write(entries, spec_id, content, metadata, 0))
        return found


def _groups(files: Iterable[DataFile]) -> Iterator[tuple[int, int, list[DataFile]]]:
    """Files of one spec and kind, not too many at a time."""
    rest = iter(files)
    while some := list(islice(rest, FILES_A_MANIFEST)):
        groups: dict[tuple[int, int], list[DataFile]] = {}
        for f in some:
            content: int = ManifestContent.DATA if f.content == FileContent.DATA else ManifestContent.DELETES
            groups.setdefault((f.spec_id, content), []).append(f)
        for (spec_id, content), members in groups.items():
            yield spec_id, content, members


def at_sequence_number(manifests: Iterable[ManifestFile], sequence_number: int) -> list[ManifestFile]:
    """Manifests of added files only, as a snapshot with this sequence number lists them."""
    return [replace(m, sequence_number=sequence_number, min_sequence_number=sequence_number) for m in manifests]


def merge(
    manifests: Sequence[ManifestFile],
    metadata: TableMetadata,
    properties: CommitProperties,
    writer: ManifestWriter,
    sequence_number: int,
) -> list[ManifestFile]:
    """The manifests, small ones of one spec and kind merged into larger ones.

    The newest manifests come first. As in Java, those that would go together with the very newest are left alone until
    there are ``commit.manifest.min-count-to-merge`` of them.
    """
    if not properties.merge_manifests:
        return list(manifests)
    groups: dict[tuple[int, int], list[ManifestFile]] = {}
    for manifest in manifests:
        groups.setdefault((manifest.content, manifest.spec_id), []).append(manifest)
    out: list[ManifestFile] = []
    for (content, spec_id), group in groups.items():
        for members in _bins(group, properties.manifest_size):
            with_newest = members[0] is group[0]
            if len(members) == 1 or (with_newest and len(members) < properties.min_count_to_merge):
                out += members
            else:
                entries = list(_merged_entries(members, metadata, writer))
                out.append(writer.write(entries, spec_id, content, metadata, sequence_number))
    return out


def _bins(group: Sequence[ManifestFile], size: int) -> list[list[ManifestFile]]:
    """Neighbours of together at most ``size`` bytes, filled from the oldest, so that full bins stay as they are."""
    bins: list[list[ManifestFile]] = []
    room = 0
    for manifest in reversed(group):
        if not bins or manifest.length > room:
            bins.append([])
            room = size
        bins[-1].append(manifest)
        room -= manifest.length
    return [b[::-1] for b in reversed(bins)]


def _merged_entries(
    members: Iterable[ManifestFile], metadata: TableMetadata, writer: ManifestWriter
) -> Iterator[ManifestEntry]:
    """What merged manifests hold: this snapshot's changes as they are, earlier files as existing."""
    for manifest in members:
        for entry in read_manifest(writer.storage, manifest, metadata):
            if entry.snapshot_id == writer.snapshot_id:
                added = entry.status == EntryStatus.ADDED
                # Added files take over the sequence number of the commit, which is not certain before it happened.
                yield replace(entry, sequence_number=None, file_sequence_number=None) if added else entry
            elif entry.live:
                yield replace(entry, status=EntryStatus.EXISTING)
