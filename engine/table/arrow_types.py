"""Arrow's types for Iceberg's, as data files that pyarrow writes hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
    walk,
)

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(fields: Sequence[NestedField]) -> pa.Schema:
    """The columns, all of which may be NULL: who writes rows has checked them."""
    import pyarrow as pa

    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])


def arrow_type(t: IcebergType) -> pa.DataType:
    """The type that holds all values of ``t``, and no bytes of another length."""
    import pyarrow as pa

    match t:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case FixedType(length=length):
            return pa.binary(length)
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case ListType():
            return pa.list_(pa.field("element", arrow_type(t.element)))
        case MapType():
            key = pa.field("key", arrow_type(t.key), nullable=False)
            return pa.map_(key, pa.field("value", arrow_type(t.value)))
    plain: dict[type[IcebergType], pa.DataType] = {
        BooleanType: pa.bool_(),
        IntegerType: pa.int32(),
        LongType: pa.int64(),
        FloatType: pa.float32(),
        DoubleType: pa.float64(),
        DateType: pa.date32(),
        TimeType: pa.time64("us"),
        TimestampType: pa.timestamp("us"),
        TimestamptzType: pa.timestamp("us", "UTC"),
        TimestampNsType: pa.timestamp("ns"),
        TimestamptzNsType: pa.timestamp("ns", "UTC"),
        StringType: pa.string(),
        BinaryType: pa.binary(),
        UUIDType: pa.binary(16),
    }
    if type(t) not in plain:
        raise not_supported(f"Writing a column of type {t} to another format than Parquet")
    return plain[type(t)]


def cast_rows(rows: pa.RecordBatch, wanted: pa.Schema, fields: Sequence[NestedField]) -> pa.RecordBatch:
    """Rows of the columns ``fields`` as ``wanted`` has them; INVALID for bytes that do not have their length."""
    import pyarrow as pa

    try:
        return pa.RecordBatch.from_arrays(
            [column.cast(f.type) for column, f in zip(rows.columns, wanted, strict=True)], schema=wanted
        )
    except pa.ArrowInvalid as e:
        raise wrong_length(walk(tuple(fields))) from e


def without_columns(rows: int) -> pa.RecordBatch:
    """A batch that holds nothing but the number of its rows."""
    import pyarrow as pa

    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def wrong_length(fields: Iterable[NestedField]) -> BergError:
    """The error for a value of another length than its column has, which is one of those of type ``fixed``."""
    told = " or ".join(f"'{f.name}' (of {f.type.length} bytes)" for f in fields if isinstance(f.type, FixedType))
    return BergError(ErrorCode.INVALID, f"A value does not have the length of its column {told}.")
