"""``raw``: a message is one value, as it is."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, MessageContext, MessageFormat
from bergsql.engine.connectors.messages.texts import as_batch, others
from bergsql.engine.duck import arrow_rows
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


_UTF8: Final = "UTF-8"
_BIG, _UTF16 = "utf-16-be", "utf-16"


class RawMessages(MessageFormat):
    """A message is one value: a text, bytes, or a number as Java writes it into a buffer. NULL is a message without
    one, read and written."""

    name: ClassVar[str] = "raw"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("raw.charset", default=_UTF8, doc="How texts are encoded: `UTF-8`, `GBK`, `ISO-8859-1` …"),
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
        self._charset = self._known_charset(self.option("charset") or _UTF8)
        order = "<" if (self.option("endianness") or "").casefold() == "little-endian" else ">"
        self._layout = order + _NUMBERS.get(self._kind, "i1")

    def _known_charset(self, name: str) -> str:
        """What Python calls a charset.

        :raises BergError: OPTION.
        """
        try:
            "".encode(name)
            return codecs.lookup(name).name
        except LookupError:
            raise BergError(ErrorCode.OPTION, f"'{name}' is not a value of 'raw.charset': it is unknown.") from None

    @property
    def _by_python(self) -> bool:
        """Whether values are read and written here, not by DuckDB."""
        return self._kind in _NUMBERS or (self._kind in TEXTS and self._charset != "utf-8")

    def decode(self, context: MessageContext, messages: str) -> str:
        passed = [*others(context, messages), NUMBER]
        if self._by_python:
            rows = arrow_rows(context.cursor, f"SELECT {', '.join(passed)}, {DATA} FROM {messages}")
            data = rows[DATA].to_pylist()
            values = self._numbers(data) if self._kind in _NUMBERS else self._texts(data)
            source, value = context.relation(rows.append_column("c0", values)), "c0"
        elif self._kind in BINARIES:
            source, value = messages, DATA
        else:
            refused = failure("A message is no UTF-8: %s", f"left(hex({DATA}), 200)")
            source, value = messages, f"CASE WHEN {DATA} IS NOT NULL THEN coalesce(try(decode({DATA})), {refused}) END"
        items = [*passed, f"false AS {BROKEN}", f"{value} AS c0"]
        return as_batch(f"(SELECT {', '.join(items)} FROM {source})", self.columns, passed[:-1])

    def _texts(self, data: list[bytes | None]) -> pa.Array:
        import pyarrow as pa

        def text(octets: bytes) -> str:
            # As Java: high bytes first where nothing says which.
            bare = self._charset == _UTF16 and not octets.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            try:
                return octets.decode(_BIG if bare else self._charset)
            except UnicodeDecodeError:
                message = f"A message is no {self.option('charset')}: {octets[:100].hex().upper()}"
                raise BergError(ErrorCode.EXECUTION, message) from None

        return pa.array([None if octets is None else text(octets) for octets in data], pa.string())

    def _numbers(self, data: list[bytes | None]) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        width = np.dtype(self._layout).itemsize
        wrong = next((each for each in data if each is not None and len(each) != width), None)
        if wrong is not None:
            message = f"A message is no {flink_name(self.columns[0].type)} of {width} bytes: {wrong[:100].hex()}."
            raise BergError(ErrorCode.EXECUTION, message)
        found = np.frombuffer(b"".join(bytes(width) if each is None else each for each in data), dtype=self._layout)
        absent = np.array([each is None for each in data], bool)
        return pa.array(found.astype(found.dtype.newbyteorder("=")), mask=absent)

    def encode(self, context: MessageContext, rows: str) -> str:
        passed = others(context, rows)
        if self._by_python:
            import pyarrow as pa

            found = arrow_rows(context.cursor, f"SELECT {', '.join(['c0', *passed])} FROM {rows}")
            data = [None if v is None else self._octets(v) for v in found["c0"].to_pylist()]
            rows, value = context.relation(found.append_column(DATA, pa.array(data, pa.binary()))), DATA
        elif self._kind in BINARIES:
            value = "c0"
        else:
            value = "encode(c0)"
        more = "".join(f", {name}" for name in passed)
        return f"(SELECT {value} AS {DATA}{more} FROM {rows})"

    def _octets(self, value: Any) -> bytes:
        if self._kind in _NUMBERS:
            import numpy as np

            return np.array(value, self._layout).tobytes()
        try:
            if self._charset == _UTF16:
                return codecs.BOM_UTF16_BE + str(value).encode(_BIG)
            return str(value).encode(self._charset)
        except UnicodeEncodeError:
            message = f"A value cannot be written in {self.option('charset')}: {str(value)[:200]}"
            raise BergError(ErrorCode.EXECUTION, message) from None
