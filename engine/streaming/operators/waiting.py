"""Rows that wait for the watermark, in the order of their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import NO_WATERMARK, OP, Batch, StreamColumn, column
from bergsql.engine.streaming.operators.changes import names, with_columns
from bergsql.engine.streaming.state.rows import Rows, decode_number, encode_number, encode_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext

_ARRIVED = b"arrived"
_PASSED = b"passed"


class Waiting:
    """Changes kept by time and arrival; a step forward of the watermark costs the rows that it passes."""

    def __init__(self, context: OperatorContext, name: str, columns: Sequence[StreamColumn], time: int) -> None:
        self.rows = Rows(context, columns)
        self.late = 0
        """How many rows were dropped as they came late."""
        self._context = context
        self._state = context.state.part(name)
        self._numbers = context.state.part(name + "#")
        self._time = f"epoch_us({column(time)})"
        self._arrived, self._passed = (self._number(key) for key in (_ARRIVED, _PASSED))

    @property
    def passed(self) -> int:
        """The watermark that was passed last."""
        return self._passed

    def take(self, batch: Batch | None, *, drop_late: bool) -> None:
        """Keep the rows of a batch until their time has passed. Without a time a row never comes out: it is dropped.

        :param drop_late: drop rows whose time has passed; else they are released next.
        """
        if batch is None:
            return
        batch = self._context.table(batch)
        table = self._context.query(
            f"SELECT {names(len(self.rows.names))}, {OP}, {self._time} AS t FROM {batch.sql} ORDER BY rowid"
        )
        import pyarrow.compute as pc

        in_time = pc.is_valid(table["t"])
        if drop_late:
            in_time = pc.and_kleene(in_time, pc.greater(table["t"], max(self._passed, NO_WATERMARK)))
        kept = table.filter(in_time)
        self.late += table.num_rows - kept.num_rows
        first = self._arrived + 1
        self._arrived += kept.num_rows
        places = encode_numbers(range(first, self._arrived + 1))
        times = encode_numbers(kept["t"].to_pylist())
        kinds = [bytes((kind,)) for kind in kept[OP].to_pylist()]
        values = self.rows.encode(kept)
        self._state.put_many(
            [
                (time + place, kind + value)
                for time, place, kind, value in zip(times, places, kinds, values, strict=True)
            ]
        )
        self._numbers.put_many([(_ARRIVED, encode_number(self._arrived))])

    def release(self, watermark: int) -> pa.Table | None:
        """The rows whose time has passed, in order, with ``op`` and ``place``; None for none. They are forgotten."""
        if watermark > self._passed:
            self._passed = watermark
            self._numbers.put_many([(_PASSED, encode_number(watermark))])
        entries = list(self._state.scan(stop=encode_number(self._passed + 1)))
        if not entries:
            return None
        self._state.delete_many([key for key, _ in entries])
        table = self.rows.decode([value[1:] for _, value in entries])
        return with_columns(table, op=[value[0] for _, value in entries], place=range(len(entries)))

    def _number(self, key: bytes) -> int:
        (value,) = self._numbers.get_many([key])
        if value is None:
            return NO_WATERMARK if key == _PASSED else 0
        return decode_number(value)
