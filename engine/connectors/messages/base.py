"""What a format of messages is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.catalog.options import OptionSpec
    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.sql.types import DataType

DATA: Final = "data"
"""The column that holds the bytes of messages: a BLOB, NULL for a message without any (a tombstone)."""
NUMBER: Final = "n"
"""The column that numbers messages in the order in which they came: a BIGINT, each number once."""
PLACE: Final = "k"
"""The column that numbers the rows of one message, from 0: a message may give several."""
BROKEN: Final = "broken"
"""The column that says that a message could not be read: it gives one row then, in which all else is NULL."""


class MessageContext(Protocol):
    """What reading and writing messages needs; a ReaderContext and a SinkContext are one."""

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection: ...

    def relation(self, rows: pa.Table) -> str:
        """A name under which DuckDB reads ``rows`` in this round."""


class MessageFormat(ABC):
    """A format with its options, for the columns of a table that a message's key or value holds.

    mode
        What changes messages give: INSERT_ONLY, or RETRACT of formats of change data (debezium-json).
    metadata
        What a format itself knows of a row, by its key in METADATA FROM 'value.KEY' (without ``value.``).
    """

    name: ClassVar[str]
    options: ClassVar[tuple[OptionSpec, ...]] = ()
    """Their keys begin with the name and a point: ``csv.ignore-parse-errors``."""
    mode: ClassVar[ChangelogMode] = ChangelogMode.INSERT_ONLY
    metadata: ClassVar[Mapping[str, DataType]] = {}

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        """
        :param columns: what the messages hold, in order.
        :param options: those of the format, their keys as in :attr:`options`: who has them under ``value.csv.…`` or
            ``key.csv.…`` has taken that away.
        :param metadata: keys of :attr:`metadata` whose values are wanted.
        :raises BergError: for what does not fit together.
        """
        self.columns = tuple(columns)
        self.given = options
        self.wanted = tuple(metadata)

    def option(self, name: str) -> str | None:
        """An option's value, or its default; an empty text is one."""
        key = f"{self.name}.{name}"
        found = self.given.get(key)
        return found if found is not None else next(s.default for s in self.options if s.key == key)

    def flag(self, name: str) -> bool:
        return (self.option(name) or "false").casefold() == "true"

    @property
    def lenient(self) -> bool:
        """Whether messages that cannot be read are left out and counted; if not, the first one fails the read."""
        return f"{self.name}.ignore-parse-errors" in {s.key for s in self.options} and self.flag("ignore-parse-errors")

    @abstractmethod
    def decode(self, context: MessageContext, messages: str) -> str:
        """Rows of messages, as SQL: a query in parentheses, to be read in this round.

        ``messages`` is a relation with the columns ``n`` and ``data`` and others, whose names begin with ``m``: they
        pass through. The result has those others, ``n``, ``k``, ``op`` (TINYINT), ``broken``, then ``c0`` and on of the
        columns, then ``v0`` and on of what is wanted of the metadata. It is in no order: ``n`` and ``k`` give it.

        A message whose ``data`` is NULL gives no row (Flink: tombstones are passed over), but in a format that writes
        NULL so (``raw``). A message that cannot be read
        gives one ``broken`` row where the format is :attr:`lenient`; else reading the query fails with a message that
        names what is wrong with it, with at most 200 characters of it. No message has an effect on another.
        """

    @abstractmethod
    def encode(self, context: MessageContext, rows: str) -> str:
        """Messages of rows, as SQL: a query in parentheses, to be read in this round.

        ``rows`` is a relation with the columns ``c0`` and on, ``op``, and others whose names begin with ``m``: they
        pass through. The result has those and ``data``, a BLOB: one message a row, in the order of ``rows``. Formats of
        INSERT_ONLY are never given other changes.
        """
