"""Reading Iceberg's manifests and manifest lists, of all format versions, with everything that is inherited filled in.

Manifests are immutable, so what was decoded is kept in a bounded cache. Writing is manifest_writing's business.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.engine.spill import Place, current_place
from bergsql.engine.table import avro
from bergsql.engine.table.avro_columns import Column, Columns, Cutter, Layout, cutter_for
from bergsql.engine.table.datafile import (
    NO_BOUNDS,
    NO_COUNTS,
    DataFile,
    EntryStatus,
    FieldSummary,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    filled,
)
from bergsql.engine.table.manifest_schemas import (
    entry_ids,
    manifest_list_ids,
    manifest_list_schema,
    manifest_schema,
    summary_ids,
)

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.manifest_cache import ManifestCache

CACHE_BYTES = 96 << 20
"""How many bytes of manifests, cut into columns, and of their lists are kept in memory."""


MOST_ENTRIES = 2_000_000
"""How many files a manifest may have, and"""
MOST_MANIFESTS = 1_000_000
"""how many manifests a list: many times what any writer puts there."""


class RawEntry(NamedTuple):
    """A manifest entry as it is written, nothing inherited; in the order of :func:`entry_ids`."""

    status: int
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    content: int | None
    path: str
    format: str
    partition: tuple[object, ...]
    record_count: int
    file_size: int
    column_sizes: dict[int, int] | None
    value_counts: dict[int, int] | None
    null_counts: dict[int, int] | None
    nan_counts: dict[int, int] | None
    lower_bounds: dict[int, bytes] | None
    upper_bounds: dict[int, bytes] | None
    key_metadata: bytes | None
    split_offsets: tuple[int, ...] | None
    equality_ids: tuple[int, ...] | None
    sort_order_id: int | None
    first_row_id: int | None
    referenced_data_file: str | None
    content_offset: int | None
    content_size: int | None


_ENTRY_IDS = entry_ids()
_STATUS, _SNAPSHOT_ID, _DATA_FILE, _PARTITION, _RECORD_COUNT, _FIRST_ROW_ID = 0, 1, 2, 102, 103, 142
_REQUIRED = frozenset((_STATUS, 100, 101, _PARTITION, _RECORD_COUNT, 104))
_CONTENT = 134
_CONTENTS = frozenset((None, ManifestContent.DATA, ManifestContent.DELETES))
_STATUSES = frozenset(EntryStatus)
_FILE_CONTENTS = frozenset((None, *FileContent))
_CONTENTS_OF: dict[int, frozenset[int | None]] = {
    ManifestContent.DATA: frozenset((None, FileContent.DATA)),
    ManifestContent.DELETES: frozenset((FileContent.POSITION_DELETES, FileContent.EQUALITY_DELETES)),
}
"""What the files of a manifest may hold."""
_SIZES = frozenset((_RECORD_COUNT, 104))
_LIST_IDS = manifest_list_ids()
_OLD_LIST_NAMES = {"added_data_files_count": 504, "existing_data_files_count": 505, "deleted_data_files_count": 506}
"""What the first writers called some fields."""
_LIST_LAYOUT = Layout(
    alone=frozenset((500, 501, 507)),
    names=(*_LIST_IDS.items(), *_OLD_LIST_NAMES.items(), *summary_ids().items()),
)

# By path and length: manifests and their lists are immutable.
_memory: Lru[tuple[object, ...], object] = Lru(CACHE_BYTES)
_stores: dict[Place, ManifestCache] = {}


def _store() -> ManifestCache | None:
    """The cache on disk, if there is to be one."""
    place = current_place()
    if place is None or not place.limit:
        return None
    if _stores.get(place) is None:
        from bergsql.engine.table.manifest_cache import ManifestCache

        _stores.clear()
        _stores[place] = ManifestCache(place.directory / "manifests", place.limit)
    return _stores[place]


def forget_memory() -> None:
    """Forget what is kept in memory."""
    _memory.clear()


def forget_table(metadata: TableMetadata) -> None:
    """Drop what is kept on disk of a table that was dropped."""
    store = _store()
    if store is not None:
        store.forget(metadata.table_uuid, metadata.location)


# -- manifest lists ----------------------------------------------------------------------------------------------------


def read_manifest_list(storage: Storage, snapshot: Snapshot, metadata: TableMetadata) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in order. Raises NOT_FOUND or CORRUPT naming the file and the snapshot."""
    if snapshot.manifest_list is None:
        return tuple(_lone_manifest(storage, path, snapshot) for path in snapshot.manifests or ())
    path = snapshot.manifest_list
    what = f"Manifest list {path} of snapshot {snapshot.snapshot_id}"
    key = (path, "list", metadata.table_uuid)
    cached = _memory.get(key)
    if isinstance(cached, tuple):
        return cached
    container = avro.read_container(_load(storage, path, what), what)
    try:
        cutter = cutter_for(container.schema, _LIST_LAYOUT)
        cutter.check(_expected_list())
        columns = cutter.cut(container.blocks, MOST_MANIFESTS)
        found = tuple(_manifest_files(cutter, columns))
    except Exception as e:  # whatever garbage makes of a number, a text or a schema
        raise avro.corrupt(what, avro.reason(e)) from e
    if not found and snapshot.summary.get("total-data-files", "0") != "0":
        raise avro.corrupt(what, "it lists no manifest of a snapshot that has data files")
    _memory.put(key, found, 4 * columns.weight)
    return found


def _manifest_files(cutter: Cutter, columns: Columns) -> Iterator[ManifestFile]:
    values = [v or [None] * columns.count for v in cutter.fields(columns, tuple(_LIST_IDS.values()))]
    place = {i: at for at, i in enumerate(_LIST_IDS)}
    for name in ("manifest_path", "manifest_length", "partition_spec_id"):
        if not all(isinstance(v, str if name == "manifest_path" else int) for v in values[place[name]]):
            raise ValueError("a required field is missing")
    if not _CONTENTS.issuperset(values[place["content"]]):
        raise ValueError("a manifest is neither of data files nor of delete files")
    for name in ("content", "sequence_number", "min_sequence_number"):
        values[place[name]] = [v or 0 for v in values[place[name]]]
    summaries = place["partitions"]
    if columns.count and any(values[summaries]):
        order = cutter.parts(_LIST_IDS["partitions"], tuple(summary_ids().values()))
        values[summaries] = [None if v is None else tuple(_summary(s, order) for s in v) for v in values[summaries]]
    else:
        values[summaries] = [None if v is None else () for v in values[summaries]]
    return map(ManifestFile, *values)


def _summary(values: tuple[Any, ...], order: Sequence[int | None]) -> FieldSummary:
    null, nan, lower, upper = (None if at is None else values[at] for at in order)
    return FieldSummary(null is not False, nan, lower, upper)


def _lone_manifest(storage: Storage, path: str, snapshot: Snapshot) -> ManifestFile:
    """A manifest that v1 metadata names directly: all that is known is in its own header."""
    what = f"Manifest {path} of snapshot {snapshot.snapshot_id}"
    data = _load(storage, path, what)
    spec_id = avro.read_container(data, what).metadata.get("partition-spec-id", b"0")
    if not spec_id.isdigit():
        raise avro.corrupt(what, "a required field is missing")
    return ManifestFile(path, len(data), int(spec_id), added_snapshot_id=snapshot.snapshot_id)


# -- manifests ---------------------------------------------------------------------------------------------------------


class ManifestColumns:
    """The entries of a manifest, cut into columns and not decoded before they are asked for. Rows count from 0."""

    __slots__ = ("_found", "columns", "manifest", "spec", "what")

    def __init__(self, manifest: ManifestFile, spec: PartitionSpec, columns: Columns, what: str) -> None:
        self.manifest = manifest
        self.spec = spec
        self.columns = columns
        self.what = what
        """What errors call the manifest."""
        self._found: Cutter | None = None

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

    def live(self) -> Sequence[int]:
        """The rows of files that were not deleted."""
        column = self.column(_STATUS)
        if column is not None and column.same and self.count:
            deleted = self.field(_STATUS, (0,)) == [EntryStatus.DELETED]
            return () if deleted else range(self.count)
        return [i for i, status in enumerate(self.field(_STATUS)) if status != EntryStatus.DELETED]

    def appended_by(self, snapshot_ids: Container[int]) -> list[int]:
        """The rows of files that one of these snapshots added."""
        own = self.manifest.added_snapshot_id
        added_by = [own if s is None else s for s in self.field(_SNAPSHOT_ID)]
        statuses = enumerate(self.field(_STATUS))
        return [i for i, status in statuses if status == EntryStatus.ADDED and added_by[i] in snapshot_ids]

    def entries(self, rows: Sequence[int] | None = None) -> list[ManifestEntry]:
        """Some rows (None: all), with what they inherit (spec, "Inheritance")."""
        row_ids = None
        if self.manifest.first_row_id is not None:
            own, statuses, records = self.fields((_FIRST_ROW_ID, _STATUS, _RECORD_COUNT))
            row_ids = _row_ids(own, statuses, records, self.manifest.first_row_id)
            row_ids = row_ids if rows is None else [row_ids[i] for i in rows]
        return _entries(self.fields(_RAW_IDS, rows), self.manifest, row_ids)

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


_RAW_IDS = tuple(_ENTRY_IDS.values())


@lru_cache(maxsize=256)
def _entry_layout(spec: PartitionSpec) -> Layout:
    return Layout(
        alone=frozenset((*_REQUIRED, 108, 109, 110, 137, 125, 128, _FIRST_ROW_ID)) - {101},
        inside=frozenset((_DATA_FILE,)),
        counts=frozenset((108, 109, 110, 137)),
        bounds=frozenset((125, 128)),
        names=(
            ("data_file", _DATA_FILE),
            *_ENTRY_IDS.items(),
            *((f.name, f.field_id) for f in spec.fields if f.name not in _ENTRY_IDS),
        ),
    )


@lru_cache(maxsize=1)
def _expected_entries() -> Cutter:
    """The types of the fields of entries."""
    return Cutter(manifest_schema(3, (), (), ()).encode(), _entry_layout(PartitionSpec(0, ())))


@lru_cache(maxsize=1)
def _expected_list() -> Cutter:
    """The types of the fields of manifest lists."""
    return Cutter(manifest_list_schema(3).encode(), _LIST_LAYOUT)


def read_columns(storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> ManifestColumns:
    """A manifest cut into columns. Raises NOT_FOUND or CORRUPT naming the file and the snapshot that added it."""
    key = (manifest.path, manifest.length, metadata.table_uuid)
    cached = _memory.get(key)
    if isinstance(cached, Columns):
        return _with_columns(manifest, metadata, cached)
    store = _store()
    columns = store.get(storage, manifest, metadata) if store is not None else None
    if columns is not None:
        found = _with_columns(manifest, metadata, columns)
    else:
        data = _load(storage, manifest.path, _called(manifest))
        found = cut_manifest(data, manifest, metadata)
        if store is not None:
            store.put(storage, manifest, metadata, found.columns)
    _memory.put(key, found.columns, found.columns.weight)
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


# -- inheritance -------------------------------------------------------------------------------------------------------


def _row_ids(
    own: Sequence[int | None], statuses: Sequence[int], records: Sequence[int], first: int
) -> list[int | None]:
    """The first row id of every file of a manifest whose own is ``first`` (spec, "First Row ID Inheritance")."""
    found = list(own)
    for i, (row_id, status) in enumerate(zip(own, statuses, strict=True)):
        if row_id is None and status != EntryStatus.DELETED:
            found[i] = first
            first += records[i]
    return found


def _entries(
    values: Sequence[list[Any]], manifest: ManifestFile, row_ids: Sequence[int | None] | None
) -> list[ManifestEntry]:
    """Entries of the values of each field of a raw entry, in order."""
    raw: Any = RawEntry._make(values)
    count = len(raw.path)
    formats = {f: f.upper() for f in set(raw.format)}
    contents = [c or 0 for c in raw.content]
    if row_ids is None:
        row_ids = raw.first_row_id
    if any(contents):
        row_ids = [n if c == FileContent.DATA else None for n, c in zip(row_ids, contents, strict=True)]
    files = filled(
        DataFile,
        count,
        (
            raw.path,
            raw.record_count,
            raw.file_size,
            [formats[f] for f in raw.format],
            contents,
            raw.partition,
            repeat(manifest.spec_id, count),
            *([NO_COUNTS if m is None else m for m in maps] for maps in raw[10:14]),
            *([NO_BOUNDS if m is None else m for m in maps] for maps in raw[14:16]),
            raw.key_metadata,
            raw.split_offsets,
            raw.equality_ids,
            raw.sort_order_id,
            row_ids,
            raw.referenced_data_file,
            raw.content_offset,
            raw.content_size,
        ),
    )
    snapshot_ids = [manifest.added_snapshot_id if s is None else s for s in raw.snapshot_id]
    numbers = (_inherited(n, raw.status, manifest) for n in (raw.sequence_number, raw.file_sequence_number))
    return filled(ManifestEntry, count, (raw.status, files, snapshot_ids, *numbers))


def _inherited(numbers: Sequence[int | None], statuses: Sequence[int], manifest: ManifestFile) -> Sequence[int | None]:
    """Sequence numbers, the manifest's where an added file has none (v1: where any has none)."""
    if None not in numbers:
        return numbers
    own = manifest.sequence_number
    return [
        own if n is None and (own == 0 or status == EntryStatus.ADDED) else n
        for n, status in zip(numbers, statuses, strict=True)
    ]


def _load(storage: Storage, path: str, what: str) -> bytes:
    try:
        return storage.read(path)
    except BergError as e:
        if e.code is ErrorCode.NOT_FOUND:
            raise BergError(ErrorCode.NOT_FOUND, f"{what} is missing.") from e
        called = what if e.message.startswith(path) else what[:1].lower() + what[1:]
        e.message = e.message.replace(path, called, 1)
        e.args = (e.message,)
        raise
