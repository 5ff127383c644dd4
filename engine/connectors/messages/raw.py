"""``raw``: a message is one value, as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, MessageContext, MessageFormat
from bergsql.engine.connectors.messages.texts import as_batch, others
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.sql.types import BINARIES, TEXTS, Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn

_NUMBERS = {
    Kind.BOOLEAN: "?",
    Kind.TINYINT: "i1",
    Kind.SMALLINT: "i2",
    Kind.INT: "i4",
    Kind.BIGINT: "i8",
    Kind.FLOAT: "f4",
    Kind.DOUBLE: "f8",
}
"""What numpy calls the bytes of a kind."""


class RawMessages(MessageFormat):
    """A message is one value: a text, bytes, or a number as Java writes it into a buffer."""

    name: ClassVar[str] = "raw"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("raw.charset", "enum", "UTF-8", "How texts are encoded.", values=("UTF-8",)),
        OptionSpec(
            "raw.endianness",
            "enum",
            "big-endian",
            "Which byte of a number comes first.",
            values=("big-endian", "little-endian"),
        ),
    )

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        if len(columns) != 1 or columns[0].type.kind not in (*TEXTS, *BINARIES, *_NUMBERS):
            found = ", ".join(flink_name(c.type) for c in columns)
            raise BergError(
                ErrorCode.INVALID,
                f"Messages of format 'raw' hold one column, a text, bytes, a number or a BOOLEAN, not ({found}).",
            )
        self._kind = columns[0].type.kind
        order = "<" if (self.option("endianness") or "").casefold() == "little-endian" else ">"
        self._layout = order + _NUMBERS.get(self._kind, "i1")

    def decode(self, context: MessageContext, messages: str) -> str:
        passed = [*others(context, messages), NUMBER]
        if self._kind in _NUMBERS:
            rows = context.cursor.sql(
                f"SELECT {', '.join(passed)}, {DATA} FROM {messages} WHERE {DATA} IS NOT NULL"
            ).to_arrow_table()
            values = self._numbers(rows[DATA].to_pylist())
            source, value = context.relation(rows.append_column("c0", values)), "c0"
        elif self._kind in BINARIES:
            source, value = messages, DATA
        else:
            refused = failure("A message is no UTF-8: %s", f"left(hex({DATA}), 200)")
            source, value = messages, f"coalesce(try(decode({DATA})), {refused})"
        items = [*passed, f"false AS {BROKEN}", f"{value} AS c0"]
        sql = f"(SELECT {', '.join(items)} FROM {source} WHERE {DATA} IS NOT NULL)"
        return as_batch(sql, self.columns, passed[:-1])

    def _numbers(self, data: list[bytes]) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        width = np.dtype(self._layout).itemsize
        wrong = next((each for each in data if len(each) != width), None)
        if wrong is not None:
            message = f"A message is no {flink_name(self.columns[0].type)} of {width} bytes: {wrong[:100].hex()}."
            raise BergError(ErrorCode.EXECUTION, message)
        found = np.frombuffer(b"".join(data), dtype=self._layout)
        return pa.array(found.astype(found.dtype.newbyteorder("=")))

    def encode(self, context: MessageContext, rows: str) -> str:
        passed = others(context, rows)
        if self._kind in _NUMBERS:
            import numpy as np
            import pyarrow as pa

            found = context.cursor.sql(f"SELECT {', '.join(['c0', *passed])} FROM {rows}").to_arrow_table()
            data = [None if v is None else np.array(v, self._layout).tobytes() for v in found["c0"].to_pylist()]
            rows, value = context.relation(found.append_column(DATA, pa.array(data, pa.binary()))), DATA
        elif self._kind in BINARIES:
            value = "c0"
        else:
            value = "encode(c0)"
        more = "".join(f", {name}" for name in passed)
        return f"(SELECT {value} AS {DATA}{more} FROM {rows})"
