"""Rows found by key, many at a time: what aggregates and the like keep of each group.

A row has a *place*, 64 bits that its owner makes of its key (a hash; the bits before it may group what goes
together), so that rows lie evenly. Rows that lie next to each other stand in one block, which is one entry of the store
and about half as long as one of its pages: to change one row the store writes a page anyhow. So a batch of a thousand
changed keys costs a thousand blocks, however many rows are held, and one that changes most rows costs a copy of all
blocks, with nothing done row by row. Measured: 0.8 µs for a changed row where all change, against 5 µs for entries of
their own. Of many blocks a piece is in memory at a time.

Two rows may have one place: whoever asks compares keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.engine.streaming.state.cells import Runs, bytes_lengths, lengths_bytes, offsets_of, slices, width
from bergsql.engine.streaming.state.packing import pack, unpack

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bergsql.engine.streaming.state.base import StateScope

    Places = np.ndarray[Any, np.dtype[np.uint64]]
    Longs = np.ndarray[Any, np.dtype[np.int64]]

_MOST: Final = 2000
"""Bytes from which on a block is cut: a longer entry would not share a page of the store, but take whole ones."""
_AIM: Final = 1000
"""Bytes of the blocks that one is cut into: they have room to grow."""
_PIECE: Final = 16 << 20
"""Bytes of the blocks that are in memory at a time, about."""
_GUESS: Final = 64 << 10
"""Bytes of a block, as long as none was read."""


class Block(NamedTuple):
    """What some blocks hold: the places of all their rows, ascending, and the rows."""

    places: Places
    runs: Runs


@dataclass
class Piece:
    """Some of the blocks that were read."""

    starts: Places
    """Where they begin."""
    first: int
    """The number of their first row among those of all pieces."""
    held: Block | None
    """What is in them, where it is still in memory."""


@dataclass
class Fetched:
    """Blocks that were read, and the rows of them that were asked for.

    rows
        Those rows, with the column ``row`` behind the others: its number, for :meth:`KeyedRows.replace`.
    """

    rows: pa.Table
    pieces: list[Piece]


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
        starts = np.frombuffer(b"".join(key for key, _ in self._directory.scan()), ">u8").astype(np.uint64)
        self._starts: Places = np.union1d(np.zeros(1, np.uint64), starts)
        self._length = float(_GUESS)  # of a block, on average

    def fetch(self, low: Places, high: Places | None = None) -> Fetched:
        """The rows at some places, ascending and each once; or from each of ``low`` to each of ``high``, inclusive."""
        import numpy as np
        import pyarrow as pa

        first = np.searchsorted(self._starts, low, "right") - 1
        blocks: Longs = np.unique(first)
        if high is not None:
            touched = np.zeros(len(self._starts) + 1, np.int64)
            np.add.at(touched, first, 1)
            np.add.at(touched, np.searchsorted(self._starts, high, "right"), -1)
            blocks = np.flatnonzero(np.cumsum(touched)[:-1] > 0)
        pieces: list[Piece] = []
        tables: list[pa.Table] = []
        count = at = 0
        while at < len(blocks) or not pieces:
            part = blocks[at : at + self._at_once()]
            if pieces:
                pieces[-1].held = None
            starts = self._starts[part]
            held = self._read(starts)
            pieces.append(Piece(starts, count, held))
            a, b = 0, len(low)
            if high is None and len(part):
                a, b = np.searchsorted(first, [part[0], part[-1] + 1]).tolist()
            tables.append(self._decoded(held, low[a:b], None if high is None else high[a:b], count))
            count += len(held.places)
            at += len(starts)
        return Fetched(tables[0] if len(tables) == 1 else pa.concat_tables(tables), pieces)

    def replace(self, fetched: Fetched, gone: Longs, places: Places, rows: pa.Table) -> Places:
        """Take the rows numbered ``gone`` away and put ``rows`` at ``places``, which lie in the blocks that were read.

        Gives the first places of the blocks that were written.
        """
        import numpy as np

        order: Longs = np.argsort(places, kind="stable")
        places, gone = places[order], np.sort(gone)
        packed = pack(rows.columns, rows.num_rows)
        pieces = fetched.pieces
        taken = [*np.searchsorted(gone, [piece.first for piece in pieces]).tolist(), len(gone)]
        later = np.array([piece.starts[0] for piece in pieces[1:]], np.uint64)
        put = [0, *np.searchsorted(places, later).tolist(), len(places)]
        written: list[Places] = []
        for i, piece in enumerate(pieces):
            a, b = put[i], put[i + 1]
            removed = gone[taken[i] : taken[i + 1]] - piece.first
            if a == b and len(removed) == 0:
                continue
            mine = packed if len(pieces) == 1 else self._chosen(packed, None, order[a:b])
            numbers = order if len(pieces) == 1 else np.arange(b - a, dtype=np.int64)
            written.append(self._replace(piece, removed, places[a:b], mine, numbers))
        return np.concatenate(written) if written else places[:0]

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

    # --- pieces ---------------------------------------------------------------------------------------------------

    def _at_once(self) -> int:
        """How many blocks are read at a time."""
        return max(1, int(_PIECE / self._length))

    def _read(self, starts: Places) -> Block:
        values = [value for value in self._scope.get_many(self._keys(starts)) if value]
        if values:
            self._length = max(1.0, sum(map(len, values)) / len(values))
        return self._parsed(values)

    def _replace(self, piece: Piece, gone: Longs, places: Places, packed: Runs, numbers: Longs) -> Places:
        """Change one piece. ``gone`` counts from its first row; ``numbers`` are of new rows in ``packed``, by place."""
        import numpy as np

        there = self._read(piece.starts) if piece.held is None else piece.held
        kept = np.ones(len(there.places), np.bool_)
        kept[gone] = False
        all_places = np.concatenate([there.places[kept], places])
        sources = np.concatenate([np.flatnonzero(kept), numbers + len(there.places)])
        merged = np.argsort(all_places, kind="stable")
        return self._write(piece.starts, all_places[merged], self._chosen(there.runs, packed, sources[merged]))

    # --- blocks ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _keys(starts: Places) -> list[bytes]:
        data = starts.astype(">u8").tobytes()
        return [data[i : i + 8] for i in range(0, len(data), 8)]

    def _parsed(self, values: Sequence[bytes]) -> Block:
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
        return Block(places, Runs(data, offsets))

    def _decoded(self, held: Block, low: Places, high: Places | None, count: int) -> pa.Table:
        """The rows that are asked for of some blocks, before which ``count`` rows were read."""
        import numpy as np
        import pyarrow as pa

        begin = np.searchsorted(held.places, low, "left")
        counts = np.searchsorted(held.places, low if high is None else high, "right") - begin
        shift = np.repeat(begin - offsets_of(counts)[:-1], counts)
        picked: Longs = np.arange(int(counts.sum()), dtype=np.int64) + shift
        arrays = unpack(self._chosen(held.runs, None, picked), self._types)
        return pa.table([*arrays, pa.array(picked + count)], names=[*self.schema.names, "row"])

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

    def _write(self, blocks: Places, places: Places, runs: Runs) -> Places:
        """Write blocks, which begin at ``blocks``, anew, cut where they are too long."""
        import numpy as np

        starts: Places = np.union1d(blocks, self._cuts(blocks, places, runs))
        first = np.searchsorted(places, starts, "left")
        last = np.append(first[1:], len(places))
        gone = first == last
        keys = self._keys(starts)
        self._scope.put_many(self._items(keys, first, last, places, runs))
        self._scope.delete_many([keys[i] for i in np.flatnonzero(gone).tolist()])
        self._note_starts(starts, gone)
        written: Places = starts[~gone]
        if len(written):
            self._length = len(runs.data) / len(written) + 1
        return written

    def _note_starts(self, starts: Places, gone: Any) -> None:
        """Note where blocks begin now. What was ``gone``'s is the block's before it: places may never come again, as
        those of windows, and would be kept for ever."""
        import numpy as np

        # Searched, not sorted anew: there are very many blocks, and few are new.
        at = np.searchsorted(self._starts, starts)
        known = self._starts[np.minimum(at, len(self._starts) - 1)] == starts
        new, lost = starts[~known], known & gone & (starts != 0)
        if lost.any():
            self._directory.delete_many(self._keys(starts[lost]))
            self._starts = np.delete(self._starts, at[lost])
        if len(new):
            self._directory.put_many([(key, b"") for key in self._keys(new)])
            self._starts = np.insert(self._starts, np.searchsorted(self._starts, new), new)

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

    @staticmethod
    def _cuts(blocks: Places, places: Places, runs: Runs) -> Places:
        """Where blocks that have grown too long are cut: the places at which further blocks begin.

        Rows of one place stay in one block, however long it is.
        """
        import numpy as np

        if len(places) == 0:
            return places
        owner = np.searchsorted(blocks, places, "right") - 1
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
