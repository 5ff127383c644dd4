"""Values as formats of text hold them: bytes as base64, times as text; and the ways there and back, as DuckDB SQL."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BINARIES, FLOATS, STAMPS, DataType, Field, Kind

_TEXT: Final = DataType(Kind.STRING)


class Wire(NamedTuple):
    """How a format of text writes times: SQL's ``2024-01-01 00:00:00``, or ISO 8601's with T."""

    iso: bool = False
    json: bool = False
    """Whether it is JSON that is written: numbers that JSON does not have are texts."""

    @staticmethod
    def final(type_: DataType) -> str:
        """What DuckDB calls the type of a column."""
        return duckdb_name(type_)

    @staticmethod
    def read_type(type_: DataType) -> DataType:
        """The type as which a value is read."""
        if type_.kind in BINARIES:
            return _TEXT
        if type_.children:
            children = tuple(f._replace(type=Wire.read_type(f.type)) for f in type_.children)
            return type_._replace(children=children)
        return type_

    @staticmethod
    def structure(columns: Sequence[tuple[str, DataType]]) -> str:
        """The structure of rows for DuckDB's ``from_json``."""
        return json_text.dumps({name: duckdb_name(Wire.read_type(t)) for name, t in columns}, ensure_ascii=False)

    @staticmethod
    def read(value: str, type_: DataType) -> str:
        """SQL of a column's value, of one that is of :meth:`read_type`."""
        return _through(value, type_, _decoded, _is_binary, 0)

    def write(self, value: str, type_: DataType) -> str:
        """SQL of what is written of a column's value."""
        return _through(value, type_, self._written, _is_json_written if self.json else _is_written, 0)

    def _written(self, value: str, type_: DataType) -> str:
        if type_.kind in FLOATS:
            text = f"CAST({value} AS VARCHAR)"  # a FLOAT would be written with the digits of a DOUBLE
            return f"CASE WHEN isfinite({value}) THEN to_json(CAST({text} AS DOUBLE)) ELSE to_json({text}) END"
        if type_.kind in BINARIES:
            return f"to_base64({value})"
        if type_.kind is Kind.TIMESTAMP_LTZ:
            value = f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR) || 'Z'"
        else:
            value = f"CAST({value} AS VARCHAR)"
        return f"replace({value}, ' ', 'T')" if self.iso and type_.kind in STAMPS else value


JSON_WIRE: Final = Wire(json=True)


def _is_binary(type_: DataType) -> bool:
    return type_.kind in BINARIES


def _is_written(type_: DataType) -> bool:
    return type_.kind in BINARIES or type_.kind in STAMPS or type_.kind in (Kind.TIME, Kind.DATE)


def _is_json_written(type_: DataType) -> bool:
    return _is_written(type_) or type_.kind in FLOATS


def _decoded(value: str, type_: DataType) -> str:  # noqa: ARG001 - all bytes are alike
    return f"from_base64({value})"


def _holds(type_: DataType, wanted: Callable[[DataType], bool]) -> bool:
    return wanted(type_) or any(_holds(f.type, wanted) for f in type_.children)


def _through(
    value: str, type_: DataType, change: Callable[[str, DataType], str], wanted: Callable[[DataType], bool], depth: int
) -> str:
    """``value`` with ``change`` made to all that is ``wanted`` in it."""
    if not _holds(type_, wanted):
        return value
    if wanted(type_):
        return change(value, type_)
    item = f"x{depth}"

    def inner(part: str, field: Field) -> str:
        return _through(part, field.type, change, wanted, depth + 1)

    match type_.kind:
        case Kind.ARRAY | Kind.MULTISET:
            return f"list_transform({value}, lambda {item}: {inner(item, type_.children[0])})"
        case Kind.MAP:
            key, val = (inner(f"{item}.{part}", f) for part, f in zip(("key", "value"), type_.children, strict=True))
            entry = f"{{'key': {key}, 'value': {val}}}"
            return f"map_from_entries(list_transform(map_entries({value}), lambda {item}: {entry}))"
        case _:
            names = [identifier(n) for n in distinct_names(f.name for f in type_.children)]
            parts = (f"{n} := {inner(f'({value}).{n}', f)}" for n, f in zip(names, type_.children, strict=True))
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
