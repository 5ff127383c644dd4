"""CSV, with Flink's options. Files are read whole by DuckDB's reader; line by line where broken lines are left out or
comments are allowed: then no value holds a line's end, and a broken line spoils no other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.base import Format, Scan, copy_rows, path_list
from bergsql.engine.connectors.formats.lines import TRIMMED, LineStream
from bergsql.engine.connectors.formats.wire import Wire
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name, flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    import duckdb

    from bergsql.engine.connectors.base import TableColumn

_DIRECT = (*INTEGERS, *FLOATS, *STAMPS, *TEXTS, Kind.BOOLEAN, Kind.DECIMAL, Kind.DATE, Kind.TIME)
"""Kinds that DuckDB's reader reads itself."""
_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}
_WIRE = Wire()


class Csv(Format):
    """Comma-separated values: a line without a header for each row."""

    name: ClassVar[str] = "csv"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec("csv.field-delimiter", default=",", doc="What stands between values: one character."),
        OptionSpec("csv.quote-character", default='"', doc="What values with a delimiter stand in: one character."),
        OptionSpec("csv.disable-quote-character", "bool", "false", "Whether no character quotes."),
        OptionSpec("csv.escape-character", doc="What takes the meaning from the character behind it."),
        OptionSpec("csv.null-literal", doc="The text that is NULL; without it a value of nothing, not quoted, is."),
        OptionSpec("csv.array-element-delimiter", default=";", doc="What stands between parts of a value."),
        OptionSpec(
            "csv.write-bigdecimal-in-scientific-notation",
            "bool",
            "true",
            "Taken, and without effect: decimals are written digit by digit.",
        ),
        OptionSpec("csv.allow-comments", "bool", "false", "Whether a line that begins with # is left out."),
        OptionSpec(
            "csv.ignore-parse-errors",
            "bool",
            "false",
            "Whether a value that cannot be read is NULL, and a line that cannot be read, or has not as many values as "
            "there are columns, is left out and counted.",
        ),
    )

    def __init__(self, columns: Sequence[TableColumn], options: Mapping[str, str]) -> None:
        super().__init__(columns, options)
        self._delimiter = self._character("field-delimiter")
        quotes = not self.flag("disable-quote-character")
        if not quotes and "csv.quote-character" in options:
            message = "'csv.quote-character' and 'csv.disable-quote-character' contradict each other."
            raise BergError(ErrorCode.OPTION, message)
        self._quote = self._character("quote-character") if quotes else ""
        self._escape = self._character("escape-character") if self.option("escape-character") else ""
        self._null = self.option("null-literal")
        if self._delimiter in (self._null or ""):
            message = f"'{self._null}' is not a value of 'csv.null-literal': it holds the delimiter."
            raise BergError(ErrorCode.OPTION, message)
        self._elements = self.option("array-element-delimiter") or ";"
        self._lenient = self.flag("ignore-parse-errors")
        self._comments = self.flag("allow-comments")
        for column in columns:
            _check_type(column, column.type)

    def _character(self, name: str) -> str:
        text = self.option(name) or ""
        found = _ESCAPES.get(text, text)
        if len(found) != 1:
            raise BergError(ErrorCode.OPTION, f"'{text}' is not a value of 'csv.{name}': it takes one character.")
        return found

    # --- reading -----------------------------------------------------------------------------------------------------

    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        return self._by_line(files, prefix) if self._lenient or self._comments else self._whole(files)

    def _whole(self, files: Sequence[str]) -> Scan:
        # With a text for NULL of its own, other values of nothing are NULL only where they cannot be texts.
        direct = [c.type.kind in _DIRECT and (self._null is None or c.type.kind in TEXTS) for c in self.columns]
        types = ", ".join(
            f"{string_literal(c.name)}: {string_literal(duckdb_name(c.type) if d else 'VARCHAR')}"
            for c, d in zip(self.columns, direct, strict=True)
        )
        items = [
            f"{identifier(c.name) if d else self._value(identifier(c.name), c.type)} AS c{i}"
            for i, (c, d) in enumerate(zip(self.columns, direct, strict=True))
        ]
        quote = string_literal(self._quote)
        options = (
            "auto_detect=false, header=false, filename=true, hive_partitioning=false, null_padding=false, "
            f"delim={string_literal(self._delimiter)}, quote={quote}, escape={self._escape_text or quote}, "
            f"nullstr={string_literal(self._null or '')}, allow_quoted_nulls=false"
        )
        source = f"read_csv({path_list(files)}, {options}, columns={{{types}}})"
        return Scan(f"(SELECT {', '.join(items)}, filename AS file, false AS broken FROM {source})")

    @property
    def _escape_text(self) -> str:
        return string_literal(self._escape) if self._escape and self._quote else ""

    def _by_line(self, files: Sequence[str], prefix: str) -> Scan:
        name = f"{prefix}lines"
        where = "line <> ''" + (" AND NOT starts_with(ltrim(line), '#')" if self._comments else "")
        lines = f"(SELECT {TRIMMED} AS line, file FROM {identifier(name)})"
        lines = f"(SELECT * FROM {lines} WHERE line IS NULL OR ({where}))"
        rows = self.rows_of_lines(lines, "'A line of ' || file", ("file",))
        return Scan(rows, {name: LineStream(tuple(files))}, counts=self._lenient)

    @property
    def lenient(self) -> bool:
        """Whether what cannot be read is left out."""
        return self._lenient

    def rows_of_lines(self, lines: str, what: str, kept: Sequence[str]) -> str:
        """Rows of texts, each of which is a row by itself: SQL of a query with c0 and on, ``broken`` and ``kept``.

        ``lines`` has the column ``line``, NULL for what is no UTF-8, and those that are ``kept``. ``what`` is SQL of
        what a line is called in errors.
        """
        fields, sound = self._fields("line")
        wrong = "line IS NULL OR NOT coalesce(" + sound + ", false)"
        if self._lenient:
            # Flink would fill up with NULLs what has too few values, and lose what has too many.
            wrong += f" OR len(f) <> {len(self.columns)}"
        texts = [f"CASE WHEN NOT broken THEN {self._text(f'f[{i + 1}]')} END" for i in range(len(self.columns))]
        line = "coalesce(left(line, 200), 'which is no UTF-8')"
        items = []
        for i, (text, column) in enumerate(zip(texts, self.columns, strict=True)):
            told = string_literal(f" has a value that is not of its column's type, {column.name}: ")
            refused = failure("%s", f"concat({what}, {told}, {line})")
            items.append(f"{self._value(text, column.type, None if self._lenient else refused)} AS c{i}")
        if not self._lenient:
            count = len(self.columns)
            number = f"CASE WHEN NOT broken THEN len(f) END IS DISTINCT FROM {count}"
            told = f"concat({what}, ' is no row of {count} values: ', {line})"
            refused = failure("%s", told)
            items[0] = f"CASE WHEN {number} THEN {refused} ELSE {items[0].removesuffix(' AS c0')} END AS c0"
        rows = f"(SELECT *, {fields} AS f, {wrong} AS broken FROM {lines})"
        return f"(SELECT {', '.join((*items, *kept))}, broken FROM {rows})"

    def _fields(self, line: str) -> tuple[str, str]:
        """SQL of the values of a line as they are written, and of whether it is sound."""
        delimiter = string_literal(self._delimiter)
        if not self._quote and not self._escape:
            return f"string_split({line}, {delimiter})", "true"
        d, q, e = (re.escape(c) if c else "" for c in (self._delimiter, self._quote, self._escape))
        escaped = f"|{e}." if e else ""
        plain = f"(?:[^{d}{e}]{escaped})*" if not q else f"(?:(?:[^{d}{q}{e}]{escaped})(?:[^{d}{e}]{escaped})*)?"
        quoted = f"{q}(?:[^{q}{e}]|{q}{q}{escaped})*{q}" if q and q != e else ""
        value = f"(?:{quoted}|{plain})" if quoted else plain
        simple = " OR ".join(f"contains({line}, {string_literal(c)})" for c in {self._quote, self._escape} if c)
        sound = f"(NOT ({simple}) OR regexp_full_match({line}, {string_literal(f'{value}(?:{d}{value})*')}))"
        found = f"regexp_extract_all({delimiter} || {line}, {string_literal(f'{d}({value})')}, 1)"
        return f"CASE WHEN {simple} THEN {found} ELSE string_split({line}, {delimiter}) END", sound

    def _text(self, field: str) -> str:
        """SQL of the text of a value as it is written, NULL of what stands for it."""
        null = string_literal(self._null or "")
        plain = f"nullif({field}, {null})"
        escaped = f"{re.escape(self._escape)}(.)" if self._escape else ""
        if escaped:
            plain = f"regexp_replace({plain}, {string_literal(escaped)}, '\\1', 'g')"
        if not self._quote:
            return plain
        q = string_literal(self._quote)
        inner = f"replace(substr({field}, 2, length({field}) - 2), {string_literal(self._quote * 2)}, {q})"
        if escaped:
            inner = f"regexp_replace({inner}, {string_literal(escaped)}, '\\1', 'g')"
        return f"CASE WHEN starts_with({field}, {q}) THEN {inner} ELSE {plain} END"

    def _value(self, text: str, type_: DataType, refused: str | None = None) -> str:
        """SQL of a value of a text; ``refused``: SQL that fails for one that is not of the type."""
        kind = type_.kind
        if kind in TEXTS:
            return text
        if kind in BINARIES:
            decoded = f"from_base64({text})"
            return f"try({decoded})" if self._lenient else _or_refused(decoded, f"try({decoded})", text, refused)
        if kind is Kind.ARRAY:
            inner = self._value("e", type_.children[0].type, refused)
            parts = f"string_split({text}, {string_literal(self._elements)})"
            return f"list_transform({parts}, lambda e: {inner})"
        if kind is Kind.ROW:
            names = [identifier(n) for n in distinct_names(f.name for f in type_.children)]
            split = f"string_split({text}, {string_literal(self._elements)})"
            parts = ", ".join(
                f"{n} := {self._value(f'({split})[{i + 1}]', f.type, refused)}"
                for i, (n, f) in enumerate(zip(names, type_.children, strict=True))
            )
            return f"CASE WHEN {text} IS NOT NULL THEN struct_pack({parts}) END"
        trimmed = f"nullif(trim({text}), '')"
        tried = f"TRY_CAST({trimmed} AS {duckdb_name(type_)})"
        return tried if self._lenient else _or_refused(tried.removeprefix("TRY_"), tried, trimmed, refused)

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        items = [f"{self._written(f'c{i}', c.type)} AS c{i}" for i, c in enumerate(self.columns)]
        quote = string_literal(self._quote)
        options = [
            "FORMAT csv",
            "HEADER false",
            f"DELIM {string_literal(self._delimiter)}",
            f"QUOTE {quote}",
            f"ESCAPE {self._escape_text or quote}",
            f"NULLSTR {string_literal(self._null or '')}",
        ]
        return copy_rows(cursor, f"SELECT {', '.join((*items, *by))} FROM {rows}", options, directory, size, by)

    def line(self, values: Sequence[str]) -> str:
        """SQL of a row as one text, without a line's end."""
        texts = [
            self._quoted(f"CAST({self._written(v, c.type)} AS VARCHAR)")
            for v, c in zip(values, self.columns, strict=True)
        ]
        return f"concat_ws({string_literal(self._delimiter)}, {', '.join(texts)})"

    def _quoted(self, text: str) -> str:
        """SQL of a value as it is written: NULL has a text of its own."""
        null = string_literal(self._null or "")
        # A byte order mark that is a value must not be taken for that of the line.
        special = [c for c in (self._delimiter, self._quote, self._escape, "\n", "\r", "\ufeff") if c]
        if not self._quote:
            escaped = text
            for c in (self._escape, self._delimiter) if self._escape else ():
                escaped = f"replace({escaped}, {string_literal(c)}, {string_literal(self._escape + c)})"
            return f"coalesce({escaped}, {null})"
        held = " OR ".join(f"contains({text}, {string_literal(c)})" for c in special)
        q = string_literal(self._quote)
        inside = text
        if self._escape:
            inside = f"replace({inside}, {string_literal(self._escape)}, {string_literal(self._escape * 2)})"
            inside = f"replace({inside}, {q}, {string_literal(self._escape + self._quote)})"
        else:
            inside = f"replace({inside}, {q}, {string_literal(self._quote * 2)})"
        quoted = f"WHEN {text} = {null} OR {held} THEN {q} || {inside} || {q}"
        return f"CASE WHEN {text} IS NULL THEN {null} {quoted} ELSE {text} END"

    def _written(self, value: str, type_: DataType) -> str:
        if type_.kind is Kind.ARRAY:
            inner = f"CAST({_WIRE.write('e', type_.children[0].type)} AS VARCHAR)"
            parts = f"list_transform({value}, lambda e: coalesce({inner}, ''))"
            return f"array_to_string({parts}, {string_literal(self._elements)})"
        if type_.kind is Kind.ROW:
            names = [identifier(n) for n in distinct_names(f.name for f in type_.children)]
            parts = ", ".join(
                f"coalesce(CAST({_WIRE.write(f'({value}).{n}', f.type)} AS VARCHAR), '')"
                for n, f in zip(names, type_.children, strict=True)
            )
            joined = f"concat_ws({string_literal(self._elements)}, {parts})"
            return f"CASE WHEN {value} IS NOT NULL THEN {joined} END"
        return _WIRE.write(value, type_)


def _or_refused(strict: str, tried: str, text: str, refused: str | None) -> str:
    """SQL of a value that ``tried`` gives, or fails as ``strict`` does, or with a message of one's own."""
    return strict if refused is None else f"coalesce({tried}, CASE WHEN {text} IS NOT NULL THEN {refused} END)"


_INSIDE: Final = frozenset({*_DIRECT, *BINARIES})


def _check_type(column: TableColumn, type_: DataType) -> None:
    """Refuse what a value of CSV cannot hold: nested values have one level."""
    kind = type_.kind
    if kind in _INSIDE or (kind in (Kind.ARRAY, Kind.ROW) and all(f.type.kind in _INSIDE for f in type_.children)):
        return
    raise BergError(
        ErrorCode.TYPE,
        f"Column '{column.name}' is {flink_name(type_)}, which a file of format 'csv' cannot hold.",
        hint="'format'='json' can.",
    )
