"""DuckDB results as rows of Python values.

``fetchmany`` gives plain types as they are. What Python cannot hold as DuckDB would give it — instants, nanoseconds,
intervals of months, maps with keys that do not hash — is turned into something that it can hold by SQL around the
query, and back into the values that :data:`bergsql.engine.result.Row` promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bergsql.engine.result import Row
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.sql.types import STAMPS, DataType, Kind

Converter = Callable[[object], object]

_NESTED = (Kind.ARRAY, Kind.MAP, Kind.ROW)


def _is_awkward(type_: DataType) -> bool:
    match type_.kind:
        case Kind.TIMESTAMP | Kind.TIME:
            return type_.holds_nanoseconds
        case Kind.TIMESTAMP_LTZ | Kind.INTERVAL_YEAR_MONTH | Kind.INTERVAL_DAY_TIME | Kind.MAP:
            return True
        case Kind.VARIANT | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return True
        case _:
            return any(_is_awkward(child.type) for child in type_.children)


def _presented(value: str, type_: DataType, depth: int = 0) -> str:
    """SQL that turns ``value`` (SQL of ``type_``) into something ``fetchmany`` can give."""
    if not _is_awkward(type_):
        return value
    item = f"x{depth}"
    match type_.kind:
        case Kind.TIMESTAMP:
            return f"epoch_ns({value})"
        case Kind.TIMESTAMP_LTZ:
            if type_.holds_nanoseconds:
                return f"epoch_ns({value})"
            from bergsql.engine.sql import utc

            return utc.clock(value)
        case Kind.TIME:
            return f"epoch_ns({value})"
        case Kind.INTERVAL_YEAR_MONTH:
            return f"CAST(datepart('year', {value}) * 12 + datepart('month', {value}) AS BIGINT)"
        case Kind.INTERVAL_DAY_TIME:
            return f"epoch_us({value})"
        case Kind.ARRAY:
            return f"list_transform({value}, lambda {item}: {_presented(item, type_.children[0].type, depth + 1)})"
        case Kind.MAP:
            key, val = (child.type for child in type_.children)
            k = _presented(f"{item}.key", key, depth + 1)
            v = _presented(f"{item}.value", val, depth + 1)
            return f"list_transform(map_entries({value}), lambda {item}: {{'k': {k}, 'v': {v}}})"
        case Kind.ROW:
            named = zip(distinct_names(f.name for f in type_.children), type_.children, strict=True)
            parts = ", ".join(
                f"{identifier(n)} := {_presented(f'struct_extract({value}, {string_literal(n)})', f.type, depth + 1)}"
                for n, f in named
            )
            return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({parts}) END"
        case Kind.VARIANT:
            return f"CAST(CAST({value} AS JSON) AS VARCHAR)"
        case _:
            return f"CAST({value} AS VARCHAR)"


def presentable(sql: str, types: Sequence[DataType]) -> str:
    """``sql`` itself, or a query around it whose rows ``fetchmany`` gives without loss."""
    if not any(_is_awkward(t) for t in types):
        return sql
    names = [f"c{i}" for i in range(len(types))]
    items = ", ".join(_presented(n, t) for n, t in zip(names, types, strict=True))
    return f"SELECT {items} FROM ({sql}) AS q({', '.join(names)})"


def _converter(type_: DataType, inside: bool = False) -> Converter | None:
    """What turns a fetched value into a :data:`Row` value, or None when it already is one; ``inside`` of another."""
    if type_.kind not in _NESTED:
        return far_text if inside and type_.kind in (Kind.DATE, *STAMPS) else None
    parts = [_converter(child.type, True) for child in type_.children]
    if type_.kind is Kind.ARRAY:
        element = parts[0]
        if element is None:
            return None

        def elements(v: object) -> object:
            return [element(x) for x in v] if isinstance(v, list) else v

        return elements
    if type_.kind is Kind.MAP:
        key, value = parts

        def pairs(v: object) -> object:
            if not isinstance(v, list):
                return v
            return [(key(e["k"]) if key else e["k"], value(e["v"]) if value else e["v"]) for e in v]

        return pairs

    def row(v: object) -> object:
        # The fields of ROW(…) have no names: they come as a tuple, others as a dict.
        values = tuple(v.values()) if isinstance(v, dict) else v
        if not isinstance(values, tuple):
            return values
        return tuple(f(x) if f else x for f, x in zip(parts, values, strict=True))

    return row


def converted(chunks: Iterator[list[Row]], types: Sequence[DataType]) -> Iterator[list[Row]]:
    """``chunks`` with nested values as :data:`Row` says."""
    converters = [_converter(t) for t in types]
    days = [i for i, t in enumerate(types) if t.kind in (Kind.DATE, *STAMPS)]
    for chunk in chunks:
        made = chunk
        if any(converters):
            made = [tuple(f(v) if f else v for f, v in zip(converters, row, strict=True)) for row in chunk]
        for i in days:
            if any(row[i].__class__ is str for row in made):
                made = [(*row[:i], far_text(row[i]), *row[i + 1 :]) for row in made]
        yield made


def far_text(value: object) -> object:
    """A day that Python's calendar does not reach, of which DuckDB gives the text: ``0045-03-15 (BC)`` is the year -44
    of Java and of the standard, whose calendars have a year 0."""
    if not isinstance(value, str) or " (BC)" not in value:
        return value
    day, _, time = value.partition(" (BC)")
    year, rest = day[:-6], day[-6:]
    number = int(year) - 1
    return f"{'-' if number else ''}{number:04}{rest}{time}"
