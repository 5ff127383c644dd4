"""The metadata of a table: all that its metadata file says, for format versions 1, 2 and 3, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.json_fields import (
    JsonObject,
    check_kind,
    corrupt,
    milliseconds,
    object_list,
    optional,
    others,
    required,
    string_map,
    within,
)
from bergsql.catalog.metadata.partition import PartitionSpec, fields_from_json
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import (
    MAIN_BRANCH,
    MetadataLogEntry,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    compact,
)
from bergsql.catalog.metadata.sort import UNSORTED, SortOrder

if TYPE_CHECKING:
    from gzip import GzipFile

MAX_FORMAT_VERSION = 3
MOST_UNPACKED = 256 << 20
"""How many bytes a gzipped metadata file may unpack to: parsed, they take many times as much."""
_CHUNK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
NO_SNAPSHOT = -1

_KEYS = frozenset(
    {
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schema",
        "schemas",
        "current-schema-id",
        "partition-spec",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "properties",
        "current-snapshot-id",
        "next-row-id",
        "refs",
        "snapshots",
        "statistics",
        "partition-statistics",
        "snapshot-log",
        "metadata-log",
    }
)
_DERIVED = {"_schemas_by_id": "schemas", "_specs_by_id": "specs", "_snapshots_by_id": "snapshots"}
"""Cached properties, and the fields that they are worked out from."""
_LASTING = frozenset({"snapshots", "snapshot-log", "metadata-log"})
"""The members that are lists of :class:`~bergsql.catalog.metadata.snapshots.Lasting`."""


@dataclass(frozen=True)
class TableMetadata:
    """A table at one version. Immutable: updates.py makes the next version.

    ``extra`` and the ``extra`` of every part hold members this version of bergsql does not know; they are written back.
    ``statistics`` and ``partition_statistics`` stay JSON objects. ``table_uuid`` is None only in early v1 tables.
    """

    format_version: int
    table_uuid: str | None
    location: str
    last_sequence_number: int
    last_updated_ms: int
    last_column_id: int
    schemas: tuple[Schema, ...]
    current_schema_id: int
    specs: tuple[PartitionSpec, ...]
    default_spec_id: int
    last_partition_id: int
    sort_orders: tuple[SortOrder, ...]
    default_sort_order_id: int
    properties: Mapping[str, str]
    current_snapshot_id: int | None
    snapshots: tuple[Snapshot, ...]
    snapshot_log: tuple[SnapshotLogEntry, ...]
    metadata_log: tuple[MetadataLogEntry, ...]
    refs: Mapping[str, SnapshotRef]
    statistics: tuple[JsonObject, ...] = ()
    partition_statistics: tuple[JsonObject, ...] = ()
    next_row_id: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _schemas_by_id(self) -> dict[int, Schema]:
        return {s.schema_id: s for s in self.schemas}

    @cached_property
    def _specs_by_id(self) -> dict[int, PartitionSpec]:
        return {s.spec_id: s for s in self.specs}

    @cached_property
    def _snapshots_by_id(self) -> dict[int, Snapshot]:
        return {s.snapshot_id: s for s in self.snapshots}

    def changed(self, **fields: Any) -> TableMetadata:
        """The same with other values of some fields. What is known of the others stays known."""
        other = replace(self, **fields)
        for name, source in _DERIVED.items():
            if source not in fields and name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self._schemas_by_id[self.current_schema_id]

    @property
    def spec(self) -> PartitionSpec:
        """The spec that new data is written with."""
        return self._specs_by_id[self.default_spec_id]

    @property
    def sort_order(self) -> SortOrder:
        """The order that new data is written in."""
        return next(o for o in self.sort_orders if o.order_id == self.default_sort_order_id)

    def schema_by_id(self, schema_id: int) -> Schema | None:
        return self._schemas_by_id.get(schema_id)

    def spec_by_id(self, spec_id: int) -> PartitionSpec | None:
        return self._specs_by_id.get(spec_id)

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot with this id."""
        return self._snapshots_by_id.get(snapshot_id)

    def snapshot_ids(self) -> Set[int]:
        """The ids of all snapshots."""
        return self._snapshots_by_id.keys()

    def current_snapshot(self) -> Snapshot | None:
        """The head of the main branch; None while the table has no data."""
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    def schema_for(self, snapshot: Snapshot) -> Schema:
        """The schema that ``snapshot`` was written with; the current one where it does not say."""
        known = None if snapshot.schema_id is None else self.schema_by_id(snapshot.schema_id)
        return known or self.schema

    @staticmethod
    def parse(data: bytes, name: str) -> TableMetadata:
        """Metadata from the bytes of a file, gzipped or not; errors name the file ``name``."""
        try:
            return TableMetadata.from_json(_load_object(data))
        except BergError as e:
            if e.code is ErrorCode.CORRUPT:
                raise corrupt(f"The metadata file {name} is damaged: {within(e.message)}") from e
            raise BergError(e.code, f"Cannot read the metadata file {name}: {e.message}", hint=e.hint) from e
        except RecursionError as e:
            raise corrupt(f"The metadata file {name} is damaged: its types are nested too deeply.") from e

    def serialize(self) -> bytes:
        """The bytes of a metadata file, compact as Java writes them.

        What an earlier version had already is not made into text anew: a commit's cost must not follow the history.
        """
        return ("{" + ",".join(f"{compact(k)}:{_text(v)}" for k, v in self._members().items()) + "}").encode()

    @staticmethod
    def from_json(obj: JsonObject) -> TableMetadata:
        """Metadata from its JSON object; CORRUPT when it is not a table's, UNSUPPORTED for a later format."""
        version = required(obj, "format-version", int)
        if not 1 <= version <= MAX_FORMAT_VERSION:
            raise BergError(
                ErrorCode.UNSUPPORTED,
                f"Iceberg format version {version} is not supported, only 1 to {MAX_FORMAT_VERSION}.",
            )
        schemas, current_schema_id = _read_schemas(obj)
        specs, default_spec_id = _read_specs(obj)
        last_partition_id = optional(obj, "last-partition-id", int)
        current_snapshot_id = optional(obj, "current-snapshot-id", int)
        if current_snapshot_id == NO_SNAPSHOT:
            current_snapshot_id = None
        metadata = TableMetadata(
            format_version=version,
            table_uuid=optional(obj, "table-uuid", str) if version == 1 else required(obj, "table-uuid", str),
            location=required(obj, "location", str),
            last_sequence_number=required(obj, "last-sequence-number", int) if version > 1 else 0,
            last_updated_ms=milliseconds(obj, "last-updated-ms"),
            last_column_id=required(obj, "last-column-id", int),
            schemas=schemas,
            current_schema_id=current_schema_id,
            specs=specs,
            default_spec_id=default_spec_id,
            last_partition_id=max(s.last_field_id for s in specs) if last_partition_id is None else last_partition_id,
            sort_orders=object_list(obj, "sort-orders", SortOrder.from_json) or (UNSORTED,),
            default_sort_order_id=optional(obj, "default-sort-order-id", int) or 0,
            properties=string_map(obj, "properties"),
            current_snapshot_id=current_snapshot_id,
            snapshots=object_list(obj, "snapshots", Snapshot.from_json),
            snapshot_log=object_list(obj, "snapshot-log", SnapshotLogEntry.from_json),
            metadata_log=object_list(obj, "metadata-log", MetadataLogEntry.from_json),
            refs=_read_refs(obj, current_snapshot_id),
            statistics=object_list(obj, "statistics", dict),
            partition_statistics=object_list(obj, "partition-statistics", dict),
            next_row_id=required(obj, "next-row-id", int) if version > 2 else 0,
            extra=others(obj, _KEYS),
        )
        _check_references(metadata)
        return metadata

    def to_json(self) -> dict[str, Any]:
        """The JSON object, members in Java's order."""
        members = self._members()
        return {k: [part.to_json() for part in v] if k in _LASTING else v for k, v in members.items()}

    def _members(self) -> dict[str, Any]:
        """The members of the JSON object; snapshots and log entries as they are."""
        v1 = self.format_version == 1
        out: dict[str, Any] = {"format-version": self.format_version}
        if self.table_uuid is not None:
            out["table-uuid"] = self.table_uuid
        out["location"] = self.location
        if not v1:
            out["last-sequence-number"] = self.last_sequence_number
        out["last-updated-ms"] = self.last_updated_ms
        out["last-column-id"] = self.last_column_id
        schemas = [s.to_json() for s in self.schemas]
        if v1:
            out["schema"] = self.schema.to_json()
        out["current-schema-id"] = self.current_schema_id
        out["schemas"] = schemas
        if v1:
            out["partition-spec"] = self.spec.fields_to_json()
        out["default-spec-id"] = self.default_spec_id
        out["partition-specs"] = [s.to_json() for s in self.specs]
        out["last-partition-id"] = self.last_partition_id
        out["default-sort-order-id"] = self.default_sort_order_id
        out["sort-orders"] = [o.to_json() for o in self.sort_orders]
        out["properties"] = dict(self.properties)
        nothing = None if self.format_version >= 3 else NO_SNAPSHOT
        out["current-snapshot-id"] = nothing if self.current_snapshot_id is None else self.current_snapshot_id
        if self.format_version >= 3:
            out["next-row-id"] = self.next_row_id
        out["refs"] = {name: ref.to_json() for name, ref in self.refs.items()}
        out["snapshots"] = self.snapshots
        out["statistics"] = [dict(s) for s in self.statistics]
        out["partition-statistics"] = [dict(s) for s in self.partition_statistics]
        out["snapshot-log"] = self.snapshot_log
        out["metadata-log"] = self.metadata_log
        return {**out, **self.extra} if self.extra else out


def _text(member: Any) -> str:
    """The JSON text of a member."""
    if isinstance(member, tuple):
        return "[" + ",".join([part.kept_text or part.json_text() for part in member]) + "]"
    return compact(member)


def _load_object(data: bytes) -> JsonObject:
    if data.startswith(GZIP_MAGIC):
        from gzip import GzipFile
        from io import BytesIO
        from zlib import error as ZlibError

        try:
            data = _read_bounded(GzipFile(fileobj=BytesIO(data)))
        except (OSError, EOFError, ZlibError) as e:
            raise corrupt("it is not valid gzip.") from e
    try:
        return check_kind(json.loads(data), dict, "the file")
    except UnicodeDecodeError as e:
        raise corrupt("it is not JSON: a text in it is not UTF-8.") from e
    except ValueError as e:
        raise corrupt(f"it is not JSON ({e}).") from e


def _read_bounded(file: GzipFile) -> bytes:
    data = bytearray()
    while chunk := file.read(_CHUNK):
        data += chunk
        if len(data) > MOST_UNPACKED:
            raise corrupt(f"it has more than {MOST_UNPACKED} bytes when unpacked.")
    return bytes(data)


def _read_schemas(obj: JsonObject) -> tuple[tuple[Schema, ...], int]:
    schemas = object_list(obj, "schemas", Schema.from_json)
    if schemas:
        return schemas, required(obj, "current-schema-id", int)
    only = Schema.from_json(required(obj, "schema", dict))
    return (only,), only.schema_id


def _read_specs(obj: JsonObject) -> tuple[tuple[PartitionSpec, ...], int]:
    specs = object_list(obj, "partition-specs", PartitionSpec.from_json)
    if specs:
        return specs, required(obj, "default-spec-id", int)
    return (PartitionSpec(0, fields_from_json(required(obj, "partition-spec", list))),), 0


def _read_refs(obj: JsonObject, current_snapshot_id: int | None) -> dict[str, SnapshotRef]:
    refs = optional(obj, "refs", dict)
    if refs is None:
        return {} if current_snapshot_id is None else {MAIN_BRANCH: SnapshotRef(current_snapshot_id)}
    return {name: SnapshotRef.from_json(check_kind(ref, dict, f"The reference '{name}'")) for name, ref in refs.items()}


def _check_references(m: TableMetadata) -> None:
    """What one part of the metadata says about another must be there."""
    if m.current_schema_id not in m._schemas_by_id:
        raise corrupt(f"the current schema {m.current_schema_id} is missing.")
    if m.default_spec_id not in m._specs_by_id:
        raise corrupt(f"the default partition spec {m.default_spec_id} is missing.")
    if all(o.order_id != m.default_sort_order_id for o in m.sort_orders):
        raise corrupt(f"the default sort order {m.default_sort_order_id} is missing.")
    if m.current_snapshot_id is not None and m.current_snapshot_id not in m._snapshots_by_id:
        raise corrupt(f"the current snapshot {m.current_snapshot_id} is missing.")
    main = m.refs.get(MAIN_BRANCH)
    if main is not None and main.snapshot_id != m.current_snapshot_id:
        current = "none" if m.current_snapshot_id is None else m.current_snapshot_id
        raise corrupt(f"the branch main is at {main.snapshot_id}, not at the current snapshot: {current}.")
