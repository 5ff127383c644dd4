"""What a source is: something that is read as a stream, from an offset on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bergsql.engine.streaming.changelog import Batch, ChangelogMode, StreamColumn

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.catalog.errors import BergError

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
"""What may be kept in a checkpoint: offsets, committables."""


class ReaderContext(Protocol):
    """What the runtime gives a reader."""

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """The job's DuckDB connection: SQL of batches is run on it."""

    @property
    def max_rows(self) -> int:
        """About how many rows a batch should have at most."""

    @property
    def max_bytes(self) -> int:
        """About how many bytes of files a batch should be read from at most."""

    def relation(self, rows: pa.Table) -> str:
        """A name under which DuckDB reads ``rows`` in this round."""

    def note(self, message: str) -> None:
        """Tell the person something, once: in the log of a job, as [INFO] of a SELECT."""


class Reader(ABC):
    """A source at work. Not safe for use by two threads."""

    @abstractmethod
    def poll(self) -> Batch | None:
        """The next rows that are there now; None for nothing. It does not wait for rows to come.

        ``Batch.sql`` is a query that the runtime runs at once, with the source's columns and ``op``.

        :raises BergError: what is told to the person; the job fails, or restarts by its strategy.
        """

    @property
    @abstractmethod
    def offset(self) -> Json:
        """Where the next poll goes on: behind everything that was given. Kept in each checkpoint."""

    @property
    def finished(self) -> bool:
        """Whether nothing will ever come any more: of a bounded source at its end."""
        return False

    @property
    def wait(self) -> float:
        """Seconds until the next poll is worth while, after one that gave nothing."""
        return 0.1

    @property
    def lag(self) -> int | None:
        """How far it is behind, in milliseconds, if known."""
        return None

    @property
    def skipped(self) -> int:
        """How many rows were left out since the reader was made, as they could not be read."""
        return 0

    @property
    def watermark(self) -> int | None:
        """A watermark that the source itself knows, in microseconds since 1970."""
        return None

    @property
    def holds(self) -> bool:
        """Whether what it has given has no offset yet, as the half of a snapshot that can only be read in one go.

        No checkpoint is made meanwhile; a job that ends meanwhile keeps nothing of what came behind its last one.
        """
        return False

    def checkpointed(self, offset: Json) -> None:  # noqa: B027 - most have nobody to tell
        """All sinks have committed what was read before ``offset``."""

    def explained(self, error: BergError) -> BergError:
        """What running the SQL of the last batch raised, with what the source knows of it: of which row it is."""
        return error

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release what is open."""


class Lookup(ABC):
    """Rows of a table by some of its columns, as they are when they are asked for, or were a while ago."""

    @abstractmethod
    def rows(self, keys: pa.Table) -> pa.Table:
        """The rows that have one of ``keys``, and maybe others: columns c0 and on, all of the source.

        ``keys`` has the columns that the lookup was made for, in order and in the source's types, without NULL.

        :raises BergError: where they cannot be read.
        """

    def figures(self) -> dict[str, int]:
        """Counters for DESCRIBE JOB."""
        return {}

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release what is open."""


class Source(ABC):
    """Something to read, as planned: immutable, and made anew with each plan.

    name
        The full name of the table, for people.
    columns
        What batches hold, in order.
    key
        The positions of a key of UPSERT (which has one always) and of RETRACT streams; empty without one.
    signature
        What must be the same for an offset of it to be taken up again, as a table's uuid.
    """

    name: str
    columns: tuple[StreamColumn, ...]
    bounded: bool
    mode: ChangelogMode = ChangelogMode.INSERT_ONLY
    key: tuple[int, ...] = ()

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Json]: ...

    @abstractmethod
    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        """Open it: from its start where ``offset`` is None, else where a reader of it had that offset.

        :raises BergError: where it cannot be read, or not from there, with what to do.
        """

    @abstractmethod
    def explain(self) -> str:
        """What is read and how, in one line."""

    def fingerprint(self) -> Json:
        """What is different when a bounded source would be read otherwise than before; None where that is not known.

        It is asked for often, by who looks rows up in it.
        """
        return None

    def lookup(self, positions: Sequence[int]) -> Lookup | None:  # noqa: ARG002 - most are read whole
        """What finds rows by the values of the columns at ``positions``; None where all has to be read for that."""
        return None

    def reading(self, positions: frozenset[int]) -> Source:  # noqa: ARG002 - most give all they have
        """The same source, of which only the columns at ``positions`` are used: the others may be NULL."""
        return self
