"""What a connector is: a name, options, and what it reads from or writes to. None of them knows SQL statements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.sql.types import DataType
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.sinks.base import Sink
from bergsql.engine.streaming.sources.base import Source

if TYPE_CHECKING:
    from bergsql.catalog.options import OptionSpec
    from bergsql.engine.table.predicate import Predicate


class TableColumn(NamedTuple):
    """A column that a connector gives: a stored one, or with ``metadata`` what it knows of a row by that key."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: str | None = None
    virtual: bool = False
    """Whether it is metadata that is not written."""

    @property
    def streamed(self) -> StreamColumn:
        return StreamColumn(self.name, self.type, self.nullable)


class ConnectorTable(NamedTuple):
    """A table of a connector, without what a statement adds: computed columns and watermarks.

    name
        Its full name, for people.
    options
        All but ``connector``, with ``${env:…}`` filled in.
    partitioning
        Names of the columns of PARTITIONED BY.
    key
        Positions of the primary key's columns.
    """

    name: str
    columns: tuple[TableColumn, ...]
    options: Mapping[str, str]
    partitioning: tuple[str, ...] = ()
    key: tuple[int, ...] = ()

    @property
    def stored(self) -> tuple[TableColumn, ...]:
        """The columns that are no metadata."""
        return tuple(c for c in self.columns if c.metadata is None)

    @property
    def written(self) -> tuple[TableColumn, ...]:
        """The columns that an INSERT gives: metadata too, unless it is VIRTUAL."""
        return tuple(c for c in self.columns if not c.virtual)

    @property
    def streamed(self) -> tuple[StreamColumn, ...]:
        return tuple(c.streamed for c in self.columns)


class LocalSource(Source):
    """A source that can also be read at once, where it is bounded.

    tell
        Tells the person something while it is read at once.
    time_zone
        The session's, by name: that of times in texts which say none.
    """

    tell: Callable[[str], None] = staticmethod(lambda _: None)
    time_zone: str = "UTC"

    @abstractmethod
    def whole(self, prefix: str) -> ReadAtOnce:
        """All rows that are there now. Names of variables begin with ``prefix``."""

    def narrowed(self, columns: frozenset[str], predicate: Predicate) -> LocalSource:  # noqa: ARG002 - most give all
        """The same source, of which only some columns are read, and rows that fulfil ``predicate``.

        The other columns may be NULL. More rows may come: they are looked at again.
        """
        return self


class LocalSink(Sink):
    """A sink that a batch writes to as well: all of it in one checkpoint."""

    def at_once(self) -> LocalSink:
        """The same sink for a batch: what is prepared is committed at once, or never."""
        return self

    def overwriting(self, static: Mapping[str, str | None]) -> LocalSink:  # noqa: ARG002 - most cannot
        """The same sink, that puts what is written into the place of what is there.

        ``static``: texts of the values that PARTITION (…) gives, by column.

        :raises BergError: INVALID where it cannot.
        """
        raise BergError(
            ErrorCode.INVALID,
            f"{self.name} cannot be overwritten: its connector only takes rows.",
            hint="INSERT INTO adds rows.",
        )


def _anything(table: ConnectorTable) -> None:
    """Any table will do."""


@dataclass(frozen=True)
class Connector:
    """A connector as data and functions.

    options
        What WITH may say, for the options that it says: they may tell of further ones.
    source, sink
        None where it cannot be read, or written.
    metadata
        What METADATA columns may be declared: types by key.
    writable
        Those of their keys that can be written: the sink looks at :attr:`ConnectorTable.written`.
    check
        Refuses a table that cannot be, beyond single options; columns of wrong types too.
    fixed
        Options that a hint cannot change.
    """

    name: str
    options: Callable[[Mapping[str, str]], Sequence[OptionSpec]]
    source: Callable[[ConnectorTable], LocalSource] | None = None
    sink: Callable[[ConnectorTable], LocalSink] | None = None
    metadata: Mapping[str, DataType] = field(default_factory=dict)
    writable: tuple[str, ...] = ()
    check: Callable[[ConnectorTable], None] = _anything
    fixed: tuple[str, ...] = ()
    partitioned: bool = False
    """Whether PARTITIONED BY means something to it."""
    documented: tuple[OptionSpec, ...] = ()
    """Its options as the documentation lists them."""
