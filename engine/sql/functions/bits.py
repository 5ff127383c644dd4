"""Functions of the bits and digits of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan import integers
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let, let_all
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BIGINT, INT, INTEGERS, STRING, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 1 << 64


def _shifted_type(arguments: Sequence[Bound]) -> DataType:
    value = arguments[0]
    return BIGINT if value.type.kind is Kind.BIGINT and not value.is_null else INT


def _shiftleft(arguments: list[Bound], context: Context) -> str:
    """The low bits stay; only the low bits of the number of places count."""
    kind = _shifted_type(arguments).kind
    wide = "HUGEINT" if kind is Kind.BIGINT else "BIGINT"
    factor = f"(CAST(1 AS {wide}) << ({arguments[1].sql} & {integers.BITS[kind] - 1}))"
    return integers.wrapped(f"(CAST({arguments[0].sql} AS {wide}) * {factor})", kind)


def _shiftright(*, signed: bool) -> Callable[[list[Bound], Context], str]:
    def made(arguments: list[Bound], context: Context) -> str:
        kind = _shifted_type(arguments).kind
        bits = integers.BITS[kind]

        def moved(values: list[str]) -> str:
            x, n = values
            wide, unit = f"CAST({x} AS HUGEINT)", f"(CAST(1 AS HUGEINT) << ({n} & {bits - 1}))"
            if signed:
                return f"(({wide} - (({wide} % {unit}) + {unit}) % {unit}) // {unit})"
            return f"(CASE WHEN {x} < 0 THEN {wide} + {1 << bits} ELSE {wide} END // {unit})"

        return integers.wrapped(let_all([a.sql for a in arguments], moved), kind)

    return made


def _bit_count(arguments: list[Bound], context: Context) -> str:
    """Of the number as a BIGINT: -1 has 64 whatever its type."""
    value = arguments[0]
    if value.type.kind not in (*INTEGERS, Kind.BOOLEAN, Kind.NULL):
        raise BergError(ErrorCode.TYPE, f"BIT_COUNT takes a whole number or a BOOLEAN, not {value.type.kind.value}.")
    return f"CAST(bit_count(CAST({value.sql} AS BIGINT)) AS INTEGER)"


def _bit_get(arguments: list[Bound], context: Context) -> str:
    bits = integers.BITS[arguments[0].type.kind]

    def made(values: list[str]) -> str:
        x, n = values
        wide, unit = f"CAST({x} AS HUGEINT)", f"(CAST(1 AS HUGEINT) << {n})"
        bit = f"CAST((({wide} % ({unit} * 2)) + {unit} * 2) % ({unit} * 2) // {unit} AS TINYINT)"
        wrong = failure(f"The bit's position is from 0 to {bits - 1}, not %s.", n)
        return f"CASE WHEN {n} BETWEEN 0 AND {bits - 1} THEN {bit} WHEN {n} IS NOT NULL THEN {wrong} END"

    return let_all([a.sql for a in arguments], made)


def _conv(arguments: list[Bound], context: Context) -> str:
    """Digits of one base in another, as unsigned 64-bit numbers; signed where the second base is negative.

    Reading stops at what is no digit; what is too large is the largest.
    """

    def made(values: list[str]) -> str:
        text, source, target = values
        digits = f"regexp_extract(upper(trim({text})), '^-?([0-9A-Z]*)', 1)"
        numbers = f"list_transform(string_split({digits}, ''), lambda c: strpos('{_DIGITS}', c) - 1)"
        read = let(numbers, lambda n: _read_digits(n, source))
        value = let(read, lambda u: _signed(u, f"starts_with(trim({text}), '-')", target))
        written = let(value, lambda v: _written_digits(v, f"abs({target})"))
        valid = f"{source} BETWEEN 2 AND 36 AND abs({target}) BETWEEN 2 AND 36 AND trim({text}) <> ''"
        return f"CASE WHEN {valid} THEN {written} END"

    return let_all([a.sql for a in arguments], made)


def _read_digits(numbers: str, base: str) -> str:
    """The number that digits say, up to the first that the base does not have."""
    bad = f"coalesce(list_position(list_transform({numbers}, lambda d: d < 0 OR d >= {base}), TRUE), 0)"
    valid = f"CASE WHEN {bad} > 0 THEN list_slice({numbers}, 1, {bad} - 1) ELSE {numbers} END"
    wide = f"list_transform({valid}, lambda d: CAST(d AS HUGEINT))"
    step = f"lambda total, d: least(total * {base} + d, {_UNSIGNED - 1})"
    return f"list_reduce(list_concat([CAST(0 AS HUGEINT)], {wide}), {step})"


def _signed(u: str, negative: str, target: str) -> str:
    """The number to be written, negative where a ``-`` is to be: ``u`` is the unsigned number behind the sign."""
    half = _UNSIGNED >> 1
    signed = f"(CASE WHEN {u} >= {half} THEN {u} - {_UNSIGNED} ELSE {u} END)"
    to_signed = f"CASE WHEN {signed} < 0 THEN {signed} WHEN {negative} THEN -{u} ELSE {u} END"
    wrapped = f"CASE WHEN {u} = 0 THEN 0 WHEN {signed} < 0 THEN {_UNSIGNED - 1} ELSE {_UNSIGNED} - {u} END"
    return f"CASE WHEN {target} < 0 THEN {to_signed} WHEN {negative} THEN {wrapped} ELSE {u} END"


def _written_digits(v: str, base: str) -> str:
    """In two steps: TO_BASE takes no number above 2^63."""
    high, low = f"CAST(abs({v}) // {base} AS BIGINT)", f"CAST(abs({v}) % {base} AS BIGINT)"
    sign = f"CASE WHEN {v} < 0 THEN '-' ELSE '' END"
    rest = f"CASE WHEN {high} > 0 THEN to_base({high}, CAST({base} AS INTEGER)) ELSE '' END"
    return f"({sign} || {rest} || substr('{_DIGITS}', {low} + 1, 1))"


TINYINT = DataType(Kind.TINYINT)

FUNCTIONS: tuple[Function, ...] = (
    Scalar("bin", "fs", "l", STRING, "bin({0})"),
    Scalar("conv", "s", "tii", STRING, _conv),
    Scalar("shiftleft", "s", "Ii", _shifted_type, _shiftleft),
    Scalar("shiftright", "s", "Ii", _shifted_type, _shiftright(signed=True)),
    Scalar("shiftrightunsigned", "s", "Ii", _shifted_type, _shiftright(signed=False)),
    Scalar("bit_count", "s", "a", INT, _bit_count),
    Scalar("bit_get getbit", "s", "Ii", TINYINT, _bit_get),
)
