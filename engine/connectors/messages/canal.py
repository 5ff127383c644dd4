"""``canal-json``: changes of MySQL as Canal writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.json_lines import Part, json_pointer
from bergsql.engine.connectors.messages.changes import ChangeMessages, Envelope, change_options, image, millis, text
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.types import INT, LTZ3, STRING, DataType, Field, Kind
from bergsql.engine.streaming.changelog import RowKind

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import TableColumn

_OTHERS = (
    "CREATE",
    "ALTER",
    "ERASE",
    "RENAME",
    "CINDEX",
    "DINDEX",
    "QUERY",
    "GTID",
    "XACOMMIT",
    "XAROLLBACK",
    "MHEARTBEAT",
)
"""Types of messages that tell no change of rows."""


class CanalMessages(ChangeMessages):
    """Changes of MySQL as Canal writes them: a message holds the rows of one event. What it tells of tables themselves
    (CREATE, ALTER …) is passed over; TRUNCATE fails: what was in the table is not known."""

    name: ClassVar[str] = "canal-json"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        *change_options("canal-json"),
        OptionSpec("canal-json.database.include", doc="A regular expression: only databases that match are read."),
        OptionSpec("canal-json.table.include", doc="A regular expression: only tables that match are read."),
    )
    metadata: ClassVar[Mapping[str, DataType]] = {
        "database": STRING,
        "table": STRING,
        "sql-type": DataType(Kind.MAP, children=(Field("key", STRING), Field("value", INT))),
        "pk-names": DataType(Kind.ARRAY, children=(Field("element", STRING),)),
        "ingestion-timestamp": LTZ3,
        "event-timestamp": LTZ3,
    }

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        for name in ("database.include", "table.include"):
            if self.option(name):
                self._check_pattern(name, self.option(name) or "")

    @staticmethod
    def _check_pattern(name: str, pattern: str) -> None:
        """Refuse what the expressions that DuckDB knows do not have; Arrow's are of the same library.

        :raises BergError: OPTION.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            pc.match_substring_regex(pa.array([""]), pattern)
        except pa.ArrowInvalid as error:
            told = str(error).removeprefix("Invalid regular expression: ")
            message = f"'{pattern}' is not a value of 'canal-json.{name}': {told}."
            raise BergError(ErrorCode.OPTION, message) from None

    def _skipped(self, database: str, table: str, type_: str) -> str:
        left_out = [
            f"{value} IS NOT NULL AND NOT coalesce(regexp_full_match({text(value)}, {string_literal(wanted)}), false)"
            for name, value in (("database.include", database), ("table.include", table))
            if (wanted := self.option(name))
        ]
        others = ", ".join(f"'{t}'" for t in _OTHERS)
        return " OR ".join((*left_out, f"{type_} IN ({others})"))

    def envelope(self) -> Envelope:
        parts = ("/type", "/database", "/table", "/sqlType", "/mysqlType", "/pkNames", "/ts", "/es")
        type_ = f"coalesce(upper({text('e[1]')}), '')"
        bad = "len(list_filter(json_type(doc, '$.%s[*]'), lambda t: t <> 'OBJECT')) > 0"
        count = "json_array_length(doc, '/data')::BIGINT"
        before, after = image(RowKind.UPDATE_BEFORE, "/old", "i"), image(RowKind.UPDATE_AFTER, "/data", "i")
        rows = {
            "UPDATE": f"flatten(list_transform(range({count}), lambda i: [{before}, {after}]))",
            "DELETE": f"list_transform(range({count}), lambda i: {image(RowKind.DELETE, '/data', 'i')})",
        }
        inserts = f"list_transform(range({count}), lambda i: {image(RowKind.INSERT, '/data', 'i')})"
        new = "w.data[image.i + 1]"
        database, table = "e[2]", "e[3]"
        unnamed = [
            (f"{value} IS NULL", f"'A message has no {name}, which canal-json.{name}.include asks for'")
            for name, value in (("database", database), ("table", table))
            if self.option(f"{name}.include")
        ]
        return Envelope(
            parts=parts,
            skipped=self._skipped(database, table, type_),
            problem=(
                (f"{type_} = 'TRUNCATE'", "'A message says that its table was emptied, which cannot be followed'"),
                (
                    f"{type_} NOT IN ('INSERT', 'UPDATE', 'DELETE')",
                    "'A message is none of Canal, whose type is INSERT, UPDATE or DELETE'",
                ),
                *unnamed,
                (
                    f"coalesce(json_type(doc, '/data'), '') <> 'ARRAY' OR {bad % 'data'}",
                    "'A message has no array of objects in its data'",
                ),
                (
                    f"{type_} = 'UPDATE' AND (coalesce(json_type(doc, '/old'), '') <> 'ARRAY'"
                    f" OR json_array_length(doc, '/old') <> {count} OR {bad % 'old'})",
                    "'A message of an update does not have the old values of all of its rows: "
                    "MySQL needs binlog_format=ROW and binlog_row_image=FULL'",
                ),
            ),
            images=(
                f"CASE {type_} WHEN 'UPDATE' THEN {rows['UPDATE']} WHEN 'DELETE' THEN {rows['DELETE']}"
                f" ELSE {inserts} END"
            ),
            part=Part('{"data": [%s], "old": [%s]}', overlaid(self.columns, new, "w.old[image.i + 1]"), "image.at"),
            metadata={
                "database": text(database),
                "table": text(table),
                "sql-type": "e[4]",
                "pk-names": "e[6]",
                "ingestion-timestamp": millis("e[7]"),
                "event-timestamp": millis("e[8]"),
            },
        )

    def message(self, row: str, inserted: str) -> str:
        return (
            f'\'{{"data":[\' || {row} || \'],"type":"\''
            f" || CASE WHEN {inserted} THEN 'INSERT' ELSE 'DELETE' END || '\"}}'"
        )


def overlaid(columns: Sequence[TableColumn], new: str, old: str) -> str:
    """SQL of a row: where ``image`` is of ``/old``, what that has of it, and else what ``new`` has."""
    items = []
    for column in columns:
        name, path = identifier(column.name), string_literal(json_pointer(column.name))
        items.append(
            f"{name} := CASE WHEN json_exists(line, image.at || {path}) THEN ({old}).{name} ELSE ({new}).{name} END"
        )
    return f"CASE WHEN starts_with(image.at, '/old') THEN struct_pack({', '.join(items)}) ELSE {new} END"
