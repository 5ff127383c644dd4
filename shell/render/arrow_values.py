"""Rows as Arrow record batches, for the formats that are Arrow or made from it.

Types keep their meaning: TIMESTAMP and TIME count microseconds, or nanoseconds where the precision is above six;
TIMESTAMP_LTZ is an instant in UTC; INTERVAL DAY TO SECOND is a duration, INTERVAL YEAR TO MONTH an interval of
months; DECIMAL(38, 0) stands for the integers that sums grow into; UUID is Arrow's extension type, inside of nested
types its 16 bytes. What has no type in Arrow (VARIANT, GEOMETRY) is the text that a tableau shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.result import Result, Row
from bergsql.engine.sql.types import DataType, Kind
from bergsql.shell.render.layout import filled_chunks, unique

CHUNKS_PER_BATCH = 16
"""A result's chunks are small: so many are put together."""

ROWS_PER_BATCH = 32_768
"""Rows of a batch that DuckDB gives: as many as those together."""

_PLAIN = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.HUGEINT: pa.decimal128(38, 0),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.BYTES: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.INTERVAL_DAY_TIME: pa.duration("us"),
    Kind.NULL: pa.null(),
}

_DEFAULT_PRECISION = 38


def arrow_schema(result: Result, months: pa.DataType) -> pa.Schema:
    """The columns of ``result``; a name that comes again gets a number. ``months``: what INTERVAL YEAR TO MONTH is."""
    names = unique([column.name for column in result.columns])
    return pa.schema(
        [pa.field(name, _top_type(column.type, months)) for name, column in zip(names, result.columns, strict=True)]
    )


def record_batches(result: Result, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of ``result`` in batches of ``schema``, as they come.

    :raises BergError: EXECUTION for a value that Arrow has no room for, such as a DATE of the year 10000.
    """
    if result.batches is not None and all(_held_alike(column.type) for column in result.columns):
        yield from _cast(result.batches(ROWS_PER_BATCH), schema)
        return
    prepare = [_preparation(c.type, f.type) for c, f in zip(result.columns, schema, strict=True)]
    for rows in _gathered(filled_chunks(result)):
        arrays = []
        for values, change, field in zip(zip(*rows, strict=True), prepare, schema, strict=True):
            arrays.append(_array(values if change is None else _changed(values, change), field))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _held_alike(type_: DataType) -> bool:
    """Whether DuckDB's Arrow and ours hold the type alike, but for what a cast turns without loss."""
    match type_.kind:
        case Kind.UUID | Kind.MAP | Kind.MULTISET | Kind.INTERVAL_YEAR_MONTH | Kind.INTERVAL_DAY_TIME:
            return False
        case Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ | Kind.TIME:
            return not type_.holds_nanoseconds
        case Kind.ROW:  # whose fields may have one name
            return False
    return all(_held_alike(child.type) for child in type_.children)


def _cast(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = [array.cast(field.type) for array, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _gathered(chunks: Iterator[list[Row]]) -> Iterator[list[Row]]:
    while rows := list(chain.from_iterable(chunk for _, chunk in zip(range(CHUNKS_PER_BATCH), chunks, strict=False))):
        yield rows


def _array(values: Any, field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"Column {field.name} holds a value that does not fit Arrow's {field.type}: {error}"
        raise BergError(ErrorCode.EXECUTION, message, hint="Cast the column to STRING.") from error


def _top_type(type_: DataType, months: pa.DataType) -> pa.DataType:
    return pa.uuid() if type_.kind is Kind.UUID else _arrow_type(type_, months)


def _arrow_type(type_: DataType, months: pa.DataType) -> pa.DataType:
    children = [(child.name, _arrow_type(child.type, months)) for child in type_.children]
    match type_.kind:
        case kind if kind in _PLAIN:
            return _PLAIN[kind]
        case Kind.DECIMAL:
            return pa.decimal128(type_.precision or _DEFAULT_PRECISION, type_.scale or 0)
        case Kind.BINARY:
            return pa.binary(type_.precision) if type_.precision else pa.binary()
        case Kind.TIME:
            return pa.time64("ns" if type_.holds_nanoseconds else "us")
        case Kind.TIMESTAMP:
            return pa.timestamp("ns" if type_.holds_nanoseconds else "us")
        case Kind.TIMESTAMP_LTZ:
            return pa.timestamp("ns" if type_.holds_nanoseconds else "us", tz="UTC")
        case Kind.INTERVAL_YEAR_MONTH:
            return months
        case Kind.UUID:
            return pa.binary(16)
        case Kind.ARRAY | Kind.MULTISET:
            return pa.list_(children[0][1])
        case Kind.MAP:
            return pa.map_(children[0][1], children[1][1])
        case Kind.ROW:
            names = unique([name for name, _ in children])
            return pa.struct([pa.field(name, type_) for name, (_, type_) in zip(names, children, strict=True)])
        case _:
            return pa.string()


# --- values ----------------------------------------------------------------------------------------------------------

_Change = Callable[[Any], Any]


def _preparation(type_: DataType, target: pa.DataType) -> _Change | None:
    """What makes of a value that is not NULL one that Arrow takes; None where it takes the value as it is."""
    match type_.kind:
        case Kind.UUID:
            return lambda value: value.bytes
        case Kind.INTERVAL_YEAR_MONTH:
            return None if pa.types.is_integer(target) else lambda value: (value, 0, 0)
        case Kind.VARIANT | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return str
        case Kind.ARRAY | Kind.MULTISET:
            return _list_change(_preparation(type_.children[0].type, target.value_type))
        case Kind.MAP:
            key, value = type_.children
            return _map_change(_preparation(key.type, target.key_type), _preparation(value.type, target.item_type))
        case Kind.ROW:
            return _row_change(
                [_preparation(child.type, target.field(i).type) for i, child in enumerate(type_.children)]
            )
        case _:
            return None


def _changed(values: Any, change: _Change | None) -> list[Any]:
    return list(values) if change is None else [None if v is None else change(v) for v in values]


def _list_change(element: _Change | None) -> _Change | None:
    return None if element is None else lambda value: _changed(value, element)


def _map_change(key: _Change | None, value: _Change | None) -> _Change | None:
    if key is None and value is None:
        return None

    def change(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        keys, values = ([pair[i] for pair in pairs] for i in (0, 1))
        return list(zip(_changed(keys, key), _changed(values, value), strict=True))

    return change


def _row_change(parts: list[_Change | None]) -> _Change | None:
    if not any(parts):
        return None
    return lambda value: tuple(
        v if v is None or part is None else part(v) for v, part in zip(value, parts, strict=True)
    )
