"""``maxwell-json``: changes of MySQL as Maxwell writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.json_lines import Part
from bergsql.engine.connectors.messages.canal import overlaid
from bergsql.engine.connectors.messages.changes import ChangeMessages, Envelope, change_options, image, text
from bergsql.engine.sql.types import LTZ3, STRING, DataType, Field, Kind
from bergsql.engine.streaming.changelog import RowKind

_OTHERS = ("bootstrap-start", "bootstrap-complete", "database-create", "database-alter", "database-drop")
_TABLES = ("table-create", "table-alter", "table-drop")
_SECONDS = 100_000_000_000
"""From here on a time is of milliseconds: as seconds it would be in the year 5138."""


class MaxwellMessages(ChangeMessages):
    """Changes of MySQL as Maxwell writes them. What it tells of databases and tables themselves is passed over."""

    name: ClassVar[str] = "maxwell-json"
    options: ClassVar[tuple[OptionSpec, ...]] = change_options("maxwell-json")
    metadata: ClassVar[Mapping[str, DataType]] = {
        "database": STRING,
        "table": STRING,
        "primary-key-columns": DataType(Kind.ARRAY, children=(Field("element", STRING),)),
        "ingestion-timestamp": LTZ3,
    }

    def envelope(self) -> Envelope:
        type_ = f"coalesce(lower({text('e[1]')}), '')"
        others = ", ".join(f"'{t}'" for t in (*_OTHERS, *_TABLES))
        update = f"[{image(RowKind.UPDATE_BEFORE, '/old')}, {image(RowKind.UPDATE_AFTER, '/data')}]"
        seconds = "TRY_CAST(e[5] AS BIGINT)"
        return Envelope(
            parts=("/type", "/database", "/table", "/primary_key_columns", "/ts"),
            skipped=f"{type_} IN ({others})",
            problem=(
                (
                    f"{type_} NOT IN ('insert', 'bootstrap-insert', 'update', 'delete')",
                    "'A message is none of Maxwell, whose type is insert, update or delete'",
                ),
                ("coalesce(json_type(doc, '/data'), '') <> 'OBJECT'", "'A message has no object in its data'"),
                (
                    f"{type_} = 'update' AND coalesce(json_type(doc, '/old'), '') <> 'OBJECT'",
                    "'A message of an update has no old values: "
                    "MySQL needs binlog_format=ROW and binlog_row_image=FULL'",
                ),
            ),
            images=(
                f"CASE {type_} WHEN 'update' THEN {update} WHEN 'delete' THEN [{image(RowKind.DELETE, '/data')}]"
                f" ELSE [{image(RowKind.INSERT, '/data')}] END"
            ),
            part=Part('{"data": %s, "old": %s}', overlaid(self.columns, "w.data", "w.old"), "image.at"),
            metadata={
                "database": text("e[2]"),
                "table": text("e[3]"),
                "primary-key-columns": "e[4]",
                # Maxwell counts seconds; Flink takes them for milliseconds.
                "ingestion-timestamp": (
                    f"make_timestamptz({seconds} * CASE WHEN abs({seconds}) < {_SECONDS} THEN 1000000 ELSE 1000 END)"
                ),
            },
        )

    def message(self, row: str, inserted: str) -> str:
        return (
            f'\'{{"data":\' || {row} || \',"type":"\''
            f" || CASE WHEN {inserted} THEN 'insert' ELSE 'delete' END || '\"}}'"
        )
