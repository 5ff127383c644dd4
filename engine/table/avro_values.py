"""Values between Arrow's columns and Avro's records, as the numbers and bytes that Avro stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.engine.table.arrow_types import without_columns
from bergsql.engine.table.avro_schema import Json, is_map_of_pairs, value_type

if TYPE_CHECKING:
    import pyarrow as pa

_DECIMAL_BYTES = 16


# --- from Arrow -------------------------------------------------------------------------------------------------------


def records_of(batch: pa.RecordBatch, schema: Json) -> Iterable[dict[str, Any]]:
    """The rows of a batch as records of an expanded Avro schema; its columns are the schema's, in order."""
    names = [f["name"] for f in schema["fields"]]
    columns = [
        _values(column, value_type(f["type"])) for column, f in zip(batch.columns, schema["fields"], strict=True)
    ]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _values(array: pa.Array, schema: Json) -> list[Any]:
    import pyarrow as pa

    t = array.type
    if pa.types.is_struct(t):
        names = [f["name"] for f in schema["fields"]]
        # flatten() takes a struct that is NULL into account, field() does not.
        parts = [_values(a, value_type(f["type"])) for a, f in zip(array.flatten(), schema["fields"], strict=True)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
        return _with_nulls(array, rows)
    if pa.types.is_list(t):
        items = _values(array.values, value_type(schema["items"]))
        return _with_nulls(array, _cut(array, items))
    if pa.types.is_map(t):
        if is_map_of_pairs(schema):
            pair = value_type(schema["items"])
            key, value = (f["name"] for f in pair["fields"])
            kinds = [value_type(f["type"]) for f in pair["fields"]]
            items = [
                {key: k, value: v}
                for k, v in zip(_values(array.keys, kinds[0]), _values(array.items, kinds[1]), strict=True)
            ]
            return _with_nulls(array, _cut(array, items))
        keys, values = array.keys.to_pylist(), _values(array.items, value_type(schema["values"]))
        return _with_nulls(array, [dict(p) for p in _cut(array, list(zip(keys, values, strict=True)))])
    if pa.types.is_decimal(t):
        return _decimals(array, schema["size"])
    if pa.types.is_date32(t):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(t) or pa.types.is_time64(t):
        return list(array.view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def _with_nulls(array: pa.Array, rows: list[Any]) -> list[Any]:
    if not array.null_count:
        return rows
    return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]


def _cut(array: pa.Array, items: list[Any]) -> list[list[Any]]:
    """The items of each list, of all items of the (maybe sliced) array."""
    ends = array.offsets.to_pylist()
    return [items[ends[i] : ends[i + 1]] for i in range(len(ends) - 1)]


def _decimals(array: pa.Array, size: int) -> list[bytes | None]:
    """Big-endian bytes; Arrow keeps sixteen little-endian ones."""
    data = array.buffers()[1]
    raw = bytes(data) if data is not None else b""
    at = array.offset * _DECIMAL_BYTES
    values: list[bytes | None] = [raw[i : i + size][::-1] for i in range(at, at + len(array) * 16, 16)]
    return _with_nulls(array, values)


# --- to Arrow ---------------------------------------------------------------------------------------------------------


def batch_of(
    records: Sequence[dict[str, Any]], schema: Json, columns: Sequence[int], fields: Sequence[pa.Field]
) -> pa.RecordBatch:
    """Records of an expanded Avro schema as a batch of ``fields``, which are the schema's at these positions."""
    import pyarrow as pa

    if not fields:
        return without_columns(len(records))
    arrays = []
    for i, f in zip(columns, fields, strict=True):
        wanted = schema["fields"][i]
        name = wanted["name"]
        arrays.append(_array([r[name] for r in records], wanted["type"], f.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _array(values: list[Any], schema: Json, t: pa.DataType) -> pa.Array:
    import pyarrow as pa

    schema = value_type(schema)
    if pa.types.is_struct(t):
        parts = [
            _array([None if v is None else v[f["name"]] for v in values], f["type"], t.field(i).type)
            for i, f in enumerate(schema["fields"])
        ]
        return pa.StructArray.from_arrays(parts, fields=list(t), mask=_mask(values))
    if pa.types.is_list(t):
        items = _array([i for v in values if v for i in v], schema["items"], t.value_type)
        return pa.ListArray.from_arrays(_offsets(values), items, type=t, mask=_mask(values))
    if pa.types.is_map(t):
        if is_map_of_pairs(schema):
            pair = value_type(schema["items"])
            key, value = (f["name"] for f in pair["fields"])
            kinds = [f["type"] for f in pair["fields"]]
            pairs = [(i[key], i[value]) for v in values if v for i in v]
        else:
            kinds = ["string", schema["values"]]
            pairs = [pair for v in values if v for pair in v.items()]
        keys = _array([k for k, _ in pairs], kinds[0], t.key_type)
        items = _array([v for _, v in pairs], kinds[1], t.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=t, mask=_mask(values))
    if pa.types.is_decimal(t):
        return _decimal_array(values, t)
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return pa.array(values, pa.int32()).view(t)
    if pa.types.is_timestamp(t) or pa.types.is_time64(t):
        return pa.array(values, pa.int64()).view(t)
    return pa.array(values, t)


def _mask(values: list[Any]) -> pa.Array | None:
    import pyarrow as pa

    return pa.array([v is None for v in values], pa.bool_()) if None in values else None


def _offsets(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    ends = [0]
    for v in values:
        ends.append(ends[-1] + (len(v) if v else 0))
    return pa.array(ends, pa.int32())


def _decimal_array(values: list[bytes | None], t: pa.DataType) -> pa.Array:
    import pyarrow as pa

    wide = [
        None if v is None else int.from_bytes(v, "big", signed=True).to_bytes(_DECIMAL_BYTES, "little", signed=True)
        for v in values
    ]
    stored = pa.array(wide, pa.binary(_DECIMAL_BYTES))
    return pa.Array.from_buffers(t, len(stored), stored.buffers())
