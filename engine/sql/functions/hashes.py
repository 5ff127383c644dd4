"""Spark's HASH (32-bit Murmur3) and XXHASH64, exact for every type.

Both hash one value after the other, the hash of one being the seed of the next; a NULL changes nothing; an array is its
elements, a struct its fields. So a value becomes a flat list of steps, and a fold over all steps is the hash. DuckDB
has neither function, and functions in Python would need numpy.
"""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.decimals import digits_of
from bergsql.engine.plan.sql_text import each, let
from bergsql.engine.sql.functions.codecs import byte_numbers
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BIGINT, BINARIES, INT, INTEGERS, STAMPS, TEXTS, DataType, Kind

_SEED = 42
_LONG_DECIMAL = 18
"""Digits up to which Spark keeps a decimal in a long."""


class _Murmur:
    """A step is a word below 2^32, or 2^32 plus the number of bytes that end here."""

    kind = "UBIGINT"
    end = 1 << 32

    def number(self, value: str, size: int) -> str:
        """Steps of a whole number of 4 or 8 bytes."""
        words = [f"({value} >> {shift}) & {_M32}" for shift in range(0, 8 * size, 32)]
        return f"[{', '.join(f'CAST({w} AS UBIGINT)' for w in words)}, CAST({self.end + size} AS UBIGINT)]"

    def bytes_(self, blob: str) -> str:
        """Whole words, little-endian; then each byte that is left, with its sign."""

        def made(b: str) -> str:
            at = [f"{b}[4 * i + {n}]" for n in range(1, 5)]
            word = " + ".join(f"({x} << {8 * n})" if n else x for n, x in enumerate(at))
            words = f"list_transform(range(len({b}) // 4), lambda i: CAST({word} AS UBIGINT))"
            signed = f"CAST(CASE WHEN x > 127 THEN x + {_M32 - 255} ELSE x END AS UBIGINT)"
            rest = f"list_transform({b}[4 * (len({b}) // 4) + 1:], lambda x: {signed})"
            return f"list_concat({words}, {rest}, [CAST({self.end} + len({b}) AS UBIGINT)])"

        return let(byte_numbers(blob), made)

    def fold(self, steps: str) -> str:
        finish = let(f"xor(h, w - {self.end})", lambda a: let(
            f"(xor({a}, {a} >> 16) * {0x85EBCA6B}) & {_M32}", lambda b: let(
                f"(xor({b}, {b} >> 13) * {0xC2B2AE35}) & {_M32}", lambda c: f"xor({c}, {c} >> 16)")))  # fmt: skip
        mixed = let(f"(w * {0xCC9E2D51}) & {_M32}", lambda p: f"(({_rotated32(p, 15)} * {0x1B873593}) & {_M32})")
        stirred = let(f"xor(h, {mixed})", lambda x: f"(({_rotated32(x, 13)} * 5 + {0xE6546B64}) & {_M32})")
        step = f"CASE WHEN w >= {self.end} THEN {finish} ELSE {stirred} END"
        folded = f"list_reduce({steps}, lambda h, w: CAST({step} AS UBIGINT), CAST({_SEED} AS UBIGINT))"
        return let(
            folded, lambda h: f"CAST(CAST({h} AS BIGINT) - CASE WHEN {h} > {_M31} THEN {1 << 32} ELSE 0 END AS INTEGER)"
        )


_M31, _M32 = (1 << 31) - 1, (1 << 32) - 1


def _rotated32(x: str, by: int) -> str:
    return f"((({x} << {by}) & {_M32}) | ({x} >> {32 - by}))"


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_WRAP = 1 << 64


def _cut(x: str) -> str:
    return f"(({x}) % {_WRAP}::UHUGEINT)"


def _times(x: str, by: int) -> str:
    return _cut(f"{x} * {by}::UHUGEINT")


def _rotated64(x: str, by: int) -> str:
    return f"({_times(x, 1 << by)} + {x} // {1 << (64 - by)}::UHUGEINT)"


def _turned(x: str, by: int) -> str:
    return let(x, lambda v: _rotated64(v, by))


class _XX:
    """A step is a list of what to do and with what; the state a list of the hash and four lanes."""

    kind = "UHUGEINT[]"
    BEGIN, LONG, WORD, BYTE, LANES, BLOCK, MERGE, END = range(8)

    def _step(self, what: int, *values: str) -> str:
        return f"[{', '.join(f'CAST({v} AS UHUGEINT)' for v in (str(what), *values))}]"

    def number(self, value: str, size: int) -> str:
        unsigned = f"(CAST({value} AS HUGEINT) & {(1 << (8 * size)) - 1}::HUGEINT)"
        step = self._step(self.LONG if size == 8 else self.WORD, unsigned)
        return f"[{self._step(self.BEGIN, str(size))}, {step}, {self._step(self.END)}]"

    def bytes_(self, blob: str) -> str:
        def made(b: str) -> str:
            def little(first: str, size: int) -> str:
                return " + ".join(f"CAST({b}[{first} + {n + 1}] AS UHUGEINT) * {1 << (8 * n)}" for n in range(size))

            size = f"len({b})"
            blocks = self._step(self.BLOCK, *(little(f"32 * i + {8 * n}", 8) for n in range(4)))
            tail = f"32 * ({size} // 32)"
            longs = self._step(self.LONG, little(f"{tail} + 8 * i", 8))
            word = self._step(self.WORD, little(f"8 * ({size} // 8)", 4))
            rest = f"list_transform({b}[4 * ({size} // 4) + 1:], lambda x: {self._step(self.BYTE, 'x')})"
            none = "CAST([] AS UHUGEINT[][])"
            start = f"CASE WHEN {size} >= 32 THEN [{self._step(self.LANES)}] ELSE [{self._step(self.BEGIN, size)}] END"
            merge = f"CASE WHEN {size} >= 32 THEN [{self._step(self.MERGE, size)}] ELSE {none} END"
            return (
                f"list_concat({start}, list_transform(range({size} // 32), lambda i: {blocks}), {merge}, "
                f"list_transform(range(({size} % 32) // 8), lambda i: {longs}), "
                f"CASE WHEN {size} % 8 >= 4 THEN [{word}] ELSE {none} END, {rest}, [{self._step(self.END)}])"
            )

        return let(byte_numbers(blob), made)

    def fold(self, steps: str) -> str:
        h, x = "s[1]", "w[2]"
        lanes = [_P1 + _P2, _P2, 0, _WRAP - _P1]
        cases = {
            self.BEGIN: self._hash(_cut(f"{h} + {_P5}::UHUGEINT + {x}")),
            self.LONG: self._hash(self._long(h, self._round("0::UHUGEINT", x))),
            self.WORD: self._hash(_cut(f"{_times(_turned(f'xor({h}, {_times(x, _P1)})', 23), _P2)} + {_P3}::UHUGEINT")),
            self.BYTE: self._hash(_times(_turned(f"xor({h}, {_times(x, _P5)})", 11), _P1)),
            self.LANES: f"[{h}, {', '.join(_cut(f'{h} + {n % _WRAP}::UHUGEINT') for n in lanes)}]",
            self.BLOCK: f"[{h}, {', '.join(self._round(f's[{n}]', f'w[{n}]') for n in range(2, 6))}]",
            self.MERGE: self._hash(self._merged(x)),
        }
        finish = let(_times(f"xor({h}, {h} // {1 << 33}::UHUGEINT)", _P2), lambda a: (
            let(_times(f"xor({a}, {a} // {1 << 29}::UHUGEINT)", _P3), lambda b: f"xor({b}, {b} // {1 << 32}::UHUGEINT)")
        ))  # fmt: skip
        step = " ".join(f"WHEN {n} THEN {sql}" for n, sql in cases.items())
        step = f"CASE w[1] {step} ELSE {self._hash(finish)} END"
        start = f"CAST([{_SEED}] AS UHUGEINT[])"
        folded = f"list_reduce({steps}, lambda s, w: {step}, {start})[1]"
        high = f"{1 << 63}::UHUGEINT THEN {_WRAP}::HUGEINT ELSE 0 END"
        return let(folded, lambda v: f"CAST(CAST({v} AS HUGEINT) - CASE WHEN {v} >= {high} AS BIGINT)")

    def _hash(self, sql: str) -> str:
        return f"[{sql}]"

    def _round(self, lane: str, x: str) -> str:
        return _times(_turned(_cut(f"{lane} + {_times(x, _P2)}"), 31), _P1)

    def _long(self, h: str, mixed: str) -> str:
        return _cut(f"{_times(_turned(f'xor({h}, {mixed})', 27), _P1)} + {_P4}::UHUGEINT")

    def _merged(self, size: str) -> str:
        h = _cut(" + ".join(_rotated64(f"s[{n}]", by) for n, by in ((2, 1), (3, 7), (4, 12), (5, 18))))
        for n in range(2, 6):
            lane = self._round("0::UHUGEINT", f"s[{n}]")
            h = _cut(f"{_times(f'xor({h}, {lane})', _P1)} + {_P4}::UHUGEINT")
        return _cut(f"{h} + {size}")


def _steps(sql: str, type_: DataType, to: _Murmur | _XX) -> str:
    """The steps of a value; none for NULL."""
    none = f"CAST([] AS {to.kind}[])"
    if type_.kind is Kind.NULL:
        return none

    def made(x: str) -> str:
        return f"CASE WHEN {x} IS NULL THEN {none} ELSE {_of_value(x, type_, to)} END"

    return let(sql, made)


def _of_value(x: str, type_: DataType, to: _Murmur | _XX) -> str:
    kind = type_.kind
    if kind is Kind.ARRAY:
        none = f"CAST([] AS {to.kind}[])"
        return f"coalesce(flatten({each(x, lambda e: _steps(e, type_.children[0].type, to))}), {none})"
    if kind is Kind.ROW:
        fields = (_steps(f"struct_extract_at({x}, {i})", f.type, to) for i, f in enumerate(type_.children, start=1))
        return f"list_concat({', '.join(fields)})"
    if kind is Kind.MAP:
        raise BergError(ErrorCode.TYPE, "Maps have no hash: equal maps may differ in their order.")
    if kind in TEXTS:
        return to.bytes_(f"encode({x})")
    if kind in BINARIES:
        return to.bytes_(x)
    if kind is Kind.BOOLEAN:
        return to.number(f"CAST({x} AS INTEGER)::BIGINT", 4)
    if kind in INTEGERS:
        return to.number(f"CAST({x} AS BIGINT)", 8 if kind is Kind.BIGINT else 4)
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return let(_bits(x, kind), lambda n: to.number(n, 4 if kind is Kind.FLOAT else 8))
    if kind is Kind.DATE:
        return to.number(f"CAST({x} - DATE '1970-01-01' AS BIGINT)", 4)
    if kind in STAMPS:
        return to.number(f"epoch_us({x})", 8)
    if kind is Kind.DECIMAL:
        unscaled = digits_of(x, type_)
        if (type_.precision or 38) <= _LONG_DECIMAL:
            return to.number(f"CAST({unscaled} AS BIGINT)", 8)
        return to.bytes_(let(unscaled, _shortest_bytes))
    if kind is Kind.INTERVAL_YEAR_MONTH:
        return to.number(f"CAST(datepart('year', {x}) * 12 + datepart('month', {x}) AS BIGINT)", 4)
    if kind is Kind.INTERVAL_DAY_TIME:
        return to.number(f"epoch_us({x})", 8)
    raise not_supported(f"The hash of a value of the type {kind.value}")


def _bits(x: str, kind: Kind) -> str:
    """The bits of a floating-point number as a BIGINT, as Java tells them: one NaN, and -0.0 is 0.0."""
    whole, nan = ("INTEGER", 0x7FC00000) if kind is Kind.FLOAT else ("BIGINT", 0x7FF8 << 48)
    bits = f"CAST(CAST({x} AS BIT) AS {whole})"
    return f"CAST(CASE WHEN {x} = 0 THEN 0 WHEN isnan({x}) THEN {nan} ELSE {bits} END AS BIGINT)"


def _shortest_bytes(n: str) -> str:
    """The shortest big-endian two's complement of a HUGEINT."""
    sizes = " ".join(
        f"WHEN {n} BETWEEN {-(1 << (8 * size - 1))}::HUGEINT AND {(1 << (8 * size - 1)) - 1}::HUGEINT THEN {size}"
        for size in range(1, 16)
    )
    digits = f"lpad(hex(CASE WHEN {n} < 0 THEN -1 - {n} ELSE {n} END), 32, '0')"
    flipped = f"CASE WHEN {n} < 0 THEN translate({digits}, '0123456789ABCDEF', 'FEDCBA9876543210') ELSE {digits} END"
    return f"unhex(right({flipped}, 2 * CASE {sizes} ELSE 16 END))"


def _folded(to: _Murmur | _XX, arguments: Sequence[Bound]) -> Bound:
    steps = ", ".join(_steps(a.sql, a.type, to) for a in arguments)
    return Bound(to.fold(f"list_concat({steps})"), INT if isinstance(to, _Murmur) else BIGINT, "", False)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("hash", "s", "a+", INT, lambda a, c: _folded(_Murmur(), a)),
    Scalar("xxhash64", "s", "a+", BIGINT, lambda a, c: _folded(_XX(), a)),
)
