"""Raw: each line is a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.formats.base import Format, Scan, copy_rows
from bergsql.engine.connectors.formats.lines import TRIMMED, LineStream
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import TEXTS

if TYPE_CHECKING:
    import duckdb

    from bergsql.engine.connectors.base import TableColumn


class Raw(Format):
    """Lines as they are, in one column."""

    name: ClassVar[str] = "raw"

    def __init__(self, columns: Sequence[TableColumn], options: Mapping[str, str]) -> None:
        super().__init__(columns, options)
        if len(columns) != 1 or columns[0].type.kind not in TEXTS:
            raise BergError(ErrorCode.INVALID, "A table of format 'raw' stores one column, which is a STRING.")

    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        name = f"{prefix}lines"
        line = f"CASE WHEN line IS NULL THEN {failure('A line of %s is no UTF-8.', 'file')} ELSE {TRIMMED} END"
        sql = f"(SELECT {line} AS c0, file, false AS broken FROM {identifier(name)})"
        return Scan(sql, {name: LineStream(tuple(files))})

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        options = ["FORMAT csv", "HEADER false", "QUOTE ''", "ESCAPE ''", "DELIM '\x01'", "NULLSTR ''"]
        return copy_rows(cursor, f"SELECT {', '.join(('c0', *by))} FROM {rows}", options, directory, size, by)
