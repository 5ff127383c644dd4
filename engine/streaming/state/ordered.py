"""Values as bytes whose order is theirs: for the least and greatest of a group, for timers, for sorted state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.state.cells import (
    binary_runs,
    fixed_bytes,
    fixed_runs,
    is_binary,
    lists_of,
    present,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bergsql.engine.streaming.state.cells import Bytes

_DIGEST: Final = 16
_FLIPPED: Final = bytes(255 - i for i in range(256))
"""Each byte's complement, by which a descending key is made of an ascending one."""


def ordered(array: pa.Array, *, descending: bool, nulls_first: bool, limit: int) -> list[bytes]:
    """See :func:`bergsql.engine.streaming.state.codec.encode_ordered`."""
    if is_binary(array.type):
        values = [_ended(value, limit) for value in lists_of(binary_runs(array))]
        if descending:
            values = [value.translate(_FLIPPED) for value in values]
        return _with_nulls(values, array, nulls_first)
    rows = _ascending(array)
    return _fixed(255 - rows if descending else rows, present(array), nulls_first)


def _with_nulls(values: list[bytes], array: pa.Array, nulls_first: bool) -> list[bytes]:
    null = b"\x00" if nulls_first else b"\x02"
    there = present(array)
    if there is None:
        return [b"\x01" + value for value in values]
    return [b"\x01" + value if t else null for value, t in zip(values, there.tolist(), strict=True)]


def _fixed(rows: Bytes, there: Bytes | None, nulls_first: bool) -> list[bytes]:
    import numpy as np

    marked = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
    marked[:, 0] = 1
    marked[:, 1:] = rows
    if there is not None:
        gone = there == 0
        marked[gone] = 0  # all of it, so that NULLs are equal
        marked[gone, 0] = 0 if nulls_first else 2
    return lists_of(fixed_runs(marked))


def _ended(value: bytes, limit: int) -> bytes:
    """Bytes with an end that is below whatever might follow: 00 00, and 00 inside is 00 FF."""
    ended = value.replace(b"\x00", b"\x00\xff") + b"\x00\x00"
    if len(ended) < limit:
        return ended
    from hashlib import blake2b

    kept = ended[: limit - 1 - _DIGEST]
    return kept + blake2b(value, digest_size=_DIGEST).digest()


def _ascending(array: pa.Array) -> Bytes:
    """The values as rows of bytes, the most significant first."""
    import numpy as np
    import pyarrow as pa

    type, t = array.type, pa.types
    if t.is_null(type) or t.is_boolean(type):
        return fixed_bytes(array)
    if t.is_floating(type):
        return _of_floats(array)
    if t.is_interval(type):
        from bergsql.engine.streaming.state.equal import intervals

        return _signed(intervals(array).astype("<i8").view(np.uint8).reshape(len(array), 16), 8)
    if t.is_fixed_size_binary(type):
        return fixed_bytes(array)
    if t.is_unsigned_integer(type):
        return fixed_bytes(array)[:, ::-1]
    if t.is_primitive(type) or t.is_decimal(type):  # integers, dates, times, timestamps
        rows = fixed_bytes(array)
        return _signed(rows, rows.shape[1])
    raise BergError(ErrorCode.UNSUPPORTED, f"An order of values of the type {type} in a stream is not supported yet.")


def _signed(rows: Bytes, size: int) -> Bytes:
    """Whole numbers of ``size`` bytes with a sign, several in a row: the sign's bit turned, so that they sort."""
    count, total = rows.shape
    turned: Any = rows.reshape(count, total // size, size)[:, :, ::-1].copy()
    turned[:, :, 0] ^= 0x80
    return turned.reshape(count, total)  # type: ignore[no-any-return]


def _of_floats(array: pa.Array) -> Bytes:
    """IEEE numbers: positive ones with the sign's bit set, negative ones complemented."""

    from bergsql.engine.streaming.state.equal import normalised

    rows = fixed_bytes(normalised(array))[:, ::-1].copy()
    negative: np.ndarray[Any, Any] = rows[:, 0] >= 0x80
    rows[negative] = 255 - rows[negative]
    rows[~negative, 0] |= 0x80
    return rows
