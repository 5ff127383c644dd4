"""Iceberg's bucket hash, 32-bit Murmur3 (x86, seed 0; spec, Appendix B), as DuckDB SQL.

DuckDB has no Murmur3, and functions in Python would need numpy and run on one core. All numbers are UBIGINTs below
2^32, so that no product overflows.
"""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.engine.table.sql_steps import Steps

_MASK = 0xFFFFFFFF
_START = "CAST(0 AS UBIGINT)"
_UNROLLED = 4
"""Blocks of bytes that are hashed without a loop: a loop costs as much as ten of them."""


def hash_of_long(steps: Steps, value: str) -> str:
    """A column with the hash of the eight little-endian bytes of a BIGINT."""
    number = steps.add(value)
    blocks = [
        steps.add(f"CAST({number} & {_MASK} AS UBIGINT)"),
        steps.add(f"CAST(({number} >> 32) & {_MASK} AS UBIGINT)"),
    ]
    return _finished(steps, _after_blocks(steps, blocks), "CAST(8 AS UBIGINT)")


def hash_of_uuid(steps: Steps, value: str) -> str:
    """A column with the hash of a UUID's sixteen bytes."""
    number = steps.add(f"CAST({value} AS UHUGEINT)")
    blocks = [_block(steps, f"CAST(({number} >> {shift}) & {_MASK} AS UBIGINT)") for shift in (96, 64, 32, 0)]
    return _finished(steps, _after_blocks(steps, blocks), "CAST(16 AS UBIGINT)")


def hash_of_bytes(steps: Steps, digits_sql: str, size_sql: str) -> str:
    """A column with the hash of bytes, given as hexadecimal digits and their number."""
    digits, size = steps.add(digits_sql), steps.add(f"CAST({size_sql} AS UBIGINT)")
    state = _START
    for i in range(_UNROLLED):
        is_whole = f"{size} >= {4 * i + 4}"
        mixed = _mixed(steps, _block(steps, f"CASE WHEN {is_whole} THEN {_four_bytes(digits, str(i))} END"))
        state = steps.add(f"CASE WHEN {is_whole} THEN {_stirred(state, mixed)} ELSE {state} END")
    blocks = f"list_transform(range({_UNROLLED}, CAST({size} // 4 AS BIGINT)), lambda i: {_four_bytes(digits, 'i')})"
    loop = f"list_reduce({blocks}, lambda s, w: {_stirred('s', _mixed_in_place(_swapped('w')))}, {state})"
    state = steps.add(f"CASE WHEN {size} >= {4 * _UNROLLED + 4} THEN {loop} ELSE {state} END")
    rest = f"rpad(substr({digits}, CAST(8 * ({size} // 4) + 1 AS BIGINT)), 8, '0')"
    mixed = _mixed(steps, _block(steps, f"CAST('0x' || {rest} AS UBIGINT)"))
    return _finished(steps, f"xor({state}, {mixed})", size)


def hash_of_number(steps: Steps, value: str, words: int) -> str:
    """A column with the hash of the shortest big-endian two's complement of a HUGEINT, at most ``words`` words long."""
    number = steps.add(value)
    sizes = " ".join(
        f"WHEN {number} BETWEEN {-(1 << (8 * n - 1))} AND {(1 << (8 * n - 1)) - 1} THEN {n}"
        for n in range(1, 4 * words)
    )
    size = steps.add(f"CASE WHEN {number} IS NOT NULL THEN CAST(CASE {sizes} ELSE {4 * words} END AS UBIGINT) END")
    state = _START
    for i in range(words):
        mixed = _mixed(steps, _block(steps, _word_of_number(number, size, i)))
        whole = f"WHEN {size} >= {4 * i + 4} THEN {_stirred(state, mixed)}"
        part = f"WHEN {size} > {4 * i} THEN xor({state}, {mixed})"
        state = steps.add(f"CASE {whole} {part} ELSE {state} END")
    return _finished(steps, state, size)


def _word_of_number(number: str, size: str, i: int) -> str:
    """The ``i``-th four of the ``size`` bytes of a HUGEINT, zeros behind the last, as a big-endian number."""
    below = f"(8 * CAST({size} AS INTEGER) - {32 * (i + 1)})"
    word = (
        f"CASE WHEN {below} >= 0 THEN ({number} >> greatest({below}, 0)) & {_MASK} "
        f"ELSE ({number} & ({_MASK} >> least(-{below}, 31))) << least(-{below}, 31) END"
    )
    return f"CAST(CASE WHEN {size} > {4 * i} THEN {word} ELSE 0 END AS UBIGINT)"


def _four_bytes(digits: str, position: str) -> str:
    """Four bytes of hexadecimal digits as a big-endian number."""
    return f"CAST('0x' || substr({digits}, 8 * {position} + 1, 8) AS UBIGINT)"


def _block(steps: Steps, big_endian: str) -> str:
    """A column with a big-endian number as the little-endian one that Murmur3 takes."""
    return steps.add(_swapped(steps.add(big_endian)))


def _swapped(word: str) -> str:
    return f"((({word} & 255) << 24) | (({word} & 65280) << 8) | (({word} >> 8) & 65280) | ({word} >> 24))"


def _rotated(word: str, by: int) -> str:
    return f"((({word} << {by}) & {_MASK}) | ({word} >> {32 - by}))"


def _mixed(steps: Steps, block: str) -> str:
    """A column with a block as it enters the state."""
    product = steps.add(f"({block} * {0xCC9E2D51}) & {_MASK}")
    return steps.add(f"({_rotated(product, 15)} * {0x1B873593}) & {_MASK}")


def _mixed_in_place(block: str) -> str:
    product = f"(({block} * {0xCC9E2D51}) & {_MASK})"
    return f"(({_rotated(product, 15)} * {0x1B873593}) & {_MASK})"


def _stirred(state: str, mixed: str) -> str:
    return f"(({_rotated(f'xor({state}, {mixed})', 13)} * 5 + {0xE6546B64}) & {_MASK})"


def _after_blocks(steps: Steps, blocks: Sequence[str]) -> str:
    state = _START
    for block in blocks:
        state = steps.add(_stirred(state, _mixed(steps, block)))
    return state


def _finished(steps: Steps, state: str, size: str) -> str:
    h = steps.add(f"xor({state}, {size})")
    h = steps.add(f"(xor({h}, {h} >> 16) * {0x85EBCA6B}) & {_MASK}")
    h = steps.add(f"(xor({h}, {h} >> 13) * {0xC2B2AE35}) & {_MASK}")
    return steps.add(f"xor({h}, {h} >> 16)")
