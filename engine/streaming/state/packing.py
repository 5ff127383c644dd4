"""Rows as bytes: NULL bits, the fixed columns, the lengths of the varying ones, and those one behind the other.

A row's bytes say where they end, as its columns are known: no row is the beginning of another. Equal rows have equal
bytes. Nested values are rows too: those of a struct's fields, and of a list's elements behind their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bergsql.engine.streaming.state.cells import (
    Runs,
    binary_runs,
    bytes_lengths,
    fixed_array,
    fixed_bytes,
    fixed_runs,
    is_binary,
    joined,
    lengths_bytes,
    lists_of,
    of_binary_runs,
    offsets_of,
    plain,
    present,
    slices,
    whole,
    width,
    woven,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bergsql.engine.streaming.state.cells import Bytes

    Bools = np.ndarray[Any, np.dtype[np.bool_]]


def pack(columns: Sequence[pa.ChunkedArray | pa.Array], count: int, there: Bytes | None = None) -> Runs:
    """The rows of some columns. ``there`` is 0 for a row that is NULL as a whole, whose run is empty."""
    arrays = [whole(column) for column in columns]
    kept, wide = head(arrays, count)
    packed = fixed_runs(kept) if not wide else woven([fixed_runs(kept), *wide])
    if there is None:
        return packed
    return slices(packed, packed.offsets[:-1], packed.lengths * there)


def head(arrays: Sequence[pa.Array], count: int, *, flag: bool = False) -> tuple[Bytes, list[Runs]]:
    """The part of each row that is of one length, as rows of bytes; and the varying columns.

    With ``flag`` the highest bit of the first byte is left free.
    """
    import numpy as np

    first = 1 if flag else 0  # NULL bits count from the highest down
    nulls = (len(arrays) + first + 7) // 8
    widths = [width(array.type) for array in arrays]
    wide = [_runs(array) for array, size in zip(arrays, widths, strict=True) if size is None]
    total = nulls + sum(4 if size is None else size for size in widths)
    rows = np.zeros((count, total), np.uint8)
    at = nulls
    varying = iter(wide)
    for i, (array, size) in enumerate(zip(arrays, widths, strict=True)):
        there = present(array)
        if there is not None:
            rows[:, (i + first) // 8] |= (there ^ 1) << (7 - (i + first) % 8)
        block = lengths_bytes(next(varying).lengths) if size is None else fixed_bytes(array)
        rows[:, at : at + block.shape[1]] = block
        at += block.shape[1]
    return rows, wide


def unpack(found: Runs, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of rows. An empty run is a row that is NULL as a whole: what its columns have is without meaning."""
    import numpy as np

    count = len(found.offsets) - 1
    nulls = (len(types) + 7) // 8
    widths = [width(type) for type in types]
    total = nulls + sum(4 if size is None else size for size in widths)
    inside = found.lengths > 0
    rows = _heads(found, total, inside)
    arrays: list[pa.Array] = []
    at, behind = nulls, found.offsets[:-1] + total * inside
    for i, (type, size) in enumerate(zip(types, widths, strict=True)):
        bits = (rows[:, i // 8] >> (7 - i % 8)) & 1
        valid: Bytes | None = (bits ^ 1).astype(np.uint8) if bits.any() else None
        if size is None:
            lengths = bytes_lengths(rows[:, at : at + 4])
            array = _of_runs(slices(found, behind, lengths), valid, plain(type))
            behind, at = behind + lengths, at + 4
        else:
            array = fixed_array(rows[:, at : at + size], valid, plain(type))
            at += size
        arrays.append(_as(array, type))
    assert all(len(array) == count for array in arrays)
    return arrays


def _heads(found: Runs, size: int, inside: Bools) -> Bytes:
    """The first ``size`` bytes of each run, zeros for an empty one."""
    import numpy as np

    starts = found.offsets[:-1]
    if len(found.data) == len(starts) * size and inside.all():
        return found.data.reshape(len(starts), size)
    rows = np.zeros((len(starts), size), np.uint8)
    if len(found.data):
        # Rows of a matrix whose rows overlap, each a byte further on: numpy copies them whole.
        shape = (len(found.data) - size + 1, size)
        windows = np.lib.stride_tricks.as_strided(found.data, shape, (1, 1), writeable=False)
        rows[inside] = windows[starts[inside]]
    return rows


def _as(array: pa.Array, type: pa.DataType) -> pa.Array:
    """Plain values in the type that they came in."""
    import pyarrow as pa

    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, array)
    if pa.types.is_dictionary(type):
        return array.dictionary_encode().cast(type)
    return array


def _runs(array: pa.Array) -> Runs:
    """The values of a varying column. What stands for a NULL is empty."""
    import pyarrow as pa

    type = array.type
    if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_map(type):
        return _list_runs(array)
    if pa.types.is_fixed_size_list(type):
        return _list_runs(array.cast(pa.list_(type.value_field)))
    if pa.types.is_struct(type):
        return pack([array.field(i) for i in range(type.num_fields)], len(array), present(array))
    if is_binary(type):
        return binary_runs(array)
    return _odd_runs(array)


def _of_runs(found: Runs, there: Bytes | None, type: pa.DataType) -> pa.Array:
    """A varying column of runs of bytes."""
    import numpy as np
    import pyarrow as pa

    count = len(found.offsets) - 1
    valid = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_map(type):
        return _of_list_runs(found, valid, type)
    if pa.types.is_fixed_size_list(type):
        return _of_sized_lists(found, there, type)
    if pa.types.is_struct(type):
        fields = unpack(found, [field.type for field in type])
        return pa.Array.from_buffers(type, count, [valid], children=fields)
    if is_binary(type):
        return of_binary_runs(found, valid, type)
    return _of_odd_runs(found, there, type)


def _list_runs(array: pa.Array) -> Runs:
    """A list: how many there are, the length of each element's run, the runs.

    Arrow has the elements of all lists in their order, so nothing is moved.
    """
    import numpy as np
    import pyarrow as pa

    is_large = pa.types.is_large_list(array.type)
    if len(array) == 0:
        return Runs(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    if array.null_count:
        # What lies below a NULL must not be looked at: a list of what is there only has none.
        array = _without_hidden(array)
    at = np.frombuffer(array.buffers()[1], np.int64 if is_large else np.int32)
    at = at[array.offset : array.offset + len(array) + 1].astype(np.int64)
    elements = _elements(array).slice(at[0], at[-1] - at[0])
    at = at - at[0]
    inner = pack([elements], len(elements), None)
    counts = np.diff(at)
    heads = fixed_runs(lengths_bytes(counts))
    sizes = Runs(lengths_bytes(inner.lengths).reshape(-1), at * 4)
    return woven([heads, sizes, Runs(inner.data, inner.offsets[at])])


def _elements(array: pa.Array) -> pa.Array:
    """All elements of all lists, whatever part of them ``array`` is; entries of a map are structs."""
    import pyarrow as pa

    if not pa.types.is_map(array.type):
        return array.values
    field = array.type.field(0)
    keys, items = array.keys, array.items
    return pa.StructArray.from_arrays([keys, items], fields=list(field.type)) if len(keys) else pa.array([], field.type)


def _without_hidden(array: pa.Array) -> pa.Array:
    """The lists, those that are NULL without elements."""
    import numpy as np
    import pyarrow as pa

    return pa.concat_arrays([array.take(pa.array(np.arange(len(array))))])


def _of_list_runs(found: Runs, valid: pa.Buffer | None, type: pa.DataType) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    starts, lengths = found.offsets[:-1], found.lengths
    there = lengths > 0
    counts = np.zeros(len(starts), np.int64)
    heads = slices(found, starts[there], np.full(int(there.sum()), 4, np.int64))
    counts[there] = bytes_lengths(heads.data.reshape(-1, 4))
    sizes = slices(found, starts + np.where(there, 4, 0), counts * 4)
    element_lengths = bytes_lengths(sizes.data.reshape(-1, 4))
    begin = np.where(there, 4 + counts * 4, 0)
    inner = slices(found, starts + begin, lengths - begin)
    field = type.field(0)
    (elements,) = unpack(Runs(inner.data, offsets_of(element_lengths)), [field.type])
    offsets = offsets_of(counts)
    large = pa.types.is_large_list(type)
    held = pa.py_buffer(offsets if large else offsets.astype(np.int32))
    return pa.Array.from_buffers(type, len(starts), [valid, held], children=[elements])


def _of_sized_lists(found: Runs, there: Bytes | None, type: pa.DataType) -> pa.Array:
    """Lists of one length, which in Arrow have elements even where the list is NULL, or below a NULL."""
    import numpy as np
    import pyarrow as pa

    lists, size = _of_list_runs(found, None, pa.list_(type.value_field)), type.list_size
    inside = np.diff(lists.offsets.to_numpy()) > 0
    at = np.where(inside, np.cumsum(inside) - 1, 0)[:, None] * size + np.arange(size)
    missing = np.repeat(~inside, size)
    elements = lists.values.take(pa.array(at.reshape(-1), mask=missing))
    mask = None if there is None else pa.array(there == 0)
    return pa.FixedSizeListArray.from_arrays(elements, type=type, mask=mask)


def _odd_runs(array: pa.Array) -> Runs:
    """Types that tables do not have (unions and the like): each value in Arrow's own format."""
    import pyarrow as pa

    def one(i: int) -> bytes:
        batch = pa.record_batch([array.slice(i, 1)], ["v"])
        return bytes(batch.serialize())

    return joined([one(i) for i in range(len(array))])


def _of_odd_runs(found: Runs, there: Bytes | None, type: pa.DataType) -> pa.Array:  # noqa: ARG001 - the values tell
    import pyarrow as pa

    schema = pa.schema([pa.field("v", type)])
    each = [
        pa.ipc.read_record_batch(pa.py_buffer(v), schema).column(0) if v else pa.nulls(1, type) for v in lists_of(found)
    ]
    return pa.concat_arrays(each) if each else pa.array([], type)
