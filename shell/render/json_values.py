"""The JSON of a value: one writer a type.

Numbers are JSON numbers, but DECIMAL, which is a string, as are NaN and the infinities. BYTES is
``{"$hex": "00ff"}``, MAP ``{"$map": [[key, value], …]}``, ROW an object. TIMESTAMP is ``YYYY-MM-DD HH:MM:SS.ffffff``
whatever its precision up to six (nine digits beyond), TIMESTAMP_LTZ the same in UTC. VARIANT is what it holds. All else
is a string with the text that a tableau shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from json.encoder import encode_basestring as quote
from math import isfinite
from typing import Any

from bergsql.catalog.metadata.java_floats import double_text
from bergsql.engine.result import Result
from bergsql.engine.sql.types import DataType, Kind
from bergsql.shell.render.layout import filled_chunks, unique
from bergsql.shell.render.values import Writer, texts, time_writer, timestamp_writer, value_writer

_MICROS, _NANOS = 6, 9


def object_lines(result: Result) -> Iterator[list[str]]:
    """The rows of ``result`` as JSON objects, a chunk at a time; keys are in the order of the columns."""
    writers = [json_writer(c.type) for c in result.columns]
    names = unique([c.name for c in result.columns])
    row = "{" + ", ".join(quote(n).replace("%", "%%") + ": %s" for n in names) + "}"
    for chunk in filled_chunks(result):
        cells = [texts(v, write, "null") for v, write in zip(zip(*chunk, strict=True), writers, strict=True)]
        yield [row % cell for cell in zip(*cells, strict=True)]


def json_writer(type_: DataType) -> Writer:
    """What writes values of ``type_`` that are not NULL as JSON."""
    match type_.kind:
        case Kind.BOOLEAN:
            return lambda value: "true" if value else "false"
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT | Kind.HUGEINT:
            return str
        case Kind.FLOAT | Kind.DOUBLE:
            return _number
        case Kind.BINARY | Kind.BYTES:
            return _bytes
        case Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ:
            return _quoted(timestamp_writer(_NANOS if type_.holds_nanoseconds else _MICROS))
        case Kind.TIME:
            return _quoted(time_writer(None))
        case Kind.ARRAY | Kind.MULTISET:
            return _array(json_writer(type_.children[0].type))
        case Kind.MAP:
            key, value = (json_writer(child.type) for child in type_.children)
            return _map(key, value)
        case Kind.ROW:
            names = [quote(n) for n in unique([child.name for child in type_.children])]
            return _row(names, [json_writer(child.type) for child in type_.children])
        case Kind.STRING | Kind.VARCHAR | Kind.CHAR:
            return quote
        case Kind.VARIANT:
            return _json
        case _:
            return _quoted(value_writer(type_, "UTC"))


def _quoted(write: Writer) -> Writer:
    return lambda value: quote(write(value))


def _number(value: float) -> str:
    return repr(value) if isfinite(value) else f'"{double_text(value)}"'


def _json(value: str) -> str:
    """A variant's JSON; in quotes where it has numbers that JSON lacks."""
    if "NaN" in value or "nfinity" in value:
        from json import loads

        try:
            loads(value, parse_constant=int)
        except ValueError:
            return quote(value)
    return value


def _bytes(value: Any) -> str:
    return f'{{"$hex": "{value.hex()}"}}' if isinstance(value, bytes) else quote(str(value))


def _array(element: Writer) -> Writer:
    return lambda value: f"[{', '.join('null' if x is None else element(x) for x in value)}]"


def _map(key: Writer, value: Writer) -> Writer:
    def write(pairs: list[tuple[object, object]]) -> str:
        parts = (f"[{'null' if k is None else key(k)}, {'null' if v is None else value(v)}]" for k, v in pairs)
        return f'{{"$map": [{", ".join(parts)}]}}'

    return write


def _row(names: list[str], parts: list[Writer]) -> Writer:
    def write(values: tuple[object, ...]) -> str:
        inner = (
            f"{name}: {'null' if v is None else part(v)}" for name, part, v in zip(names, parts, values, strict=True)
        )
        return f"{{{', '.join(inner)}}}"

    return write
