"""From the annotations of a function in Python to SQL types."""

from __future__ import annotations

import datetime
import decimal
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.types import BIGINT, BOOLEAN, DOUBLE, STRING, DataType, Field, Kind

_TYPES: dict[object, DataType] = {
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bool: BOOLEAN,
    bytes: DataType(Kind.BYTES),
    decimal.Decimal: DataType(Kind.DECIMAL, 38, 18),  # as Flink takes it
    datetime.date: DataType(Kind.DATE),
    datetime.datetime: DataType(Kind.TIMESTAMP, 6),
    datetime.time: DataType(Kind.TIME, 6),
}
_KNOWN = "int, float, str, bool, bytes, Decimal, date, datetime, time, a list of one of them, or such a type or None"


class Signature(NamedTuple):
    """The SQL types of a function's parameters and result, and the parameters' names."""

    parameters: tuple[DataType, ...]
    names: tuple[str, ...]
    result: DataType
    required: int
    """How many parameters have no default; the others may be left out of a call."""


def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature that the annotations give.

    :raises BergError: INVALID where one is missing or says what SQL cannot.
    """
    hint = "Annotate it, as in def f(a: int, b: str | None) -> str:"
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise BergError(ErrorCode.INVALID, f"its signature cannot be read ({error}).", hint=hint) from None
    parameters = list(signature.parameters.values())
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise BergError(ErrorCode.INVALID, f"its parameter '{parameter.name}' has no place of its own.", hint=hint)
        if parameter.name not in hints:
            raise BergError(ErrorCode.INVALID, f"its parameter '{parameter.name}' has no type.", hint=hint)
    if "return" not in hints:
        raise BergError(ErrorCode.INVALID, "it does not say the type of its result.", hint=hint)
    return Signature(
        tuple(_sql_type(hints[p.name], f"parameter '{p.name}'") for p in parameters),
        tuple(p.name for p in parameters),
        _sql_type(hints["return"], "result"),
        sum(p.default is p.empty for p in parameters),
    )


def _sql_type(annotation: object, what: str) -> DataType:
    found = _TYPES.get(annotation) if isinstance(annotation, type) else None
    if found is not None:
        return found
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        others = [a for a in arguments if a is not type(None)]
        if len(others) == 1:
            return _sql_type(others[0], what)
    if origin is list and len(arguments) == 1:
        return DataType(Kind.ARRAY, children=(Field("element", _sql_type(arguments[0], what)),))
    shown = getattr(annotation, "__name__", None) or str(annotation)
    raise BergError(
        ErrorCode.INVALID, f"the type {shown} of its {what} is none that SQL has here.", hint=f"It may be {_KNOWN}."
    )


def arrow_type(type_: DataType) -> Any:
    """The Arrow type of what a function gives."""
    import pyarrow as pa

    if type_.kind is Kind.ARRAY:
        return pa.list_(arrow_type(type_.children[0].type))
    return {
        Kind.BIGINT: pa.int64(),
        Kind.DOUBLE: pa.float64(),
        Kind.STRING: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.BYTES: pa.binary(),
        Kind.DECIMAL: pa.decimal128(38, 18),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us"),
        Kind.TIME: pa.time64("us"),
    }[type_.kind]
