"""Rows of positions, as queries give them, to sets of positions."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyroaring import BitMap

MOST_POSITIONS = 1 << 32
"""Positions from here on are no part of sets."""
_FEW_RUNS = 1000


def runs(rows: pa.Table) -> Iterator[tuple[tuple[int, int], BitMap]]:
    """The positions of rows by what they belong to, mostly once: ``entry`` and ``file`` (BIGINT from 0).

    The rows have these columns, and ``pos`` (32 bits without sign). Rows that belong together should lie together: else
    they are sorted.
    """
    import pyarrow.compute as pc
    from pyroaring import BitMap

    if not rows.num_rows:
        return
    many = pc.max(rows["file"]).as_py() + 1
    keys = pc.add(pc.multiply(rows["entry"], many), rows["file"])
    encoded = [pc.run_end_encode(chunk) for chunk in keys.chunks]
    if sum(len(e.values) for e in encoded) > max(_FEW_RUNS, rows.num_rows // 64):
        # By position too: a set of values in order is made forty times faster.
        order = pc.sort_indices(pc.add(pc.multiply(keys, MOST_POSITIONS), rows["pos"].cast("int64")))
        rows, keys = rows.take(order), keys.take(order)
        encoded = [pc.run_end_encode(chunk) for chunk in keys.chunks]
    at = 0
    for chunk in encoded:
        positions = rows["pos"].slice(at, len(chunk)).combine_chunks()
        begin = positions.offset
        plain = memoryview(positions.buffers()[1])
        for end, key in zip(chunk.run_ends.to_pylist(), chunk.values.to_pylist(), strict=True):
            values = array("I")
            values.frombytes(plain[4 * begin : 4 * (positions.offset + end)])
            yield divmod(key, many), BitMap(values)
            begin = positions.offset + end
        at += len(chunk)
