"""Reading Iceberg's manifests, of all format versions, cut into columns that are decoded when they are asked for.

Writing is manifest_writing's business.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.engine.table import avro
from bergsql.engine.table.avro_columns import Column, Columns, Cutter, Layout, cutter_for
from bergsql.engine.table.datafile import EntryStatus, FileContent, ManifestContent, ManifestEntry, ManifestFile
from bergsql.engine.table.manifest_entries import ENTRY_IDS, RAW_IDS, entries_of, row_ids_of
from bergsql.engine.table.manifest_memory import load, memory, store
from bergsql.engine.table.manifest_schemas import manifest_schema

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

_FEW, _ENTRY_BYTES = 16, 4096
"""The entries of manifests with so few are kept, and are taken to need so much memory each."""
MOST_ENTRIES = 2_000_000
"""How many files a manifest may have: many times what any writer puts there."""


_STATUS, _SNAPSHOT_ID, _DATA_FILE, _PATH, _PARTITION, _RECORD_COUNT, _FIRST_ROW_ID = 0, 1, 2, 100, 102, 103, 142
_REQUIRED = frozenset((_STATUS, _PATH, 101, _PARTITION, _RECORD_COUNT, 104))
_CONTENT = 134
_STATUSES = frozenset(EntryStatus)
_FILE_CONTENTS = frozenset((None, *FileContent))
_CONTENTS_OF: dict[int, frozenset[int | None]] = {
    ManifestContent.DATA: frozenset((None, FileContent.DATA)),
    ManifestContent.DELETES: frozenset((FileContent.POSITION_DELETES, FileContent.EQUALITY_DELETES)),
}
"""What the files of a manifest may hold."""
_SIZES = frozenset((_RECORD_COUNT, 104))


class ManifestColumns:
    """The entries of a manifest, cut into columns and not decoded before they are asked for. Rows count from 0."""

    __slots__ = ("_found", "columns", "key", "manifest", "spec", "what")

    def __init__(self, manifest: ManifestFile, spec: PartitionSpec, columns: Columns, what: str) -> None:
        self.manifest = manifest
        self.spec = spec
        self.columns = columns
        self.what = what
        """What errors call the manifest."""
        self._found: Cutter | None = None
        self.key: tuple[object, ...] | None = None
        """By which the memory tells what was decoded; None: nothing is kept."""

    @property
    def _cutter(self) -> Cutter:
        if self._found is None:
            self._found = cutter_for(self.columns.schema, _entry_layout(self.spec))
        return self._found

    @property
    def count(self) -> int:
        return self.columns.count

    def field(self, number: int, rows: Sequence[int] | None = None) -> list[Any]:
        """The values of a field, by its id, in some rows (None: all). CORRUPT where a required one is missing."""
        return self.fields((number,), rows)[0]

    def fields(self, numbers: Sequence[int], rows: Sequence[int] | None = None) -> list[list[Any]]:
        """The values of several fields."""
        try:
            found = [
                [None] * (self.count if rows is None else len(rows)) if values is None else values
                for values in self._cutter.fields(self.columns, numbers, rows)
            ]
            if _PARTITION in numbers and found[0]:
                place = numbers.index(_PARTITION)
                found[place] = self._partitions(found[place])
        except Exception as e:  # whatever garbage makes of a number or a text
            raise avro.corrupt(self.what, avro.reason(e)) from e
        for number, values in zip(numbers, found, strict=True):
            if number in _REQUIRED and None in values:
                raise avro.corrupt(self.what, "a required field is missing")
            if number in _SIZES and values and min(values) < 0:
                raise avro.corrupt(self.what, "the size of a file is negative")
            if number == _STATUS and not _STATUSES.issuperset(values):
                raise avro.corrupt(self.what, "an entry neither adds a file nor keeps nor deletes it")
            if number == _CONTENT and values and not _CONTENTS_OF[self.manifest.content].issuperset(values):
                raise avro.corrupt(self.what, self._misplaced(values))
        return found

    def _misplaced(self, contents: Sequence[int | None]) -> str:
        if not _FILE_CONTENTS.issuperset(contents):
            return "a file holds neither data nor deletes"
        if self.manifest.content == ManifestContent.DATA:
            return "the manifest list says that it is of data files, and it has a delete file"
        return "the manifest list says that it is of delete files, and it has a data file"

    def column(self, number: int) -> Column | None:
        """The encoded values of a field that has a column of its own; None when the file lacks the field."""
        place = self._cutter.place.get(number)
        return None if place is None else self.columns.columns[place[0]]

    def tag(self, number: int) -> int | None:
        """How many bytes stand before each map of bounds; None: that is not so simple."""
        return self._cutter.tag(number)

    def counts(self, number: int, key: int, rows: Sequence[int]) -> list[int | None]:
        """What a map of counts says of ``key`` in some rows."""
        column = self.column(number)
        if column is None or not rows:
            return [None] * len(rows)
        if column.same:
            (counts,) = self.field(number, (0,))
            return [None if counts is None else counts.get(key)] * len(rows)
        raws = column.take(rows)
        distinct = list(set(raws))
        try:
            maps = self._cutter.decoded(number, distinct)
            known = {r: None if m is None else m.get(key) for r, m in zip(distinct, maps, strict=True)}
        except Exception as e:  # whatever garbage makes of a number
            raise avro.corrupt(self.what, avro.reason(e)) from e
        return [known[raw] for raw in raws]

    def partitions(self) -> tuple[list[tuple[object, ...]], list[int]]:
        """The different partitions of the files, and for each file which of them it is in."""
        column = self.column(_PARTITION)
        if column is not None and column.same and self.count:
            return self.field(_PARTITION, (0,)), [0] * self.count
        raws = [] if column is None else column.values()
        # By their bytes: -0.0 and 0.0 are two partitions, and a NaN is one.
        numbers: dict[bytes, int] = {}
        places = [numbers.setdefault(raw, len(numbers)) for raw in raws]
        firsts = {n: i for i, n in reversed(list(enumerate(places)))}
        return self.field(_PARTITION, [firsts[n] for n in range(len(numbers))]), places

    def paths(self, rows: Sequence[int] | None = None) -> list[str]:
        """The locations of the files in some rows (None: all)."""
        return self.field(_PATH, rows)

    def live(self) -> Sequence[int]:
        """The rows of files that were not deleted."""
        column = self.column(_STATUS)
        if column is not None and column.same and self.count:
            deleted = self.field(_STATUS, (0,)) == [EntryStatus.DELETED]
            return () if deleted else range(self.count)
        return [i for i, status in enumerate(self.field(_STATUS)) if status != EntryStatus.DELETED]

    def appended_by(self, snapshot_ids: Container[int]) -> list[int]:
        """The rows of files that one of these snapshots added."""
        return self.changed_by(snapshot_ids, EntryStatus.ADDED)

    def changed_by(self, snapshot_ids: Container[int], status: int) -> list[int]:
        """The rows of files that one of these snapshots added, or deleted."""
        own = self.manifest.added_snapshot_id
        by = [own if s is None else s for s in self.field(_SNAPSHOT_ID)]
        return [i for i, found in enumerate(self.field(_STATUS)) if found == status and by[i] in snapshot_ids]

    def entries(self, rows: Sequence[int] | None = None) -> list[ManifestEntry]:
        """Some rows (None: all), with what they inherit (spec, "Inheritance")."""
        if self.key is None or self.count > _FEW or (rows is not None and len(rows) < self.count):
            return self._entries(rows)
        # What many small commits leave is read again by each of them.
        kept = memory.get((*self.key, self.manifest))
        if not isinstance(kept, tuple):
            kept = tuple(self._entries(rows))
            memory.put((*self.key, self.manifest), kept, _ENTRY_BYTES * self.count)
        return list(kept)

    def _entries(self, rows: Sequence[int] | None) -> list[ManifestEntry]:
        row_ids = None
        if self.manifest.first_row_id is not None:
            own, statuses, records = self.fields((_FIRST_ROW_ID, _STATUS, _RECORD_COUNT))
            row_ids = row_ids_of(own, statuses, records, self.manifest.first_row_id)
            row_ids = row_ids if rows is None else [row_ids[i] for i in rows]
        return entries_of(self.fields(RAW_IDS, rows), self.manifest, row_ids)

    def _partitions(self, values: list[Any]) -> list[Any]:
        """Partition values in the order of the spec, instead of the file's."""
        order = self._cutter.parts(_PARTITION, tuple(f.field_id for f in self.spec.fields))
        if None in order:
            raise ValueError("its partition values are not those of its partition spec")
        if order == list(range(len(values[0]))):
            return values
        # Files of one partition have one object: see Cutter.fields.
        known = {id(v): tuple(v[at] for at in order if at is not None) for v in values}
        return [known[id(v)] for v in values]


@lru_cache(maxsize=256)
def _entry_layout(spec: PartitionSpec) -> Layout:
    return Layout(
        alone=frozenset((*_REQUIRED, 108, 109, 110, 137, 125, 128, _FIRST_ROW_ID)) - {101},
        inside=frozenset((_DATA_FILE,)),
        counts=frozenset((108, 109, 110, 137)),
        bounds=frozenset((125, 128)),
        names=(
            ("data_file", _DATA_FILE),
            *ENTRY_IDS.items(),
            *((f.name, f.field_id) for f in spec.fields if f.name not in ENTRY_IDS),
        ),
    )


@lru_cache(maxsize=1)
def _expected_entries() -> Cutter:
    """The types of the fields of entries."""
    return Cutter(manifest_schema(3, (), (), ()).encode(), _entry_layout(PartitionSpec(0, ())))


def read_columns(storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> ManifestColumns:
    """A manifest cut into columns. Raises NOT_FOUND or CORRUPT naming the file and the snapshot that added it."""
    key = (manifest.path, manifest.length, metadata.table_uuid)
    cached = memory.get(key)
    if isinstance(cached, Columns):
        found = _with_columns(manifest, metadata, cached)
        found.key = key
        return found
    kept = store()
    columns = kept.get(storage, manifest, metadata) if kept is not None else None
    if columns is not None:
        found = _with_columns(manifest, metadata, columns)
    else:
        data = load(storage, manifest.path, _called(manifest))
        found = cut_manifest(data, manifest, metadata)
        if kept is not None:
            kept.put(storage, manifest, metadata, found.columns)
    memory.put(key, found.columns, found.columns.weight)
    found.key = key
    return found


def cut_manifest(data: bytes, manifest: ManifestFile, metadata: TableMetadata) -> ManifestColumns:
    """A manifest whose content is ``data``, cut into columns. Raises CORRUPT naming the file and the snapshot."""
    what = _called(manifest)
    if len(data) != manifest.length:
        raise avro.corrupt(what, f"it has {len(data)} bytes, and its manifest list says {manifest.length}")
    container = avro.read_container(data, what)
    layout = _entry_layout(_spec_of(manifest, metadata))
    try:
        cutter = cutter_for(container.schema, layout)
        cutter.check(_expected_entries())
        columns = cutter.cut(container.blocks, MOST_ENTRIES)
    except Exception as e:  # whatever garbage makes of a number, a text or a schema
        raise avro.corrupt(what, avro.reason(e)) from e
    return _with_columns(manifest, metadata, columns)


def _called(manifest: ManifestFile) -> str:
    by = "" if manifest.added_snapshot_id is None else f" of snapshot {manifest.added_snapshot_id}"
    return f"Manifest {manifest.path}{by}"


def _spec_of(manifest: ManifestFile, metadata: TableMetadata) -> PartitionSpec:
    spec = metadata.spec_by_id(manifest.spec_id)
    if spec is None:
        raise avro.corrupt(_called(manifest), f"the table has no partition spec {manifest.spec_id}")
    return spec


def _with_columns(manifest: ManifestFile, metadata: TableMetadata, columns: Columns) -> ManifestColumns:
    return ManifestColumns(manifest, _spec_of(manifest, metadata), columns, _called(manifest))


def read_manifest(storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
    """All entries of a manifest, deleted ones too, with snapshot ids, sequence numbers and row ids inherited."""
    return read_columns(storage, manifest, metadata).entries()
