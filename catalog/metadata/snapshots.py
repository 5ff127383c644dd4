"""Snapshots, the references to them, and the two logs of a table (table spec, "Snapshots" and Appendix C)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bergsql.catalog.metadata.json_fields import (
    JsonObject,
    check_kind,
    corrupt,
    milliseconds,
    optional,
    others,
    required,
    string_map,
)

MAIN_BRANCH = "main"
BRANCH = "branch"
TAG = "tag"

_SNAPSHOT_KEYS = frozenset(
    {
        "sequence-number",
        "snapshot-id",
        "parent-snapshot-id",
        "timestamp-ms",
        "summary",
        "manifest-list",
        "manifests",
        "schema-id",
        "first-row-id",
        "added-rows",
    }
)


def compact(value: object) -> str:
    """JSON text as Java writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Lasting(ABC):
    """A part of the metadata that later versions take over as it is, so that its text is made only once."""

    kept_text: str | None = field(default=None, init=False, repr=False, compare=False)
    """Its JSON text, once that was asked for."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its JSON, as the specification names the fields."""

    def json_text(self) -> str:
        """Its JSON text, which is made once."""
        text = self.kept_text or compact(self.to_json())
        object.__setattr__(self, "kept_text", text)
        return text


@dataclass(frozen=True, slots=True)
class Snapshot(Lasting):
    """The state of a table at one time.

    ``manifests`` holds manifest paths where an old v1 snapshot lists them itself; ``manifest_list`` is None then.
    ``sequence_number`` is 0 in v1. ``summary`` has ``operation`` first.
    """

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    summary: Mapping[str, str]
    schema_id: int | None = None
    manifests: tuple[str, ...] | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def operation(self) -> str | None:
        """append, overwrite, delete or replace; None in very old tables."""
        return self.summary.get("operation")

    @staticmethod
    def from_json(obj: JsonObject) -> Snapshot:
        manifests = optional(obj, "manifests", list)
        return Snapshot(
            required(obj, "snapshot-id", int),
            optional(obj, "parent-snapshot-id", int),
            optional(obj, "sequence-number", int) or 0,
            milliseconds(obj, "timestamp-ms"),
            optional(obj, "manifest-list", str),
            string_map(obj, "summary"),
            optional(obj, "schema-id", int),
            None if manifests is None else tuple(check_kind(m, str, "A manifest") for m in manifests),
            optional(obj, "first-row-id", int),
            optional(obj, "added-rows", int),
            others(obj, _SNAPSHOT_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.sequence_number:
            out["sequence-number"] = self.sequence_number
        out["snapshot-id"] = self.snapshot_id
        if self.parent_id is not None:
            out["parent-snapshot-id"] = self.parent_id
        out["timestamp-ms"] = self.timestamp_ms
        if self.summary:
            out["summary"] = dict(self.summary)
        if self.manifest_list is not None:
            out["manifest-list"] = self.manifest_list
        if self.manifests is not None:
            out["manifests"] = list(self.manifests)
        if self.schema_id is not None:
            out["schema-id"] = self.schema_id
        if self.first_row_id is not None:
            out["first-row-id"] = self.first_row_id
        if self.added_rows is not None:
            out["added-rows"] = self.added_rows
        return {**out, **self.extra} if self.extra else out


_REF_KEYS = frozenset(
    {"snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"},
)


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A branch or a tag, and how long it and its snapshots are kept."""

    snapshot_id: int
    type: str = BRANCH
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def is_branch(self) -> bool:
        return self.type == BRANCH

    @staticmethod
    def from_json(obj: JsonObject) -> SnapshotRef:
        kind = required(obj, "type", str).lower()
        if kind not in (BRANCH, TAG):
            raise corrupt(f"There is no kind of reference '{kind}'.")
        return SnapshotRef(
            required(obj, "snapshot-id", int),
            kind,
            optional(obj, "min-snapshots-to-keep", int),
            optional(obj, "max-snapshot-age-ms", int),
            optional(obj, "max-ref-age-ms", int),
            others(obj, _REF_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"snapshot-id": self.snapshot_id, "type": self.type}
        if self.min_snapshots_to_keep is not None:
            out["min-snapshots-to-keep"] = self.min_snapshots_to_keep
        if self.max_snapshot_age_ms is not None:
            out["max-snapshot-age-ms"] = self.max_snapshot_age_ms
        if self.max_ref_age_ms is not None:
            out["max-ref-age-ms"] = self.max_ref_age_ms
        return {**out, **self.extra} if self.extra else out


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry(Lasting):
    """``snapshot_id`` became the table's current snapshot at ``timestamp_ms``."""

    timestamp_ms: int
    snapshot_id: int
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @staticmethod
    def from_json(obj: JsonObject) -> SnapshotLogEntry:
        return SnapshotLogEntry(
            milliseconds(obj, "timestamp-ms"),
            required(obj, "snapshot-id", int),
            others(obj, _SNAPSHOT_LOG_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        return {"timestamp-ms": self.timestamp_ms, "snapshot-id": self.snapshot_id, **self.extra}


_SNAPSHOT_LOG_KEYS = frozenset({"timestamp-ms", "snapshot-id"})


@dataclass(frozen=True, slots=True)
class MetadataLogEntry(Lasting):
    """An earlier metadata file of the table, last changed at ``timestamp_ms``."""

    timestamp_ms: int
    metadata_file: str
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @staticmethod
    def from_json(obj: JsonObject) -> MetadataLogEntry:
        return MetadataLogEntry(
            milliseconds(obj, "timestamp-ms"),
            required(obj, "metadata-file", str),
            others(obj, _METADATA_LOG_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        return {"timestamp-ms": self.timestamp_ms, "metadata-file": self.metadata_file, **self.extra}


_METADATA_LOG_KEYS = frozenset({"timestamp-ms", "metadata-file"})
