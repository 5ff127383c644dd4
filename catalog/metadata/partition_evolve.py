"""Changing a partition spec, with the ids and names that Java gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.partition import (
    PartitionField,
    PartitionSpec,
    added_name,
    check_name,
    partition_source,
)
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import IDENTITY, VOID, Transform, TransformKind


@dataclass(frozen=True, slots=True)
class AddField:
    """ADD PARTITION FIELD: a transform of the column with a dotted name; ``name`` None gives Java's name."""

    source: str
    transform: Transform
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DropField:
    """DROP PARTITION FIELD by its name or its column (``transform`` None), or by column and transform."""

    name: str
    transform: Transform | None = None


SpecChange = AddField | DropField


def evolve_spec(
    metadata: TableMetadata, changes: Sequence[SpecChange], *, case_sensitive: bool = True
) -> PartitionSpec:
    """The table's spec after ``changes``, which happen at once (REPLACE PARTITION FIELD is a drop and an add).

    For an AddPartitionSpec update; its spec id is the default spec's and does not matter. Files that are there keep
    their spec. In v1 a dropped field stays as a void transform; from v2 on a field that is equal to one of an earlier
    spec gets that one's id and name back.
    """
    draft = _Draft(metadata, case_sensitive)
    for change in changes:
        if isinstance(change, DropField):
            draft.drop(change)
        else:
            draft.add(change)
    return draft.finish()


class _Draft:
    def __init__(self, metadata: TableMetadata, case_sensitive: bool) -> None:
        self.metadata = metadata
        self.case_sensitive = case_sensitive
        self.fields = list(metadata.spec.fields)
        self.dropped: set[int] = set()
        self.added: list[PartitionField] = []
        self.last_id = metadata.last_partition_id

    def drop(self, change: DropField) -> None:
        if change.transform is None:  # as Iceberg's Spark: the column's own values, else a partition field's name
            field = self._transforming(replace(change, transform=IDENTITY)) or self._named(change.name)
        else:
            field = self._transforming(change)
        if field is None:
            text = change.name if change.transform is None else change.transform.of(change.name)
            hint = did_you_mean(change.name, [f.name for f in self._live()])
            raise BergError(
                ErrorCode.NOT_FOUND, f"The table has no partition field '{text}'.", hint=hint or self._known()
            )
        self.dropped.add(field.field_id)

    def add(self, change: AddField) -> None:
        schema = self.metadata.schema
        source = partition_source(schema, change.source, change.transform, case_sensitive=self.case_sensitive)
        if self._brought_back(source.field_id, change):
            return
        for live in [*self._live(), *self.added]:
            if live.source_id == source.field_id and live.transform == change.transform:
                raise BergError(
                    ErrorCode.ALREADY_EXISTS,
                    f"Cannot add the partition field {change.transform.of(change.source)}: '{live.name}' is the same.",
                )
        new = self._recycled(source.field_id, change)
        if new is None:
            self.last_id += 1
            name = change.name or added_name(schema.name_of(source.field_id) or source.name, change.transform)
            new = PartitionField(source.field_id, self.last_id, name, change.transform)
        if new.transform.is_time and any(f.transform.is_time and f.source_id == new.source_id for f in self.added):
            raise BergError(
                ErrorCode.INVALID,
                f"Cannot add more than one of year, month, day and hour of '{change.source}' at once.",
            )
        self._make_room(new.name)
        check_name(new, [*self._live(), *self.added], schema)
        self.added.append(new)

    def _brought_back(self, source_id: int, change: AddField) -> bool:
        """Whether the field is one that these changes dropped: it stays where it is then, maybe with another name."""
        for i, f in enumerate(self.fields):
            if f.field_id in self.dropped and (f.source_id, f.transform) == (source_id, change.transform):
                self.dropped.discard(f.field_id)
                if change.name is not None and change.name != f.name:
                    others = [g for g in [*self._live(), *self.added] if g.field_id != f.field_id]
                    renamed = replace(f, name=change.name)
                    check_name(renamed, others, self.metadata.schema)
                    self.fields[i] = renamed
                return True
        return False

    def finish(self) -> PartitionSpec:
        kept: list[PartitionField] = []
        for f in self.fields:
            if f.field_id not in self.dropped:
                kept.append(f)
            elif self.metadata.format_version == 1:
                kept.append(replace(f, transform=VOID))
        return PartitionSpec(self.metadata.default_spec_id, (*kept, *self.added))

    def _live(self) -> list[PartitionField]:
        """The fields of the spec that tell rows apart and stay."""
        return [f for f in self.fields if f.field_id not in self.dropped and f.transform.kind is not TransformKind.VOID]

    def _named(self, name: str) -> PartitionField | None:
        return next((f for f in self._live() if f.name == name), None)

    def _transforming(self, change: DropField) -> PartitionField | None:
        source = self.metadata.schema.find(change.name, self.case_sensitive)
        if source is None:
            return None
        wanted = (source.field_id, change.transform)
        return next((f for f in self._live() if (f.source_id, f.transform) == wanted), None)

    def _known(self) -> str | None:
        names = ", ".join(f.name for f in self._live())
        return f"Its partition fields are {names}." if names else "The table is not partitioned."

    def _recycled(self, source_id: int, change: AddField) -> PartitionField | None:
        if self.metadata.format_version == 1:
            return None
        for spec in self.metadata.specs:
            for f in spec.fields:
                same = f.source_id == source_id and f.transform == change.transform
                if same and change.name in (None, f.name):
                    return f
        return None

    def _make_room(self, name: str) -> None:
        """A field that is gone, and stays in a v1 spec as void, gives up its name to a new one."""
        for i, f in enumerate(self.fields):
            gone = f.field_id in self.dropped or f.transform.kind is TransformKind.VOID
            if gone and f.name == name:
                self.fields[i] = replace(f, name=f"{name}_{f.field_id}")
