"""What manifests say of a file's columns: counts and bounds as full, short, partly there or missing as writers leave them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from bergsql.catalog.metadata.types import (
    BinaryType,
    IcebergType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
)
from bergsql.catalog.metadata.values import to_bytes, to_internal
from tests.support.history.data_files import Row

MODES = ("full", "full", "truncated", "counts", "some", "none")


def file_statistics(fields: Sequence[NestedField], rows: Sequence[Row], mode: str, random: Random) -> dict[str, Any]:
    """The statistics of a DataFile, by its parameters' names."""
    out: dict[str, dict[int, Any]] = {
        name: {}
        for name in ("column_sizes", "value_counts", "null_counts", "nan_counts", "lower_bounds", "upper_bounds")
    }
    if mode == "none":
        return out
    for f, values in _columns(fields, rows):
        if mode == "some" and random.random() < 0.5:
            continue
        out["column_sizes"][f.field_id] = 40
        out["value_counts"][f.field_id] = len(values)
        out["null_counts"][f.field_id] = values.count(None)
        there = [v for v in values if v is not None]
        numbers = [v for v in there if not (isinstance(v, float) and math.isnan(v))]
        if any(isinstance(v, float) for v in there) or str(f.type) in ("float", "double"):
            out["nan_counts"][f.field_id] = len(there) - len(numbers)
        if mode == "counts" or not numbers:
            continue
        lower, upper = _bounds(f.type, numbers, 1 if mode == "truncated" else 16)
        out["lower_bounds"][f.field_id] = lower
        if upper is not None:
            out["upper_bounds"][f.field_id] = upper
    return out


def _columns(fields: Sequence[NestedField], rows: Sequence[Row]) -> Iterator[tuple[NestedField, list[Any]]]:
    """Each column of single values with its values, those inside structs too."""
    for f in fields:
        values = [row.get(f.field_id) for row in rows]
        if isinstance(f.type, StructType):
            yield from _columns(f.type.fields, [{} if v is None else v for v in values])
        elif f.type.is_primitive and not isinstance(f.type, UnknownType):
            yield f, values


def _bounds(kind: IcebergType, values: Iterable[Any], length: int) -> tuple[bytes, bytes | None]:
    """The least and the greatest value; texts and bytes cut to ``length``, the upper bound then counted up."""
    internal: list[Any] = [to_internal(kind, v) for v in values]
    least, most = min(internal, key=_order), max(internal, key=_order)
    if isinstance(kind, StringType):
        return least[:length].encode(), most.encode() if len(most) <= length else _text_above(most[:length])
    if isinstance(kind, BinaryType):
        return least[:length], most if len(most) <= length else _bytes_above(most[:length])
    return to_bytes(kind, least), to_bytes(kind, most)


def _order(value: Any) -> Any:
    if isinstance(value, float):
        return value, math.copysign(1, value)
    if isinstance(value, str):
        return [ord(c) for c in value]
    return value


def _text_above(prefix: str) -> bytes | None:
    """The least text above all that start with ``prefix``, by code points."""
    for i in range(len(prefix) - 1, -1, -1):
        if ord(prefix[i]) < 0x10FFFF:
            following = ord(prefix[i]) + 1
            return (prefix[:i] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)).encode()
    return None


def _bytes_above(prefix: bytes) -> bytes | None:
    for i in range(len(prefix) - 1, -1, -1):
        if prefix[i] < 255:
            return prefix[:i] + bytes([prefix[i] + 1])
    return None


def path_bounds(paths: Sequence[str], mode: str) -> tuple[bytes | None, bytes | None]:
    """Bounds of the paths in a position delete file: exact, cut after 30 characters, or none."""
    least, most = min(paths), max(paths)
    match mode:
        case "exact":
            return least.encode(), most.encode()
        case "cut":
            return least[:30].encode(), _text_above(most[:30]) if len(most) > 30 else most.encode()
    return None, None
