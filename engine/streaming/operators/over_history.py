"""The earlier rows that frames of OVER windows still look back at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK, StreamColumn, column
from bergsql.engine.streaming.nodes import OverNode
from bergsql.engine.streaming.operators.changes import with_columns
from bergsql.engine.streaming.state.rows import NUMBER_BYTES, Rows, decode_number, encode_number, encode_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext

_ARRIVED = b"arrived"


class History:
    """Rows by partition, time and arrival: of each partition the last few, those of a span of time, or all."""

    def __init__(self, context: OperatorContext, columns: Sequence[StreamColumn], node: OverNode) -> None:
        self._context = context
        self._rows = Rows(context, columns)
        self._time = column(node.time)
        self._preceding = node.preceding
        self._ranged = node.ranged and node.preceding is not None
        self._state = context.state.part("history")
        self._times = context.state.part("history times")
        self._numbers = context.state.part("history#")
        (value,) = self._numbers.get_many([_ARRIVED])
        self._arrived = decode_number(value) if value is not None else 0

    def take(self, rows: pa.Table, partitions: Sequence[bytes]) -> pa.Table | None:
        """The earlier rows that frames of these rows reach, with a ``place`` below 0; then these rows are kept."""
        times = self._context.query(
            f"SELECT epoch_us({self._time}) AS t FROM {self._rows.relation(rows)} ORDER BY place"
        )["t"].to_pylist()
        first: dict[bytes, int] = {}
        for partition, time in zip(partitions, times, strict=True):
            first[partition] = min(first.get(partition, time), time)
        earlier: dict[bytes, list[tuple[bytes, bytes]]] = {
            partition: list(self._state.scan(partition, self._start(partition, time)))
            for partition, time in first.items()
        }
        places = encode_numbers(range(self._arrived + 1, self._arrived + 1 + len(times)))
        self._arrived += len(times)
        self._numbers.put_many([(_ARRIVED, encode_number(self._arrived))])
        new = [
            (partition + encode_number(time) + place, value)
            for partition, time, place, value in zip(partitions, times, places, self._rows.encode(rows), strict=True)
        ]
        self._keep(new, partitions, earlier)
        entries = [entry for each in earlier.values() for entry in each]
        if not entries:
            return None
        table = self._rows.decode([value for _, value in entries])
        return with_columns(table, place=range(-len(entries), 0))

    def forget(self, watermark: int) -> None:
        """Drop what is further back than frames of rows behind the watermark reach."""
        if not self._ranged or watermark == NO_WATERMARK:
            return
        assert self._preceding is not None
        stop = None if watermark == END_OF_TIME else encode_number(watermark - self._preceding + 1)
        over = list(self._times.scan(stop=stop))
        self._times.delete_many([time for time, _ in over])
        self._state.delete_many([partition + time for time, partition in over])

    def _start(self, partition: bytes, time: int) -> bytes:
        if not self._ranged or self._preceding is None:
            return b""
        return partition + encode_number(time - self._preceding)

    def _keep(
        self,
        new: list[tuple[bytes, bytes]],
        partitions: Sequence[bytes],
        earlier: dict[bytes, list[tuple[bytes, bytes]]],
    ) -> None:
        if self._preceding is not None and not self._ranged:
            gone: list[bytes] = []
            by_partition: dict[bytes, list[tuple[bytes, bytes]]] = {}
            for partition, entry in zip(partitions, new, strict=True):
                by_partition.setdefault(partition, []).append(entry)
            new = []
            for partition, entries in by_partition.items():
                known = earlier[partition]
                kept = max(len(known) + len(entries) - self._preceding, 0)
                gone += [key for key, _ in known[:kept]]
                new += entries[max(len(entries) - self._preceding, 0) :]
            self._state.delete_many(gone)
        self._state.put_many(new)
        if self._ranged:
            cut = -2 * NUMBER_BYTES
            self._times.put_many([(key[cut:], key[:cut]) for key, _ in new])
