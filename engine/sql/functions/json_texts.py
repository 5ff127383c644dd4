"""Functions of JSON texts. DuckDB's json_extract reads; what is written is spelt out as the engines do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.cast_text import double_text, from_text
from bergsql.engine.plan.sql_text import each, let
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import (
    BINARIES,
    FLOATS,
    INT,
    INTEGERS,
    NESTED,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Kind,
)

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_STEP = re.compile(r"""\.?\[\s*(?:(\d+)|(\*)|'([^']*)'|"([^"]*)")\s*\]|\.([^.\[\]*]+)""")


def duckdb_path(path: str) -> tuple[str, bool] | None:
    """A JSON path as DuckDB writes it, and whether it may lead to several places; None for what is no path.

    >>> duckdb_path("$.a['b c'][0]")
    ('$."a"."b c"[0]', False)
    """
    text = re.sub(r"^\s*(?:lax|strict)\s+", "", path)
    if not text.startswith("$"):
        return None
    out, i, many = ["$"], 1, False
    while i < len(text):
        match = _STEP.match(text, i)
        if match is None:
            return None
        number, star, *names = match.groups()
        name = next((n for n in names if n is not None), None)
        many = many or star is not None
        if number is not None or star is not None:
            out.append(f"[{number or star}]")
        else:
            escaped = str(name).replace("\\", "\\\\").replace('"', '\\"')
            out.append(f'."{escaped}"')
        i = match.end()
    return "".join(out), many


def literal_path(word: str, given: Bound) -> tuple[str, bool] | None:
    if not isinstance(given.constant, str):
        raise not_supported(f"{word} with a path that is not a literal")
    return duckdb_path(given.constant)


def _get_json_object(arguments: list[Bound], context: Context) -> str:
    """What is there as text, a string without its quotes; several are written as an array, one of several as itself."""
    if any(a.is_null for a in arguments):
        return "CAST(NULL AS VARCHAR)"
    found = literal_path("GET_JSON_OBJECT", arguments[1])
    if found is None:
        return "CAST(NULL AS VARCHAR)"
    path, many = found

    def made(x: str) -> str:
        if not many:
            return f"CASE WHEN json_valid({x}) THEN json_extract_string({x}, {string_literal(path)}) END"
        values = f"json_extract({x}, {string_literal(path)})"
        text = let(
            values,
            lambda v: (
                f"CASE WHEN len({v}) = 1 THEN CAST({v}[1] AS VARCHAR) WHEN len({v}) > 1 THEN "
                f"'[' || array_to_string(list_transform({v}, lambda e: CAST(e AS VARCHAR)), ',') || ']' END"
            ),
        )
        return f"CASE WHEN json_valid({x}) THEN {text} END"

    return let(arguments[0].sql, made)


def _of_kind(kind: str, value: str) -> Callable[[list[Bound], Context], str]:
    """``value`` of a JSON text of that kind, NULL of any other and of what is no JSON."""

    def made(arguments: list[Bound], context: Context) -> str:
        def checked(x: str) -> str:
            inner = f"CASE WHEN json_type({x}) = '{kind}' THEN {value.format(x)} END"
            return f"CASE WHEN json_valid({x}) THEN {inner} END"

        return let(arguments[0].sql, checked)

    return made


# --- written ----------------------------------------------------------------------------------------------------------


def json_text(sql: str, type_: DataType, context: Context) -> str:
    """SQL of a value as JSON; NULL stays NULL. Spark leaves the NULL fields of a struct out; Flink orders all keys."""
    kind = type_.kind
    if kind in TEXTS:
        return f"CAST(to_json({sql}) AS VARCHAR)"
    if kind in FLOATS:
        return let(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {double_text(x)} ELSE to_json({double_text(x)}) END")
    if kind is Kind.NULL:
        return "CAST(NULL AS VARCHAR)"
    if kind is Kind.ARRAY:
        items = each(sql, lambda e: f"coalesce({json_text(e, type_.children[0].type, context)}, 'null')")
        return f"('[' || array_to_string({items}, ',') || ']')"
    if kind is Kind.MAP:
        return _map_text(sql, type_, context)
    if kind is Kind.ROW:
        return let(sql, lambda x: _row_text(x, type_, context))
    if kind in STAMPS:
        local = f"CAST({sql} AS TIMESTAMP)" if kind is Kind.TIMESTAMP_LTZ else sql
        zone = ""
        if kind is Kind.TIMESTAMP_LTZ:
            zone = " || 'Z'" if context.planner.relations.time_zone == "UTC" else f" || {_offset(sql)}"
        return f"('\"' || strftime({local}, '%Y-%m-%dT%H:%M:%S.%g'){zone} || '\"')"
    if kind in BINARIES:
        return f"('\"' || base64({sql}) || '\"')"
    if kind is Kind.BOOLEAN or kind in INTEGERS or kind in (Kind.DECIMAL, Kind.HUGEINT):
        return f"CAST({sql} AS VARCHAR)"
    from bergsql.engine.plan.casts import convert_sql

    return f"('\"' || {convert_sql(sql, type_, STRING, context)} || '\"')"


def _offset(sql: str) -> str:
    """The offset of the session's zone at that instant, ``+01:00``."""
    minutes = f"CAST(extract(timezone_hour FROM {sql}) * 60 + extract(timezone_minute FROM {sql}) AS INTEGER)"
    return let(
        minutes,
        lambda m: (
            f"(CASE WHEN {m} < 0 THEN '-' ELSE '+' END || lpad(CAST(abs({m}) // 60 AS VARCHAR), 2, '0') || ':' || "
            f"lpad(CAST(abs({m}) % 60 AS VARCHAR), 2, '0'))"
        ),
    )


def _map_text(sql: str, type_: DataType, context: Context) -> str:
    from bergsql.engine.plan.casts import convert_sql

    key, value = (c.type for c in type_.children)
    if key.kind in NESTED:
        raise not_supported("A JSON object of a map whose keys are not atomic")

    def entry(e: str) -> str:
        name = f"CAST(to_json({convert_sql(f'{e}.key', key, STRING, context)}) AS VARCHAR)"
        return f"{name} || ':' || coalesce({json_text(f'{e}.value', value, context)}, 'null')"

    entries = f"map_entries({sql})" if context.spark or key.kind not in TEXTS else f"list_sort(map_entries({sql}))"
    return f"('{{' || array_to_string({each(entries, entry)}, ',') || '}}')"


def _row_text(x: str, type_: DataType, context: Context) -> str:
    parts = []
    fields = list(enumerate(type_.children, start=1))
    if not context.spark:
        fields.sort(key=lambda f: f[1].name.encode("utf-16-be"))
    for i, field in fields:
        name = string_literal(json.dumps(field.name, ensure_ascii=False) + ":")
        value = json_text(f"struct_extract_at({x}, {i})", field.type, context)
        parts.append(f"{name} || {value}" if context.spark else f"{name} || coalesce({value}, 'null')")
    listed = f"list_filter([{', '.join(parts)}], lambda part: part IS NOT NULL)"
    return f"CASE WHEN {x} IS NOT NULL THEN '{{' || array_to_string({listed}, ',') || '}}' END"


def _to_json(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    if len(arguments) > 1:
        raise not_supported("TO_JSON with options")
    if a.type.kind not in (*NESTED, Kind.NULL):
        raise BergError(ErrorCode.TYPE, "TO_JSON takes a struct, an array or a map.")
    return json_text(a.sql, a.type, context)


# --- read -------------------------------------------------------------------------------------------------------------


def value_of(sql: str, type_: DataType, context: Context) -> str:
    """SQL of a JSON value (DuckDB's JSON) as a value of a type; what does not read is NULL."""
    kind, name = type_.kind, duckdb_name(type_)
    numbers = "('BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT')"

    def made(x: str) -> str:
        what, text = f"json_type({x})", f"json_extract_string({x}, '$')"
        if kind in TEXTS:
            return text
        if kind in INTEGERS:
            return f"CASE WHEN {what} IN ('BIGINT', 'UBIGINT') THEN TRY_CAST({text} AS {name}) END"
        if kind in FLOATS:
            special = f"{text} IN ('NaN', 'Infinity', '-Infinity', 'INF', '-INF')"
            return f"CASE WHEN {what} IN {numbers} OR {special} THEN TRY_CAST({text} AS {name}) END"
        if kind is Kind.DECIMAL:
            return f"CASE WHEN {what} IN {numbers} THEN TRY_CAST({text} AS {name}) END"
        if kind is Kind.BOOLEAN:
            return f"CASE WHEN {what} = 'BOOLEAN' THEN TRY_CAST({text} AS BOOLEAN) END"
        if kind is Kind.ARRAY:
            items = each(f"json_extract({x}, '$[*]')", lambda e: value_of(e, type_.children[0].type, context))
            return f"CASE WHEN {what} = 'ARRAY' THEN {items} END"
        if kind is Kind.MAP:
            path = "'$.\"' || replace(replace(k, '\\', '\\\\'), '\"', '\\\"') || '\"'"
            found = f"list_transform(json_keys({x}), lambda k: json_extract({x}, {path}))"
            values = each(found, lambda e: value_of(e, type_.children[1].type, context))
            keys = f"json_keys({x})"
            unlike = f"len({keys}) = len(list_distinct({keys}))"
            return f"CASE WHEN {what} = 'OBJECT' AND {unlike} THEN map({keys}, {values}) END"
        if kind is Kind.ROW:
            names = distinct_names(f.name for f in type_.children)
            parts = ", ".join(
                f"{identifier(n)} := {value_of(_member(x, f.name), f.type, context)}"
                for n, f in zip(names, type_.children, strict=True)
            )
            return f"CASE WHEN {what} = 'OBJECT' THEN struct_pack({parts}) END"
        read = from_text(text, type_, context.planner.relations.time_zone, strict=False)
        if read is None:
            raise not_supported(f"FROM_JSON of the type {name}")
        return f"CASE WHEN {what} = 'VARCHAR' THEN {read} END"

    return let(sql, made)


def _member(x: str, name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    path = string_literal('$."' + escaped + '"')
    return f"json_extract({x}, {path})"


def declared(word: str, given: Bound) -> DataType:
    """The type that a schema names: ``a INT, b STRING`` or any type."""
    from bergsql.engine.sql.flavour import Flavour
    from bergsql.engine.sql.type_parser import parse_type

    if not isinstance(given.constant, str):
        raise not_supported(f"{word} with a schema that is not a literal")
    try:
        return parse_type(given.constant, Flavour.SPARK)
    except BergError as first:
        try:
            return parse_type(f"STRUCT<{given.constant}>", Flavour.SPARK)
        except BergError as second:
            raise BergError(ErrorCode.INVALID, f"{word}: {second.message}", hint=first.hint) from None


def _from_json(arguments: list[Bound], context: Context) -> Bound:
    """Of what is no JSON a struct of NULLs."""
    if len(arguments) > 2:
        raise not_supported("FROM_JSON with options")
    value, type_ = arguments[0], declared("FROM_JSON", arguments[1])
    name = duckdb_name(type_)

    def made(x: str) -> str:
        wrong = f"CAST(NULL AS {name})"
        if type_.kind is Kind.ROW:
            names = distinct_names(f.name for f in type_.children)
            wrong = f"struct_pack({', '.join(f'{identifier(n)} := NULL' for n in names)})"
        read = value_of(f"CAST(CASE WHEN json_valid({x}) THEN {x} END AS JSON)", type_, context)
        return f"CASE WHEN {x} IS NOT NULL THEN coalesce(CAST({read} AS {name}), CAST({wrong} AS {name})) END"

    text = "entries" if type_.kind is Kind.MAP else f"from_json({value.text})"
    return Bound(let(value.sql, made), type_, text)


def _schema_of_json(arguments: list[Bound], context: Context) -> Bound:
    given = arguments[0].constant
    if not isinstance(given, str):
        raise BergError(ErrorCode.INVALID, "SCHEMA_OF_JSON takes a text literal.")
    try:
        schema = _schema(json.loads(given)) or "STRING"
    except ValueError:
        raise BergError(ErrorCode.INVALID, "SCHEMA_OF_JSON takes JSON.") from None
    return Bound(string_literal(schema), STRING, "", False)


def _schema(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT" if -(1 << 63) <= value < 1 << 63 else f"DECIMAL({len(str(abs(value)))},0)"
        case float():
            return "DOUBLE"
        case str():
            return "STRING"
        case list():
            return f"ARRAY<{_merged([_schema(v) for v in value])}>"
        case dict():
            fields = (f"{k}: {_schema(v) or 'STRING'}" for k, v in sorted(value.items()))
            return f"STRUCT<{', '.join(fields)}>"
    raise AssertionError(value)


def _merged(schemas: Sequence[str | None]) -> str:
    found = list(dict.fromkeys(s for s in schemas if s is not None))
    if set(found) == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    if len(found) > 1 and any(s.startswith("STRUCT") for s in found):
        raise not_supported("SCHEMA_OF_JSON of an array whose objects differ")
    return found[0] if len(found) == 1 else "STRING"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("get_json_object", "s", "tt", STRING, _get_json_object),
    Scalar("json_array_length", "s", "t", INT, _of_kind("ARRAY", "CAST(json_array_length({0}) AS INTEGER)")),
    Scalar("json_object_keys", "s", "t", lambda a: array_of(STRING), _of_kind("OBJECT", "json_keys({0})")),
    Scalar("to_json", "s", "aa?", STRING, _to_json),
    Scalar("from_json", "s", "tta?", 0, _from_json),
    Scalar("schema_of_json", "s", "t", STRING, _schema_of_json),
)
