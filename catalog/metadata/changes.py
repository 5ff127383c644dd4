"""The changes that a commit may ask for, named and shaped as the REST catalog specification names and shapes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
    from bergsql.catalog.metadata.sort import SortOrder

LAST_ADDED = -1
"""As an id: the schema, spec or order that an earlier update of the same commit added."""


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """The root of all updates."""


@dataclass(frozen=True, slots=True)
class AssignUUID(TableUpdate):
    uuid: str


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion(TableUpdate):
    format_version: int


@dataclass(frozen=True, slots=True)
class AddSchema(TableUpdate):
    """The schema's own id does not matter: an equal schema is reused, else it gets the next id."""

    schema: Schema


@dataclass(frozen=True, slots=True)
class SetCurrentSchema(TableUpdate):
    schema_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddPartitionSpec(TableUpdate):
    """The spec's own id does not matter: a compatible spec is reused, else it gets the next id."""

    spec: PartitionSpec


@dataclass(frozen=True, slots=True)
class SetDefaultSpec(TableUpdate):
    spec_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSortOrder(TableUpdate):
    """The order's own id does not matter: an equal order is reused, else it gets the next id."""

    sort_order: SortOrder


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder(TableUpdate):
    sort_order_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSnapshot(TableUpdate):
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class SetSnapshotRef(TableUpdate):
    """Make or move a branch or tag; moving ``main`` changes the current snapshot."""

    ref_name: str
    ref: SnapshotRef


@dataclass(frozen=True, slots=True)
class RemoveSnapshots(TableUpdate):
    """Forget snapshots, with the references to them and the statistics of them. Deletes no file."""

    snapshot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef(TableUpdate):
    """Remove a branch or tag; without ``main`` the table has no current snapshot."""

    ref_name: str


@dataclass(frozen=True, slots=True)
class SetProperties(TableUpdate):
    """``format-version`` among them upgrades the table instead of being stored."""

    updates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RemoveProperties(TableUpdate):
    removals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetLocation(TableUpdate):
    location: str


@dataclass(frozen=True, slots=True)
class SetStatistics(TableUpdate):
    """Statistics of a snapshot, a JSON object with ``snapshot-id``, in the place of those it had."""

    statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoveStatistics(TableUpdate):
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics(TableUpdate):
    """Partition statistics of a snapshot, a JSON object with ``snapshot-id``, in the place of those it had."""

    partition_statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics(TableUpdate):
    snapshot_id: int
