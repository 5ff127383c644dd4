"""Types of SQL that the binder only knows as text: DuckDB is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import NULL, STRING, DataType, Field, Kind
from bergsql.engine.streaming.planner.sql_columns import column_at

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.streaming.changelog import StreamColumn

_PLAIN = {
    "BOOLEAN": Kind.BOOLEAN,
    "TINYINT": Kind.TINYINT,
    "SMALLINT": Kind.SMALLINT,
    "INTEGER": Kind.INT,
    "BIGINT": Kind.BIGINT,
    "HUGEINT": Kind.HUGEINT,
    "FLOAT": Kind.FLOAT,
    "DOUBLE": Kind.DOUBLE,
    "VARCHAR": Kind.STRING,
    "BLOB": Kind.BYTES,
    "DATE": Kind.DATE,
    "TIME": Kind.TIME,
    "INTERVAL": Kind.INTERVAL_DAY_TIME,
    "UUID": Kind.UUID,
    "VARIANT": Kind.VARIANT,
    "GEOMETRY": Kind.GEOMETRY,
}
_STAMPS = {
    "TIMESTAMP": DataType(Kind.TIMESTAMP, 6),
    "TIMESTAMP_NS": DataType(Kind.TIMESTAMP, 9),
    "TIMESTAMP WITH TIME ZONE": DataType(Kind.TIMESTAMP_LTZ, 6),
}


def types_of(sql: Sequence[str], columns: Sequence[StreamColumn], relations: Relations) -> list[DataType]:
    """The types of expressions over ``i``, a relation of ``columns``; aggregates may be among them, then all are."""
    known = [column_at(each) for each in sql]
    if all(k is not None for k in known):
        return [columns[k].type for k in known if k is not None]
    row = ", ".join(f"CAST(NULL AS {_name(c.type)}) AS c{n}" for n, c in enumerate(columns))
    asked = ", ".join(f"typeof({each})" for each in sql)
    source = f"SELECT {row or '1 AS one'}"
    found = str(relations.evaluate(f"(SELECT array_to_string([{asked}], chr(31)) FROM ({source}) AS i)")).split("\x1f")
    return [columns[k].type if k is not None else from_duckdb(f) for k, f in zip(known, found, strict=True)]


def _name(type_: DataType) -> str:
    return "INTEGER" if type_ == NULL else duckdb_name(type_)


def from_duckdb(text: str) -> DataType:
    """The type that DuckDB calls so.

    >>> from_duckdb("DECIMAL(38,2)[]").children[0].type.scale
    2
    """
    text = text.strip()
    if text.endswith("[]"):
        return DataType(Kind.ARRAY, children=(Field("element", from_duckdb(text[:-2])),))
    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", text)
    if decimal:
        return DataType(Kind.DECIMAL, int(decimal[1]), int(decimal[2]))
    if text in _STAMPS:
        return _STAMPS[text]
    if text in _PLAIN:
        return DataType(_PLAIN[text])
    nested = re.fullmatch(r"(?s)(STRUCT|MAP)\((.*)\)", text)
    if nested and nested[1] == "MAP":
        key, value = _split(nested[2])
        return DataType(Kind.MAP, children=(Field("key", from_duckdb(key)), Field("value", from_duckdb(value))))
    if nested:
        return DataType(Kind.ROW, children=tuple(_field(part, n) for n, part in enumerate(_split(nested[2]))))
    return STRING


def _field(text: str, place: int) -> Field:
    quoted = re.match(r'"((?:[^"]|"")*)"\s+', text)
    if quoted:
        return Field(quoted[1].replace('""', '"'), from_duckdb(text[quoted.end() :]))
    name, blank, rest = text.strip().partition(" ")
    return Field(name, from_duckdb(rest)) if blank else Field(f"f{place}", from_duckdb(name))


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no parentheses and no quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for n, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth == 0:
                parts.append(text[start:n].strip())
                start = n + 1
    return [*parts, text[start:].strip()]


def literal_text(sql: str) -> str | None:
    """The text that an SQL literal is; None for what is none."""
    found = re.fullmatch(r"(?s)'((?:[^']|'')*)'", sql)
    return found[1].replace("''", "'") if found else None
