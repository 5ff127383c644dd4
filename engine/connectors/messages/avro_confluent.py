"""``avro-confluent``: a value of Avro behind the id of its schema, which a registry has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.messages.avro import AvroRows, Read, Write, binary_writer, parsed, read_binary
from bergsql.engine.connectors.messages.avro_rows import schema_of
from bergsql.engine.connectors.messages.registry import Registry

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import TableColumn

Json = Any
_MAGIC: Final = 0
"""The first byte of a message."""
_HEAD: Final = 5
"""Bytes before the value: that one, and the id of the schema, its high byte first."""


class ConfluentAvroMessages(AvroRows):
    """A message is one value of Avro behind the id of its schema, which a schema registry has. Columns are found by
    their names; a nullable one that a message's schema does not have is NULL."""

    name: ClassVar[str] = "avro-confluent"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("avro-confluent.url", doc="The registry: `http://HOST:PORT`; several with commas.", required=True),
        OptionSpec(
            "avro-confluent.subject",
            doc="The subject under which schemas are registered that are written. Kafka's: TOPIC-value or TOPIC-key.",
        ),
        OptionSpec(
            "avro-confluent.schema", doc="The schema that is written, as its JSON; without it, that of the columns."
        ),
        OptionSpec(
            "avro-confluent.basic-auth.credentials-source",
            "enum",
            doc="Where the user is: in the URL, or in the next option.",
            values=("URL", "USER_INFO"),
        ),
        OptionSpec("avro-confluent.basic-auth.user-info", doc="`user:password`."),
        OptionSpec(
            "avro-confluent.bearer-auth.credentials-source",
            "enum",
            doc="Whether the next option has a token.",
            values=("STATIC_TOKEN",),
        ),
        OptionSpec("avro-confluent.bearer-auth.token", doc="The token."),
        OptionSpec("avro-confluent.ssl.truststore.location", doc="A file of PEM: whose certificates are trusted."),
        OptionSpec("avro-confluent.ssl.truststore.password", doc="Taken, and without effect: PEM needs none."),
        OptionSpec("avro-confluent.ssl.keystore.location", doc="A file of PEM: one's own certificate and key."),
        OptionSpec("avro-confluent.ssl.keystore.password", doc="That of the key in it."),
    )

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        before = f"{self.name}."
        self._registry = Registry(
            {k.removeprefix(before): v for k, v in options.items() if k.startswith(before)}, self.name
        )
        self._known: dict[int, Json] = {}
        self._written: tuple[Write, bool] | None = None
        self._own: Json = None
        text = self.option("schema")
        if text is not None:
            try:
                self._own = parsed(text, columns)
                self._check_own(self._own["fields"])
            except ValueError as error:
                message = f"'{self.name}.schema' is no schema that can be used: {error}."
                raise BergError(ErrorCode.OPTION, message) from None

    def _check_own(self, fields: Sequence[Json]) -> None:
        """Fields are columns, or need no value.

        :raises ValueError:
        """
        names = {f["name"] for f in fields}
        if lost := next((c.name for c in self.columns if c.name not in names), None):
            raise ValueError(f"it has no field for the column '{lost}'")
        for field in fields:
            may_lack = "default" in field or (isinstance(field["type"], list) and "null" in field["type"])
            if not may_lack and field["name"] not in {c.name for c in self.columns}:
                raise ValueError(f"its field '{field['name']}' is no column, and has no default")

    def reader(self) -> Read:
        def read(data: bytes) -> dict[str, Any]:
            if len(data) < _HEAD or data[0] != _MAGIC:
                raise ValueError("it does not begin with a byte 0 and the id of a schema")
            return read_binary(data[_HEAD:], self._schema(int.from_bytes(data[1:_HEAD], "big")))

        return read

    def _schema(self, number: int) -> Json:
        """The schema of an id: it is asked for once, for what it is never changes."""
        if number not in self._known:
            text = self._registry.schema(number)
            try:
                self._known[number] = parsed(text, self.columns)
            except ValueError as error:
                message = f"Schema {number} of the schema registry cannot be read: {error}."
                raise BergError(ErrorCode.EXECUTION, message) from None
        return self._known[number]

    def writer(self) -> tuple[Write, bool]:
        if self._written is None:
            subject = self.option("subject")
            if not subject:
                raise BergError(ErrorCode.OPTION, f"Writing needs the option '{self.name}.subject'.")
            text = self.option("schema")
            if text is None:
                hint = f"'{self.name}.schema' may say how it is written."
                text = json.dumps(schema_of(self.columns, hint, legacy=True))
            number = self._registry.register(subject, text)
            head = bytes([_MAGIC]) + number.to_bytes(4, "big")
            self._written = binary_writer(self._own or parsed(text, self.columns), head), "local-timestamp" not in text
        return self._written
