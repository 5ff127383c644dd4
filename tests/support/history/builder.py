"""A table put together commit by commit as any engine may, and beside it the model's view of every snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    AddSnapshot,
    SetCurrentSchema,
    SetDefaultSpec,
    SetSnapshotRef,
    TableUpdate,
    UpgradeFormatVersion,
)
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import BRANCH, MAIN_BRANCH, TAG, Snapshot, SnapshotRef
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.updates import apply_updates
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list
from tests.support.history.model import LiveDelete, LiveFile, Model, State, StoredDelete, StoredFile

START = 1_700_000_000_000


@dataclass(frozen=True, eq=False)
class Item:
    """A file of either kind with what a manifest says of it."""

    stored: StoredFile | StoredDelete
    described: DataFile


@dataclass(frozen=True)
class Entry:
    """An item in a manifest, with what it inherits filled in."""

    status: int
    item: Item
    snapshot_id: int
    sequence_number: int
    first_row_id: int | None = None

    @property
    def live(self) -> bool:
        return self.status != EntryStatus.DELETED


@dataclass(frozen=True)
class Manifest:
    file: ManifestFile
    spec: PartitionSpec
    entries: tuple[Entry, ...]

    @property
    def is_data(self) -> bool:
        return self.file.content == ManifestContent.DATA


@dataclass
class TableBuilder:
    """``folder`` is the table's. Timestamps of snapshots are a second apart."""

    folder: Path
    metadata: TableMetadata
    model: Model
    manifests: dict[int, tuple[Manifest, ...]] = field(default_factory=dict)
    states: dict[int, State] = field(default_factory=dict)
    file_number: int = 0

    @staticmethod
    def create(
        folder: Path, schema: Schema, spec: PartitionSpec, version: int, properties: Mapping[str, str]
    ) -> TableBuilder:
        """A table without data. Ids in ``schema`` and ``spec`` count up from 1 and 1000 in their order already."""
        metadata = new_table_metadata(
            schema, spec, UNSORTED, f"file:{folder}", properties, format_version=version, now_ms=START
        )
        return TableBuilder(folder, metadata, Model(schemas=[metadata.schema]))

    @property
    def version(self) -> int:
        return self.metadata.format_version

    def new_path(self, folder: str, suffix: str) -> Path:
        """Where the next file goes."""
        self.file_number += 1
        return (
            self.folder
            / folder
            / f"00000-{self.file_number}-abcdef00-0000-4000-8000-{self.file_number:012}-00001{suffix}"
        )

    def head(self, branch: str) -> int | None:
        ref = self.metadata.refs.get(branch)
        return None if ref is None else ref.snapshot_id

    def state(self, branch: str) -> State:
        head = self.head(branch)
        return State() if head is None else self.states[head]

    # --- changes of metadata alone -----------------------------------------------------------------------------------

    def apply(self, *updates: TableUpdate) -> None:
        self.metadata = apply_updates(self.metadata, updates, self.metadata.last_updated_ms + 1000)

    def set_schema(self, schema: Schema) -> None:
        self.apply(AddSchema(schema), SetCurrentSchema())
        self.model.schemas.append(self.metadata.schema)

    def set_spec(self, spec: PartitionSpec) -> None:
        self.apply(AddPartitionSpec(spec), SetDefaultSpec())

    def upgrade(self, version: int) -> None:
        self.apply(UpgradeFormatVersion(version))

    def refer(self, name: str, kind: str, snapshot_id: int) -> None:
        """Make or move a branch or tag."""
        assert kind in (BRANCH, TAG)
        self.apply(SetSnapshotRef(name, SnapshotRef(snapshot_id, kind)))

    # --- commits -----------------------------------------------------------------------------------------------------

    def commit(
        self,
        branch: str,
        operation: str,
        *,
        data: Sequence[Item] = (),
        deletes: Sequence[Item] = (),
        gone: Collection[StoredFile | StoredDelete] = (),
        merge: bool = False,
        explicit: bool = False,
    ) -> int:
        """A snapshot after the branch's head: files that come and those that go.

        ``merge`` packs all that stays into as few manifests as possible; ``explicit`` writes sequence numbers where
        they could be inherited.
        """
        snapshot_id = 1000 + len(self.metadata.snapshots)
        sequence = self.metadata.last_sequence_number + 1 if self.version > 1 else 0
        head = self.head(branch)
        if head is None and branch != MAIN_BRANCH:
            head = self.head(MAIN_BRANCH)
        kept = [] if head is None else self._kept(self.manifests[head], gone, merge, snapshot_id, sequence)
        added = []
        for items, content in ((data, ManifestContent.DATA), (deletes, ManifestContent.DELETES)):
            for spec in {i.stored.spec.spec_id: i.stored.spec for i in items}.values():
                entries = tuple(
                    Entry(EntryStatus.ADDED, i, snapshot_id, sequence)
                    for i in items
                    if i.stored.spec.spec_id == spec.spec_id
                )
                added.append(self._write(entries, spec, content, snapshot_id, sequence, inherit=not explicit))
        manifests, first_row_id, added_rows = self._numbered([*added, *kept])
        self._snapshot(branch, operation, manifests, snapshot_id, head, sequence, first_row_id, added_rows)
        return snapshot_id

    def _snapshot(
        self,
        branch: str,
        operation: str,
        manifests: Sequence[Manifest],
        snapshot_id: int,
        head: int | None,
        sequence: int,
        first_row_id: int | None,
        added_rows: int | None,
    ) -> None:
        path = self.folder / "metadata" / f"snap-{snapshot_id}-1-list.avro"
        path.parent.mkdir(parents=True, exist_ok=True)
        files = [m.file for m in manifests]
        path.write_bytes(encode_manifest_list(files, snapshot_id, head, sequence, self.version, first_row_id))
        snapshot = Snapshot(
            snapshot_id,
            head,
            sequence,
            self.metadata.last_updated_ms + 1000,
            f"file:{path}",
            {"operation": operation},
            self.metadata.current_schema_id,
            first_row_id=first_row_id,
            added_rows=added_rows,
        )
        self.apply(AddSnapshot(snapshot), SetSnapshotRef(branch, SnapshotRef(snapshot_id, BRANCH)))
        self.manifests[snapshot_id] = tuple(manifests)
        live = [e for m in manifests for e in m.entries if e.live]
        self.states[snapshot_id] = State(
            tuple(
                LiveFile(e.item.stored, e.sequence_number, e.first_row_id)
                for e in live
                if isinstance(e.item.stored, StoredFile)
            ),
            tuple(
                LiveDelete(e.item.stored, e.sequence_number) for e in live if isinstance(e.item.stored, StoredDelete)
            ),
        )

    def _kept(
        self,
        before: Sequence[Manifest],
        gone: Collection[StoredFile | StoredDelete],
        merge: bool,
        snapshot_id: int,
        sequence: int,
    ) -> list[Manifest]:
        out = []
        merged: dict[tuple[int, int], list[Entry]] = {}
        for manifest in before:
            live = [e for e in manifest.entries if e.live]
            touched = any(e.item.stored in gone for e in live)
            if not live:
                continue
            if not touched and not merge:
                out.append(manifest)
                continue
            entries = [
                replace(e, status=EntryStatus.DELETED, snapshot_id=snapshot_id)
                if e.item.stored in gone
                else replace(e, status=EntryStatus.EXISTING)
                for e in live
            ]
            if merge:
                merged.setdefault((manifest.spec.spec_id, manifest.file.content), []).extend(entries)
            else:
                out.append(self._write(entries, manifest.spec, manifest.file.content, snapshot_id, sequence))
        for (spec_id, content), entries in merged.items():
            spec = self.metadata.spec_by_id(spec_id)
            assert spec is not None
            out.append(self._write(entries, spec, content, snapshot_id, sequence))
        return out

    def _write(
        self,
        entries: Sequence[Entry],
        spec: PartitionSpec,
        content: int,
        snapshot_id: int,
        sequence: int,
        *,
        inherit: bool = True,
    ) -> Manifest:
        written = []
        for e in entries:
            numbers = (e.sequence_number, e.sequence_number)
            if self.version == 1 or (e.status == EntryStatus.ADDED and inherit):
                numbers = (None, None)  # type: ignore[assignment]
            file = replace(e.item.described, first_row_id=e.first_row_id)
            written.append(ManifestEntry(e.status, file, e.snapshot_id, *numbers))
        encoded = encode_manifest(written, spec, self.metadata.schema, self.version, content, snapshot_id)
        path = self.new_path("metadata", "-m0.avro")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded)
        described = describe_manifest(
            f"file:{path}",
            encoded,
            written,
            spec,
            self.metadata.schema,
            snapshot_id=snapshot_id,
            sequence_number=sequence,
            content=content,
        )
        return Manifest(described, spec, tuple(entries))

    def _numbered(self, manifests: Sequence[Manifest]) -> tuple[list[Manifest], int | None, int | None]:
        """v3, spec "First Row ID Assignment": data manifests and their files get the first row ids that they lack."""
        if self.version < 3:
            return list(manifests), None, None
        first = at = self.metadata.next_row_id
        out = []
        for m in manifests:
            if m.is_data and m.file.first_row_id is None:
                entries = []
                next_id = at
                for e in m.entries:
                    if e.live and e.first_row_id is None:
                        e = replace(e, first_row_id=next_id)
                        next_id += e.item.described.record_count
                    entries.append(e)
                m = Manifest(replace(m.file, first_row_id=at), m.spec, tuple(entries))
                at += (m.file.added_rows_count or 0) + (m.file.existing_rows_count or 0)
            out.append(m)
        return out, first, at - first

    # --- what readers get --------------------------------------------------------------------------------------------

    def loaded(self) -> LoadedTable:
        """The table as a catalog gives it; its metadata file lies where a Hadoop catalog looks for it."""
        place = self.folder / "metadata" / "v1.metadata.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(self.metadata.serialize())
        # As it comes back from the file, which must lose nothing.
        metadata = TableMetadata.parse(place.read_bytes(), str(place))
        ident = TableIdent((self.folder.parent.name,), self.folder.name)
        return LoadedTable(ident, metadata, str(place), "c")


def internal_partition(spec: PartitionSpec, schema: Schema, values: Mapping[int, Any]) -> tuple[object, ...]:
    """Python values by partition field id as a manifest has them."""
    types = {f.field_id: f.type for f in spec.partition_type(schema).fields}
    return tuple(to_internal(types[f.field_id], values[f.field_id]) for f in spec.fields)
