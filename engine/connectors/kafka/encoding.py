"""From rows of a table to messages of Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.connectors.kafka.producer import HEADERS, KEY, TIMESTAMP, VALUE
from bergsql.engine.connectors.messages.base import DATA
from bergsql.engine.streaming.changelog import OP, RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from bergsql.engine.connectors.messages.base import MessageContext, MessageFormat

_GOES = f"({RowKind.UPDATE_BEFORE:d}, {RowKind.DELETE:d})"


class Encoding(NamedTuple):
    """What a message is made of: positions are those of the columns that are written.

    tombstones
        Whether what goes is a message without a value; if not, the format says what happens.
    """

    value: MessageFormat
    in_value: tuple[int, ...]
    key: MessageFormat | None
    in_key: tuple[int, ...]
    headers: int | None = None
    timestamp: int | None = None
    tombstones: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of messages."""
        more = [name for name, at in ((HEADERS, self.headers), (TIMESTAMP, self.timestamp)) if at is not None]
        return (KEY, VALUE, *more)

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        types = {HEADERS: pa.map_(pa.string(), pa.binary()), TIMESTAMP: pa.int64()}
        return pa.schema([(name, types.get(name, pa.binary())) for name in self.names])

    def messages(self, context: MessageContext, rows: str) -> str:
        """SQL of the messages of rows, one each and in their order: a query.

        ``rows``: a relation with the columns c0 and on, and ``op``.
        """
        items = [*_renumbered(self.in_value), OP, *(f"c{n} AS mk{i}" for i, n in enumerate(self.in_key))]
        if self.tombstones:
            items.append(f"{OP} AS mop")
        if self.headers is not None:
            items.append(f"c{self.headers} AS m{HEADERS}")
        if self.timestamp is not None:
            items.append(f"epoch_ms(c{self.timestamp}) AS m{TIMESTAMP}")
        encoded = self.value.encode(context, f"(SELECT {', '.join(items)} FROM {rows})")
        value = f"CASE WHEN mop NOT IN {_GOES} THEN {DATA} END" if self.tombstones else DATA
        passed = [f"m{name}" for name in self.names[2:]]
        if self.key is None:
            key = "NULL::BLOB"
        else:
            keys = [f"mk{i} AS c{i}" for i in range(len(self.in_key))]
            items = [*keys, f"0::TINYINT AS {OP}", f"{value} AS m{VALUE}", *passed]
            encoded = self.key.encode(context, f"(SELECT {', '.join(items)} FROM {encoded})")
            key, value = DATA, f"m{VALUE}"
        named = [f"{key} AS {KEY}", f"{value} AS {VALUE}"]
        named += [f"{at} AS {name}" for at, name in zip(passed, self.names[2:], strict=True)]
        return f"SELECT {', '.join(named)} FROM {encoded}"


def _renumbered(positions: Sequence[int]) -> list[str]:
    return [f"c{n} AS c{i}" for i, n in enumerate(positions)]
