"""Keys and rows as bytes, for the maps of a store: whole columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.state.base import MAX_KEY
from bergsql.engine.streaming.state.cells import fixed_runs, joined, lists_of, whole, woven

if TYPE_CHECKING:
    import pyarrow as pa

_HASHED: Final = 0x80
"""The bit of a key's first byte that says that the rest is a hash."""
_DIGEST: Final = 32
"""Bytes of a hash: keys are as good as different when theirs are."""


def encode_keys(rows: pa.Table, columns: Sequence[str], *, limit: int = MAX_KEY) -> list[bytes]:
    """A key of some columns for each row: equal where the values are, NULL equal to NULL, -0.0 to 0.0, NaN to NaN.

    No key is the beginning of another of the same columns, so something may be put behind it. It is at most ``limit``
    bytes long (at least 33): a longer one is replaced by its hash. No columns make the key of the one row that there
    is then.
    """
    from bergsql.engine.streaming.state.equal import normalised
    from bergsql.engine.streaming.state.packing import head

    arrays = [normalised(whole(rows.column(name))) for name in columns]
    # One NULL bit more than there are columns: the first byte tells keys from hashes. It is there without columns.
    kept, wide = head(arrays, rows.num_rows, flag=True)
    keys = lists_of(woven([fixed_runs(kept), *wide]))
    if not wide and kept.shape[1] <= limit:
        return keys
    return [key if len(key) <= limit else _hashed(key) for key in keys]


def encode_ordered(
    rows: pa.Table, column: str, *, descending: bool = False, nulls_first: bool = True, limit: int = MAX_KEY
) -> list[bytes]:
    """A key of a column's values that is ordered as they are: numbers, times, text by its characters' codes, bytes.

    NaN is above all numbers, -0.0 equal to 0.0. No key is the beginning of another, so several may be put together.
    Text and bytes whose key would be longer than ``limit`` bytes are cut there and end in a hash: among those that
    begin alike so far the order is any, but equal ones stay equal.

    :raises BergError: UNSUPPORTED for types without an order that we know.
    """
    from bergsql.engine.streaming.state.ordered import ordered

    return ordered(whole(rows.column(column)), descending=descending, nulls_first=nulls_first, limit=limit)


def encode_rows(rows: pa.Table, columns: Sequence[str]) -> list[bytes]:
    """The values of some columns of each row, for :func:`decode_rows`. Equal rows have equal bytes."""
    from bergsql.engine.streaming.state.packing import pack

    return lists_of(pack([rows.column(name) for name in columns], rows.num_rows))


def decode_rows(values: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """The rows that were encoded, with the names and types of ``schema``, which must be those of then."""
    import pyarrow as pa

    from bergsql.engine.streaming.state.packing import unpack

    if not schema.names:
        return pa.table({"": pa.nulls(len(values))}).select([])
    return pa.Table.from_arrays(unpack(joined(values), schema.types), schema=schema)


def _hashed(key: bytes) -> bytes:
    from hashlib import blake2b

    return bytes([_HASHED]) + blake2b(key, digest_size=_DIGEST).digest()
