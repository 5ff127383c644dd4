"""Spark's number formats: TO_CHAR, TO_VARCHAR, TO_NUMBER and TRY_TO_NUMBER with ``99G999D00``, ``S$9,999.99`` and their
like. TO_CHAR of a time takes a pattern of times, of bytes an encoding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BINARIES, FLOATS, NUMBERS, STAMPS, STRING, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Maker

_FORMAT = re.compile(r"(MI|S)?(\$)?([09G,]*)([.D]?)([09]*)(PR|MI|S)?")
_DIGITS = 38


class _Format(NamedTuple):
    """``groups``: how many digits stand between two commas; ``zeros``: from which digit on blanks are zeros."""

    lead: str
    currency: bool
    groups: tuple[int, ...]
    zeros: int
    point: bool
    fraction: str
    tail: str

    @property
    def whole(self) -> int:
        return sum(self.groups)


def _format(word: str, given: Bound) -> _Format:
    if not isinstance(given.constant, str):
        raise not_supported(f"{word} with a format that is not a literal")
    text = given.constant.upper()
    match = _FORMAT.fullmatch(text)
    groups = re.split("[G,]", match[3]) if match else []
    digits = sum(map(len, groups)) + len(match[5]) if match else 0
    bad = (len(groups) > 1 and not all(groups)) or not 0 < digits <= _DIGITS or bool(match and match[1] and match[6])
    if match is None or bad:
        raise BergError(
            ErrorCode.INVALID,
            f"{word}: '{given.constant}' is no format of a number.",
            hint="[MI | S] [$] digits (0, 9, a comma or G between them) [. or D, digits] [PR | MI | S]",
        )
    plain = "".join(groups)
    zeros = plain.index("0") if "0" in plain else len(plain)
    lead, currency, _, point, fraction, tail = match.groups()
    return _Format(lead or "", bool(currency), tuple(map(len, groups)), zeros, bool(point), fraction, tail or "")


def _to_char(word: str) -> Maker:
    def made(arguments: list[Bound], context: Context) -> str | Bound:
        value, given = arguments
        if value.is_null or given.is_null:
            return "CAST(NULL AS VARCHAR)"
        if value.type.kind in STAMPS or value.type.kind is Kind.DATE:
            return _delegated("date_format", arguments, context)
        if value.type.kind in BINARIES:
            return _encoded(word, value, given, context)
        if value.type.kind not in NUMBERS and value.type.kind not in TEXTS:
            raise BergError(ErrorCode.TYPE, f"{word} takes a number, a time or bytes.")
        to = _format(word, given)
        exact = value.sql
        if value.type.kind in FLOATS or value.type.kind in TEXTS:
            exact = f"TRY_CAST({value.sql} AS DECIMAL(38, 15))"
        return let(exact, lambda x: f"CASE WHEN {x} IS NOT NULL THEN {_written(x, to)} END")

    return made


def _delegated(name: str, arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.calls import apply_scalar
    from bergsql.engine.sql.functions.registry import function_named

    function = function_named(name, context.flavour)
    assert isinstance(function, Scalar)
    return apply_scalar(function, name, arguments, context, None)


def _encoded(word: str, value: Bound, given: Bound, context: Context) -> str | Bound:
    if given.constant == "hex":
        return f"hex({value.sql})"
    if given.constant == "base64":
        return _delegated("base64", [value], context)
    if given.constant == "utf-8":
        from bergsql.engine.plan.cast_text import utf8_text

        return utf8_text(value.sql)
    raise BergError(ErrorCode.INVALID, f"{word} of bytes takes the formats hex, utf-8 and base64.")


def _written(x: str, to: _Format) -> str:
    """What has more digits than the format is written in number signs."""
    text = f"ltrim(CAST({x} AS VARCHAR), '-')"

    def made(t: str) -> str:
        whole, fraction = f"ltrim(split_part({t}, '.', 1), '0')", f"rtrim(split_part({t}, '.', 2), '0')"
        fits = f"length({whole}) <= {to.whole} AND length({fraction}) <= {len(to.fraction)}"
        least = max(to.whole - to.zeros, 1 if to.point and to.whole else 0)
        filled = let(whole, lambda w: f"CASE WHEN length({w}) < {least} THEN lpad({w}, {least}, '0') ELSE {w} END")
        digits = f"CASE WHEN {fits} THEN lpad({filled}, {to.whole}, ' ') ELSE repeat('#', {to.whole}) END"
        body = let(digits, lambda d: _grouped(d, to.groups))
        if to.point:
            behind = (
                f"CASE WHEN {fits} THEN rpad({fraction}, {len(to.fraction)}, '0') ELSE '{'#' * len(to.fraction)}' END"
            )
            body = f"{body} || '.' || {behind}"
        money = "'$' || " if to.currency else ""
        return _signed(x, money + body, to)

    return let(text, made)


def _grouped(digits: str, groups: tuple[int, ...]) -> str:
    """A comma stands behind a digit only; behind a blank or a number sign there is a blank."""
    parts, at = [], 0
    for size in groups:
        if at:
            parts.append(f"CASE WHEN substr({digits}, {at}, 1) BETWEEN '0' AND '9' THEN ',' ELSE ' ' END")
        parts.append(f"substr({digits}, {at + 1}, {size})")
        at += size
    return f"({' || '.join(parts)})"


def _signed(x: str, body: str, to: _Format) -> str:
    """A sign in front stands right before the first digit."""
    sign = {"S": f"CASE WHEN {x} < 0 THEN '-' ELSE '+' END", "MI": f"CASE WHEN {x} < 0 THEN '-' ELSE ' ' END"}
    front = f"CASE WHEN {x} < 0 THEN '<' ELSE '' END" if to.tail == "PR" else sign.get(to.lead, "")
    back = f"CASE WHEN {x} < 0 THEN '>' ELSE '  ' END" if to.tail == "PR" else sign.get(to.tail, "")
    if front:
        body = let(body, lambda b: f"repeat(' ', length({b}) - length(ltrim({b}))) || {front} || ltrim({b})")
    return f"({body}){f' || {back}' if back else ''}"


def _decimal(arguments: Sequence[Bound]) -> DataType:
    to = _format("TO_NUMBER", arguments[1])
    return DataType(Kind.DECIMAL, to.whole + len(to.fraction), len(to.fraction))


def _to_number(word: str) -> Maker:
    tried = word.startswith("TRY")

    def made(arguments: list[Bound], context: Context) -> Bound:
        value, given = arguments
        if given.is_null:
            return Bound("NULL", DataType(Kind.DECIMAL, 38, 0), "")
        to = _format(word, given)
        type_ = _decimal(arguments)
        name = f"DECIMAL({type_.precision},{type_.scale})"

        def read(x: str) -> str:
            digits = f"regexp_replace({x}, '[^0-9.]', '', 'g')"
            minus = f"CASE WHEN regexp_matches({x}, '[-<]') THEN '-' ELSE '' END"
            wrong = "NULL" if tried else failure(f"{word}: '%s' is not in the format {given.constant}.", x)
            number = f"TRY_CAST({minus} || {digits} AS {name})"
            return f"CASE WHEN {x} IS NULL THEN NULL WHEN {_matches(x, to)} THEN {number} ELSE {wrong} END"

        return Bound(f"CAST({let(f'ltrim({value.sql})', read)} AS {name})", type_, "")

    return made


def _matches(x: str, to: _Format) -> str:
    def digits(count: int, exact: bool, comma: str = "") -> str:
        times = f"{{{count}}}" if exact else f"{{0,{count}}}"
        return f"(?:[0-9]{comma}){times}" if comma else f"[0-9]{times}"

    sign = {"S": "[+-]?", "MI": "-?"}
    whole = digits(to.whole, to.zeros == 0 and to.whole > 0, ",?" if len(to.groups) > 1 else "")
    fraction = f"(?:[.]{digits(len(to.fraction), to.fraction[:1] == '0')})?" if to.point else ""
    body = f"{sign.get(to.lead, '')}{'[$]' if to.currency else ''}{whole}{fraction}{sign.get(to.tail, '')}"
    if to.tail == "PR":
        body = f"<{body}>|{body}"
    return f"(regexp_matches({x}, '[0-9]') AND regexp_full_match({x}, '{body}'))"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("to_char", "s", "aa", STRING, _to_char("TO_CHAR")),
    Scalar("to_varchar", "s", "aa", STRING, _to_char("TO_VARCHAR")),
    Scalar("to_number", "s", "tt", _decimal, _to_number("TO_NUMBER")),
    Scalar("try_to_number", "s", "tt", _decimal, _to_number("TRY_TO_NUMBER")),
)
