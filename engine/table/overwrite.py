"""Replacing what is there: the whole table, the partitions that get rows, or a static part of the table.

All three are serializable: a concurrent writer that adds rows to what is replaced makes the statement wrong, since its
rows would vanish without having been seen; one that deletes rows of it likewise, since the statement may have read
them.
(Java's ReplacePartitions and OverwriteFiles with validateNoConflictingData and validateNoConflictingDeletes.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import NestedField, UUIDType
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.table.binding import AllOf, AnyOf, Literal, Term, TermTest
from bergsql.engine.table.datafile import (
    DataFile,
    FieldSummary,
    FileContent,
    ManifestFile,
    PartitionKey,
    partition_key,
)
from bergsql.engine.table.facets import Facet, possible
from bergsql.engine.table.file_facets import bound, column_facets
from bergsql.engine.table.history import AGAIN
from bergsql.engine.table.producer import Operation, Producer, Selection
from bergsql.engine.table.pruning import PartitionFacets
from bergsql.engine.table.validate import check_not_replaced, check_nothing_changed

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.history import History


@dataclass(frozen=True)
class _Overwrite(Producer):
    """What all overwrites have in common."""

    def validate(self, history: History) -> None:
        check_not_replaced(history)
        selection = self.selection(history.current)
        if selection is not None:
            check_nothing_changed(history, selection)


@dataclass(frozen=True)
class OverwriteAll(_Overwrite):
    """The files take the place of all that the table holds; without any the table is emptied."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE if self.files else Operation.DELETE

    def selection(self, metadata: TableMetadata) -> Selection:  # noqa: ARG002
        return Everything()


@dataclass(frozen=True)
class Truncate(Producer):
    """TRUNCATE TABLE: all rows go, whoever added them until then."""

    @property
    def operation(self) -> Operation:
        return Operation.DELETE

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

    ``values`` are Python values of the columns, by the columns' field ids; None means NULL.
    """

    values: Mapping[int, object] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE if self.files else Operation.DELETE

    def selection(self, metadata: TableMetadata) -> Selection:
        wanted = []
        for field_id, value in self.values.items():
            column = metadata.schema.field(field_id)
            if column is None:
                raise BergError(ErrorCode.CONFLICT, "A column that PARTITION names was dropped meanwhile.", hint=AGAIN)
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

    partitions: frozenset[PartitionKey]
    bounds: Mapping[int, tuple[FieldSummary, ...]]

    @staticmethod
    def of(files: Sequence[DataFile], metadata: TableMetadata) -> InPartitions:
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
        return InPartitions(frozenset(partition_key(f.spec_id, f.partition) for f in files), bounds)

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
        return partition_key(file.spec_id, file.partition) in self.partitions


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
    bounds = [bound(f.type, data) for data in (a.lower, a.upper, b.lower, b.upper)]
    if None in bounds:  # of a column that was dropped, or became one of another type
        return True
    least, most, lower, upper = bounds
    return bool(least <= upper and lower <= most)


@dataclass(frozen=True)
class Where(Selection):
    """The files whose rows all have the given internal values in some columns.

    A file of which that is not certain is refused; it may be of a spec without these columns. Delete files are not:
    one that reaches other rows too stays. -0.0 and 0.0 are two partitions, as in Spark.
    """

    values: tuple[tuple[NestedField, object], ...]
    _facets: dict[tuple[int, int], PartitionFacets] = field(default_factory=dict, compare=False, repr=False)
    """By the ids of spec and schema."""

    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        facets, summaries = self._facets_of(manifest.spec_id, metadata), manifest.partitions
        if facets is None or summaries is None:
            return True
        wanted = AllOf(tuple(having for having, _ in self._terms(metadata)))
        return possible(wanted, lambda term: facets.of_summaries((summaries,), term))

    def meets(self, file: DataFile, metadata: TableMetadata) -> bool:
        wanted = AllOf(tuple(having for having, _ in self._terms(metadata)))
        return possible(wanted, self._known_of(file, metadata)) and False not in self._signs(file, metadata)

    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:
        if not self.meets(file, metadata):
            return False
        unwanted = AnyOf(tuple(other for _, others in self._terms(metadata) for other in others))
        whole = not possible(unwanted, self._known_of(file, metadata))
        if whole and None not in self._signs(file, metadata):
            return True
        if file.content != FileContent.DATA:
            return False  # it may be needed for other rows, and does no harm to new ones
        names = ", ".join(column.name for column, _ in self.values)
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot replace what PARTITION ({names}) names: the file {file.path} "
            f"{'may hold both 0.0 and -0.0' if whole else 'holds these rows and others'}.",
            hint="The file was written before the table was partitioned so: DELETE these rows, then INSERT.",
        )

    def _known_of(self, file: DataFile, metadata: TableMetadata) -> Callable[[Term], Iterator[Facet]]:
        facets = self._facets_of(file.spec_id, metadata)

        def known(term: Term) -> Iterator[Facet]:
            if facets is not None:
                yield from facets.of_values((file.partition,), term)
            yield from column_facets(file, term)

        return known

    def _signs(self, file: DataFile, metadata: TableMetadata) -> list[bool | None]:
        return [self._has_sign(file, column, value, metadata) for column, value in self.values]

    def _has_sign(self, file: DataFile, column: NestedField, value: object, metadata: TableMetadata) -> bool | None:
        """Whether zeros of the file in a column have the sign of ``value``, if that is one; None where nobody knows.

        Only a partition value tells: the bounds of a column may have lost their sign.
        """
        if not isinstance(value, float) or value != 0:
            return True
        spec = metadata.spec_by_id(file.spec_id)
        for part, found in zip(spec.fields if spec is not None else (), file.partition, strict=False):
            named = part.source_id == column.field_id and part.transform.kind is TransformKind.IDENTITY
            if named and isinstance(found, float) and found == 0:
                return copysign(1, found) == copysign(1, value)
        return None

    def _terms(self, metadata: TableMetadata) -> list[tuple[Term, tuple[Term, ...]]]:
        """For each column a test that the wanted rows pass, and tests of which all other rows pass one."""
        terms: list[tuple[Term, tuple[Term, ...]]] = []
        for column, value in self.values:
            nested = metadata.schema.parent_of(column.field_id) is not None
            null = Term(column, TermTest.IS_NULL, nested=nested)
            if value is None:
                terms.append((null, (Term(column, TermTest.NOT_NULL, nested=nested),)))
                continue
            literals = () if value != value else (Literal(value, value),)
            same, other = (TermTest.EQ, TermTest.NE) if literals else (TermTest.IS_NAN, TermTest.NOT_NAN)
            terms.append((Term(column, same, literals, nested), (Term(column, other, literals, nested), null)))
        return terms

    def _facets_of(self, spec_id: int, metadata: TableMetadata) -> PartitionFacets | None:
        key = (spec_id, metadata.current_schema_id)
        spec = metadata.spec_by_id(spec_id)
        if key not in self._facets and spec is not None:
            self._facets[key] = PartitionFacets(spec, metadata.schema, metadata.schemas)
        return self._facets.get(key)
