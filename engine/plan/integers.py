"""Integer arithmetic that wraps, as Java's does, where DuckDB's raises.

Measured on 20 million rows: ``a + b`` 1.9 ns a row, ``coalesce(TRY(a + b), wrapped)`` 4.0 ns, always wrapping in the
wider type 6.5 ns. TRY costs little because DuckDB falls back row by row only in a vector that overflowed. TRY refuses
volatile operands (``rand()``, ``error()``): those wrap always.
"""

from __future__ import annotations

from bergsql.engine.sql.types import DataType, Kind

BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
SQL_NAMES = {Kind.TINYINT: "TINYINT", Kind.SMALLINT: "SMALLINT", Kind.INT: "INTEGER", Kind.BIGINT: "BIGINT"}


def wrap_int(value: int, kind: Kind) -> int:
    """``value`` as Java's narrowing leaves it.

    >>> wrap_int(2**31, Kind.INT)
    -2147483648
    """
    bits = BITS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def wrapped(sql: str, kind: Kind) -> str:
    """The low bits of ``sql``, which is a BIGINT or HUGEINT wide enough not to overflow, as an integer of ``kind``."""
    bits = BITS[kind]
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    if kind is Kind.BIGINT:
        return f"CAST(xor({sql} & {mask}, CAST({sign} AS HUGEINT)) - {sign} AS BIGINT)"
    return f"CAST(xor({sql} & {mask}, {sign}) - {sign} AS {SQL_NAMES[kind]})"


def arithmetic(operator: str, a: str, b: str, type_: DataType, *, volatile: bool) -> str:
    """``a operator b`` (``+``, ``-`` or ``*``) for two operands whose DuckDB type is that of ``type_``."""
    name = SQL_NAMES[type_.kind]
    wide = "HUGEINT" if type_.kind is Kind.BIGINT else "BIGINT"
    always = wrapped(f"(CAST({a} AS {wide}) {operator} CAST({b} AS {wide}))", type_.kind)
    if volatile:
        return always
    # An operand may be a literal, whose type DuckDB takes from the other: the cast costs nothing where it is right.
    return f"coalesce(TRY(CAST({a} {operator} {b} AS {name})), {always})"


def negated(sql: str, type_: DataType, *, volatile: bool) -> str:
    name = SQL_NAMES[type_.kind]
    wide = "HUGEINT" if type_.kind is Kind.BIGINT else "BIGINT"
    always = wrapped(f"(- CAST({sql} AS {wide}))", type_.kind)
    return always if volatile else f"coalesce(TRY(CAST(- {sql} AS {name})), {always})"


def narrowed(sql: str, source: Kind, target: Kind, *, volatile: bool) -> str:
    """An integer of a wider kind as one of a narrower, its high bits cut off."""
    wide = "HUGEINT" if source is Kind.HUGEINT else "BIGINT"
    cut = wrapped(sql if source is Kind.BIGINT else f"CAST({sql} AS {wide})", target)
    return cut if volatile else f"coalesce(TRY_CAST({sql} AS {SQL_NAMES[target]}), {cut})"


def summed(sql: str) -> str:
    """A sum of integers (DuckDB: HUGEINT) as the BIGINT that Java's addition would have left."""
    return wrapped(sql, Kind.BIGINT)
