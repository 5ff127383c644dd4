"""What the statistics of data files say of a column: facets whose rows are the files of a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.types import (
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.table.bound_columns import alike, encoded_bounds, numeric_bounds
from bergsql.engine.table.facets import Intervals, Rows
from bergsql.engine.table.raw_maps import bounds_of

if TYPE_CHECKING:
    from bergsql.engine.table.avro_columns import Column
    from bergsql.engine.table.binding import Term
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.manifests import ManifestColumns

_FLOATS = (FloatType, DoubleType)
_CODES: Mapping[tuple[type[IcebergType], int], str] = {
    **{(t, 4): "i" for t in (IntegerType, DateType, LongType)},
    **{(t, 8): "q" for t in (LongType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)},
    (FloatType, 4): "f",
    (DoubleType, 8): "d",
}
"""How numbers of a type are laid out, by the length of the bound (a long may have been an int)."""
_RECORDS, _LOWER, _UPPER = 103, 125, 128
_COUNTS = (109, 110, 137)
"""Ids of a manifest's fields: of the counts of values, NULLs and NaNs."""


_MOST_KNOWN = 10_000


class Flags(NamedTuple):
    """Whether there may be NULLs, values that are neither NULL nor NaN, and NaNs."""

    nulls: bool
    values: bool
    nans: bool


def flags(
    kind: IcebergType, nested: bool, records: bool, total: int | None, null_count: int | None, nan_count: int | None
) -> Flags:
    """What the counts of a file say of a column; None: not counted."""
    if not isinstance(kind, _FLOATS):
        nan_count = 0
    if total == 0 and records:  # a writer that did not count
        total = null_count = nan_count = None
    if total is not None and total == null_count:
        return Flags(nulls=True, values=False, nans=False)
    values = total is None or null_count is None or nan_count is None or null_count + nan_count < total
    # Where a struct is NULL, some writers do not count the NULLs of its fields.
    return Flags(null_count != 0 or nested, values, nan_count != 0)


def bound(kind: IcebergType, data: bytes | None) -> Any:
    """A bound, or None when it is absent, damaged or NaN."""
    if data is None:
        return None
    try:
        value = from_bytes(kind, data)
    except BergError:
        return None
    return None if value != value else value


class Span(NamedTuple):
    """What a file holds in one column: values from ``lower`` to ``upper`` (None: not known), NULLs, NaNs."""

    lower: Any
    upper: Any
    nulls: bool
    values: bool
    nans: bool


def span(file: DataFile, field: NestedField, nested: bool) -> Span:
    """What the statistics of one file say of a column; ``nested``: it is inside of a struct."""
    number, kind = field.field_id, field.type
    counts = (file.value_counts.get(number), file.null_counts.get(number), file.nan_counts.get(number))
    lower = upper = None
    if not isinstance(kind, UUIDType):  # see source_interval
        lower, upper = bound(kind, file.lower_bounds.get(number)), bound(kind, file.upper_bounds.get(number))
    return Span(lower, upper, *flags(kind, nested, file.record_count > 0, *counts))


def column_facets(file: DataFile, term: Term) -> tuple[Intervals, ...]:
    """What the statistics of one file say of the term's field: a single row."""
    known = span(file, term.field, term.nested)
    return (Intervals((known.lower,), (known.upper,), known.nulls, known.values, known.nans),)


class ColumnIntervals(Intervals):
    """What the statistics of a manifest's files say of a column; decoded only when a test asks for it."""

    def __init__(
        self, columns: ManifestColumns, field: NestedField, nested: bool, known: dict[tuple[bytes, ...], Flags]
    ) -> None:
        """``known`` is what counts were found to say of this field, in other manifests too."""
        self._columns = columns
        self._field = field
        self._nested = nested
        self._lower: Sequence[Any] | None = None
        self._upper: Sequence[Any] | None = None
        self._known = known

    def lower(self) -> Sequence[Any]:
        if self._lower is None:
            self._lower = _bounds(self._columns, _LOWER, self._field)
        return self._lower

    def upper(self) -> Sequence[Any]:
        if self._upper is None:
            self._upper = _bounds(self._columns, _UPPER, self._field)
        return self._upper

    def with_nulls(self, rows: Rows) -> Rows:
        return self._flagged(0, rows)

    def with_values(self, rows: Rows) -> Rows:
        return self._flagged(1, rows)

    def with_nans(self, rows: Rows) -> Rows:
        return self._flagged(2, rows) if isinstance(self._field.type, _FLOATS) else ()

    def _flagged(self, flag: int, rows: Rows) -> Rows:
        if not rows:
            return rows
        columns = [self._columns.column(i) for i in (_RECORDS, *_COUNTS)]
        if all(c is None or c.same for c in columns):
            key = tuple(b"" if c is None else c.raw for c in columns)
            known = self._known.get(key)
            if known is None:
                if len(self._known) > _MOST_KNOWN:
                    self._known.clear()
                known = self._known[key] = next(self._judged(columns, (0,)))
            return rows if known[flag] else ()
        return [i for i, judged in zip(rows, self._judged(columns, rows), strict=True) if judged[flag]]

    def _judged(self, columns: Sequence[Column | None], rows: Rows) -> Iterator[Flags]:
        """What the counts of each row say."""
        kind, nested, number = self._field.type, self._nested, self._field.field_id
        records, *_ = columns
        some = [True] * len(rows) if records is None else [raw != b"\0" for raw in records.take(rows)]
        counts = (self._columns.counts(i, number, rows) for i in _COUNTS)
        return (flags(kind, nested, *row) for row in zip(some, *counts, strict=True))


def _bounds(columns: ManifestColumns, which: int, field: NestedField) -> Sequence[Any]:
    """The lower or upper bounds of a column in every file."""
    number, kind = field.field_id, field.type
    column = columns.column(which)
    if column is None or isinstance(kind, UUIDType):
        return [None] * columns.count
    tag = columns.tag(which)
    shape = None if tag is None else alike(column)
    found: Sequence[bytes | None] | None = None
    if tag is not None and shape is not None:
        numbers = numeric_bounds(column, shape, tag, number, lambda length: _CODES.get((type(kind), length)))
        if numbers is not None:
            return [None if v != v else v for v in numbers] if isinstance(kind, _FLOATS) else numbers
        found = encoded_bounds(column, shape, tag, number)
    if tag is None:
        found = [None if m is None else m.get(number) for m in columns.field(which)]
    elif found is None:
        found = bounds_of(column.values(), tag, number)
    known = {data: bound(kind, data) for data in set(found)}
    return [known[data] for data in found]
