"""JSON: an object in each line, with Flink's options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.base import Format, Scan, copy_rows, path_list
from bergsql.engine.connectors.formats.lines import TRIMMED, LineStream
from bergsql.engine.connectors.formats.wire import Wire
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from bergsql.engine.connectors.base import TableColumn

_SHAPES = {Kind.ROW: "OBJECT", Kind.MAP: "OBJECT", Kind.ARRAY: "ARRAY", Kind.MULTISET: "ARRAY"}
"""What nested values are in JSON."""
_LONGEST = 256 << 20
"""Bytes that an object may have."""


class JsonLines(Format):
    """A JSON object a line. Members are found by the columns' names; a missing one is NULL."""

    name: ClassVar[str] = "json"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("json.fail-on-missing-field", "bool", "false", "Whether each object must have all columns."),
        OptionSpec(
            "json.ignore-parse-errors",
            "bool",
            "false",
            "Whether a value that cannot be read is NULL and a line that cannot be read is left out and counted.",
        ),
        OptionSpec(
            "json.timestamp-format.standard",
            "enum",
            "SQL",
            "How times are written: 2024-01-31 12:00:00, or with a T between. Both are read.",
            values=("SQL", "ISO-8601"),
        ),
        OptionSpec(
            "json.map-null-key.mode",
            "enum",
            "FAIL",
            "Taken: no map here has a key NULL.",
            values=("FAIL", "DROP", "LITERAL"),
        ),
        OptionSpec("json.map-null-key.literal", default="null", doc="Taken: no map here has a key NULL."),
        OptionSpec("json.encode.decimal-as-plain-number", "bool", "true", "Taken: decimals are written so always."),
        OptionSpec("json.encode.ignore-null-fields", "bool", "false", "Whether members that are NULL are not written."),
    )

    def __init__(self, columns: Sequence[TableColumn], options: Mapping[str, str]) -> None:
        super().__init__(columns, options)
        self._lenient, self._complete = self.flag("ignore-parse-errors"), self.flag("fail-on-missing-field")
        if self._lenient and self._complete:
            raise BergError(
                ErrorCode.OPTION,
                "'json.fail-on-missing-field' and 'json.ignore-parse-errors' cannot both be true.",
            )
        self._wire = Wire((self.option("timestamp-format.standard") or "").casefold() == "iso-8601", json=True)

    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        if not self._lenient and not self._complete:
            return self._whole(files)
        name = f"{prefix}lines"
        structure = string_literal(self._wire.structure([(c.name, c.type) for c in self.columns]))
        lines = f"(SELECT {TRIMMED} AS line, file FROM {identifier(name)})"
        where = "line IS NULL OR trim(line) <> ''"
        if self._complete:
            read, broken = f"from_json_strict(line, {structure})", "false"
        else:
            sound = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"
            read, broken = f"from_json(CASE WHEN {sound} THEN line END, {structure})", f"NOT {sound}"
        doc = f"CASE WHEN NOT {broken} THEN line END" if self._lenient else "line"
        rows = f"(SELECT {read} AS r, {doc} AS doc, file, {broken} AS broken FROM {lines} WHERE {where})"
        items = [self._item(self._member(c), i) for i, c in enumerate(self.columns)]
        sql = f"(SELECT {', '.join(items)}, file, broken FROM {rows})"
        return Scan(sql, {name: LineStream(tuple(files))}, counts=self._lenient)

    def _member(self, column: TableColumn) -> str:
        """SQL of a member as it was read. DuckDB makes a row without values of what is no object: that is NULL."""
        value = f"r.{identifier(column.name)}"
        wanted = _SHAPES.get(column.type.kind)
        if not self._lenient or wanted is None:
            return value
        path = string_literal(f"/{column.name.replace('~', '~0').replace('/', '~1')}")
        return f"CASE WHEN json_type(doc, {path}) = '{wanted}' THEN {value} END"

    def _whole(self, files: Sequence[str]) -> Scan:
        types = ", ".join(
            f"{string_literal(c.name)}: {string_literal(duckdb_name(Wire.read_type(c.type)))}" for c in self.columns
        )
        source = (
            f"read_json({path_list(files)}, format='newline_delimited', filename=true, hive_partitioning=false, "
            f"maximum_object_size={_LONGEST}, columns={{{types}}})"
        )
        items = [self._item(identifier(c.name), i) for i, c in enumerate(self.columns)]
        return Scan(f"(SELECT {', '.join(items)}, filename AS file, false AS broken FROM {source})")

    def _item(self, value: str, number: int) -> str:
        read = self._wire.read(value, self.columns[number].type)
        if self._lenient and read != value:
            read = f"try({read})"
        return f"{read} AS c{number}"

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        items = [f"{self._wire.write(f'c{i}', c.type)} AS {identifier(c.name)}" for i, c in enumerate(self.columns)]
        if not self.flag("encode.ignore-null-fields"):
            select = f"SELECT {', '.join((*items, *by))} FROM {rows}"
            return copy_rows(cursor, select, ["FORMAT json"], directory, size, by)
        # A patch has no members that are NULL.
        line = f"json_merge_patch('{{}}', to_json(struct_pack({', '.join(_packed(i) for i in items)})))"
        select = f"SELECT {', '.join((f'{line} AS line', *by))} FROM {rows}"
        options = ["FORMAT csv", "HEADER false", "QUOTE ''", "ESCAPE ''", "DELIM '\x01'"]
        return copy_rows(cursor, select, options, directory, size, by)


def _packed(item: str) -> str:
    value, _, name = item.rpartition(" AS ")
    return f"{name} := {value}"
