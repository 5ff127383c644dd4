"""``avro``: a message is one value of Avro, without a schema of its own."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.messages.avro_rows import arrow_types, plain, reading, schema_of, writing
from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, MessageContext, MessageFormat
from bergsql.engine.connectors.messages.texts import as_batch, others
from bergsql.engine.duck import arrow_rows
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DataType, Field, Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn

Json = Any
Read = Callable[[bytes], dict[str, Any]]
Write = Callable[[dict[str, Any]], bytes]


class AvroRows(MessageFormat):
    """What the formats of Avro share: rows of records, and records of rows."""

    @abstractmethod
    def reader(self) -> Read:
        """What reads a message."""

    @abstractmethod
    def writer(self) -> tuple[Write, bool]:
        """What writes a message, and whether TIMESTAMP is an instant of UTC there."""

    def decode(self, context: MessageContext, messages: str) -> str:
        passed = [*others(context, messages), NUMBER]
        names = ", ".join(passed)
        found = arrow_rows(context.cursor, f"SELECT {names}, {DATA} FROM {messages} WHERE {DATA} IS NOT NULL")
        data: list[bytes] = found[DATA].to_pylist()
        rows = found.drop_columns([DATA])
        try:
            arrays = self._arrays(data)
        except _Unreadable:
            for each in data:  # which one it is
                try:
                    self._arrays([each])
                except _Unreadable as error:
                    message = f"A message is no value of Avro for the table's columns: {each[:100].hex()} ({error})."
                    raise BergError(ErrorCode.EXECUTION, message) from None
            raise
        for i, array in enumerate(arrays):
            rows = rows.append_column(f"c{i}", array)
        cast = [f"CAST(c{i} AS {duckdb_name(c.type)}) AS c{i}" for i, c in enumerate(self.columns)]
        items = ", ".join([names, f"false AS {BROKEN}", *cast])
        return as_batch(f"(SELECT {items} FROM {context.relation(rows)})", self.columns, passed[:-1])

    def _arrays(self, data: Sequence[bytes]) -> list[pa.Array]:
        """The columns of messages; _Unreadable where one cannot be read."""
        import pyarrow as pa

        read = self.reader()
        arrays = []
        try:
            records = [read(each) for each in data]
            for column, type_ in zip(self.columns, self._arrow_types, strict=True):
                values = [record.get(column.name) for record in records]
                if not column.nullable and None in values:
                    raise ValueError(f"it has no {column.name}")
                if (convert := reading(column.type)) is not None:
                    values = [None if v is None else convert(v) for v in values]
                arrays.append(pa.array(values, type_))
        except BergError:
            raise
        except Exception as error:  # bytes of anything else fail in many ways
            raise _Unreadable(str(error) or "it ends too early") from None
        return arrays

    @cached_property
    def _arrow_types(self) -> list[pa.DataType]:
        return arrow_types(self.columns)

    def encode(self, context: MessageContext, rows: str) -> str:
        import pyarrow as pa

        passed = others(context, rows)
        columns = [f"c{i}" for i in range(len(self.columns))]
        found = arrow_rows(context.cursor, f"SELECT {', '.join([*columns, *passed])} FROM {rows}")
        write, legacy = self.writer()
        values: list[list[Any]] = []
        for i, column in enumerate(self.columns):
            given = found[f"c{i}"].cast(self._arrow_types[i]).to_pylist()
            convert = writing(column.type, legacy=legacy)
            values.append(given if convert is None else [None if v is None else convert(v) for v in given])
        names = [c.name for c in self.columns]
        try:
            data = [write(dict(zip(names, row, strict=True))) for row in zip(*values, strict=True)]
        except Exception as error:  # a schema of one's own may be of anything
            message = f"A row cannot be written as a message of Avro by its schema: {error}."
            raise BergError(ErrorCode.EXECUTION, message) from None
        made = found.drop_columns(columns).append_column(DATA, pa.array(data, pa.binary()))
        more = "".join(f", {name}" for name in passed)
        return f"(SELECT {DATA}{more} FROM {context.relation(made)})"


class _Unreadable(Exception):
    """A message that is no value of its schema."""


class AvroMessages(AvroRows):
    """A message is one value of Avro, whose schema is that of the columns: both sides must have the same."""

    name: ClassVar[str] = "avro"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("avro.encoding", "enum", "binary", "Avro's bytes, or its JSON.", values=("binary", "json")),
        OptionSpec(
            "avro.timestamp_mapping.legacy",
            "bool",
            "true",
            "Whether TIMESTAMP(3) is an instant of UTC, as in Flink before 1.19. With false TIMESTAMP is a local time, "
            "and TIMESTAMP_LTZ an instant, of up to microseconds.",
        ),
        OptionSpec("avro.codec", doc="Taken, and without effect: messages are not compressed."),
    )

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        self._legacy = self.flag("timestamp_mapping.legacy")
        self._schema = schema_of(columns, "'avro.timestamp_mapping.legacy'='false' can.", legacy=self._legacy)
        self._is_json = (self.option("encoding") or "").casefold() == "json"

    @cached_property
    def _parsed(self) -> Json:
        import fastavro

        return fastavro.parse_schema(self._schema)

    def reader(self) -> Read:
        import fastavro

        schema = self._parsed

        def of_json(data: bytes) -> dict[str, Any]:
            # On one line: fastavro reads a value a line, and passes over what follows.
            line = json.dumps(json.loads(data))
            found: Any = next(iter(fastavro.json_reader(StringIO(line), schema)))
            return dict(found)

        return of_json if self._is_json else lambda data: read_binary(data, schema)

    def writer(self) -> tuple[Write, bool]:
        import fastavro

        schema = self._parsed

        def as_json(row: dict[str, Any]) -> bytes:
            text = StringIO()
            fastavro.json_writer(text, schema, [row])
            return json.dumps(json.loads(text.getvalue()), ensure_ascii=False, separators=(",", ":")).encode()

        return (as_json if self._is_json else binary_writer(schema)), self._legacy


def read_binary(data: bytes, schema: Json) -> dict[str, Any]:
    """A record of its bytes."""
    import fastavro

    found: Any = fastavro.schemaless_reader(BytesIO(data), schema, None)
    return dict(found)


def binary_writer(schema: Json, head: bytes = b"") -> Write:
    """What writes a row as bytes, behind ``head``."""
    import fastavro

    def write(row: dict[str, Any]) -> bytes:
        made = BytesIO()
        made.write(head)
        fastavro.schemaless_writer(made, schema, row)
        return made.getvalue()

    return write


def parsed(text: str, columns: Sequence[TableColumn]) -> Json:
    """A schema for reading and writing ``columns``, of its JSON.

    :raises ValueError: where it is no record, or has something that is not read here.
    """
    import fastavro

    if "timestamp-nanos" in text:
        raise ValueError("it has times of nanoseconds, which are not read")
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("type") != "record":
        raise ValueError("it is no record")
    try:
        row = DataType(Kind.ROW, children=tuple(Field(c.name, c.type) for c in columns))
        return fastavro.parse_schema(plain(found, row))
    except Exception as error:
        raise ValueError(str(error)) from None
