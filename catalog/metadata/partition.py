"""Partition specs: which transforms of which columns a table is laid out by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.json_fields import JsonObject, check_kind, corrupt, integers, optional, others, required
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import ListType, MapType, NestedField, StructType, UnknownType

FIRST_PARTITION_ID = 1000
"""The field id of a table's first partition field."""

_FIELD_KEYS = frozenset({"name", "transform", "source-id", "field-id"})
_SPEC_KEYS = frozenset({"spec-id", "fields"})


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One transform of one column. ``field_id`` is unique in the table (from 1000)."""

    source_id: int
    field_id: int
    name: str
    transform: Transform
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @staticmethod
    def from_json(obj: JsonObject, position: int = 0) -> PartitionField:
        """Reads a field; v1 files may lack the field id, which then follows from the position in the spec."""
        sources = integers(obj, "source-ids")
        source_id = optional(obj, "source-id", int)
        if source_id is None:
            if not sources:
                raise corrupt("'source-id' is missing.")
            source_id = sources[0]
        transform = Transform.parse(required(obj, "transform", str))
        if len(sources) > 1:
            # Transforms of several columns (v3) are kept, but nothing here can evaluate them.
            transform = Transform(TransformKind.UNKNOWN, text=str(transform))
        field_id = optional(obj, "field-id", int)
        return PartitionField(
            source_id,
            FIRST_PARTITION_ID + position if field_id is None else field_id,
            required(obj, "name", str),
            transform,
            others(obj, _FIELD_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"name": self.name, "transform": str(self.transform)}
        if "source-ids" not in self.extra:
            out["source-id"] = self.source_id
        out["field-id"] = self.field_id
        return {**out, **self.extra} if self.extra else out


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """The partition fields in order, those that a v1 table removed as void transforms among them."""

    spec_id: int
    fields: tuple[PartitionField, ...]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def is_unpartitioned(self) -> bool:
        """Whether no field tells rows apart."""
        return all(f.transform.kind is TransformKind.VOID for f in self.fields)

    @property
    def last_field_id(self) -> int:
        """The greatest field id; 999 without fields."""
        return max((f.field_id for f in self.fields), default=FIRST_PARTITION_ID - 1)

    def partition_type(self, schema: Schema) -> StructType:
        """The struct of a file's partition tuple; a dropped source column counts as of unknown type."""
        fields = []
        for f in self.fields:
            source = schema.field(f.source_id)
            result = f.transform.result_type(source.type if source is not None else UnknownType())
            fields.append(NestedField(f.field_id, f.name, result, False))
        return StructType(tuple(fields))

    def compatible_with(self, other: PartitionSpec) -> bool:
        """Whether the two give the same partitions under the same names, whatever their ids."""
        mine = [(f.source_id, f.transform, f.name) for f in self.fields]
        return mine == [(f.source_id, f.transform, f.name) for f in other.fields]

    @staticmethod
    def from_json(obj: JsonObject) -> PartitionSpec:
        return PartitionSpec(
            required(obj, "spec-id", int),
            fields_from_json(required(obj, "fields", list)),
            others(obj, _SPEC_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        return {"spec-id": self.spec_id, "fields": self.fields_to_json(), **self.extra}

    def fields_to_json(self) -> list[dict[str, Any]]:
        """The fields alone, as v1's ``partition-spec`` holds them."""
        return [f.to_json() for f in self.fields]


UNPARTITIONED = PartitionSpec(0, ())


def fields_from_json(items: Sequence[object]) -> tuple[PartitionField, ...]:
    """Partition fields from a JSON list."""
    return tuple(
        PartitionField.from_json(check_kind(item, dict, "A partition field"), i) for i, item in enumerate(items)
    )


@dataclass(frozen=True, slots=True)
class PartitionBy:
    """One item of PARTITIONED BY: a transform of the column with a dotted name; ``name`` None gives Java's name."""

    source: str
    transform: Transform
    name: str | None = None


def build_spec(schema: Schema, items: Sequence[PartitionBy], *, case_sensitive: bool = True) -> PartitionSpec:
    """The spec with id 0 that PARTITIONED BY gives a new table.

    Refuses unknown columns, types that the transform does not take, repeated fields and names that collide.
    """
    fields: list[PartitionField] = []
    for item in items:
        source = partition_source(schema, item.source, item.transform, case_sensitive=case_sensitive)
        source_name = schema.name_of(source.field_id) or source.name
        new = PartitionField(
            source.field_id,
            FIRST_PARTITION_ID + len(fields),
            item.name or created_name(source_name, item.transform),
            item.transform,
        )
        check_redundant(new, fields)
        check_name(new, fields, schema)
        fields.append(new)
    return PartitionSpec(0, tuple(fields))


def partition_source(schema: Schema, name: str, transform: Transform, *, case_sensitive: bool = True) -> NestedField:
    """The column that a partition field is made from; :func:`transform_source` says what it must be."""
    return transform_source(schema, name, transform, "partition", case_sensitive=case_sensitive)


def transform_source(
    schema: Schema, name: str, transform: Transform, use: str, *, case_sensitive: bool = True
) -> NestedField:
    """The column to partition or sort (``use``) by, checked: it exists, is primitive, and is in no list or map."""
    source = schema.find(name, case_sensitive)
    if source is None:
        hint = did_you_mean(name, schema.names)
        raise BergError(ErrorCode.NOT_FOUND, f"Cannot find the {use} column '{name}' in the table.", hint=hint)
    if not source.type.is_primitive:
        raise BergError(ErrorCode.INVALID, f"Cannot {use} by '{name}': {source.type} is not a primitive type.")
    transform.check(source.type)
    parent = schema.parent_of(source.field_id)
    while parent is not None:
        if isinstance(parent.type, ListType | MapType):
            raise BergError(ErrorCode.INVALID, f"Cannot {use} by '{name}': it is inside a list or map.")
        parent = schema.parent_of(parent.field_id)
    return source


_CREATED_SUFFIX = {
    TransformKind.BUCKET: "_bucket",
    TransformKind.TRUNCATE: "_trunc",
    TransformKind.YEAR: "_year",
    TransformKind.MONTH: "_month",
    TransformKind.DAY: "_day",
    TransformKind.HOUR: "_hour",
    TransformKind.VOID: "_null",
}


def created_name(source_name: str, transform: Transform) -> str:
    """Java's name for a partition field of CREATE TABLE: ``id_bucket``, ``ts_day``, ``loc_trunc``."""
    return source_name + _CREATED_SUFFIX.get(transform.kind, "")


def added_name(source_name: str, transform: Transform) -> str:
    """Java's name for a partition field of ADD PARTITION FIELD: ``id_bucket_4``, ``ts_day``, ``loc_trunc_2``."""
    name = created_name(source_name, transform)
    return f"{name}_{transform.width}" if transform.width else name


def check_redundant(new: PartitionField, existing: Sequence[PartitionField]) -> None:
    """Refuse a second equal transform of a column, or a second of its year, month, day and hour."""
    for other in existing:
        same = other.transform == new.transform or (other.transform.is_time and new.transform.is_time)
        if other.source_id == new.source_id and same:
            raise BergError(
                ErrorCode.INVALID,
                f"Cannot add redundant partition field '{new.name}' ({new.transform}): "
                f"it conflicts with '{other.name}' ({other.transform}).",
            )


def check_name(new: PartitionField, existing: Sequence[PartitionField], schema: Schema) -> None:
    """Refuse a partition name that is taken, or that is another column's (an identity may have its own column's)."""
    if any(f.name == new.name for f in existing):
        raise BergError(ErrorCode.INVALID, f"Cannot use the partition name '{new.name}' more than once.")
    column = schema.find(new.name)
    own = new.transform.kind in (TransformKind.IDENTITY, TransformKind.VOID)
    if column is not None and not (own and column.field_id == new.source_id):
        raise BergError(
            ErrorCode.INVALID, f"Cannot use the partition name '{new.name}': it is the name of another column."
        )
