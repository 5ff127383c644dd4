"""Replacing what is there: the whole table, the partitions that get rows, or a static part of the table.

All three are serializable: a concurrent writer that adds rows to what is replaced makes the statement fail, since its
rows would vanish without having been seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import NestedField, UUIDType
from bergsql.catalog.metadata.values import from_bytes, to_internal
from bergsql.engine.table.datafile import DataFile, FieldSummary, ManifestFile
from bergsql.engine.table.producer import Operation, Producer, Selection
from bergsql.engine.table.summary import PartitionId, partition_id
from bergsql.engine.table.validate import History, check_no_new_rows

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata


@dataclass(frozen=True)
class _Overwrite(Producer):
    """What all overwrites have in common."""

    def validate(self, history: History) -> None:
        selection = self.selection(history.current)
        if selection is not None:
            check_no_new_rows(history, selection)


@dataclass(frozen=True)
class OverwriteAll(_Overwrite):
    """The files take the place of all that the table holds; without any the table is emptied."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE if self.files else Operation.DELETE

    def selection(self, metadata: TableMetadata) -> Selection:  # noqa: ARG002
        return Everything()


@dataclass(frozen=True)
class OverwritePartitions(_Overwrite):
    """The files take the place of the partitions that they are in; in an unpartitioned table, of all."""

    properties: Mapping[str, str] = field(default_factory=lambda: {"replace-partitions": "true"}, kw_only=True)

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE

    def selection(self, metadata: TableMetadata) -> Selection:
        specs = {f.spec_id for f in self.files}
        if any((spec := metadata.spec_by_id(i)) is not None and spec.is_unpartitioned for i in specs):
            return Everything()
        return InPartitions.of(self.files, metadata)


@dataclass(frozen=True)
class OverwriteWhere(_Overwrite):
    """The files take the place of all rows in which some columns have given values: PARTITION (country = 'japan').

    ``values`` are Python values of the columns, by the columns' names; None means NULL.
    """

    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE if self.files else Operation.DELETE

    def selection(self, metadata: TableMetadata) -> Selection:
        wanted = []
        for name, value in self.values.items():
            column = metadata.schema.find(name)
            if column is None:
                raise BergError(ErrorCode.CONFLICT, f"Column '{name}' was dropped or renamed meanwhile.")
            wanted.append((column, to_internal(column.type, value)))
        return Where(tuple(wanted))


class Everything(Selection):
    """All files."""

    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:  # noqa: ARG002
        return True

    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:  # noqa: ARG002
        return True


@dataclass(frozen=True)
class InPartitions(Selection):
    """The files in some partitions. ``bounds`` holds, by spec, the least and greatest value of each field."""

    partitions: frozenset[PartitionId]
    bounds: Mapping[int, tuple[FieldSummary, ...]]

    @staticmethod
    def of(files: Any, metadata: TableMetadata) -> InPartitions:
        """The partitions that ``files`` are in."""
        from bergsql.engine.table.manifest_schemas import partition_types
        from bergsql.engine.table.manifest_writing import summarize_partitions

        tuples: dict[int, set[tuple[object, ...]]] = {}
        for f in files:
            tuples.setdefault(f.spec_id, set()).add(f.partition)
        bounds = {}
        for spec_id, values in tuples.items():
            spec = metadata.spec_by_id(spec_id)
            if spec is not None:
                listed = list(values)
                bounds[spec_id] = summarize_partitions(listed, partition_types(spec, metadata.schema, listed))
        return InPartitions(frozenset(partition_id(f) for f in files), bounds)

    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        mine = self.bounds.get(manifest.spec_id)
        if mine is None:
            return False
        spec = metadata.spec_by_id(manifest.spec_id)
        if manifest.partitions is None or spec is None or len(manifest.partitions) != len(mine):
            return True
        fields = spec.partition_type(metadata.schema).fields
        return all(_overlap(f, a, b) for f, a, b in zip(fields, mine, manifest.partitions, strict=True))

    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:  # noqa: ARG002
        return partition_id(file) in self.partitions


def _overlap(f: NestedField, a: FieldSummary, b: FieldSummary) -> bool:
    """Whether two sets of partition values may have one in common."""
    if a.contains_null and b.contains_null:
        return True
    if a.contains_nan is not False and b.contains_nan is not False:
        return True
    if isinstance(f.type, UUIDType):
        return True  # writers do not agree on their order
    if a.lower is None or a.upper is None or b.lower is None or b.upper is None:
        # Without bounds there are only nulls and NaNs, unless nothing is known.
        return a.contains_nan is None or b.contains_nan is None
    return bool(
        from_bytes(f.type, a.lower) <= from_bytes(f.type, b.upper)
        and from_bytes(f.type, b.lower) <= from_bytes(f.type, a.upper)
    )


class _Holds(Enum):
    """How many rows of a file have the wanted value."""

    NONE = 0
    SOME = 1
    ALL = 2


@dataclass(frozen=True)
class Where(Selection):
    """The files whose rows all have the given internal values in some columns."""

    values: tuple[tuple[NestedField, object], ...]

    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        spec = metadata.spec_by_id(manifest.spec_id)
        if spec is None or manifest.partitions is None or len(manifest.partitions) != len(spec.fields):
            return True
        summaries = {
            f.source_id: s
            for f, s in zip(spec.fields, manifest.partitions, strict=True)
            if f.transform.kind is TransformKind.IDENTITY
        }
        return all(
            column.field_id not in summaries or _may_contain(column, summaries[column.field_id], value)
            for column, value in self.values
        )

    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:
        found = [self._held(file, column, value, metadata) for column, value in self.values]
        if _Holds.NONE in found:
            return False
        if _Holds.SOME not in found:
            return True
        names = ", ".join(column.name for column, _ in self.values)
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot replace what PARTITION ({names}) names: the file {file.path} holds these rows and others.",
            hint="The file was written before the table was partitioned so.",
        )

    @staticmethod
    def _held(file: DataFile, column: NestedField, value: object, metadata: TableMetadata) -> _Holds:
        spec = metadata.spec_by_id(file.spec_id)
        for i, f in enumerate(spec.fields if spec is not None else ()):
            if f.source_id == column.field_id and f.transform.kind is TransformKind.IDENTITY:
                return _Holds.ALL if _same(file.partition[i], value) else _Holds.NONE
        return _held_by_statistics(file, column, value)


def _may_contain(column: NestedField, summary: FieldSummary, value: Any) -> bool:
    if value is None:
        return summary.contains_null
    if value != value:
        return summary.contains_nan is not False
    if isinstance(column.type, UUIDType):
        return True
    if summary.lower is None or summary.upper is None:
        return summary.contains_nan is None
    return bool(from_bytes(column.type, summary.lower) <= value <= from_bytes(column.type, summary.upper))


def _same(one: object, other: object) -> bool:
    return one == other or (one != one and other != other)


def _held_by_statistics(file: DataFile, column: NestedField, value: Any) -> _Holds:
    """What a file's statistics tell; SOME when they tell nothing."""
    key = column.field_id
    nulls, values = file.null_counts.get(key), file.value_counts.get(key)
    if nulls is None or values is None:
        return _Holds.SOME
    if value is None:
        return _Holds.ALL if nulls == values else _Holds.SOME if nulls else _Holds.NONE
    if nulls == values:
        return _Holds.NONE
    lower, upper = file.lower_bounds.get(key), file.upper_bounds.get(key)
    nans = file.nan_counts.get(key, 0)
    if lower is None or upper is None or value != value or isinstance(column.type, UUIDType):
        return _Holds.SOME
    least, most = from_bytes(column.type, lower), from_bytes(column.type, upper)
    if not least <= value <= most:
        return _Holds.NONE
    # Equal bounds are exact ones: a bound that was cut differs from its counterpart.
    return _Holds.ALL if least == most and not nulls and not nans else _Holds.SOME
