"""Columns of Arrow as bytes, and back: what rows and keys are put together from.

A column is *fixed*, so many bytes for each value, or *varying*: one run of bytes for each. All of it is copied by
numpy and Arrow, column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Longs = np.ndarray[Any, np.dtype[np.int64]]

_LENGTH: Final = "<u4"
"""How lengths are written: of a run of bytes, of a list."""


class Runs(NamedTuple):
    """Runs of bytes, one behind the other: the run ``i`` is from ``offsets[i]`` to ``offsets[i + 1]``."""

    data: Bytes
    offsets: Longs

    @property
    def lengths(self) -> Longs:
        import numpy as np

        return np.diff(self.offsets)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array of plain values: a dictionary's values spelled out, an extension's as they are stored."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # of no chunks at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array


def plain(type: pa.DataType) -> pa.DataType:
    """The type of :func:`whole`'s values."""
    import pyarrow as pa

    if isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    return type.value_type if pa.types.is_dictionary(type) else type


def width(type: pa.DataType) -> int | None:
    """Bytes of each value of a fixed column; None for a varying one."""
    import pyarrow as pa

    type = plain(type)
    if pa.types.is_null(type):
        return 0
    if pa.types.is_boolean(type):
        return 1
    if pa.types.is_primitive(type) or pa.types.is_decimal(type):
        return int(type.bit_width) // 8
    if pa.types.is_fixed_size_binary(type):
        return int(type.byte_width)
    return 16 if pa.types.is_interval(type) else None


def present(array: pa.Array) -> Bytes | None:
    """1 for each value that is not NULL, 0 for one that is; None where all are there."""
    import numpy as np
    import pyarrow as pa

    if array.null_count == 0:
        return None
    valid = array.is_valid().cast(pa.uint8())
    return np.frombuffer(valid.buffers()[1], np.uint8)[valid.offset : valid.offset + len(array)]


def fixed_bytes(array: pa.Array) -> Bytes:
    """The values of a fixed column, as rows of bytes. What stands for a NULL is zero."""
    import numpy as np
    import pyarrow as pa

    count, size = len(array), width(array.type) or 0
    if size == 0 or count == 0:
        return np.zeros((count, size), np.uint8)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    first, last = array.offset * size, (array.offset + count) * size
    values: Bytes = np.frombuffer(array.buffers()[1], np.uint8)[first:last].reshape(count, size)
    there = present(array)
    return values if there is None else values * there[:, None]


def fixed_array(values: Bytes, there: Bytes | None, type: pa.DataType) -> pa.Array:
    """A fixed column of rows of bytes."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_null(type):
        return pa.nulls(len(values))
    valid = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    if pa.types.is_boolean(type):
        data = np.packbits(values[:, 0], bitorder="little")
    else:
        data = np.ascontiguousarray(values).reshape(-1)
    return pa.Array.from_buffers(type, len(values), [valid, pa.py_buffer(data)])


def lists_of(found: Runs) -> list[bytes]:
    """Each run as bytes of its own."""
    data, offsets = found.data.tobytes(), found.offsets.tolist()
    return [data[a:b] for a, b in pairwise(offsets)]


def joined(values: Sequence[bytes]) -> Runs:
    """Bytes, one behind the other."""
    import numpy as np

    return Runs(np.frombuffer(b"".join(values), np.uint8), offsets_of(np.fromiter(map(len, values), np.int64)))


def offsets_of(lengths: Longs) -> Longs:
    """Where runs of such lengths begin, and where the last one ends."""
    import numpy as np

    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def woven(parts: list[Runs]) -> Runs:
    """The first run of each part, one behind the other, then the second of each, and so on."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(parts) == 1:
        return parts[0]
    arrays = [
        pa.Array.from_buffers(
            pa.large_binary(),
            len(part.offsets) - 1,
            [None, pa.py_buffer(np.ascontiguousarray(part.offsets, np.int64)), pa.py_buffer(part.data)],
        )
        for part in parts
    ]
    return binary_runs(pc.binary_join_element_wise(*arrays, pa.scalar(b"", pa.large_binary())))


def slices(found: Runs, starts: Longs, lengths: Longs) -> Runs:
    """The bytes of ``found`` from each of ``starts`` on, so many as ``lengths`` says."""
    import numpy as np

    offsets = offsets_of(lengths)
    if len(starts) and np.array_equal(starts[1:], starts[:-1] + lengths[:-1]):
        return Runs(found.data[starts[0] : starts[0] + offsets[-1]], offsets)
    data, ends = found.data.tobytes(), (starts + lengths).tolist()
    cut = b"".join([data[a:b] for a, b in zip(starts.tolist(), ends, strict=True)])
    return Runs(np.frombuffer(cut, np.uint8), offsets)


def fixed_runs(values: Bytes) -> Runs:
    """Rows of bytes as runs of one length."""
    import numpy as np

    count, size = values.shape
    return Runs(np.ascontiguousarray(values).reshape(-1), np.arange(count + 1, dtype=np.int64) * size)


def lengths_bytes(lengths: Longs) -> Bytes:
    """Lengths as rows of four bytes."""
    import numpy as np

    return np.ascontiguousarray(lengths.astype(_LENGTH)).view(np.uint8).reshape(len(lengths), 4)


def bytes_lengths(values: Bytes) -> Longs:
    """The other way round."""
    import numpy as np

    return np.ascontiguousarray(values).view(_LENGTH).reshape(len(values)).astype(np.int64)


def is_binary(type: pa.DataType) -> bool:
    import pyarrow as pa

    t = pa.types
    return bool(t.is_binary(type) or t.is_large_binary(type) or _is_text(type))


def _is_text(type: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def binary_runs(array: pa.Array) -> Runs:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.null_count:
        array = pc.fill_null(array, pa.scalar("" if _is_text(array.type) else b"", array.type))
    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return Runs(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    at: Longs = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return Runs(held[at[0] : at[-1]], at - at[0])


def of_binary_runs(found: Runs, valid: pa.Buffer | None, type: pa.DataType) -> pa.Array:
    """Text or bytes of runs of bytes."""
    import numpy as np
    import pyarrow as pa

    large = pa.large_string() if _is_text(type) else pa.large_binary()
    offsets = pa.py_buffer(np.ascontiguousarray(found.offsets))
    array = pa.Array.from_buffers(large, len(found.offsets) - 1, [valid, offsets, pa.py_buffer(found.data)])
    return array if large == type else array.cast(type)
