"""What ``datagen`` puts into a column: DuckDB SQL of a value as a function of the row's number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.catalog.options import OptionSpec, check_value, parse_duration
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.type_names import duckdb_name, flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

_LONGEST = "1048576"
FIELD_OPTIONS: Final = (
    OptionSpec("kind", "enum", "random", "How values are made.", values=("sequence", "random")),
    OptionSpec("min", "number", doc="The least random number; that of the type without it."),
    OptionSpec("max", "number", doc="The greatest random number; that of the type without it."),
    OptionSpec("start", "int", doc="The first number of a sequence."),
    OptionSpec("end", "int", doc="The last number of a sequence: with it the table ends."),
    OptionSpec("length", "int", doc="Of texts (100) and bytes, of arrays and maps (3).", bounds=("0", _LONGEST)),
    OptionSpec("max-past", "duration", "0", "How far random times lie in the past at most."),
    OptionSpec("var-len", "bool", "false", "Whether texts and bytes have any length up to the one that is given."),
    OptionSpec("null-rate", "number", "0", "What part of the values is NULL, from 0 to 1."),
)
_BY_KEY = {spec.key: spec for spec in FIELD_OPTIONS}

_RANGES = {Kind.TINYINT: 7, Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}
"""The bits of a number."""
_FLOAT_RANGES = {Kind.FLOAT: "3.4028234e38", Kind.DOUBLE: "1.7976931348623157e308"}


class Field(NamedTuple):
    """A column that is made up.

    sql
        The value in the row of a number, given as SQL, by a seed.
    rows
        How many rows there are at most: those of a sequence.
    """

    name: str
    sql: Callable[[str, int], str]
    rows: int | None = None
    signature: str = "random"


def field_of(name: str, type_: DataType, options: Mapping[str, str], number: int) -> Field:
    """The column of that name and type. ``options`` are its own, ``kind``, ``min``, …; ``number`` sets it apart.

    :raises BergError: OPTION for options that do not fit, UNSUPPORTED for types.
    """
    own = {k: v for k, v in options.items() if "." not in k and not (type_.kind is Kind.ROW and k not in _BY_KEY)}
    for key, value in own.items():
        if key not in _BY_KEY:
            message = f"'fields.{name}.{key}' is no option of a column that is made up."
            raise BergError(ErrorCode.OPTION, message, hint=did_you_mean(key, _BY_KEY))
        check_value(_BY_KEY[key]._replace(key=f"fields.{name}.{key}"), value)
    if own.get("kind", "random").casefold() == "sequence":
        _allow(name, type_, own, "kind", "start", "end")
        return _sequence(name, type_, own)
    made = _random(name, type_, options, own, number)
    null_rate = _rate(name, own)
    if not null_rate:
        return Field(name, made)
    return Field(
        name, lambda n, seed: f"CASE WHEN {_unit(n, seed, number, 'null')} >= {null_rate!r} THEN {made(n, seed)} END"
    )


def _allow(name: str, type_: DataType, own: Mapping[str, str], *keys: str) -> None:
    for key in own:
        if key not in keys:
            what = "a sequence" if "start" in keys else f"a column of type {flink_name(type_)}"
            raise BergError(
                ErrorCode.OPTION, f"'fields.{name}.{key}' means nothing to {what}.", hint=f"It has {', '.join(keys)}."
            )


def _rate(name: str, own: Mapping[str, str]) -> float:
    text = own.get("null-rate", "0")
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise BergError(ErrorCode.OPTION, f"'{text}' is not a value of 'fields.{name}.null-rate': it takes 0 to 1.")
    return rate


def _sequence(name: str, type_: DataType, own: Mapping[str, str]) -> Field:
    if type_.kind not in (*INTEGERS, *FLOATS, Kind.DECIMAL, *TEXTS):
        message = f"Column '{name}' is {flink_name(type_)}: a sequence is of numbers or texts."
        raise BergError(ErrorCode.OPTION, message)
    for key in ("start", "end"):
        if key not in own:
            raise BergError(ErrorCode.OPTION, f"The sequence of column '{name}' needs 'fields.{name}.{key}'.")
    start, end = int(own["start"]), int(own["end"])
    if end < start:
        message = f"The sequence of column '{name}' ends before it starts: at {end}, from {start}."
        raise BergError(ErrorCode.OPTION, message)
    if type_.kind in _RANGES and (start < -(1 << _RANGES[type_.kind]) or end >= 1 << _RANGES[type_.kind]):
        raise BergError(
            ErrorCode.OPTION, f"The sequence of column '{name}' has numbers that {flink_name(type_)} cannot hold."
        )
    to = duckdb_name(type_)
    return Field(name, lambda n, _: f"CAST({start} + {n} AS {to})", end - start + 1, f"sequence {start} {end}")


# --- random values ---------------------------------------------------------------------------------------------------


def _hash(n: str, seed: int, number: int, what: str = "") -> str:
    """64 random bits for a row."""
    return f"hash({n}, {seed}, {number}, '{what}')"


def _unit(n: str, seed: int, number: int, what: str = "") -> str:
    """A random DOUBLE from 0 up to 1."""
    return f"(({_hash(n, seed, number, what)} >> 11)::DOUBLE / 9007199254740992)"


def _random(
    name: str, type_: DataType, options: Mapping[str, str], own: Mapping[str, str], number: int
) -> Callable[[str, int], str]:
    to = duckdb_name(type_)
    kind = type_.kind
    if kind in INTEGERS:
        _allow(name, type_, own, "kind", "min", "max", "null-rate")
        bits = _RANGES[kind]
        low, high = _bounds(name, type_, own, -(1 << bits), (1 << bits) - 1)
        first, span = int(low), int(high) - int(low) + 1
        return lambda n, seed: f"CAST({first}::HUGEINT + {_hash(n, seed, number)}::HUGEINT % {span}::HUGEINT AS {to})"
    if kind in FLOATS or kind is Kind.DECIMAL:
        _allow(name, type_, own, "kind", "min", "max", "null-rate")
        return _fraction(name, type_, own, number)
    if kind is Kind.BOOLEAN:
        _allow(name, type_, own, "kind", "null-rate")
        return lambda n, seed: f"({_hash(n, seed, number)} % 2 = 0)"
    if kind in TEXTS or kind in BINARIES:
        _allow(name, type_, own, "kind", "length", "var-len", "null-rate")
        return _text(name, type_, own, number)
    if kind in STAMPS or kind in (Kind.DATE, Kind.TIME):
        _allow(name, type_, own, "kind", "max-past", "null-rate")
        past = parse_duration(own.get("max-past", "0"))
        return lambda n, seed: _time(type_, f"CAST({_unit(n, seed, number)} * {past} AS BIGINT)")
    return _nested(name, type_, options, own, number)


def _bounds(name: str, type_: DataType, own: Mapping[str, str], low: int, high: int) -> tuple[Decimal, Decimal]:
    found = []
    for key, most in (("min", low), ("max", high)):
        text = own.get(key)
        try:
            value = Decimal(most) if text is None else Decimal(text.strip())
        except InvalidOperation:
            value = Decimal("NaN")
        whole = type_.kind not in INTEGERS or (value.is_finite() and value == value.to_integral_value())
        if not value.is_finite() or not whole or not low <= value <= high:
            raise BergError(
                ErrorCode.OPTION,
                f"'{text}' is not a value of 'fields.{name}.{key}': it takes a number that {flink_name(type_)} holds.",
            )
        found.append(value)
    if found[0] > found[1]:
        raise BergError(ErrorCode.OPTION, f"'fields.{name}.min' is greater than 'fields.{name}.max'.")
    return found[0], found[1]


def _fraction(name: str, type_: DataType, own: Mapping[str, str], number: int) -> Callable[[str, int], str]:
    to = duckdb_name(type_)
    if type_.kind is Kind.DECIMAL:
        scale = type_.scale or 0
        unit = 10**scale
        most = 10 ** (type_.precision or 10) - 1
        low, high = _bounds(name, type_, own, -(most // unit), most // unit)
        first, span = int(low * unit), int(high * unit) - int(low * unit) + 1
        if "max" not in own:
            span = most - first + 1
        span = min(span, 10**38)  # what a HUGEINT holds
        # Of the unscaled value: 124 random bits, as 38 digits need.
        return lambda n, seed: _scaled(
            f"({first}::HUGEINT + (({_hash(n, seed, number, 'high')} >> 5)::HUGEINT * 18446744073709551616"
            f" + {_hash(n, seed, number)}::HUGEINT) % {span}::HUGEINT)",
            scale,
            to,
        )
    edge = int(Decimal(_FLOAT_RANGES[type_.kind]))
    low, high = _bounds(name, type_, own, -edge, edge)
    if "min" not in own:
        low = Decimal(0) if high >= 0 else low
    # Halves, as the whole range may be more than a DOUBLE holds.
    least, most_half = float(low), float(high) / 2 - float(low) / 2
    return lambda n, seed: (
        f"CAST({least!r}::DOUBLE + {_unit(n, seed, number)} * {most_half!r}::DOUBLE"
        f" + {_unit(n, seed, number)} * {most_half!r}::DOUBLE AS {to})"
    )


def _scaled(unscaled: str, scale: int, to: str) -> str:
    """A DECIMAL of its unscaled value, by way of text: arithmetic would lose digits."""
    text = f"CAST({unscaled} AS VARCHAR)"
    if scale:
        text = f"regexp_replace({text}, '^(-?)(\\d{{1,{scale}}})$', '\\1{'0' * scale}\\2')"
        text = f"regexp_replace({text}, '(\\d{{{scale}}})$', '.\\1')"
    return f"CAST({text} AS {to})"


def _text(name: str, type_: DataType, own: Mapping[str, str], number: int) -> Callable[[str, int], str]:
    most = type_.precision
    length = int(own["length"]) if "length" in own else most if most is not None else 100
    if most is not None and length > most:
        raise BergError(ErrorCode.OPTION, f"'fields.{name}.length' is more than {flink_name(type_)} holds.")
    varies = own.get("var-len", "false").casefold() == "true"
    binary = type_.kind in BINARIES
    if varies and type_.kind in (Kind.CHAR, Kind.BINARY):
        raise BergError(
            ErrorCode.OPTION, f"'fields.{name}.var-len' means nothing to {flink_name(type_)}: its length is fixed."
        )
    digits = 2 * length if binary else length
    pieces = max(1, -(-digits // 32))

    def made(n: str, seed: int) -> str:
        text = " || ".join(f"md5(concat({n}, ',', {seed}, ',', {number}, ',', {i}))" for i in range(min(pieces, 8)))
        if pieces > 8:
            text = f"repeat({text}, {-(-pieces // 8)})"
        size = str(length)
        if varies:
            size = f"CAST(1 + {_hash(n, seed, number, 'length')} % {max(1, length)} AS BIGINT)"
        if binary:
            return f"unhex(substr({text}, 1, 2 * ({size})))"
        return f"substr({text}, 1, {size})"

    return made


def _time(type_: DataType, past: str) -> str:
    """Now, less ``past`` milliseconds; in the digits that the type has."""
    now = f"(now() - to_milliseconds({past}))"
    if type_.kind is Kind.DATE:
        return f"CAST({now} AS DATE)"
    digits = (type_.precision or 0) if type_.kind is Kind.TIME else type_.fractional_digits
    unit = "second" if digits == 0 else "millisecond" if digits <= 3 else "microsecond"
    clock = now if type_.kind is Kind.TIMESTAMP_LTZ else f"CAST({now} AS TIMESTAMP)"
    return f"CAST(date_trunc('{unit}', {clock}) AS {duckdb_name(type_)})"


def _nested(
    name: str, type_: DataType, options: Mapping[str, str], own: Mapping[str, str], number: int
) -> Callable[[str, int], str]:
    def part(word: str, inner: DataType, place: int) -> Callable[[str, int], str]:
        below = {k.removeprefix(f"{word}."): v for k, v in options.items() if k.startswith(f"{word}.")}
        field = field_of(f"{name}.{word}", inner, below, number * 31 + place + 1)
        if field.rows is not None:
            raise BergError(ErrorCode.OPTION, f"'fields.{name}.{word}' is inside of a column: it cannot be a sequence.")
        return field.sql

    children = type_.children
    if type_.kind is Kind.ROW:
        _allow(name, type_, own, "kind", "null-rate")
        parts = [part(f.name, f.type, i) for i, f in enumerate(children)]
        names = [identifier(n) for n in distinct_names(f.name for f in children)]
        return lambda n, seed: (
            f"struct_pack({', '.join(f'{k} := {p(n, seed)}' for k, p in zip(names, parts, strict=True))})"
        )
    if type_.kind not in (Kind.ARRAY, Kind.MAP, Kind.MULTISET):
        raise not_supported(f"A column of type {flink_name(type_)} ('{name}') of connector 'datagen'")
    _allow(name, type_, own, "kind", "length", "null-rate")
    length = int(own.get("length", "3"))
    item = f"x{number}"

    def listed(made: Callable[[str, int], str], n: str, seed: int) -> str:
        return f"list_transform(range({length}), lambda {item}: {made(f'({n} * {length} + {item})', seed)})"

    if type_.kind is Kind.MAP:
        key, value = part("key", children[0].type, 0), part("value", children[1].type, 1)
        return lambda n, seed: (
            f"map_from_entries(list_distinct(list_transform({listed(key, n, seed)}, lambda k: k)).list_transform("
            f"lambda k, i: {{'k': k, 'v': ({listed(value, n, seed)})[i]}}))"
        )
    element = part("element", children[0].type, 0)
    return lambda n, seed: listed(element, n, seed)
