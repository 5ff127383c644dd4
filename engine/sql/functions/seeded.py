"""The random numbers of a seed, as Spark's and Java's generators begin: Spark's XORShiftRandom, java.util.Random."""

from __future__ import annotations

import math
from collections.abc import Callable

_WORD, _LONG = (1 << 32) - 1, (1 << 64) - 1
Draw = Callable[[int], int]
"""So many random bits, as an unsigned number."""


def _murmur(data: bytes, seed: int) -> int:
    """Murmur3 of 32 bits; ``data`` is a multiple of four bytes."""
    h = seed
    for at in range(0, len(data), 4):
        k = int.from_bytes(data[at : at + 4], "little") * 0xCC9E2D51 & _WORD
        k = ((k << 15 | k >> 17) & _WORD) * 0x1B873593 & _WORD
        h ^= k
        h = ((h << 13 | h >> 19) & _WORD) * 5 + 0xE6546B64 & _WORD
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & _WORD
    return h ^ h >> 16


def spark_bits(seed: int) -> Draw:
    """Spark's generator in the first partition."""
    data = (seed & _LONG).to_bytes(8, "big")
    low = _murmur(data, 0x3C074A61)
    state = _murmur(data, low) << 32 | low

    def draw(bits: int) -> int:
        nonlocal state
        state = (state ^ state << 21) & _LONG
        state ^= state >> 35
        state = (state ^ state << 4) & _LONG
        return state & (1 << bits) - 1

    return draw


def java_bits(seed: int) -> Draw:
    """java.util.Random, which Flink takes."""
    state = (seed ^ 0x5DEECE66D) & (1 << 48) - 1

    def draw(bits: int) -> int:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        return state >> 48 - bits

    return draw


def next_double(draw: Draw) -> float:
    """From 0 to below 1."""
    high = draw(26)
    return math.ldexp((high << 27) + draw(27), -53)


def next_gaussian(draw: Draw) -> float:
    """Of the normal distribution, by the polar method."""
    while True:
        a, b = 2 * next_double(draw) - 1, 2 * next_double(draw) - 1
        square = a * a + b * b
        if 0 < square < 1:
            return a * math.sqrt(-2 * math.log(square) / square)


def next_below(draw: Draw, bound: int) -> int:
    """A whole number from 0 to below ``bound``, as Java's ``nextInt``."""
    if bound & (bound - 1) == 0:
        return bound * draw(31) >> 31
    while True:
        bits = draw(31)
        if bits - bits % bound + bound - 1 < 1 << 31:
            return bits % bound
