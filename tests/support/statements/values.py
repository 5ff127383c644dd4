"""Types and values of the tables that random statements change: pools, literals, comparison, and how rows are compared.

Values are Python's; a struct is a dict by field name, an array a list, NULL is None.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A column type. ``fields`` are a struct's, ``element`` an array's; ``scale`` a decimal's (precision in the name)."""

    name: str
    fields: tuple[tuple[str, Kind], ...] = ()
    element: Kind | None = None
    scale: int = 0

    @property
    def sql(self) -> str:
        if self.fields:
            return f"struct<{', '.join(f'{name}: {kind.sql}' for name, kind in self.fields)}>"
        return f"array<{self.element.sql}>" if self.element else self.name

    @property
    def is_number(self) -> bool:
        return self.name in ("int", "bigint")

    def with_fields(self, fields: Sequence[tuple[str, Kind]]) -> Kind:
        return replace(self, fields=tuple(fields))


def decimal(precision: int, scale: int) -> Kind:
    return Kind(f"decimal({precision},{scale})", scale=scale)


def struct(**fields: Kind) -> Kind:
    return Kind("struct", tuple(fields.items()))


INT, BIGINT, STRING, DOUBLE = Kind("int"), Kind("bigint"), Kind("string"), Kind("double")
DATE, TIMESTAMP, BOOLEAN = Kind("date"), Kind("timestamp"), Kind("boolean")
MONEY = decimal(7, 2)
SIMPLE = (INT, BIGINT, STRING, DOUBLE, MONEY, DATE, TIMESTAMP, BOOLEAN)
NESTED = (struct(a=INT, b=STRING), struct(a=INT, n=struct(x=BIGINT, y=DATE)), Kind("array", element=INT))
_POOLS: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 2, 3, 4, 5, 7, -1, 2**31 - 1),
    "bigint": (0, 1, 2, 3, -5, 2**31, 2**53 + 1),
    "string": ("", "a", "ab", "b", "it's", "北京", "zz"),
    "double": (0.0, -0.0, 1.5, -2.25, math.nan, math.inf, 0.1),
    "date": (date(1970, 1, 1), date(2024, 2, 29), date(1969, 12, 31), date(2024, 3, 1)),
    "timestamp": (
        datetime(1970, 1, 1),
        datetime(2024, 2, 29, 23, 59, 59, 999999),
        datetime(2024, 3, 1),
        datetime(1969, 12, 31, 23),
    ),
    "boolean": (False, True),
}
_DECIMALS = (0, 1, -1, 150, -99, 12345)


def random_value(kind: Kind, random: Random, null: float = 0.15) -> Any:
    """A value of the type, NULL as often as ``null``."""
    if random.random() < null:
        return None
    if kind.fields:
        return {name: random_value(inner, random) for name, inner in kind.fields}
    if kind.element:
        return [random_value(kind.element, random) for _ in range(random.choice((0, 1, 1, 2)))]
    if kind.name.startswith("decimal"):
        return Decimal(random.choice(_DECIMALS)).scaleb(-kind.scale)
    return random.choice(_POOLS[kind.name])


def literal(kind: Kind, value: Any) -> str:
    """The value in Spark's SQL, of exactly this type."""
    if value is None:
        return f"CAST(NULL AS {kind.sql})"
    if kind.fields:
        parts = [f"'{name}', {literal(inner, value[name])}" for name, inner in kind.fields]
        return f"named_struct({', '.join(parts)})"
    if kind.element:
        items = ", ".join(literal(kind.element, v) for v in value)
        return f"array({items})" if value else f"CAST(array() AS {kind.sql})"
    match kind.name:
        case "int":
            return str(value)
        case "boolean":
            return "true" if value else "false"
        case "string":
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "date" | "timestamp":
            return f"{kind.name.upper()} '{value}'"
        case "double" if math.isinf(value):
            return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return f"CAST('{value}' AS {kind.name})"


def compare(a: Any, b: Any) -> int | None:
    """Below, at or above zero as SQL orders the two: NaN is equal to itself and above all; None if one is NULL."""
    if a is None or b is None:
        return None
    if isinstance(a, float) or isinstance(b, float):
        a, b = ((math.isnan(v), 0.0 if math.isnan(v) else v) for v in (a, b))
    return int(a > b) - int(a < b)


def wrapped(kind: Kind, value: int | None) -> int | None:
    """A whole number in the bits that the type has."""
    if value is None:
        return None
    half: int = 2 ** (31 if kind.name == "int" else 63)
    return int((value + half) % (2 * half) - half)


def encoded(kind: Kind, value: Any) -> Any:
    """The value as JSON gives it, in the oracle's way to write."""
    if value is None:
        return None
    if kind.fields:
        return {name: encoded(inner, value[name]) for name, inner in kind.fields}
    if kind.element:
        return [encoded(kind.element, v) for v in value]
    if kind.name == "double" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if kind.name.startswith("decimal"):
        return f"{value:.{kind.scale}f}"
    if kind.name == "timestamp":
        return value.isoformat(sep=" ", timespec="microseconds")
    return value.isoformat() if kind.name == "date" else value


def holds_null(value: Any) -> bool:
    """Whether a value is NULL, or a struct with a field that is."""
    return value is None or (isinstance(value, dict) and any(map(holds_null, value.values())))


def as_texts(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows of JSON values as sorted texts: equal lists are equal multisets."""
    return sorted(json.dumps(list(row), ensure_ascii=False, sort_keys=True) for row in rows)


def without(row: Mapping[str, Any], name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}
