"""Rows as Java's ``Row.toString`` gives them: ``+I[1, a, null]``. DuckDB SQL of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.types import BINARIES, FLOATS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.streaming.changelog import StreamColumn


def row_text(columns: Sequence[StreamColumn]) -> str:
    """SQL of the text of a change, of a batch called ``i``."""
    kinds = "['+I', '-U', '+U', '-D'][i.op + 1]"
    values = [_text(f"i.c{n}", c.type, 0) for n, c in enumerate(columns)]
    return f"concat({kinds}, '[', concat_ws(', ', {', '.join(values)}), ']')"


def _text(value: str, type_: DataType, depth: int) -> str:
    return f"COALESCE({_known(value, type_, depth)}, 'null')"


def _known(value: str, type_: DataType, depth: int) -> str:
    """The text of a value, NULL of NULL."""
    item = f"x{depth}"
    kind = type_.kind
    if kind in BINARIES:
        # Java's Arrays.toString: bytes are signed.
        octets = f"list_transform(range(0, octet_length({value})), lambda {item}: {_byte(value, item)})"
        return _listed(octets, value)
    if kind in FLOATS:
        from bergsql.engine.plan.cast_text import double_text

        return double_text(value)
    match kind:
        case Kind.TIMESTAMP:
            return _clock(value)
        case Kind.TIMESTAMP_LTZ:
            return f"({_clock(f'({value} AT TIME ZONE {chr(39)}UTC{chr(39)})', seconds=True)} || 'Z')"
        case Kind.TIME:
            return f"regexp_replace(CAST({value} AS VARCHAR), ':00$', '')"
        case Kind.ARRAY | Kind.MULTISET:
            inner = _text(item, type_.children[0].type, depth + 1)
            return _listed(f"list_transform({value}, lambda {item}: {inner})", value)
        case Kind.MAP:
            key, val = (
                _text(f"{item}.{p}", f.type, depth + 1) for p, f in zip(("key", "value"), type_.children, strict=True)
            )
            entries = f"list_transform(map_entries({value}), lambda {item}: concat({key}, '=', {val}))"
            return f"CASE WHEN {value} IS NOT NULL THEN concat('{{', array_to_string({entries}, ', '), '}}') END"
        case Kind.ROW:
            names = [identifier(n) for n in distinct_names(f.name for f in type_.children)]
            parts = [_text(f"({value}).{n}", f.type, depth + 1) for n, f in zip(names, type_.children, strict=True)]
            return f"CASE WHEN {value} IS NOT NULL THEN concat('+I[', concat_ws(', ', {', '.join(parts)}), ']') END"
        case _:
            return f"CAST({value} AS VARCHAR)"


def _byte(value: str, place: str) -> str:
    pair = f"substr(hex({value}), CAST(2 * {place} + 1 AS INTEGER), 2)"
    number = f"CAST('0x' || {pair} AS INTEGER)"
    return f"CAST(CASE WHEN {number} > 127 THEN {number} - 256 ELSE {number} END AS VARCHAR)"


def _listed(texts: str, value: str) -> str:
    return f"CASE WHEN {value} IS NOT NULL THEN concat('[', array_to_string({texts}, ', '), ']') END"


def _clock(value: str, *, seconds: bool = False) -> str:
    """As LocalDateTime prints: with T, without seconds that are zero; an Instant has its seconds always.

    Fractions come in groups of three digits.
    """
    text = f"replace(CAST({value} AS VARCHAR), ' ', 'T')"
    fraction = f"regexp_extract({text}, '\\.(\\d+)$', 1)"
    padded = f"rpad({fraction}, CAST(ceil(length({fraction}) / 3.0) * 3 AS INTEGER), '0')"
    whole = f"regexp_replace({text}, '\\.\\d+$', '')"
    short = whole if seconds else f"regexp_replace({whole}, ':00$', '')"
    return f"CASE WHEN {fraction} <> '' THEN {whole} || '.' || {padded} ELSE {short} END"
