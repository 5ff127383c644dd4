"""Rows found by key, many at a time: what aggregates and the like keep of each group.

A row has a *place*, 64 bits that its owner makes of its key (a hash; the bits before it may group what goes together),
so that rows lie evenly. Rows that lie next to each other stand in one block, which is one entry of the store and about
as long as two of its pages: to change one row the store writes a page anyhow. So a batch of a thousand changed keys
costs a thousand blocks, however many rows are held, and one that changes most rows costs a copy of all blocks, with
nothing done row by row. Measured: 0.8 µs for a changed row where all change, against 5 µs for entries of their own.

Two rows may have one place: whoever asks compares keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.streaming.state.cells import Runs, bytes_lengths, lengths_bytes, offsets_of, slices, width
from bergsql.engine.streaming.state.packing import pack, unpack

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bergsql.engine.streaming.state.base import StateScope

    Places = np.ndarray[Any, np.dtype[np.uint64]]
    Longs = np.ndarray[Any, np.dtype[np.int64]]

_MOST: Final = 8100
"""Bytes from which on a block is cut: what fits in two pages of the store beside their header."""
_AIM: Final = 4900
"""Bytes of the blocks that one is cut into: they have room to grow."""


@dataclass
class Fetched:
    """Blocks that were read, and the rows of them that were asked for.

    rows
        Those rows, with the column ``row`` behind the others: its number, for :meth:`KeyedRows.replace`.
    places
        Of all rows of the blocks, ascending.
    """

    rows: pa.Table
    blocks: Longs
    places: Places
    runs: Runs


class KeyedRows:
    """Rows of one schema in a scope of their own."""

    def __init__(self, scope: StateScope, schema: pa.Schema) -> None:
        import numpy as np

        self._scope = scope.part("blocks")
        self._directory = scope.part("starts")
        self.schema = schema
        self._types = list(schema.types)
        widths = [width(t) for t in schema.types]
        self._width = None if None in widths else (len(widths) + 7) // 8 + sum(w or 0 for w in widths)
        starts = [int.from_bytes(key, "big") for key, _ in self._directory.scan()]
        self._starts: Places = np.union1d(np.zeros(1, np.uint64), np.array(starts, np.uint64))

    def fetch(self, low: Places, high: Places | None = None) -> Fetched:
        """The rows at some places, ascending and each once; or from each of ``low`` to each of ``high``, inclusive."""
        import numpy as np

        first = np.searchsorted(self._starts, low, "right") - 1
        blocks: Longs = np.unique(first)
        if high is not None:
            touched = np.zeros(len(self._starts) + 1, np.int64)
            np.add.at(touched, first, 1)
            np.add.at(touched, np.searchsorted(self._starts, high, "right"), -1)
            blocks = np.flatnonzero(np.cumsum(touched)[:-1] > 0)
        values = self._scope.get_many(self._keys(self._starts[blocks]))
        places, runs = self._parsed([v for v in values if v])
        begin = np.searchsorted(places, low, "left")
        counts = np.searchsorted(places, low if high is None else high, "right") - begin
        shift = np.repeat(begin - offsets_of(counts)[:-1], counts)
        picked: Longs = np.arange(int(counts.sum()), dtype=np.int64) + shift
        return Fetched(self._decoded(runs, picked), blocks, places, runs)

    def replace(self, fetched: Fetched, gone: Longs, places: Places, rows: pa.Table) -> Places:
        """Take the rows numbered ``gone`` away and put ``rows`` at ``places``, which lie in the blocks that were read.

        Gives the first places of the blocks that were written.
        """
        import numpy as np

        kept = np.ones(len(fetched.places), np.bool_)
        kept[gone] = False
        order = np.argsort(places, kind="stable")
        packed = pack(rows.columns, rows.num_rows)
        all_places = np.concatenate([fetched.places[kept], places[order]])
        sources = np.concatenate([np.flatnonzero(kept), order + len(fetched.places)])
        merged = np.argsort(all_places, kind="stable")
        all_places = all_places[merged]
        runs = self._chosen(fetched.runs, packed, sources[merged])
        return self._write(fetched.blocks, all_places, runs)

    def spans(self, starts: Places) -> list[tuple[int, int]]:
        """The first and the last place of the blocks that begin at ``starts``."""
        import numpy as np

        ends = np.append(self._starts, np.uint64(0))[np.searchsorted(self._starts, starts) + 1] - np.uint64(1)
        return list(zip(starts.tolist(), ends.tolist(), strict=True))

    def count(self) -> int:
        """How many rows there are. Reads all of them: for tests and the curious."""
        return sum(len(self._parsed([value])[0]) for _, value in self._scope.scan() if value)

    def every(self) -> Fetched:
        """All rows there are: for what has to go through them once, such as a change of how places are made."""
        import numpy as np

        return self.fetch(np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64))

    # --- blocks ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _keys(starts: Places) -> list[bytes]:
        data = starts.astype(">u8").tobytes()
        return [data[i : i + 8] for i in range(0, len(data), 8)]

    def _parsed(self, values: Sequence[bytes]) -> tuple[Places, Runs]:
        """The places and rows of blocks, in order."""
        import numpy as np

        heads: list[bytes] = []
        lengths: list[bytes] = []
        bodies: list[bytes] = []
        size = self._width
        for value in values:
            if size is None:
                count = int.from_bytes(value[:4], "little")
                heads.append(value[4 : 4 + 8 * count])
                lengths.append(value[4 + 8 * count : 4 + 12 * count])
                bodies.append(value[4 + 12 * count :])
            else:
                count = len(value) // (8 + size)
                heads.append(value[: 8 * count])
                bodies.append(value[8 * count :])
        places = np.frombuffer(b"".join(heads), "<u8")
        data = np.frombuffer(b"".join(bodies), np.uint8)
        if size is None:
            offsets = offsets_of(bytes_lengths(np.frombuffer(b"".join(lengths), np.uint8).reshape(-1, 4)))
        else:
            offsets = np.arange(len(places) + 1, dtype=np.int64) * size
        return places, Runs(data, offsets)

    def _decoded(self, runs: Runs, picked: Longs) -> pa.Table:
        import pyarrow as pa

        arrays = unpack(self._chosen(runs, None, picked), self._types)
        return pa.table([*arrays, pa.array(picked)], names=[*self.schema.names, "row"])

    def _chosen(self, first: Runs, second: Runs | None, rows: Longs) -> Runs:
        """Some rows of ``first`` and of ``second``, which counts on behind it."""
        import numpy as np

        if self._width is not None:
            tables = [each.data.reshape(-1, self._width) for each in (first, second) if each is not None]
            chosen = (tables[0] if len(tables) == 1 else np.concatenate(tables))[rows]
            return Runs(chosen.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * self._width)
        both = first
        if second is not None:
            data = np.concatenate([first.data, second.data])
            both = Runs(data, np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]]))
        return slices(both, both.offsets[:-1][rows], both.lengths[rows])

    def _write(self, blocks: Longs, places: Places, runs: Runs) -> Places:
        import numpy as np

        if len(blocks) == 0:
            return places
        starts: Places = np.union1d(self._starts[blocks], self._cuts(places, runs))
        first = np.searchsorted(places, starts, "left")
        last = np.append(first[1:], len(places))
        gone = first == last
        keys = self._keys(starts)
        self._scope.put_many(self._items(keys, first, last, places, runs))
        self._scope.delete_many([keys[i] for i in np.flatnonzero(gone).tolist()])
        # Searched, not sorted anew: there are very many blocks, and few are new.
        at = np.searchsorted(self._starts, starts)
        new = starts[np.append(self._starts, np.uint64(0))[at] != starts]
        if len(new):
            self._directory.put_many([(key, b"") for key in self._keys(new)])
            self._starts = np.insert(self._starts, np.searchsorted(self._starts, new), new)
        written: Places = starts[~gone]
        return written

    def _items(
        self, keys: list[bytes], first: Longs, last: Longs, places: Places, runs: Runs
    ) -> list[tuple[bytes, bytes]]:
        """The blocks that hold rows, as entries of the store."""
        heads, data = places.tobytes(), runs.data.tobytes()
        sizes = b"" if self._width is not None else lengths_bytes(runs.lengths).tobytes()
        items: list[tuple[bytes, bytes]] = []
        bounds = zip(
            keys, first.tolist(), last.tolist(), runs.offsets[first].tolist(), runs.offsets[last].tolist(), strict=True
        )
        for key, a, b, begin, end in bounds:
            if a == b:
                continue
            head = heads[8 * a : 8 * b]
            if self._width is None:
                head = (b - a).to_bytes(4, "little") + head + sizes[4 * a : 4 * b]
            items.append((key, head + data[begin:end]))
        return items

    def _cuts(self, places: Places, runs: Runs) -> Places:
        """Where blocks that have grown too long are cut: the places at which further blocks begin.

        Rows of one place stay in one block, however long it is.
        """
        import numpy as np

        if len(places) == 0:
            return places
        owner = np.searchsorted(self._starts, places, "right") - 1
        ends = runs.offsets[1:] + np.arange(1, len(places) + 1) * 12  # with the place and the length
        begins = runs.offsets[:-1] + np.arange(len(places)) * 12
        heads = np.append(0, np.flatnonzero(np.diff(owner)) + 1)  # the first row of each block
        lengths = np.append(heads[1:], len(places)) - heads
        base = np.repeat(begins[heads], lengths)
        total = np.repeat(ends[heads + lengths - 1] - begins[heads], lengths)
        piece = (begins - base) // _AIM
        opens = np.append(False, (piece[1:] != piece[:-1]) & (owner[1:] == owner[:-1])) & (total > _MOST)
        opens &= np.append(False, places[1:] != places[:-1])
        return places[opens]
