"""Digests. Of SHA-2 DuckDB has only that of 256 bits: the others (FIPS 180-4) are written out as folds over lists."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.codecs import byte_numbers
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import STRING

if TYPE_CHECKING:
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Maker


class _Sha(NamedTuple):
    """``bits`` of a word, by how much words are turned (the last of the small: shifted), the start, the words shown."""

    bits: int
    small: tuple[tuple[int, int, int], tuple[int, int, int]]
    big: tuple[tuple[int, int, int], tuple[int, int, int]]
    rounds: int
    start: tuple[int, ...]
    words: int


def _primes(count: int) -> list[int]:
    found: list[int] = []
    n = 2
    while len(found) < count:
        if all(n % p for p in found):
            found.append(n)
        n += 1
    return found


def _root(n: int, degree: int, bits: int) -> int:
    """The first ``bits`` bits behind the point of the square or cube root of ``n``."""
    if degree == 2:
        return isqrt(n << (2 * bits)) % (1 << bits)
    low, high = 0, 1 << (bits + 8)
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= n << (3 * bits) else (low, middle)
    return low % (1 << bits)


def _sha224() -> _Sha:
    """Its start are the second halves of that of SHA-384."""
    start = tuple(_root(p, 2, 64) & 0xFFFFFFFF for p in _primes(16)[8:])
    return _Sha(32, ((7, 18, 3), (17, 19, 10)), ((6, 11, 25), (2, 13, 22)), 64, start, 7)


def _sha512(words: int, start: list[int]) -> _Sha:
    roots = tuple(_root(p, 2, 64) for p in start)
    return _Sha(64, ((1, 8, 7), (19, 61, 6)), ((14, 18, 41), (28, 34, 39)), 80, roots, words)


def _shas() -> dict[int, _Sha]:
    primes = _primes(16)
    return {224: _sha224(), 384: _sha512(6, primes[8:]), 512: _sha512(8, primes[:8])}


def sha(length: int, blob: str) -> str:
    """SQL of the digest of a BLOB, 224, 384 or 512 bits long, as hexadecimal digits."""
    to = _shas()[length]
    size, digits = to.bits // 8, to.bits // 4
    start = f"[{', '.join(f'{n}::UHUGEINT' for n in to.start)}]"

    def made(b: str) -> str:
        # A bit, zeros, and the number of bits at the end of the last block.
        block = 16 * size
        zeros = f"(({2 * block} - 1 - {2 * size} - len({b}) % {block}) % {block})"
        length = ", ".join(f"((len({b}) * 8) >> {8 * n}) & 255" if n < 7 else "0" for n in reversed(range(2 * size)))
        padded = f"list_concat({b}, [128], list_transform(range({zeros}), lambda i: 0), [{length}])"
        step = f"lambda s, b: {_compressed('s', 'b', to)}"
        return let(padded, lambda p: f"list_reduce({_blocks(p, to)}, {step}, {start})")

    def shown(s: str) -> str:
        return " || ".join(f"lpad(lower(hex({s}[{n}])), {digits}, '0')" for n in range(1, to.words + 1))

    return let(blob, lambda x: f"CASE WHEN {x} IS NOT NULL THEN {let(let(byte_numbers(x), made), shown)} END")


def _blocks(padded: str, to: _Sha) -> str:
    """The blocks of sixteen words each."""
    size = to.bits // 8
    word = " + ".join(
        f"CAST({padded}[{16 * size} * i + {size} * j + {n + 1}] AS UHUGEINT) * {1 << (8 * (size - 1 - n))}::UHUGEINT"
        for n in range(size)
    )
    words = f"list_transform(range(16), lambda j: {word})"
    return f"list_transform(range(len({padded}) // {16 * size}), lambda i: {words})"


def _compressed(s: str, block: str, to: _Sha) -> str:
    """The state after a block: the words are spread, then mixed in, each with its constant."""
    low, high = (_mixed(turns, shifted=True, to=to) for turns in to.small)
    following = f"({high('w[-2]')} + w[-7] + {low('w[-15]')} + w[-16]) % {1 << to.bits}::UHUGEINT"
    times = f"list_transform(range({to.rounds - 16}), lambda i: CAST([] AS UHUGEINT[]))"
    spread = f"list_reduce({times}, lambda w, i: list_append(w, {following}), {block})"
    constants = ", ".join(f"{_root(p, 3, to.bits)}::UHUGEINT" for p in _primes(to.rounds))
    keyed = f"list_transform(list_zip({spread}, [{constants}]), lambda k: [k[1] + k[2]])"
    mixed = f"list_reduce({keyed}, lambda v, k: {_round(to)}, {s})"
    added = ", ".join(f"({s}[{n}] + {{0}}[{n}]) % {1 << to.bits}::UHUGEINT" for n in range(1, 9))
    return let(mixed, lambda v: f"[{added.format(v)}]")


def _round(to: _Sha) -> str:
    one, zero = (_mixed(turns, shifted=False, to=to) for turns in to.big)
    # Where a bit of the fifth is set the sixth is taken, else the seventh.
    choice = "xor(xor(v[5] & v[6], v[5] & v[7]), v[7])"
    most = "xor(xor(v[1] & v[2], v[1] & v[3]), v[2] & v[3])"
    first = f"v[8] + {one('v[5]')} + {choice} + k[1]"
    whole = f"{1 << to.bits}::UHUGEINT"

    def state(t: str) -> str:
        return (
            f"[({t} + {zero('v[1]')} + {most}) % {whole}, v[1], v[2], v[3], (v[4] + {t}) % {whole}, v[5], v[6], v[7]]"
        )

    return let(first, state)


def _mixed(turns: tuple[int, int, int], *, shifted: bool, to: _Sha) -> Callable[[str], str]:
    def turned(x: str, by: int) -> str:
        return f"({x} // {1 << by}::UHUGEINT + ({x} % {1 << by}::UHUGEINT) * {1 << (to.bits - by)}::UHUGEINT)"

    def made(x: str) -> str:
        a, b, c = turns
        last = f"({x} // {1 << c}::UHUGEINT)" if shifted else turned(x, c)
        return f"xor(xor({turned(x, a)}, {turned(x, b)}), {last})"

    return made


def _of_length(length: int) -> Maker:
    return lambda arguments, context: sha(length, f"encode({arguments[0].sql})")


def _sha2(arguments: list[Bound], context: Context) -> str:
    """Of a length that is none Spark gives NULL, Flink refuses it."""
    value, bits = arguments
    if bits.is_null:
        return "CAST(NULL AS VARCHAR)"
    if not isinstance(bits.constant, int):
        raise not_supported("SHA2 with a length that is not a literal")
    if bits.constant == 256 or (bits.constant == 0 and context.spark):
        return f"sha256({value.sql})"
    if bits.constant in (224, 384, 512):
        return sha(bits.constant, value.sql if context.spark else f"encode({value.sql})")
    if context.spark:
        return "CAST(NULL AS VARCHAR)"
    raise BergError(ErrorCode.INVALID, "The length of SHA2 is 224, 256, 384 or 512.")


FUNCTIONS: tuple[Function, ...] = (
    Scalar("md5", "s", "x", STRING, "md5({0})"),
    Scalar("md5", "f", "t", STRING, "md5({0})"),
    Scalar("sha1 sha", "s", "x", STRING, "sha1({0})"),
    Scalar("sha1", "f", "t", STRING, "sha1({0})"),
    Scalar("sha2", "s", "xi", STRING, _sha2),
    Scalar("sha2", "f", "ti", STRING, _sha2),
    Scalar("sha224", "f", "t", STRING, _of_length(224)),
    Scalar("sha256", "f", "t", STRING, "sha256({0})"),
    Scalar("sha384", "f", "t", STRING, _of_length(384)),
    Scalar("sha512", "f", "t", STRING, _of_length(512)),
)
