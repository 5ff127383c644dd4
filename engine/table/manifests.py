"""Reading Iceberg's manifests and manifest lists, of all format versions, with everything that is inherited filled in.

Manifests are immutable, so what was decoded is kept in a bounded cache. Writing is manifest_writing's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.engine.table import avro
from bergsql.engine.table.avro_records import Layout, decode_records
from bergsql.engine.table.datafile import (
    NO_BOUNDS,
    NO_COUNTS,
    DataFile,
    EntryStatus,
    FieldSummary,
    FileContent,
    ManifestEntry,
    ManifestFile,
)
from bergsql.engine.table.manifest_schemas import entry_ids, manifest_list_ids, summary_ids

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

T = TypeVar("T")

CACHE_BYTES = 64 << 20
"""How many bytes of decoded Avro blocks the cache keeps; as Python values about three times that."""


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
    split_offsets: list[int] | None
    equality_ids: list[int] | None
    sort_order_id: int | None
    first_row_id: int | None
    referenced_data_file: str | None
    content_offset: int | None
    content_size: int | None


_ENTRY_IDS = entry_ids()
_LIST_IDS = manifest_list_ids()
_OLD_LIST_NAMES = {"added_data_files_count": 504, "existing_data_files_count": 505, "deleted_data_files_count": 506}
"""What the first writers called some fields."""


def _manifest_file(
    path: str,
    length: int,
    spec_id: int,
    content: int | None,
    sequence_number: int | None,
    min_sequence_number: int | None,
    added_snapshot_id: int | None,
    added_files: int | None,
    existing_files: int | None,
    deleted_files: int | None,
    added_rows: int | None,
    existing_rows: int | None,
    deleted_rows: int | None,
    partitions: list[tuple[bool | None, bool | None, bytes | None, bytes | None]] | None,
    key_metadata: bytes | None,
    first_row_id: int | None,
) -> ManifestFile:
    return ManifestFile(
        path,
        length,
        spec_id,
        content or 0,
        sequence_number or 0,
        min_sequence_number or 0,
        added_snapshot_id,
        added_files,
        existing_files,
        deleted_files,
        added_rows,
        existing_rows,
        deleted_rows,
        None if partitions is None else tuple(FieldSummary(p[0] is not False, *p[1:]) for p in partitions),
        key_metadata,
        first_row_id,
    )


_LIST_LAYOUT = Layout(
    tuple(_LIST_IDS.values()),
    _manifest_file,
    records=((507, (509, 518, 510, 511)),),
    names=(*_LIST_IDS.items(), *_OLD_LIST_NAMES.items(), *summary_ids().items()),
)


# By path and length: manifests and their lists are immutable.
_cache: Lru[tuple[object, ...], object] = Lru(CACHE_BYTES)


def read_manifest_list(storage: Storage, snapshot: Snapshot, metadata: TableMetadata) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in order. Raises NOT_FOUND or CORRUPT naming the file and the snapshot."""
    if snapshot.manifest_list is None:
        return tuple(_lone_manifest(storage, path, snapshot) for path in snapshot.manifests or ())
    path = snapshot.manifest_list
    what = f"Manifest list {path} of snapshot {snapshot.snapshot_id}"
    key = (path, "list", metadata.table_uuid)
    cached = _cache.get(key)
    if isinstance(cached, tuple):
        return cached
    container = avro.read_container(_load(storage, path, what), what)
    found = tuple(decode_records(container, _LIST_LAYOUT, what))
    for manifest in found:
        _demand(isinstance(manifest.path, str) and isinstance(manifest.spec_id, int), what)
    _cache.put(key, found, sum(len(b) for _, b in container.blocks))
    return found


def _lone_manifest(storage: Storage, path: str, snapshot: Snapshot) -> ManifestFile:
    """A manifest that v1 metadata names directly: all that is known is in its own header."""
    what = f"Manifest {path} of snapshot {snapshot.snapshot_id}"
    data = _load(storage, path, what)
    spec_id = avro.read_container(data, what).metadata.get("partition-spec-id", b"0")
    _demand(spec_id.isdigit(), what)
    return ManifestFile(path, len(data), int(spec_id), added_snapshot_id=snapshot.snapshot_id)


def read_raw_entries(storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> list[RawEntry]:
    """The entries of a manifest as written, for planning: statistics undecoded, nothing inherited. Do not change it."""
    what = f"Manifest {manifest.path}"
    key = (manifest.path, manifest.length, metadata.table_uuid)
    cached = _cache.get(key)
    if isinstance(cached, list):
        return cached
    container = avro.read_container(_load(storage, manifest.path, what), what)
    spec = metadata.spec_by_id(manifest.spec_id)
    if spec is None:
        raise avro.corrupt(what, f"the table has no partition spec {manifest.spec_id}")
    layout = Layout(
        tuple(_ENTRY_IDS.values()),
        RawEntry,
        records=((102, tuple(f.field_id for f in spec.fields)),),
        complete=frozenset((102,)),
        counts=frozenset((108, 109, 110, 137)),
        bounds=frozenset((125, 128)),
        names=(*_ENTRY_IDS.items(), *((f.name, f.field_id) for f in spec.fields if f.name not in _ENTRY_IDS)),
    )
    found = decode_records(container, layout, what)
    for entry in found:
        if None in entry[:1] + entry[5:10]:  # status, and path to file size
            raise avro.corrupt(what, "a required field is missing")
    _cache.put(key, found, sum(len(b) for _, b in container.blocks))
    return found


def read_manifest(storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
    """All entries of a manifest, deleted ones too, with snapshot ids, sequence numbers and row ids inherited."""
    return list(entries_of(read_raw_entries(storage, manifest, metadata), manifest))


def entries_of(
    raw: Iterable[RawEntry], manifest: ManifestFile, wanted: Callable[[RawEntry], bool] | None = None
) -> Iterator[ManifestEntry]:
    """The entries that are ``wanted`` (all by default), with what they inherit (spec, "Inheritance")."""
    next_row_id = manifest.first_row_id
    for entry in raw:
        first_row_id = entry.first_row_id
        if next_row_id is not None and first_row_id is None and entry.status != EntryStatus.DELETED:
            first_row_id = next_row_id
            next_row_id += entry.record_count
        if wanted is None or wanted(entry):
            yield _entry(entry, manifest, first_row_id)


def _entry(raw: RawEntry, manifest: ManifestFile, first_row_id: int | None) -> ManifestEntry:
    file = DataFile(
        raw.path,
        raw.record_count,
        raw.file_size,
        raw.format.upper(),
        raw.content or 0,
        raw.partition,
        manifest.spec_id,
        raw.column_sizes or NO_COUNTS,
        raw.value_counts or NO_COUNTS,
        raw.null_counts or NO_COUNTS,
        raw.nan_counts or NO_COUNTS,
        raw.lower_bounds or NO_BOUNDS,
        raw.upper_bounds or NO_BOUNDS,
        raw.key_metadata,
        None if raw.split_offsets is None else tuple(raw.split_offsets),
        None if raw.equality_ids is None else tuple(raw.equality_ids),
        raw.sort_order_id,
        first_row_id if raw.content in (None, FileContent.DATA) else None,
        raw.referenced_data_file,
        raw.content_offset,
        raw.content_size,
    )
    inherits = manifest.sequence_number == 0 or raw.status == EntryStatus.ADDED
    return ManifestEntry(
        raw.status,
        file,
        manifest.added_snapshot_id if raw.snapshot_id is None else raw.snapshot_id,
        manifest.sequence_number if raw.sequence_number is None and inherits else raw.sequence_number,
        manifest.sequence_number if raw.file_sequence_number is None and inherits else raw.file_sequence_number,
    )


def _load(storage: Storage, path: str, what: str) -> bytes:
    try:
        return storage.read(path)
    except BergError as e:
        if e.code is ErrorCode.NOT_FOUND:
            raise BergError(ErrorCode.NOT_FOUND, f"{what} is missing.") from e
        raise


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise avro.corrupt(what, "a required field is missing")
