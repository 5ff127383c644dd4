"""``readable_metrics``: a file's statistics by column name, bounds as values (Iceberg's ``MetricsUtil``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import (
    TIMESTAMPS,
    DateType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    LongType,
    NestedField,
    StructType,
    TimeType,
    UnknownType,
    VariantType,
    walk,
)
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.table.inspect.model import array_of, arrow_of, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.table.inspect.file_columns import FileRows
    from bergsql.engine.table.inspect.model import Fields

READABLE_METRICS = "readable_metrics"

_COUNTS = (
    ("column_size", "Total size on disk"),
    ("value_count", "Total count, including null and NaN"),
    ("null_value_count", "Null value count"),
    ("nan_value_count", "NaN value count"),
)
_BOUNDS = (("lower_bound", "Lower bound"), ("upper_bound", "Upper bound"))
_WITHOUT_BOUNDS = (UnknownType, VariantType, GeometryType, GeographyType)
"""Types whose bounds are no values of them."""


def readable_metrics_field(schema: Schema, others: Fields) -> NestedField:
    """The column for a table of ``schema``, its ids above those of the columns ``others``."""
    next_id = max(f.field_id for f in walk(others)) + 1
    columns = []
    for name, column in _columns(schema):
        parts = [(*c, LongType()) for c in _COUNTS] + [(*b, column.type) for b in _BOUNDS]
        metrics = StructType(
            tuple(NestedField(next_id + 1 + i, n, t, False, doc) for i, (n, doc, t) in enumerate(parts))
        )
        columns.append(NestedField(next_id, name, metrics, False, f"Metrics for column {name}"))
        next_id += len(parts) + 1
    doc = "Column metrics in readable form"
    return NestedField(next_id, READABLE_METRICS, StructType(tuple(columns)), False, doc)


def _columns(schema: Schema) -> list[tuple[str, NestedField]]:
    """The primitive columns, nested ones too, by their dotted names, sorted by those as Java sorts text."""
    named = (
        (schema.name_of(f.field_id) or f.name, f)
        for f in walk(schema.fields)
        if f.type.is_primitive and not isinstance(f.type, VariantType)
    )
    return sorted(named, key=lambda item: item[0].encode("utf-16-be"))


def readable_metrics(field: NestedField, schema: Schema, files: FileRows) -> pa.Array:
    """The column ``field``, of :func:`readable_metrics_field`.

    :raises BergError: CORRUPT for a bound that is none of its column's type.
    """
    maps = [[m or {} for m in column] for column in files.maps(*_RAW_IDS)]
    present = [False] * len(files)
    metrics = field.type
    assert isinstance(metrics, StructType)
    columns = []
    for (name, column), wanted in zip(_columns(schema), metrics.fields, strict=True):
        number = column.field_id
        parts = [array_of(LongType(), [m.get(number) for m in counts]) for counts in maps[:4]]
        for (which, _), bounds in zip(_BOUNDS, maps[4:], strict=True):
            raws = [m.get(number) for m in bounds]
            try:
                parts.append(_bounds_array(column.type, raws))
            except BergError as error:
                raise _no_bound(files, raws, column.type, f"{which.replace('_', ' ')} of column '{name}'") from error
        assert isinstance(wanted.type, StructType)
        columns.append(struct_array(wanted.type.fields, parts, present))
    return struct_array(metrics.fields, columns, present)


_PATH = 100
_RAW_IDS = (108, 109, 110, 137, 125, 128)
"""The statistics among a manifest's fields: sizes, counts of values, NULLs and NaNs, bounds."""
_WIDTHS: dict[type[IcebergType], int] = {
    **dict.fromkeys((IntegerType, DateType, FloatType), 4),
    **dict.fromkeys((LongType, TimeType, DoubleType, *TIMESTAMPS), 8),
}
"""How many bytes the types have whose binary form is Arrow's own."""


def _no_bound(files: FileRows, raws: Sequence[bytes | None], t: IcebergType, what: str) -> BergError:
    """The error for the first of ``raws`` that is no value of the type."""
    (paths,) = files.fields(_PATH)
    for path, raw in zip(paths, raws, strict=True):
        try:
            if raw is not None:
                from_bytes(t, raw)
        except BergError:
            return _damaged(files, f"the {what} of file {path} is not the binary form of a {t}")
    return _damaged(files, f"a {what} is not the binary form of a {t}")


def _damaged(files: FileRows, why: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"{files.columns.what} is damaged: {why}.")


def _bounds_array(t: IcebergType, bounds: Sequence[bytes | None]) -> pa.Array:
    """Values of their binary forms."""
    import pyarrow as pa

    if isinstance(t, _WITHOUT_BOUNDS):
        return pa.nulls(len(bounds))
    width = _WIDTHS.get(type(t))
    if width is None or any(b is not None and len(b) != width for b in bounds):  # of an int that became a long
        return array_of(t, [None if b is None else from_bytes(t, b) for b in bounds])
    known = pa.array([b is not None for b in bounds], pa.bool_()).buffers()[1]
    nothing = bytes(width)
    data = pa.py_buffer(b"".join([nothing if b is None else b for b in bounds]))
    return pa.Array.from_buffers(arrow_of(t), len(bounds), [known, data])
