"""What an operator is: the part of a stream's plan that works on one micro-batch after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bergsql.engine.streaming.changelog import NO_WATERMARK, Batch

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.engine.streaming.state.base import StateScope


class Flow(NamedTuple):
    """What comes from one input in a round, or goes out: changes, if there are any, and the watermark behind them.

    ``watermark`` is in microseconds since 1970 (of the wall clock of a TIMESTAMP, of UTC for TIMESTAMP_LTZ); it never
    falls. It is ``END_OF_TIME`` when a bounded input has ended.
    """

    batch: Batch | None = None
    watermark: int = NO_WATERMARK


class OperatorContext(Protocol):
    """What the runtime gives an operator: a place to compute, and its state."""

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """The job's DuckDB connection. Operators run one after another on it."""

    @property
    def state(self) -> StateScope:
        """The operator's own state, which lasts with the job's checkpoints."""

    @property
    def time_zone(self) -> str: ...

    def setting(self, key: str) -> str | None: ...

    def table(self, batch: Batch) -> Batch:
        """The batch as a table of this round: read many times, with a ``rowid``. As it is, if it is one."""

    def query(self, sql: str) -> pa.Table:
        """Run a query and give its rows as Arrow."""

    def batch_of(self, rows: pa.Table) -> Batch:
        """A batch of rows in Arrow: columns c0, c1, … and ``op``, in this order and in DuckDB's types."""

    def relation(self, rows: pa.Table) -> str:
        """A name under which DuckDB reads ``rows`` in this round."""


class Operator(ABC):
    """One node of a plan at work. Made from its node; :meth:`open` is called once, before the first round."""

    version = 1
    """Of the layout of its state: raised when what older versions kept cannot be read as it is."""

    @abstractmethod
    def open(self, context: OperatorContext) -> None:
        """Get ready. The state is that of the checkpoint from which the job goes on, empty at first."""

    @abstractmethod
    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        """One round: take the changes of each input, give those of the result, folded by key.

        It is called in each round, with or without changes, for what time alone brings: windows that close, state that
        expires. ``now`` is the processing time of the round, in milliseconds since 1970.
        """

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release what is open."""

    def figures(self) -> dict[str, int]:
        """Counters for DESCRIBE JOB, such as ``late rows dropped``; the runtime counts rows itself."""
        return {}
