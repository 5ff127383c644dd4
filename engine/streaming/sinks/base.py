"""What a sink is: something that takes changes, and makes them visible checkpoint by checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from bergsql.engine.streaming.changelog import Batch, ChangelogMode, StreamColumn
from bergsql.engine.streaming.sources.base import Json

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa

    from bergsql.engine.duck import Duck


class SinkContext(Protocol):
    """What the runtime gives a writer."""

    @property
    def job_id(self) -> str:
        """32 hexadecimal digits; a SELECT has one too."""

    @property
    def sink_id(self) -> str:
        """The name of the sink in its job: the same in every run of it."""

    @property
    def directory(self) -> Path:
        """Where a writer keeps what it prepared, if it has nowhere else (``prepared_rows.py``); it is the job's own."""

    @property
    def duck(self) -> Duck: ...

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """The connection on which the SQL of batches is run."""

    @property
    def time_zone(self) -> str: ...

    def setting(self, key: str) -> str | None: ...

    def relation(self, rows: pa.Table) -> str:
        """A name under which DuckDB reads ``rows`` in this round."""

    def note(self, message: str) -> None:
        """Tell the person something: in the log of a job."""


class Writer(ABC):
    """A sink at work: write*, prepare, commit; and again.

    Between two :meth:`prepare` all that was written belongs to one checkpoint. Nothing is visible before
    :meth:`commit`, which may be called again for the same checkpoint after a crash, and then changes nothing.
    """

    @abstractmethod
    def write(self, batch: Batch) -> int:
        """Take changes; gives how many."""

    @abstractmethod
    def prepare(self, checkpoint: int) -> Json:
        """Make what was written durable, but not visible: what :meth:`commit` needs to know. None for nothing at all.

        When it returns, a power failure takes nothing away.
        """

    @abstractmethod
    def commit(self, checkpoint: int, committable: Json) -> None:
        """Make a prepared checkpoint visible, once: in this run, or in a later one that found it in the store.

        Checkpoints come in order, each number once; a ``committable`` of None is not committed.

        :raises BergError: where it cannot be done any more (a dropped table, a rollback), with what to do.
        """

    @abstractmethod
    def discard(self) -> None:
        """Throw away what was written since the last :meth:`prepare`."""

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release what is open; what was not prepared is thrown away."""


class Sink(ABC):
    """Something to write to, as planned.

    columns
        What it takes, in order: the planner casts to these types.
    key
        The positions of its primary key, empty without one.
    """

    name: str
    columns: tuple[StreamColumn, ...]
    key: tuple[int, ...] = ()

    @abstractmethod
    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        """Refuse changes that it cannot take.

        ``key``: positions of columns that tell rows apart at any time; None where nothing does, empty where there is
        one row at most.

        :raises BergError: INVALID, with what to do.
        """

    @abstractmethod
    def writer(self, context: SinkContext, restored: int) -> Writer:
        """Open it. ``restored``: the last durable checkpoint of the job, 0 for a new one."""

    @abstractmethod
    def explain(self) -> str:
        """What is written and how, in one line."""
