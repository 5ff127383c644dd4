"""Avro for the columns of a table: its schema as Flink derives it, and values there and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from decimal import Context, Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.sql.type_names import flink_name, to_iceberg
from bergsql.engine.sql.types import BINARIES, INTEGERS, STAMPS, TEXTS, DataType, Field, Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn

Json = Any
Convert = Callable[[Any], Any]
"""What makes one value, which is not None, of another."""
ROW_NAME: Final = "org.apache.flink.avro.generated.record"
"""What Flink calls the record of a table."""
_DIGITS: Final = Context(prec=100)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# --- schemas -----------------------------------------------------------------------------------------------------


def schema_of(columns: Sequence[TableColumn], hint: str, *, legacy: bool) -> Json:
    """The schema of a table's rows, as Flink's AvroSchemaConverter derives it.

    :param legacy: TIMESTAMP is an instant of UTC, and TIMESTAMP_LTZ is not taken (``avro.timestamp_mapping.legacy``).
    :param hint: what to do about times that there is no type for.
    :raises BergError: TYPE for what Avro does not hold.
    """
    fields = tuple(Field(c.name, c.type, c.nullable) for c in columns)
    return _record(fields, ROW_NAME, hint, legacy=legacy)


def _record(fields: Sequence[Field], name: str, hint: str, *, legacy: bool) -> Json:
    made = []
    for field in fields:
        if not _NAME.fullmatch(field.name):
            message = f"'{field.name}' is no name in Avro, which are letters (a to z), digits and _."
            raise BergError(ErrorCode.INVALID, message)
        inner = _type(field.type, f"{name}_{field.name}", field.name, hint, legacy=legacy)
        if field.nullable:
            made.append({"name": field.name, "type": ["null", inner], "default": None})
        else:
            made.append({"name": field.name, "type": inner})
    return {"type": "record", "name": name, "fields": made}


def _type(type_: DataType, name: str, column: str, hint: str, *, legacy: bool) -> Json:
    def inside(field: Field) -> Json:
        inner = _type(field.type, name, column, hint, legacy=legacy)
        return ["null", inner] if field.nullable else inner

    match type_.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.FLOAT | Kind.DOUBLE:
            return type_.kind.lower()
        case Kind.TINYINT | Kind.SMALLINT:
            return "int"
        case Kind.BIGINT:
            return "long"
        case kind if kind in TEXTS:
            return "string"
        case kind if kind in BINARIES:
            return "bytes"
        case Kind.DECIMAL:
            precision, scale = type_.precision or 10, type_.scale or 0
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case Kind.DATE:
            return {"type": "int", "logicalType": "date"}
        case Kind.TIME if (type_.precision or 0) <= 3:
            return {"type": "int", "logicalType": "time-millis"}
        case Kind.TIMESTAMP if type_.fractional_digits <= (3 if legacy else 6):
            unit = "millis" if type_.fractional_digits <= 3 else "micros"
            return {"type": "long", "logicalType": f"{'' if legacy else 'local-'}timestamp-{unit}"}
        case Kind.TIMESTAMP_LTZ if not legacy and type_.fractional_digits <= 6:
            unit = "millis" if type_.fractional_digits <= 3 else "micros"
            return {"type": "long", "logicalType": f"timestamp-{unit}"}
        case Kind.ARRAY:
            return {"type": "array", "items": inside(type_.children[0])}
        case Kind.MAP if type_.children[0].type.kind in TEXTS:
            return {"type": "map", "values": inside(type_.children[1])}
        case Kind.ROW:
            return _record(type_.children, name, hint, legacy=legacy)
    told = hint if type_.kind in STAMPS and type_.fractional_digits <= 6 else None
    message = f"Column '{column}' is {flink_name(type_)}, which a message of Avro cannot hold."
    raise BergError(ErrorCode.TYPE, message, hint=told)


def plain(schema: Json, type_: DataType | None = None) -> Json:
    """The schema without what makes more of a value than a column of ``type_`` holds: a UUID is its text, a time is a
    number where the column is one, a decimal bytes."""
    if isinstance(schema, list):
        return [plain(s, type_) for s in schema]
    if not isinstance(schema, dict):
        return schema
    bare = type_ is not None and type_.kind in (*INTEGERS, *BINARIES)
    made = {k: v for k, v in schema.items() if not (k == "logicalType" and (bare or v == "uuid"))}
    parts = type_.children if type_ is not None else ()
    for key, kind, place in (("items", Kind.ARRAY, 0), ("values", Kind.MAP, 1)):
        if key in made:
            made[key] = plain(made[key], parts[place].type if type_ is not None and type_.kind is kind else None)
    if isinstance(made.get("type"), dict | list):
        made["type"] = plain(made["type"], type_)
    if "fields" in made:
        types = {f.name: f.type for f in parts}
        made["fields"] = [plain(f, types.get(f["name"])) for f in made["fields"]]
    return made


# --- values ------------------------------------------------------------------------------------------------------


def arrow_types(columns: Sequence[TableColumn]) -> list[pa.DataType]:
    """How the values of columns travel."""
    from bergsql.engine.table.arrow_types import arrow_schema

    ids = count(1)
    fields = [NestedField(next(ids), c.name, to_iceberg(c.type, ids, 3), required=False) for c in columns]
    return [f.type for f in arrow_schema(fields)]


def reading(type_: DataType) -> Convert | None:
    """What makes a value for Arrow of what an Avro reader gives; None where it is one."""

    def stamp(value: Any) -> Any:
        # A number without a meaning of its own is one of milliseconds, as in Flink.
        return datetime.fromtimestamp(0, UTC) + _millis(value) if type(value) is int else value

    def clock(value: Any) -> Any:
        return (datetime.min + _millis(value)).time() if type(value) is int else value

    def decimal(value: Any) -> Any:
        # As in Flink, bytes without a meaning of their own are the digits.
        if isinstance(value, bytes):
            return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-(type_.scale or 0), _DIGITS)
        return value

    def whole(value: Any) -> Any:
        if type(value) is not int:
            raise ValueError(f"{value!r} is no whole number")
        return value

    match type_.kind:
        case Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ:
            return stamp
        case Kind.TIME:
            return clock
        case Kind.DECIMAL:
            return decimal
        case kind if kind in INTEGERS:
            return whole
    return _within(type_, reading, lambda made: list(made.items()))


def writing(type_: DataType, *, legacy: bool) -> Convert | None:
    """What makes a value for an Avro writer of what Arrow gives; None where it is one."""

    def inner(part: DataType) -> Convert | None:
        return writing(part, legacy=legacy)

    def instant(value: datetime) -> datetime:
        return value.replace(tzinfo=UTC)  # without a zone it would be one of the machine's

    if type_.kind is Kind.TIMESTAMP and legacy:
        return instant
    if type_.kind is Kind.TIME:
        return _to_millis
    return _within(type_, inner, lambda pairs: pairs if isinstance(pairs, dict) else dict(pairs))


def _to_millis(value: time) -> time:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _millis(value: int) -> Any:
    from datetime import timedelta

    return timedelta(milliseconds=value)


def _within(type_: DataType, of: Callable[[DataType], Convert | None], entries: Convert) -> Convert | None:
    """The conversion of a nested value by those of its parts; ``entries``: of a map itself."""
    converts = [of(f.type) for f in type_.children]
    match type_.kind:
        case Kind.ARRAY if converts[0] is not None:
            convert = converts[0]
            return lambda items: [None if v is None else convert(v) for v in items]
        case Kind.MAP:
            convert_value = converts[1]
            if convert_value is None:
                return entries
            change = convert_value

            def mapped(value: Any) -> Any:
                pairs = value.items() if isinstance(value, dict) else value
                return entries({k: None if v is None else change(v) for k, v in pairs})

            return mapped
        case Kind.ROW if any(converts):
            members = [(f.name, c) for f, c in zip(type_.children, converts, strict=True) if c is not None]

            def row(value: Any) -> Any:
                made = dict(value)
                for name, convert in members:
                    if (found := made.get(name)) is not None:
                        made[name] = convert(found)
                return made

            return row
    return None
