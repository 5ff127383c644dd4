"""Which manifests and files cannot hold a row that a predicate wants.

Three sources are asked, each of which may be silent: a manifest's partition summaries, a file's partition values, a
file's column statistics. Every one is turned into facets of source columns (an interval of possible values, whether
there may be NULLs and NaNs), and one evaluator judges all of them. What is not known never prunes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.exact import decimal_of, unscaled_decimal
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    UUIDType,
)
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.table.binding import AllOf, AnyOf, Bound, Literal, Term, TermTest, bind
from bergsql.engine.table.datafile import DataFile, FieldSummary, ManifestFile
from bergsql.engine.table.predicate import AlwaysTrue, Predicate
from bergsql.engine.table.source_intervals import source_interval

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.manifests import RawEntry

_FLOATS = (FloatType, DoubleType)
_BEYOND_NUMBERS = 10**40


class Facet(Protocol):
    """Something known of one column in a set of rows."""

    def allows(self, term: Term) -> bool:
        """Whether some row may fulfil ``term``."""
        ...


@dataclass(frozen=True, slots=True)
class Interval:
    """All values that are neither NULL nor NaN lie from ``lower`` to ``upper`` (None: not known)."""

    lower: Any = None
    upper: Any = None
    nulls: bool = True
    values: bool = True
    nans: bool = True

    def allows(self, term: Term) -> bool:
        match term.test:
            case TermTest.IS_NULL:
                return self.nulls
            case TermTest.NOT_NULL:
                return self.values or self.nans
            case TermTest.IS_NAN:
                return self.nans
            case TermTest.NOT_NAN:
                return self.values
            case TermTest.EQ | TermTest.IN:
                return self.values and any(map(self._reaches, term.literals))
            case TermTest.NE | TermTest.NOT_IN:
                return self.nans or (self.values and not any(map(self._is_only, term.literals)))
            case TermTest.LT | TermTest.LE:
                return self.values and self._below(term.literals[0], strict=term.test is TermTest.LT)
            case TermTest.GT | TermTest.GE:
                return self.nans or (self.values and self._above(term.literals[0], strict=term.test is TermTest.GT))
            case TermTest.STARTS:
                return self.values and self._may_start(term.literals[0].low)
            case TermTest.NOT_STARTS:
                return self.values and not self._all_start(term.literals[0].low)

    def _reaches(self, literal: Literal) -> bool:
        return (self.lower is None or self.lower <= literal.high) and (self.upper is None or self.upper >= literal.low)

    def _is_only(self, literal: Literal) -> bool:
        known = literal.exact and self.lower is not None and self.upper is not None
        return known and bool(self.lower == literal.low == self.upper)

    def _below(self, literal: Literal, strict: bool) -> bool:
        if self.lower is None:
            return True
        return bool(self.lower < literal.high if strict and literal.exact else self.lower <= literal.high)

    def _above(self, literal: Literal, strict: bool) -> bool:
        if self.upper is None:
            return True
        return bool(self.upper > literal.low if strict and literal.exact else self.upper >= literal.low)

    def _may_start(self, prefix: Any) -> bool:
        if self.upper is not None and self.upper < prefix:
            return False
        return self.lower is None or self.lower[: len(prefix)] <= prefix

    def _all_start(self, prefix: Any) -> bool:
        if self.lower is None or self.upper is None:
            return False
        return bool(self.lower[: len(prefix)] == prefix == self.upper[: len(prefix)])


@dataclass(frozen=True, slots=True)
class Buckets:
    """All values that are not NULL fall into buckets from ``lowest`` to ``highest``."""

    lowest: int
    highest: int
    nulls: bool
    bucket_of: Callable[[Literal], int | None]

    def allows(self, term: Term) -> bool:
        if term.test is TermTest.IS_NULL:
            return self.nulls
        if term.test not in (TermTest.EQ, TermTest.IN):
            return True
        return any(b is None or self.lowest <= b <= self.highest for b in map(self.bucket_of, term.literals))


@dataclass(frozen=True, slots=True)
class OnlyNulls:
    """There is no value."""

    def allows(self, term: Term) -> bool:
        return term.test is TermTest.IS_NULL


def possible(bound: Bound, facets_of: Callable[[Term], Iterable[Facet]]) -> bool:
    """Whether some row may fulfil ``bound``, going by what ``facets_of`` knows of each term's field."""
    match bound:
        case bool():
            return bound
        case AllOf(children):
            return all(possible(c, facets_of) for c in children)
        case AnyOf(children):
            return any(possible(c, facets_of) for c in children)
        case Term():
            return all(f.allows(bound) for f in facets_of(bound))


# -- partitions --------------------------------------------------------------------------------------------------------


class PartitionFacets:
    """Turns the partition fields of one spec into facets of their source columns."""

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        self._fields: dict[int, list[tuple[int, Transform, IcebergType]]] = {}
        self._buckets: dict[tuple[int, Literal], int | None] = {}
        for place, part in enumerate(spec.fields):
            source = schema.field(part.source_id)
            knows = part.transform.kind not in (TransformKind.VOID, TransformKind.UNKNOWN)
            if source is not None and knows and part.transform.can_apply(source.type):
                self._fields.setdefault(part.source_id, []).append((place, part.transform, source.type))

    def of_values(self, partition: Sequence[object], term: Term) -> Iterable[Facet]:
        """Facets of the term's field, from a file's partition values."""
        for place, transform, source in self._fields.get(term.field.field_id, ()):
            value = partition[place]
            if value is None:
                yield OnlyNulls()
            elif value != value:
                yield Interval(nulls=False, values=False)
            elif transform.kind is TransformKind.BUCKET:
                yield self._bucket(transform, source, value, value, nulls=False)
            else:
                lower, upper = source_interval(transform, source, value, value)
                yield Interval(lower, upper, nulls=False, nans=False)

    def of_summaries(self, summaries: Sequence[FieldSummary], term: Term) -> Iterable[Facet]:
        """Facets of the term's field, from the summaries of a manifest."""
        for place, transform, source in self._fields.get(term.field.field_id, ()):
            if place >= len(summaries):
                continue
            summary = summaries[place]
            result = transform.result_type(source)
            nans = isinstance(result, _FLOATS) and summary.contains_nan is not False
            lower, upper = _bound(result, summary.lower), _bound(result, summary.upper)
            if summary.lower is None and summary.upper is None and summary.contains_null and not nans:
                yield OnlyNulls()
            elif transform.kind is TransformKind.BUCKET:
                if lower is not None and upper is not None:
                    yield self._bucket(transform, source, lower, upper, summary.contains_null)
                else:
                    yield Interval(nulls=summary.contains_null)
            else:
                yield Interval(*source_interval(transform, source, lower, upper), summary.contains_null, nans=nans)

    def _bucket(self, transform: Transform, source: IcebergType, lowest: Any, highest: Any, nulls: bool) -> Buckets:
        def bucket_of(literal: Literal) -> int | None:
            key = (transform.width, literal)
            if key not in self._buckets:
                self._buckets[key] = _bucket_number(transform, source, literal)
            return self._buckets[key]

        return Buckets(lowest, highest, nulls, bucket_of)


def _bucket_number(transform: Transform, source: IcebergType, literal: Literal) -> int | None:
    """The bucket of a literal; None when the value cannot be had at the column's own type."""
    value = literal.low
    if not literal.exact:
        return None
    try:
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            if not -_BEYOND_NUMBERS < value < _BEYOND_NUMBERS:
                return None
            scale = source.scale if isinstance(source, DecimalType) else 0
            digits = unscaled_decimal(Decimal(value), scale)
            value = decimal_of(digits, scale) if isinstance(source, DecimalType) else digits
        number = transform.apply(value, source)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if isinstance(number, int) else None


def _bound(kind: IcebergType, data: bytes | None) -> Any:
    """A bound, or None when it is absent, damaged or NaN."""
    if data is None:
        return None
    try:
        value = from_bytes(kind, data)
    except BergError:
        return None
    return None if value != value else value


# -- columns -----------------------------------------------------------------------------------------------------------


def column_facets(entry: RawEntry | DataFile, term: Term) -> Iterable[Facet]:
    """What a file's statistics say of the term's field."""
    number, kind = term.field.field_id, term.field.type
    total = (entry.value_counts or {}).get(number)
    null_count = (entry.null_counts or {}).get(number)
    nan_count = (entry.nan_counts or {}).get(number) if isinstance(kind, _FLOATS) else 0
    if total == 0 and entry.record_count:  # a writer that did not count
        total = null_count = nan_count = None
    if total is not None and total == null_count:
        yield OnlyNulls()
        return
    values = total is None or null_count is None or nan_count is None or null_count + nan_count < total
    # Where a struct is NULL, some writers do not count the NULLs of its fields.
    nulls = null_count != 0 or term.nested
    lower = upper = None
    if not isinstance(kind, UUIDType):  # see source_interval
        lower = _bound(kind, (entry.lower_bounds or {}).get(number))
        upper = _bound(kind, (entry.upper_bounds or {}).get(number))
    yield Interval(lower, upper, nulls, values, nans=nan_count != 0)


class Pruner:
    """Judges the manifests and files of one table for one predicate."""

    def __init__(self, metadata: TableMetadata, schema: Schema, predicate: Predicate | None) -> None:
        self._metadata = metadata
        self._schema = schema
        self.bound: Bound = bind(predicate or AlwaysTrue(), schema)
        self._specs: dict[int, PartitionFacets | None] = {}
        self._partitions: dict[tuple[int, tuple[object, ...]], bool] = {}

    def keeps_manifest(self, manifest: ManifestFile) -> bool:
        """Whether some live file of the manifest may hold a wanted row."""
        if isinstance(self.bound, bool):
            return self.bound
        facets, summaries = self._facets(manifest.spec_id), manifest.partitions
        if facets is None or summaries is None:
            return True
        return possible(self.bound, lambda term: facets.of_summaries(summaries, term))

    def keeps_partition(self, spec_id: int, partition: tuple[object, ...]) -> bool:
        """Whether files of this partition may hold a wanted row."""
        if isinstance(self.bound, bool):
            return self.bound
        key = (spec_id, partition)
        known = self._partitions.get(key)
        if known is None:
            facets = self._facets(spec_id)
            known = facets is None or possible(self.bound, lambda term: facets.of_values(partition, term))
            self._partitions[key] = known
        return known

    def keeps_file(self, entry: RawEntry, spec_id: int) -> bool:
        """Whether the file may hold a wanted row."""
        if not self.keeps_partition(spec_id, entry.partition):
            return False
        return isinstance(self.bound, bool) or possible(self.bound, lambda term: column_facets(entry, term))

    def _facets(self, spec_id: int) -> PartitionFacets | None:
        if spec_id not in self._specs:
            spec = self._metadata.spec_by_id(spec_id)
            self._specs[spec_id] = None if spec is None else PartitionFacets(spec, self._schema)
        return self._specs[spec_id]
