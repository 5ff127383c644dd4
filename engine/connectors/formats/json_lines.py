"""JSON: an object in each line, with Flink's options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.base import Format, Scan, copy_rows, path_list
from bergsql.engine.connectors.formats.lines import TRIMMED, LineStream
from bergsql.engine.connectors.formats.wire import Wire
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BINARIES, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from bergsql.engine.connectors.base import TableColumn

_SHAPES = {Kind.ROW: "OBJECT", Kind.MAP: "OBJECT", Kind.ARRAY: "ARRAY", Kind.MULTISET: "ARRAY"}
"""What nested values are in JSON."""
_LONGEST = 256 << 20
"""Bytes that an object may have."""


class Part(NamedTuple):
    """Where in an object a row is, if it is not the object itself.

    structure
        The object's structure for DuckDB's ``from_json``, with ``%s`` for each place of rows in it.
    row
        SQL of the row in ``w``, the object read by that structure; it may use the kept columns.
    pointer
        SQL of the JSON pointer to the row.
    """

    structure: str
    row: str
    pointer: str


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
        for column in columns:
            _check_names(column, column.type)
        self._wire = Wire((self.option("timestamp-format.standard") or "").casefold() == "iso-8601", json=True)

    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        if not self._lenient and not self._complete:
            return self._whole(files)
        name = f"{prefix}lines"
        lines = f"(SELECT {TRIMMED} AS line, file FROM {identifier(name)})"
        lines = f"(SELECT * FROM {lines} WHERE line IS NULL OR trim(line) <> '')"
        rows = self.rows_of_lines(lines, ("file",), what="A line of JSON")
        return Scan(rows, {name: LineStream(tuple(files))}, counts=self._lenient)

    @property
    def lenient(self) -> bool:
        """Whether what cannot be read is left out."""
        return self._lenient

    def rows_of_lines(self, lines: str, kept: Sequence[str], part: Part | None = None, what: str = "A message") -> str:
        """Rows of texts, each an object: SQL of a query with c0 and on, ``broken`` and ``kept``.

        ``lines`` has the column ``line``, NULL for what is no UTF-8, and those that are ``kept``. With ``part`` all
        others are known to be objects, and NULL are those that cannot be read. ``what`` is what a text is called in
        errors.
        """
        structure = self._wire.structure([(c.name, c.type) for c in self.columns])
        more = "".join(f", {name}" for name in kept)
        pointer = "" if part is None else part.pointer
        if part is not None:
            whole = string_literal(part.structure.replace("%s", structure))
            read = f"(SELECT *, from_json(line, {whole}) AS w FROM {lines})"
            rows = f"(SELECT {part.row} AS r, line AS doc, line IS NULL AS broken{more} FROM {read})"
        else:
            structure = string_literal(structure)
            sound = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"
            wrong = "NULL" if self._lenient else _refused(f"{what} is no JSON object", "line")
            read = f"from_json(CASE WHEN {sound} THEN line ELSE {wrong} END, {structure})"
            broken, doc = (
                ("false", "line") if not self._lenient else (f"NOT {sound}", f"CASE WHEN {sound} THEN line END")
            )
            if self._complete:
                more += f", {_MISSES}"
                strict = f"from_json_strict(CASE WHEN {sound} THEN line END, {structure})"
                lines = f"(SELECT *, try({strict}) IS NULL AS {_MISSES} FROM {lines})"
            rows = f"(SELECT {read} AS r, {doc} AS doc, {broken} AS broken{more} FROM {lines})"
        members = [self._member(c, pointer, what) for c in self.columns]
        if self._lenient:
            items = [self._item(member, i) for i, member in enumerate(members)]
        else:
            items = [
                f"{self._checked(m, c, what)} AS c{i}"
                for i, (m, c) in enumerate(zip(members, self.columns, strict=True))
            ]
        return f"(SELECT {', '.join((*items, 'broken', *kept))} FROM {rows})"

    def _member(self, column: TableColumn, pointer: str, what: str) -> str:
        """SQL of a member as it was read. DuckDB makes a row without values of what is no object: that is NULL."""
        value = f"r.{identifier(column.name)}"
        wanted = _SHAPES.get(column.type.kind)
        path = string_literal(json_pointer(column.name))
        if pointer:
            path = f"{pointer} || {path}"
        if not self._lenient:
            refused = _unfit(column, what)
            found = f"json_type(doc, {path})"
            other = f"coalesce({found}, 'NULL')"
            unfit = _misfit(column.type, f"json_extract(doc, {path})", value) or "false"
            missing = ""
            if self._complete:
                lacks = _refused(f"{what} lacks the member '{column.name}'", "doc")
                missing = f" WHEN {_MISSES} AND {found} IS NULL THEN {lacks}"
                if column.type.children:
                    lacks = _refused(f"{what} lacks a member in '{column.name}'", "doc")
                    missing += f" WHEN {_MISSES} AND {found} = '{wanted}' THEN {lacks}"
            return f"CASE WHEN {other} <> 'NULL' AND ({unfit}) THEN {refused}{missing} ELSE {value} END"
        if wanted is None:
            return value
        # What is not there is NULL already, or of another part that the row was made of.
        return f"CASE WHEN coalesce(json_type(doc, {path}), '{wanted}') = '{wanted}' THEN {value} END"

    def _checked(self, member: str, column: TableColumn, what: str) -> str:
        """SQL of a column's value of a member, with a message of one's own where it cannot be turned into one."""
        value = f"r.{identifier(column.name)}"
        read = self._wire.read(value, column.type)
        if read == value:
            return member
        return f"CASE WHEN ({member}) IS NOT NULL THEN coalesce(try({read}), {_unfit(column, what)}) END"

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

    def line(self, values: Sequence[str]) -> str:
        """SQL of a row as one text: an object."""
        items = zip(values, self.columns, strict=True)
        packed = ", ".join(f"{identifier(c.name)} := {self._wire.write(v, c.type)}" for v, c in items)
        whole = f"to_json(struct_pack({packed}))"
        if self.flag("encode.ignore-null-fields"):
            whole = f"json_merge_patch('{{}}', {whole})"  # a patch has no members that are NULL
        return f"CAST({whole} AS VARCHAR)"

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        items = [f"{self._wire.write(f'c{i}', c.type)} AS {identifier(c.name)}" for i, c in enumerate(self.columns)]
        if not self.flag("encode.ignore-null-fields"):
            select = f"SELECT {', '.join((*items, *by))} FROM {rows}"
            return copy_rows(cursor, select, ["FORMAT json"], directory, size, by)
        line = self.line([f"c{i}" for i in range(len(self.columns))])
        select = f"SELECT {', '.join((f'{line} AS line', *by))} FROM {rows}"
        options = ["FORMAT csv", "HEADER false", "QUOTE ''", "ESCAPE ''", "DELIM '\x01'"]
        return copy_rows(cursor, select, options, directory, size, by)


def _misfit(type_: DataType, json: str, value: str, depth: int = 0) -> str | None:
    """SQL of whether JSON is not of the type as which it was read; None where anything is.

    DuckDB makes NULL of what does not fit, wherever it is.
    """
    wanted = _SHAPES.get(type_.kind)
    given = f"coalesce(json_type({json}), 'NULL')"
    if wanted is None:
        fits = type_.kind in TEXTS or type_.kind in BINARIES
        return None if fits else f"({given} <> 'NULL' AND {value} IS NULL)"
    inner: list[str | None]
    if type_.kind is Kind.ROW:
        names = distinct_names(f.name for f in type_.children)
        inner = [
            _misfit(
                f.type, f"json_extract({json}, {string_literal(json_pointer(n))})", f"({value}).{identifier(n)}", depth
            )
            for n, f in zip(names, type_.children, strict=True)
        ]
    else:
        each = f"e{depth}"
        parts, values = ("$.*", f"map_values({value})") if type_.kind is Kind.MAP else ("$[*]", value)
        one = _misfit(type_.children[-1].type, f"{each}[1]", f"{each}[2]", depth + 1)
        zipped = f"list_zip(json_extract({json}, '{parts}'), {values})"
        inner = [f"len(list_filter({zipped}, lambda {each}: {one})) > 0" if one is not None else None]
    found = " OR ".join([f"{given} <> '{wanted}'", *(i for i in inner if i is not None)])
    return f"({given} <> 'NULL' AND ({found}))"


_MISSES: Final = "misses"
"""The column that says that an object may lack a member, or one in it."""


def _check_names(column: TableColumn, type_: DataType) -> None:
    """Refuse fields that DuckDB cannot tell apart: it would read and write one of them by another name.

    :raises BergError: TYPE.
    """
    names = [f.name for f in type_.children]
    if type_.kind is Kind.ROW and list(distinct_names(names)) != names:
        raise BergError(ErrorCode.TYPE, f"Column '{column.name}' has fields that differ only in case, in JSON.")
    for field in type_.children:
        _check_names(column, field.type)


def _refused(what: str, text: str) -> str:
    """SQL that fails with what is wrong with a text."""
    told = string_literal(f"{what}: ")
    return failure("%s", f"concat({told}, coalesce(left({text}, 200), 'which is no UTF-8'))")


def _unfit(column: TableColumn, what: str) -> str:
    """SQL that fails for a value that is not of its column's type."""
    return _refused(f"{what} has a value that is not of its column's type, {column.name}", "doc")


def json_pointer(name: str) -> str:
    """The JSON pointer (RFC 6901) to a member."""
    return f"/{name.replace('~', '~0').replace('/', '~1')}"
