"""``debezium-json``: changes as Debezium writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.json_lines import Part
from bergsql.engine.connectors.messages.base import MessageContext
from bergsql.engine.connectors.messages.changes import ChangeMessages, Envelope, change_options, image, millis, text
from bergsql.engine.sql.types import LTZ3, STRING, DataType, Field, Kind
from bergsql.engine.streaming.changelog import RowKind

_IMAGE: Final = (
    "the database does not write whole rows: REPLICA IDENTITY FULL of the table (PostgreSQL) or "
    "binlog_row_image=FULL (MySQL) makes it"
)


class DebeziumMessages(ChangeMessages):
    """Changes as Debezium writes them. Messages of format `debezium-json` with op `t` (a table was emptied) fail: what
    was in it is not known."""

    name: ClassVar[str] = "debezium-json"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec(
            "debezium-json.schema-include",
            "bool",
            "false",
            "Whether messages hold their schema (`value.converter.schemas.enable` of Kafka Connect). Such are only "
            "read.",
        ),
        *change_options("debezium-json"),
    )
    metadata: ClassVar[Mapping[str, DataType]] = {
        "schema": STRING,
        "ingestion-timestamp": LTZ3,
        "source.timestamp": LTZ3,
        "source.database": STRING,
        "source.schema": STRING,
        "source.table": STRING,
        "source.properties": DataType(Kind.MAP, children=(Field("key", STRING), Field("value", STRING))),
    }

    def envelope(self) -> Envelope:
        within = self.flag("schema-include")
        root = "/payload" if within else ""
        parts = tuple(f"{root}/{name}" for name in ("op", "ts_ms", "source", "before", "after"))
        if within:
            parts = (*parts, "/schema")
        op, before, after = f"coalesce({text('e[1]')}, '')", "e[4]", "e[5]"
        old, new = (f"{root}/{name}" for name in ("before", "after"))
        structure = '{"before": %s, "after": %s}'
        whole = f'{{"payload": {structure}}}' if within else structure
        inner = "w.payload" if within else "w"
        row = f"""CASE image.at WHEN '{old}' THEN {inner}."before" ELSE {inner}."after" END"""
        source = "e[3]"
        was, is_now = image(RowKind.UPDATE_BEFORE, old), image(RowKind.UPDATE_AFTER, new)
        gone, added = image(RowKind.DELETE, old), image(RowKind.INSERT, new)
        return Envelope(
            parts=parts,
            skipped="json_type(doc, '/payload') = 'NULL'" if within else "false",
            problem=(
                (f"{op} = 't'", "'A message says that its table was emptied (op t), which cannot be followed'"),
                (
                    f"{op} NOT IN ('c', 'r', 'u', 'd')",
                    f"concat('A message is none of Debezium, whose op is c, r, u, d', {self._hint(within)})",
                ),
                (
                    f"{op} IN ('u', 'd') AND coalesce(json_type({before}), 'NULL') = 'NULL'",
                    f"'A message of an update or a delete (op u, d) has no before: {_IMAGE}'",
                ),
                (
                    f"({op} IN ('u', 'd') AND json_type({before}) <> 'OBJECT')"
                    f" OR ({op} <> 'd' AND coalesce(json_type({after}), '') <> 'OBJECT')",
                    "'A message has no object before or after'",
                ),
            ),
            images=f"CASE {op} WHEN 'u' THEN [{was}, {is_now}] WHEN 'd' THEN [{gone}] ELSE [{added}] END",
            part=Part(whole, row, "image.at"),
            metadata={
                "schema": "CAST(e[6] AS VARCHAR)" if within else "NULL",
                "ingestion-timestamp": millis("e[2]"),
                "source.timestamp": millis(f"json_extract({source}, '/ts_ms')"),
                **{
                    f"source.{key}": text(f"json_extract({source}, '/{member}')")
                    for key, member in (("database", "db"), ("schema", "schema"), ("table", "table"))
                },
                "source.properties": source,
            },
        )

    @staticmethod
    def _hint(within: bool) -> str:
        """SQL of what may be wrong where a message has no op."""
        if within:
            return (
                "CASE WHEN json_exists(doc, '/op') THEN ' (it has no schema: debezium-json.schema-include)' ELSE '' END"
            )
        told = "' (it has its schema in it: debezium-json.schema-include)'"
        return f"CASE WHEN json_exists(doc, '/payload/op') THEN {told} ELSE '' END"

    def encode(self, context: MessageContext, rows: str) -> str:
        if self.flag("schema-include"):
            raise BergError(
                ErrorCode.OPTION,
                "Messages with their schema cannot be written: 'debezium-json.schema-include' is for reading.",
            )
        return super().encode(context, rows)

    def message(self, row: str, inserted: str) -> str:
        return (
            f'CASE WHEN {inserted} THEN \'{{"before":null,"after":\' || {row} || \',"op":"c"}}\''
            f' ELSE \'{{"before":\' || {row} || \',"after":null,"op":"d"}}\' END'
        )
