"""Values that are equal, made the same to the bit: what keys are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

DAYS_OF_MONTH: Final = 30
"""Of an interval that is compared, as DuckDB does."""
_DAY: Final = 86_400_000_000_000

INTERVAL: Final = "<i4,<i4,<i8"
"""Months, days and nanoseconds, as Arrow lays them out."""


def normalised(array: pa.Array) -> pa.Array:
    """The array, with one zero and one NaN, and intervals of days and of less than a day; in nested values too."""
    import pyarrow as pa

    type = array.type
    if pa.types.is_floating(type):
        return _floats(array)
    if pa.types.is_interval(type):
        return _intervals(array)
    if pa.types.is_struct(type):
        fields = [normalised(array.field(i)) for i in range(type.num_fields)]
        return pa.StructArray.from_arrays(
            fields, [f.name for f in type], mask=array.is_null() if array.null_count else None
        )
    if (pa.types.is_list(type) or pa.types.is_large_list(type)) and _holds_floats(type):
        kept = array.take(pa.array(range(len(array)), pa.int64())) if len(array) else array
        # Taken, so that it begins at its first element.
        values = normalised(kept.values)
        make: Any = pa.ListArray if pa.types.is_list(type) else pa.LargeListArray
        return make.from_arrays(kept.offsets, values, mask=kept.is_null() if kept.null_count else None)
    return array


def intervals(array: pa.Array) -> np.ndarray[Any, Any]:
    """Intervals as rows of (days, nanoseconds of a day), NULL as zero."""
    import numpy as np

    from bergsql.engine.streaming.state.cells import fixed_bytes

    parts = np.ascontiguousarray(fixed_bytes(array)).reshape(-1).view(INTERVAL)
    months, days, nanos = (parts[name].astype(np.int64) for name in ("f0", "f1", "f2"))
    more, rest = np.divmod(nanos, _DAY)
    return np.stack([months * DAYS_OF_MONTH + days + more, rest], axis=1)


def _floats(array: pa.Array) -> pa.Array:
    import numpy as np

    from bergsql.engine.streaming.state.cells import fixed_array, fixed_bytes, present

    size = array.type.bit_width // 8
    kind = f"<f{size}"
    values = np.ascontiguousarray(fixed_bytes(array)).reshape(-1).view(kind) + np.array(0.0, kind)
    values[np.isnan(values)] = np.nan
    return fixed_array(values.view(np.uint8).reshape(len(array), size), present(array), array.type)


def _intervals(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    from bergsql.engine.streaming.state.cells import fixed_array, present

    values = intervals(array).view("u1").reshape(len(array), 16)
    return fixed_array(values, present(array), pa.binary(16))


def _holds_floats(type: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_floating(type) or pa.types.is_interval(type):
        return True
    return any(_holds_floats(type.field(i).type) for i in range(type.num_fields)) if pa.types.is_nested(type) else False
