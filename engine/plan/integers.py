"""Integer arithmetic that wraps, as Java's does, where DuckDB's raises.

Measured on 20 million rows: ``a + b`` 1.9 ns a row, ``coalesce(TRY(a + b), wrapped)`` 4.0 ns, always wrapping in the
wider type 6.5 ns. TRY costs little because DuckDB falls back row by row only in a vector that overflowed. TRY refuses
volatile operands (``rand()``, ``error()``): those wrap always.

A chain such as ``a + b * c`` is tried as a whole and wrapped as a whole (:data:`Ring`): trying each step would write
its operands twice, and text would double with every operator.
"""

from __future__ import annotations

from bergsql.engine.sql.types import Kind

BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
SQL_NAMES = {Kind.TINYINT: "TINYINT", Kind.SMALLINT: "SMALLINT", Kind.INT: "INTEGER", Kind.BIGINT: "BIGINT"}

Ring = tuple[str, str]
"""An integer expression twice: as DuckDB computes it (raising), and wrapped, in the wider type."""


def wrap_int(value: int, kind: Kind) -> int:
    """``value`` as Java's narrowing leaves it.

    >>> wrap_int(2**31, Kind.INT)
    -2147483648
    """
    from bergsql.catalog.metadata import exact

    return exact.wrapped(value, BITS[kind])


def _wide(kind: Kind) -> str:
    return "HUGEINT" if kind is Kind.BIGINT else "BIGINT"


def _cut(sql: str, kind: Kind) -> str:
    """The low bits of ``sql`` with their sign, still in the wider type."""
    bits = BITS[kind]
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    lifted = f"CAST({sign} AS HUGEINT)" if kind is Kind.BIGINT else str(sign)
    return f"(xor({sql} & {mask}, {lifted}) - {sign})"


def wrapped(sql: str, kind: Kind) -> str:
    """The low bits of ``sql``, which is a BIGINT or HUGEINT wide enough not to overflow, as an integer of ``kind``."""
    return f"CAST({_cut(sql, kind)} AS {SQL_NAMES[kind]})"


def ring(sql: str, kind: Kind) -> Ring:
    """Any integer expression as the leaf of a chain."""
    return sql, f"CAST({sql} AS {_wide(kind)})"


def arithmetic(operator: str, a: Ring, b: Ring, kind: Kind) -> Ring:
    """``a operator b`` (``+``, ``-`` or ``*``) for two operands of ``kind``."""
    return f"({a[0]} {operator} {b[0]})", _cut(f"({a[1]} {operator} {b[1]})", kind)


def negated(a: Ring, kind: Kind) -> Ring:
    return f"(- {a[0]})", _cut(f"(- {a[1]})", kind)


def value_of(chain: Ring, kind: Kind, *, volatile: bool) -> str:
    """The value of a chain."""
    always = f"CAST({chain[1]} AS {SQL_NAMES[kind]})"
    # An operand may be a literal, whose type DuckDB takes from the other: the cast costs nothing where it is right.
    return always if volatile else f"coalesce(TRY(CAST({chain[0]} AS {SQL_NAMES[kind]})), {always})"


def narrowed(sql: str, source: Kind, target: Kind, *, volatile: bool) -> str:
    """An integer of a wider kind as one of a narrower, its high bits cut off."""
    wide = "HUGEINT" if source is Kind.HUGEINT else "BIGINT"
    cut = wrapped(sql if source is Kind.BIGINT else f"CAST({sql} AS {wide})", target)
    return cut if volatile else f"coalesce(TRY_CAST({sql} AS {SQL_NAMES[target]}), {cut})"
