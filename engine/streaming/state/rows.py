"""How operators keep the rows of a stream in their state: keys that can be put together, rows, times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import StreamColumn, column
from bergsql.engine.streaming.state.codec import decode_rows, encode_keys, encode_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext

_LONGEST: Final = 40
"""The most bytes of a key that is a part of another one."""
_MIDDLE: Final = 2**63
NUMBER_BYTES: Final = 8


class Rows:
    """The rows of some columns: to bytes and back, and into SQL in their own types."""

    def __init__(self, context: OperatorContext, columns: Sequence[StreamColumn]) -> None:
        self.names = [column(position) for position in range(len(columns))]
        self.types = [duckdb_name(each.type) for each in columns]
        nothing = ", ".join(f"{null} AS {name}" for null, name in zip(self.nulls(), self.names, strict=True))
        self.schema: pa.Schema = context.query(f"SELECT {nothing} LIMIT 0").schema
        self._context = context

    def encode(self, rows: pa.Table) -> list[bytes]:
        """Each row, as bytes that are equal where the rows are."""
        return encode_rows(rows, self.names)

    def decode(self, values: Sequence[bytes]) -> pa.Table:
        """The rows back, with the columns c0, c1, …."""
        return decode_rows(values, self.schema)

    def identities(self, rows: pa.Table) -> list[bytes]:
        """A short name of each row: equal where the rows are, to be put behind a key."""
        return encode_keys(rows, self.names, limit=_LONGEST)

    def relation(self, rows: pa.Table) -> str:
        """What stands behind FROM for rows in Arrow: c0, … in the stream's types, and other columns as they are."""
        items = [f"{name}::{type_} AS {name}" for name, type_ in zip(self.names, self.types, strict=True)]
        items += [name for name in rows.column_names if name not in self.names]
        return f"(SELECT {', '.join(items)} FROM {self._context.relation(rows)})"

    def nulls(self) -> list[str]:
        """A NULL of each column's type."""
        return [f"NULL::{type_}" for type_ in self.types]


def prefixes(rows: pa.Table, columns: Sequence[str]) -> list[bytes]:
    """A key of each row by some columns, NULL a value like others: none is the beginning of another.

    All are the same where there are no columns.
    """
    return encode_keys(rows, columns, limit=_LONGEST) if columns else [b"\x00"] * rows.num_rows


def encode_number(number: int) -> bytes:
    """An integer of 64 bits, such as a time in microseconds, as bytes in the order of the numbers.

    What is beyond 64 bits is the nearest that is not.
    """
    return min(max(number + _MIDDLE, 0), 2 * _MIDDLE - 1).to_bytes(NUMBER_BYTES, "big")


def encode_numbers(numbers: Iterable[int]) -> list[bytes]:
    """Each of them by :func:`encode_number`."""
    return [encode_number(number) for number in numbers]


def decode_number(key: bytes) -> int:
    """The number at the beginning of a key."""
    return int.from_bytes(key[:NUMBER_BYTES], "big") - _MIDDLE
