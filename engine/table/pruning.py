"""Which manifests and files cannot hold a row that a predicate wants.

Three sources are asked, each of which may be silent: a manifest's partition summaries, a file's partition values, a
file's column statistics. Every one is turned into facets of source columns, and one evaluator judges all of them
(facets.py): for all manifests of a partition spec at once, for all partitions of a manifest, for all of its files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.metadata.exact import decimal_of, unscaled_decimal
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import TIMESTAMPS, DateType, DecimalType, DoubleType, FloatType, IcebergType
from bergsql.engine.table.binding import AllOf, AnyOf, Bound, Literal, Term, TermTest, bind
from bergsql.engine.table.datafile import FieldSummary, ManifestFile
from bergsql.engine.table.facets import Buckets, Facet, Intervals, Rows, surviving
from bergsql.engine.table.file_facets import ColumnIntervals, Flags
from bergsql.engine.table.file_facets import bound as bound_value
from bergsql.engine.table.predicate import AlwaysTrue, Predicate
from bergsql.engine.table.source_intervals import source_interval

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.table.manifests import ManifestColumns

_FLOATS = (FloatType, DoubleType)
_BEYOND_NUMBERS = 10**40
_NEVER = "a condition that is never true"
_NULL_TESTS = frozenset((TermTest.IS_NULL, TermTest.NOT_NULL))


# -- partitions --------------------------------------------------------------------------------------------------------


class PartitionFacets:
    """Turns the partition fields of one spec into facets of their source columns."""

    def __init__(self, spec: PartitionSpec, schema: Schema, schemas: Sequence[Schema]) -> None:
        """``schemas``: all that the table had, of which ``schema`` is the one asked about."""
        self._fields: dict[int, list[tuple[int, PartitionField, IcebergType]]] = {}
        self._buckets: dict[tuple[int, Literal], int | None] = {}
        self._names = {part.source_id: schema.name_of(part.source_id) for part in spec.fields}
        for place, part in enumerate(spec.fields):
            source = schema.field(part.source_id)
            knows = part.transform.kind not in (TransformKind.VOID, TransformKind.UNKNOWN)
            if source is None or not knows or _of_dates(part.transform, source, schemas):
                continue
            if part.transform.can_apply(source.type):
                self._fields.setdefault(part.source_id, []).append((place, part, source.type))

    def tells(self, bound: Bound) -> bool:
        """Whether partitions tell anything of a condition."""
        return bound is False or any(t.field.field_id in self._fields for t in _terms(bound))

    def rule(self, bound: Bound) -> str:
        """What to call the partition fields that a condition is judged by."""
        named = {
            part.transform.of(self._names[part.source_id] or part.name): None
            for t in _terms(bound)
            for _, part, _ in self._fields.get(t.field.field_id, ())
        }
        return f"partition {', '.join(named)}" if named else _NEVER

    def of_values(self, partitions: Sequence[Sequence[object]], term: Term) -> Iterator[Facet]:
        """Facets of the term's field: a row is a partition."""
        for place, part, source in self._fields.get(term.field.field_id, ()):
            transform = part.transform
            found = [p[place] for p in partitions]
            nulls = [v is None for v in found]
            nans = [v != v for v in found]
            known = [not null and not nan for null, nan in zip(nulls, nans, strict=True)]
            if transform.kind is TransformKind.BUCKET:
                numbers: list[Any] = found
                yield Buckets(numbers, numbers, nulls, known, self._bucket_of(transform, source))
                continue
            bounds = {v: source_interval(transform, source, v, v) for v, k in zip(found, known, strict=True) if k}
            pairs = [bounds[v] if k else (None, None) for v, k in zip(found, known, strict=True)]
            yield Intervals([low for low, _ in pairs], [high for _, high in pairs], nulls, known, nans)

    def of_summaries(self, manifests: Sequence[Sequence[FieldSummary]], term: Term) -> Iterator[Facet]:
        """Facets of the term's field: a row is a manifest, with the summaries of its partition fields."""
        for place, part, source in self._fields.get(term.field.field_id, ()):
            transform = part.transform
            result = transform.result_type(source)
            summaries = [m[place] if place < len(m) else _UNKNOWN for m in manifests]
            lower, upper = (
                [bound_value(result, s.lower) for s in summaries],
                [bound_value(result, s.upper) for s in summaries],
            )
            nulls = [s.contains_null for s in summaries]
            floats = isinstance(result, _FLOATS)
            nans = [s is _UNKNOWN or (floats and s.contains_nan is not False) for s in summaries]
            # Without bounds there are only NULLs, where there are any.
            values = [
                s is _UNKNOWN or s.lower is not None or s.upper is not None or not s.contains_null or nan
                for s, nan in zip(summaries, nans, strict=True)
            ]
            if transform.kind is TransformKind.BUCKET:
                yield Buckets(lower, upper, nulls, values, self._bucket_of(transform, source))
                continue
            pairs = [source_interval(transform, source, *pair) for pair in zip(lower, upper, strict=True)]
            yield Intervals([low for low, _ in pairs], [high for _, high in pairs], nulls, values, nans)

    def _bucket_of(self, transform: Transform, source: IcebergType) -> Callable[[Literal], int | None]:
        def bucket_of(literal: Literal) -> int | None:
            key = (transform.width, literal)
            if key not in self._buckets:
                self._buckets[key] = _bucket_number(transform, source, literal)
            return self._buckets[key]

        return bucket_of


_UNKNOWN = FieldSummary()


def _of_dates(transform: Transform, source: NestedField, schemas: Sequence[Schema]) -> bool:
    """Whether values of the partition field may be those of dates, and the column now holds timestamps.

    The specification forbids that promotion where the transform makes another value of the two; who did it
    nevertheless left days among microseconds.
    """
    if transform.kind not in (TransformKind.IDENTITY, TransformKind.BUCKET) or not isinstance(source.type, TIMESTAMPS):
        return False
    then = (s.field(source.field_id) for s in schemas)
    return any(f is not None and isinstance(f.type, DateType) for f in then)


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


# -- a table -----------------------------------------------------------------------------------------------------------


class Pruner:
    """Judges the manifests and files of one table for one predicate, and counts the files that it leaves out."""

    def __init__(self, metadata: TableMetadata, schema: Schema, predicate: Predicate | None) -> None:
        self._metadata = metadata
        self._schema = schema
        self.bound: Bound = bind(predicate or AlwaysTrue(), schema)
        self._conjuncts: tuple[Bound, ...] = self.bound.children if isinstance(self.bound, AllOf) else (self.bound,)
        self._specs: dict[int, PartitionFacets | None] = {}
        self._flags: dict[int, dict[tuple[bytes, ...], Flags]] = {}
        self.pruned_by: Counter[str] = Counter()
        """How many files each rule has left out."""

    def manifests(self, manifests: Sequence[ManifestFile], *, count: bool = True) -> list[ManifestFile]:
        """Those whose live files may hold a wanted row; their files are counted if so wished."""
        by_spec: dict[int, list[int]] = {}
        for i, m in enumerate(manifests):
            by_spec.setdefault(m.spec_id, []).append(i)
        kept: list[int] = []
        for spec_id, places in by_spec.items():
            group = [manifests[i] for i in places]
            kept += (places[i] for i in self._of_spec(group, spec_id, count))
        return [manifests[i] for i in sorted(kept)]

    def _of_spec(self, manifests: Sequence[ManifestFile], spec_id: int, count: bool) -> Rows:
        rows: Rows = range(len(manifests))
        facets = self._facets(spec_id)
        summaries = [m.partitions or () for m in manifests]

        def known(term: Term) -> Iterable[Facet]:
            return () if facets is None else facets.of_summaries(summaries, term)

        for conjunct in self._conjuncts:
            kept = surviving(conjunct, known, rows)
            if count and len(kept) < len(rows):
                gone = [manifests[i] for i in set(rows).difference(kept)]
                rule = _NEVER if facets is None else facets.rule(conjunct)
                self.pruned_by[rule] += sum(m.live_files for m in gone)
            rows = kept
        return rows

    def files(self, columns: ManifestColumns, rows: Rows) -> Rows:
        """Those rows of a manifest whose files may hold a wanted row: first by partition, then by statistics too."""
        if self.bound is True or not rows:
            return rows
        facets = self._facets(columns.spec.spec_id)
        groups: _Groups | None = None
        if facets is not None and any(map(facets.tells, self._conjuncts)):
            groups = _Groups(*columns.partitions())
            rows = self._in_partitions(groups, facets, rows)
        by_field: dict[int, Facet] = {}

        def known(term: Term) -> Iterable[Facet]:
            number = term.field.field_id
            if number not in by_field:
                by_field[number] = ColumnIntervals(columns, term.field, term.nested, self._flags.setdefault(number, {}))
            if facets is None or groups is None:
                return (by_field[number],)
            return (*(_Grouped(f, groups) for f in facets.of_values(groups.values, term)), by_field[number])

        for conjunct in self._conjuncts:
            kept = surviving(conjunct, known, rows)
            if len(kept) < len(rows):
                self.pruned_by[self._column_rule(conjunct)] += len(rows) - len(kept)
            rows = kept
            if not rows:
                break
        return rows

    def _column_rule(self, bound: Bound) -> str:
        """What to call the statistics that a condition is judged by."""
        terms = list(_terms(bound))
        names = ", ".join(dict.fromkeys(self._schema.name_of(t.field.field_id) or t.field.name for t in terms))
        return f"NULL counts of {names}" if all(t.test in _NULL_TESTS for t in terms) else f"bounds of {names}"

    def _in_partitions(self, groups: _Groups, facets: PartitionFacets, rows: Rows) -> Rows:
        def known(term: Term) -> Iterable[Facet]:
            return facets.of_values(groups.values, term)

        kept: Rows = range(len(groups.values))
        for conjunct in self._conjuncts:
            if not facets.tells(conjunct):
                continue
            before, kept = kept, surviving(conjunct, known, kept)
            if len(kept) < len(before):
                still = groups.rows(kept, rows)
                self.pruned_by[facets.rule(conjunct)] += len(rows) - len(still)
                rows = still
        return rows

    def _facets(self, spec_id: int) -> PartitionFacets | None:
        if spec_id not in self._specs:
            spec = self._metadata.spec_by_id(spec_id)
            self._specs[spec_id] = None if spec is None else PartitionFacets(spec, self._schema, self._metadata.schemas)
        return self._specs[spec_id]


class _Groups(NamedTuple):
    """The partitions of a manifest's files: their values, and which of them each file is in."""

    values: Sequence[Sequence[object]]
    numbers: Sequence[int]

    def rows(self, kept: Rows, rows: Rows) -> Rows:
        """Those rows whose files are in some partitions."""
        if len(kept) == len(self.values):
            return rows
        wanted, numbers = set(kept), self.numbers
        return [i for i in rows if numbers[i] in wanted] if wanted else ()


class _Grouped:
    """What is known of partitions, for the files in them."""

    def __init__(self, facet: Facet, groups: _Groups) -> None:
        self._facet, self._groups = facet, groups

    def allowing(self, term: Term, rows: Rows) -> Rows:
        if not rows:
            return rows
        groups = self._groups
        there = (0,) if len(groups.values) == 1 else sorted({groups.numbers[i] for i in rows})
        return groups.rows(self._facet.allowing(term, there), rows)


def _terms(bound: Bound) -> Iterator[Term]:
    match bound:
        case Term():
            yield bound
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from _terms(child)
