"""Messages that are texts: CSV and JSON. What a line of a file is, is a whole message here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.csv import Csv
from bergsql.engine.connectors.formats.json_lines import JsonLines
from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, PLACE, MessageContext, MessageFormat
from bergsql.engine.streaming.changelog import OP

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import TableColumn

_TEXT = f"try(decode({DATA}))"
LINE = f"CASE WHEN starts_with({_TEXT}, '\ufeff') THEN substr({_TEXT}, 2) ELSE {_TEXT} END"
"""SQL of a message as text, without a byte order mark; NULL for what is no UTF-8."""


def others(context: MessageContext, messages: str) -> list[str]:
    """The columns of a relation that pass through."""
    told = context.cursor.execute(f"DESCRIBE SELECT * FROM {messages}").fetchall()
    return [name for name, *_ in told if name.startswith("m")]


def as_batch(rows: str, columns: Sequence[TableColumn], passed: Sequence[str]) -> str:
    """Rows, one of each message, with all columns that decoding gives."""
    names = [*passed, NUMBER, f"0 AS {PLACE}", f"0::TINYINT AS {OP}", BROKEN, *(f"c{i}" for i in range(len(columns)))]
    return f"(SELECT {', '.join(names)} FROM {rows})"


class CsvMessages(MessageFormat):
    """Each message is one row; it may hold the ends of lines in quotes."""

    name: ClassVar[str] = "csv"
    options: ClassVar[tuple[OptionSpec, ...]] = Csv.options

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        self._csv = Csv(columns, options)

    def decode(self, context: MessageContext, messages: str) -> str:
        passed = [*others(context, messages), NUMBER]
        line = f"regexp_replace({LINE}, '\\r?\\n$', '')"
        where = f"{DATA} IS NOT NULL"
        if self.flag("allow-comments"):
            where += f" AND NOT coalesce(starts_with(ltrim({LINE}), '#'), false)"
        lines = f"(SELECT {', '.join(passed)}, {line} AS line FROM {messages} WHERE {where})"
        return as_batch(self._csv.rows_of_lines(lines, "'A message'", passed), self.columns, passed[:-1])

    def encode(self, context: MessageContext, rows: str) -> str:
        line = self._csv.line([f"c{i}" for i in range(len(self.columns))])
        return as_messages(context, rows, line)


class JsonMessages(MessageFormat):
    """Each message is an object."""

    name: ClassVar[str] = "json"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        *JsonLines.options,
        OptionSpec("json.decode.json-parser.enabled", "bool", "true", "Taken, and without effect."),
    )

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        self._json = JsonLines(columns, options)

    def decode(self, context: MessageContext, messages: str) -> str:
        passed = [*others(context, messages), NUMBER]
        lines = f"(SELECT {', '.join(passed)}, {LINE} AS line FROM {messages} WHERE {DATA} IS NOT NULL)"
        return as_batch(self._json.rows_of_lines(lines, passed), self.columns, passed[:-1])

    def encode(self, context: MessageContext, rows: str) -> str:
        return as_messages(context, rows, self._json.line([f"c{i}" for i in range(len(self.columns))]))


def as_messages(context: MessageContext, rows: str, line: str) -> str:
    """Messages of rows, each of which is the text ``line``."""
    passed = "".join(f", {name}" for name in others(context, rows))
    return f"(SELECT encode({line}) AS {DATA}{passed} FROM {rows})"
