"""Writing Iceberg's manifests and manifest lists in format versions 1, 2 and 3."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bergsql.catalog.metadata.exact import unscaled_decimal
from bergsql.catalog.metadata.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    StringType,
    UUIDType,
)
from bergsql.catalog.metadata.values import to_bytes
from bergsql.engine.table import avro
from bergsql.engine.table.avro import write_bytes, write_long
from bergsql.engine.table.datafile import (
    DataFile,
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from bergsql.engine.table.manifest_schemas import (
    decimal_size,
    manifest_list_schema,
    manifest_schema,
    partition_types,
)
from bergsql.engine.table.raw_maps import RawMap

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema

_V1_BLOCK_SIZE = 64 << 20
"""A field that v1 demands and nobody reads; Java's value."""

_KEPT_MANIFESTS = 4096
"""Of so many manifests is kept what a list says of them: about a megabyte."""

_COUNT_NAMES = (
    "added_files_count",
    "existing_files_count",
    "deleted_files_count",
    "added_rows_count",
    "existing_rows_count",
    "deleted_rows_count",
)
_COUNTS = attrgetter(*_COUNT_NAMES)

Encode = Callable[[bytearray, Any], None]


def encode_manifest(
    entries: Sequence[ManifestEntry],
    spec: PartitionSpec,
    schema: Schema,
    format_version: int,
    content: int = ManifestContent.DATA,
    snapshot_id: int | None = None,
) -> bytes:
    """A manifest of files that are all partitioned by ``spec``.

    ``snapshot_id`` is given to entries without one. An ADDED entry's sequence numbers are written only if it has them:
    it inherits those of the commit otherwise. EXISTING and DELETED entries must have theirs.
    """
    partitions = [e.data_file.partition for e in entries]
    types = partition_types(spec, schema, partitions)
    names, ids = tuple(f.name for f in spec.fields), tuple(f.field_id for f in spec.fields)
    encoders = tuple(_value_encoder(t) for t in types)
    out = bytearray()
    for entry in entries:
        _encode_entry(out, entry, encoders, format_version, snapshot_id)
    header = {
        "schema": json.dumps(schema.to_json()),
        "schema-id": str(schema.schema_id),
        "partition-spec": json.dumps([f.to_json() for f in spec.fields]),
        "partition-spec-id": str(spec.spec_id),
        "format-version": str(format_version),
    }
    if format_version >= 2:
        header["content"] = "deletes" if content == ManifestContent.DELETES else "data"
    return avro.write_container(manifest_schema(format_version, names, ids, types), header, len(entries), bytes(out))


def describe_manifest(
    path: str,
    encoded: bytes,
    entries: Sequence[ManifestEntry],
    spec: PartitionSpec,
    schema: Schema,
    *,
    snapshot_id: int,
    sequence_number: int,
    content: int = ManifestContent.DATA,
) -> ManifestFile:
    """What a manifest list says of a manifest just encoded by snapshot ``snapshot_id`` (v1: sequence number 0)."""
    counts = [0, 0, 0]
    rows = [0, 0, 0]
    least = sequence_number
    for entry in entries:
        counts[entry.status] += 1
        rows[entry.status] += entry.data_file.record_count
        if entry.live and entry.sequence_number is not None:
            least = min(least, entry.sequence_number)
    existing, added, deleted = EntryStatus.EXISTING, EntryStatus.ADDED, EntryStatus.DELETED
    partitions = [e.data_file.partition for e in entries]
    return ManifestFile(
        path,
        len(encoded),
        spec.spec_id,
        content,
        sequence_number,
        least,
        snapshot_id,
        counts[added],
        counts[existing],
        counts[deleted],
        rows[added],
        rows[existing],
        rows[deleted],
        summarize_partitions(partitions, partition_types(spec, schema, partitions)),
    )


def summarize_partitions(
    partitions: Sequence[tuple[object, ...]], types: Sequence[IcebergType]
) -> tuple[FieldSummary, ...]:
    """What each partition field holds over some files: nulls, NaNs and the bounds of all other values."""
    found = []
    for i, kind in enumerate(types):
        values = {p[i] for p in partitions}
        contains_null = None in values
        values.discard(None)
        nans = {v for v in values if v != v}
        values -= nans
        lower = to_bytes(kind, min(values, key=_total_order)) if values else None
        upper = to_bytes(kind, max(values, key=_total_order)) if values else None
        found.append(FieldSummary(contains_null, bool(nans), lower, upper))
    return tuple(found)


def _total_order(value: Any) -> Any:
    if isinstance(value, float):
        return value, str(value)[0] != "-"  # -0.0 below 0.0
    return value


def encode_manifest_list(
    manifests: Iterable[ManifestFile],
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int,
    format_version: int,
    first_row_id: int | None = None,
) -> bytes:
    """The manifest list of a snapshot. In v3 ``first_row_id`` is the snapshot's; data manifests must have theirs."""
    out = bytearray()
    count = 0
    for manifest in manifests:
        out += _encoded_manifest_file(as_listed(manifest, format_version, snapshot_id), format_version)
        count += 1
    header = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_snapshot_id is None else str(parent_snapshot_id),
        "format-version": str(format_version),
    }
    if format_version >= 2:
        header["sequence-number"] = str(sequence_number)
    if format_version >= 3:
        header["first-row-id"] = "null" if first_row_id is None else str(first_row_id)
    return avro.write_container(manifest_list_schema(format_version), header, count, bytes(out))


def as_listed(m: ManifestFile, version: int, snapshot_id: int) -> ManifestFile:
    """What a reader of the list of snapshot ``snapshot_id`` finds of a manifest."""
    if m.added_snapshot_id is None:
        m = replace(m, added_snapshot_id=snapshot_id)
    if version < 3 and m.first_row_id is not None:
        m = replace(m, first_row_id=None)
    if version == 1 and (m.content or m.sequence_number or m.min_sequence_number):
        m = replace(m, content=ManifestContent.DATA, sequence_number=0, min_sequence_number=0)
    if version > 1 and None in (counts := _COUNTS(m)):
        given: dict[str, Any] = {name: count or 0 for name, count in zip(_COUNT_NAMES, counts, strict=True)}
        m = replace(m, **given)
    return m


@lru_cache(maxsize=_KEPT_MANIFESTS)  # a snapshot's list is the last one's with a manifest more
def _encoded_manifest_file(m: ManifestFile, version: int) -> bytes:
    out = bytearray()
    write_bytes(out, m.path.encode())
    write_long(out, m.length)
    write_long(out, m.spec_id)
    if version >= 2:
        write_long(out, m.content)
        write_long(out, m.sequence_number)
        write_long(out, m.min_sequence_number)
    assert m.added_snapshot_id is not None
    write_long(out, m.added_snapshot_id)
    for count in _COUNTS(m):
        if version >= 2:
            write_long(out, count or 0)
        else:
            _optional(out, count, write_long)
    _optional(out, m.partitions, _encode_summaries)
    _optional(out, m.key_metadata, write_bytes)
    if version >= 3:
        _optional(out, m.first_row_id, write_long)
    return bytes(out)


def _encode_summaries(out: bytearray, summaries: Sequence[FieldSummary]) -> None:
    if summaries:
        write_long(out, len(summaries))
        for summary in summaries:
            out.append(summary.contains_null)
            _optional(out, summary.contains_nan, _write_bool)
            _optional(out, summary.lower, write_bytes)
            _optional(out, summary.upper, write_bytes)
    out.append(0)


def _encode_entry(
    out: bytearray, entry: ManifestEntry, partition: tuple[Encode, ...], version: int, snapshot_id: int | None
) -> None:
    file = entry.data_file
    write_long(out, entry.status)
    _optional(out, snapshot_id if entry.snapshot_id is None else entry.snapshot_id, write_long)
    if version >= 2:
        _optional(out, entry.sequence_number, write_long)
        _optional(out, entry.file_sequence_number, write_long)
        write_long(out, file.content)
    write_bytes(out, file.path.encode())
    write_bytes(out, file.format.encode())
    for encode, value in zip(partition, file.partition, strict=True):
        _optional(out, value, encode)
    write_long(out, file.record_count)
    write_long(out, file.file_size)
    if version == 1:
        write_long(out, _V1_BLOCK_SIZE)
    _encode_statistics(out, file)
    _optional(out, file.key_metadata, write_bytes)
    _optional(out, file.split_offsets, _encode_longs)
    if version >= 2:
        _optional(out, file.equality_ids, _encode_longs)
    _optional(out, file.sort_order_id, write_long)
    if version >= 3:
        _optional(out, file.first_row_id, write_long)
    if version >= 2:
        _optional(out, file.referenced_data_file, _write_text)
    if version >= 3:
        _optional(out, file.content_offset, write_long)
        _optional(out, file.content_size, write_long)


def _encode_statistics(out: bytearray, file: DataFile) -> None:
    for counts in (file.column_sizes, file.value_counts, file.null_counts, file.nan_counts):
        _encode_map(out, counts, write_long)
    for bounds in (file.lower_bounds, file.upper_bounds):
        _encode_map(out, bounds, write_bytes)


def _encode_map(out: bytearray, values: Mapping[int, Any], encode: Encode) -> None:
    if isinstance(values, RawMap):  # as it was read
        out.append(2)
        out += values.raw
    elif values:
        out.append(2)
        write_long(out, len(values))
        for key, value in values.items():
            write_long(out, key)
            encode(out, value)
        out.append(0)
    else:
        out.append(0)


def _encode_longs(out: bytearray, values: Sequence[int]) -> None:
    if values:
        write_long(out, len(values))
        for value in values:
            write_long(out, value)
    out.append(0)


def _optional(out: bytearray, value: Any, encode: Encode) -> None:
    if value is None:
        out.append(0)
    else:
        out.append(2)
        encode(out, value)


def _write_bool(out: bytearray, value: bool) -> None:
    out.append(1 if value else 0)


def _write_text(out: bytearray, value: str) -> None:
    write_bytes(out, value.encode())


def _value_encoder(kind: IcebergType) -> Encode:
    """How a partition value of this type is written."""
    match kind:
        case BooleanType():
            return _write_bool
        case StringType():
            return _write_text
        case FloatType():
            return lambda out, value: out.extend(struct.pack("<f", value))
        case DoubleType():
            return lambda out, value: out.extend(struct.pack("<d", value))
        case FixedType():
            return lambda out, value: out.extend(value)
        case UUIDType():
            return lambda out, value: out.extend(value.bytes if isinstance(value, UUID) else value)
        case DecimalType(precision, scale):
            size = decimal_size(precision)
            return lambda out, value: out.extend(unscaled_decimal(value, scale).to_bytes(size, "big", signed=True))
    return _write_long_or_bytes


def _write_long_or_bytes(out: bytearray, value: int | bytes) -> None:
    if isinstance(value, bytes):
        write_bytes(out, value)
    else:
        write_long(out, value)
