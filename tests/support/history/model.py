"""What the table specification says the rows of a table are, followed word by word over plain lists.

Nothing here is fast or shared with the engine, but for types and partition transforms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from tests.support.history.data_files import Row
from tests.support.history.values import token

ROW_ID, LAST_UPDATED = 2147483540, 2147483539


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A data file: the columns it was written with, and its rows by field id, in order.

    ``partition`` holds Python values by partition field id; ``row_ids`` and ``updates`` what is stored of row lineage.
    """

    path: str
    fields: tuple[NestedField, ...]
    rows: tuple[Row, ...]
    spec: PartitionSpec
    partition: Mapping[int, Any]
    row_ids: tuple[int | None, ...] = ()
    updates: tuple[int | None, ...] = ()


@dataclass(frozen=True, eq=False)
class StoredDelete:
    """A delete file or deletion vector: the positions by data file, or the deleted rows and what they are known by."""

    path: str
    spec: PartitionSpec
    partition: Mapping[int, Any]
    positions: Mapping[str, frozenset[int]] = field(default_factory=dict)
    is_vector: bool = False
    equality_ids: tuple[int, ...] = ()
    fields: tuple[NestedField, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class LiveFile:
    """A data file as a snapshot has it. ``first_row_id`` is None in snapshots from before version 3."""

    file: StoredFile
    sequence_number: int
    first_row_id: int | None = None


@dataclass(frozen=True)
class LiveDelete:
    file: StoredDelete
    sequence_number: int


@dataclass(frozen=True)
class State:
    """What a snapshot holds."""

    data: tuple[LiveFile, ...] = ()
    deletes: tuple[LiveDelete, ...] = ()


@dataclass(frozen=True)
class ModelRow:
    """A row with its metadata columns; ``values`` are Python's, by name."""

    values: Mapping[str, Any]
    path: str
    pos: int
    spec_id: int
    partition: Mapping[int, Any]
    row_id: int | None
    last_updated: int | None
    deleted: bool


@dataclass
class Model:
    """A table's columns over its life: defaults by field id (Python values), and every schema that it had."""

    defaults: dict[int, Any] = field(default_factory=dict)
    schemas: list[Schema] = field(default_factory=list)

    def rows(self, state: State, schema: Schema) -> list[ModelRow]:
        """All rows of the snapshot, deleted ones too, read with ``schema``."""
        return [row for live in state.data for row in self._rows_of(live, state.deletes, schema)]

    def _rows_of(self, live: LiveFile, deletes: Sequence[LiveDelete], schema: Schema) -> Iterable[ModelRow]:
        file = live.file
        gone = self._deleted_positions(live, deletes)
        equality = [d.file for d in deletes if d.file.equality_ids and self._equality_reaches(d, live)]
        for pos, row in enumerate(file.rows):
            stored_id = file.row_ids[pos] if file.row_ids else None
            stored_update = file.updates[pos] if file.updates else None
            inherited = None if live.first_row_id is None else live.first_row_id + pos
            yield ModelRow(
                {f.name: self.value(file, row, f) for f in schema.fields},
                file.path,
                pos,
                file.spec.spec_id,
                file.partition,
                inherited if stored_id is None else stored_id,
                live.sequence_number if stored_update is None else stored_update,
                pos in gone or any(self._equal(file, row, d) for d in equality),
            )

    def _deleted_positions(self, live: LiveFile, deletes: Sequence[LiveDelete]) -> frozenset[int]:
        """Spec, "Scan Planning": a deletion vector stands for all position delete files of its data file."""
        applied = [
            d
            for d in deletes
            if live.file.path in d.file.positions
            and live.sequence_number <= d.sequence_number
            and same_partition(live.file, d.file)
        ]
        vectors = [d for d in applied if d.file.is_vector]
        return frozenset().union(*(d.file.positions[live.file.path] for d in vectors or applied))

    @staticmethod
    def _equality_reaches(delete: LiveDelete, live: LiveFile) -> bool:
        """Older data files only: of the same partition, or everywhere for a delete file that is not partitioned."""
        everywhere = all(f.transform.kind is TransformKind.VOID for f in delete.file.spec.fields)
        return live.sequence_number < delete.sequence_number and (everywhere or same_partition(live.file, delete.file))

    def _equal(self, file: StoredFile, row: Row, delete: StoredDelete) -> bool:
        """Whether some deleted row has the row's values in all columns of the delete file's ``equality_ids``."""
        columns = [self._ever(number) for number in delete.equality_ids]
        mine = [token(f.type, self.value(file, row, f)) for f in columns]
        for gone in delete.rows:
            theirs = [
                token(f.type, project(gone.get(f.field_id), self._type_in(delete.fields, f), f.type, self.defaults))
                for f in columns
            ]
            if mine == theirs:
                return True
        return False

    def _ever(self, number: int) -> NestedField:
        """A column as the latest schema that had it has it."""
        for schema in reversed(self.schemas):
            for f in schema.fields:
                if f.field_id == number:
                    return f
        raise KeyError(number)

    @staticmethod
    def _type_in(fields: Sequence[NestedField], wanted: NestedField) -> IcebergType:
        return next(f.type for f in fields if f.field_id == wanted.field_id)

    def value(self, file: StoredFile, row: Row, wanted: NestedField) -> Any:
        """Spec, "Column Projection": from the file, from an identity partition, the default, or NULL."""
        for f in file.fields:
            if f.field_id == wanted.field_id:
                return project(row.get(f.field_id), f.type, wanted.type, self.defaults)
        for part in file.spec.fields:
            if part.source_id == wanted.field_id and part.transform.kind is TransformKind.IDENTITY:
                return file.partition[part.field_id]
        return self.defaults.get(wanted.field_id)


def same_partition(a: StoredFile | StoredDelete, b: StoredFile | StoredDelete) -> bool:
    """Whether two files are of the same partition of the same spec; NaN is one value here."""
    return a.spec.spec_id == b.spec.spec_id and partition_key(a.partition) == partition_key(b.partition)


def partition_key(partition: Mapping[int, Any]) -> tuple[tuple[int, str], ...]:
    """A partition as a thing to compare."""
    return tuple((number, repr(value)) for number, value in sorted(partition.items()))


def project(value: Any, stored: IcebergType, wanted: IcebergType, defaults: Mapping[int, Any]) -> Any:
    """A stored value with the parts that ``wanted`` has: by field id, defaults where the file has none."""
    if value is None:
        return None
    match stored, wanted:
        case StructType(), StructType():
            there = {f.field_id: f.type for f in stored.fields}
            return {
                f.field_id: project(value[f.field_id], there[f.field_id], f.type, defaults)
                if f.field_id in there
                else defaults.get(f.field_id)
                for f in wanted.fields
            }
        case ListType(), ListType():
            return [project(v, stored.element, wanted.element, defaults) for v in value]
        case MapType(), MapType():
            return [(k, project(v, stored.value, wanted.value, defaults)) for k, v in value]
    return value
