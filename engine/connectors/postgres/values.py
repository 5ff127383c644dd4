"""From the texts that PostgreSQL writes of values to the declared types, as DuckDB SQL.

A snapshot (COPY) and the log hold the same texts: those of the types' output functions under one set of settings
(client.py). So one row gives the same values, whichever way it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.type_names import duckdb_name, flink_name
from bergsql.engine.sql.types import BINARIES, INTEGERS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.postgres.tables import StoredType

_INTEGERS: Final = frozenset({"int2", "int4", "int8"})
_MICROS: Final = 6


class Conversion(NamedTuple):
    """How a column's texts become its values. ``sql`` has ``{x}`` for the text: of an array, for its parts' list.

    ``depth`` is how many dimensions of an array are taken apart first, by :func:`parts_of`.
    """

    sql: str
    depth: int = 0

    def of(self, text: str) -> str:
        """SQL of the values of the texts that ``text``, SQL as well, gives."""
        return self.sql.replace("{x}", text)


def conversion(column: TableColumn, stored: StoredType, table: str, declared: str) -> Conversion:
    """
    :param table: the name of the table that is read, for people.
    :param declared: what it is called here. Errors of values name this one: tables that are alike share a conversion.
    :raises BergError: TYPE where the stored type does not become the declared one.
    """
    what = f"column '{column.name}' of {declared}"
    if column.type.kind is not Kind.ARRAY:
        return Conversion(_scalar("{x}", stored.name, column.type, what, table))
    if stored.element is None:
        raise _unfit(stored.name, column.type, what, table)
    depth, inner = 0, column.type
    while inner.kind is Kind.ARRAY:
        depth, inner = depth + 1, inner.children[0].type
    sql = _scalar(f"e{depth - 1}", stored.element, inner, what, table)
    for level in range(depth - 1, -1, -1):
        source = "{x}" if level == 0 else f"e{level - 1}"
        sql = f"list_transform({source}, lambda e{level}: {sql})"
    return Conversion(f"CAST({sql} AS {duckdb_name(column.type)})", depth)


def _scalar(x: str, stored: str, to: DataType, what: str, table: str) -> str:
    """SQL of a value from its text ``x``; an error that names the column where the text is none of the type."""
    if to.kind in TEXTS:
        return x
    rule = _RULES.get(to.kind)
    value = rule(x, stored, to) if rule is not None else None
    if value is None:
        raise _unfit(stored, to, what, table)
    told = failure(f"The value '%s' of {what}, a {stored}, is no {flink_name(to)}.", f"left({x}, 100)")
    return f"coalesce({value}, CASE WHEN {x} IS NOT NULL THEN {told} END)"


def _unfit(stored: str, to: DataType, what: str, table: str) -> BergError:
    fitting = _FITTING.get(stored)
    if stored.startswith("_") and stored != "_box":  # its text has semicolons between the parts
        fitting = f"ARRAY<{_FITTING.get(stored[1:], 'STRING')}>"
    return BergError(
        ErrorCode.TYPE,
        f"{what[0].upper()}{what[1:]} cannot be a {flink_name(to)}: {table} holds a {stored} there.",
        hint=f"Declare it {fitting} or STRING." if fitting else "Declare it STRING.",
    )


def _integer(x: str, stored: str, to: DataType) -> str | None:
    cast = f"TRY_CAST({x} AS {duckdb_name(to)})"
    if stored in _INTEGERS or stored == "oid":
        return cast
    if stored == "numeric":
        whole = f"TRY_CAST(split_part({x}, '.', 1) AS {duckdb_name(to)})"
        return f"CASE WHEN rtrim(split_part({x}, '.', 2), '0') = '' THEN {whole} END"
    return None


def _decimal(x: str, stored: str, to: DataType) -> str | None:
    if stored == "money":
        x = f"replace(replace({x}, '$', ''), ',', '')"
    elif stored not in _INTEGERS and stored != "numeric":
        return None
    whole = f"length(rtrim(split_part({x}, '.', 2), '0')) <= {to.scale or 0}"
    return f"CASE WHEN {whole} THEN TRY_CAST({x} AS {duckdb_name(to)}) END"


def _float(x: str, stored: str, to: DataType) -> str | None:
    if stored == "float4":
        return f"CAST(TRY_CAST({x} AS FLOAT) AS {duckdb_name(to)})"
    if to.kind is Kind.DOUBLE and stored in ("float8", "numeric", "int2", "int4"):
        return f"TRY_CAST({x} AS DOUBLE)"
    return None


def _boolean(x: str, stored: str, to: DataType) -> str | None:  # noqa: ARG001
    if stored == "bool":
        return f"({x} = 't')"
    if stored == "bit":
        return f"CASE {x} WHEN '1' THEN true WHEN '0' THEN false END"
    return None


def _bytes(x: str, stored: str, to: DataType) -> str | None:
    if stored != "bytea":
        return None
    value = f"unhex(substr({x}, 3))"
    if to.kind is Kind.BINARY:
        return f"CASE WHEN length({x}) = {2 + 2 * (to.precision or 1)} THEN {value} END"
    return value


def _date(x: str, stored: str, to: DataType) -> str | None:  # noqa: ARG001
    return f"CASE WHEN length({x}) = 10 THEN TRY_CAST({x} AS DATE) END" if stored == "date" else None


def _cut(x: str, to: DataType, seconds: int, default: int) -> str:
    """The text without the digits of a second that the type does not have; ``seconds``: where these end."""
    digits = default if to.precision is None else to.precision
    if digits >= _MICROS:
        return x
    return f"left({x}, {seconds + 1 + digits if digits else seconds})"


def _time(x: str, stored: str, to: DataType) -> str | None:
    if stored != "time":
        return None
    return f"CASE WHEN left({x}, 2) <> '24' THEN TRY_CAST({_cut(x, to, 8, 0)} AS {duckdb_name(to)}) END"


def _in_range(x: str) -> str:
    """Whether the text of a time is one of the years 1 to 9999."""
    return f"{x}[5] = '-' AND right({x}, 2) <> 'BC'"


def _timestamp(x: str, stored: str, to: DataType) -> str | None:
    if stored != "timestamp":
        return None
    return f"CASE WHEN {_in_range(x)} THEN TRY_CAST({_cut(x, to, 19, _MICROS)} AS {duckdb_name(to)}) END"


def _instant(x: str, stored: str, to: DataType) -> str | None:
    if stored != "timestamptz":
        return None
    local = _cut(f"left({x}, length({x}) - 3)", to, 19, _MICROS)  # without +00: connections speak UTC
    return f"CASE WHEN {_in_range(x)} THEN TRY_CAST({local} || '+00' AS {duckdb_name(to)}) END"


def _uuid(x: str, stored: str, to: DataType) -> str | None:  # noqa: ARG001
    return f"TRY_CAST({x} AS UUID)" if stored == "uuid" else None


_RULES: Final[Mapping[Kind, Callable[[str, str, DataType], str | None]]] = {
    **dict.fromkeys(INTEGERS, _integer),
    **dict.fromkeys(BINARIES, _bytes),
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _instant,
    Kind.UUID: _uuid,
}
_FITTING: Final[Mapping[str, str]] = {
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "numeric": "DECIMAL(p, s)",
    "money": "DECIMAL(19, 2)",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "bytea": "BYTES",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP_LTZ",
    "uuid": "UUID",
}

Parts = list["Parts"] | str | None


def parts_of(text: str | None, depth: int) -> Parts:
    """The texts of an array's parts, from PostgreSQL's text of it: ``{1,NULL,"a b"}``, ``{{1,2},{3,4}}``.

    :param depth: how many dimensions it is taken to have; an empty array fits any.
    :raises ValueError: where it has others.
    """
    if text is None:
        return None
    at = text.index("{")  # bounds such as [0:1]= may stand before it
    parts, end = _array(text, at + 1, depth)
    if end != len(text):
        raise ValueError(text)
    return parts


def _array(text: str, at: int, depth: int) -> tuple[Parts, int]:
    """The parts of an array whose brace is before ``at``, and where it ends."""
    found: list[Parts] = []
    if text[at] == "}":
        return found, at + 1
    while True:
        if text[at] == "{":
            if depth == 1:
                raise ValueError(text)
            inner, at = _array(text, at + 1, depth - 1)
            found.append(inner)
        else:
            if depth > 1:
                raise ValueError(text)
            part, at = _part(text, at)
            found.append(part)
        if text[at] == "}":
            return found, at + 1
        at += 1  # a comma


def _part(text: str, at: int) -> tuple[str | None, int]:
    if text[at] != '"':
        end = at
        while text[end] not in ",}":
            end += 1
        part = text[at:end]
        return (None if part == "NULL" else part), end
    letters = []
    at += 1
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        letters.append(text[at])
        at += 1
    return "".join(letters), at + 1
