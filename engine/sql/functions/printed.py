"""FORMAT_STRING, PRINTF and FORMAT_NUMBER: values in the places of a format, as Java's Formatter writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import FLOATS, INTEGERS, NULL, STRING, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_PLACE = re.compile(r"%(\d+\$)?([-#+ 0,(]*)(\d+)?(\.\d+)?([a-zA-Z%])")
_WIDEST = 1 << 20


def _format_string(arguments: list[Bound], context: Context) -> str:
    given, values = arguments[0], arguments[1:]
    if given.is_null:
        return "CAST(NULL AS VARCHAR)"
    if not isinstance(given.constant, str):
        raise not_supported("A format that is not a literal")
    parts, end, following = [], 0, 0
    for place in _PLACE.finditer(given.constant):
        between = given.constant[end : place.start()]
        if "%" in between:
            raise _bad(between[between.index("%") :])
        parts.append(string_literal(between))
        end = place.end()
        index, _, width, _, kind = place.groups()
        if kind in "%n":
            parts.append("'%'" if kind == "%" else "chr(10)")
            continue
        number = int(index[:-1]) if index else following + 1
        following = following if index else number
        if not 1 <= number <= len(values):
            raise BergError(ErrorCode.ARITY, f"The format wants a value number {number}; there are {len(values)}.")
        if width and int(width) > _WIDEST:
            raise BergError(ErrorCode.INVALID, f"A width of {width} is more than {_WIDEST}.")
        parts.append(_placed(values[number - 1], place, context))
    rest = given.constant[end:]
    if "%" in rest:
        raise _bad(rest[rest.index("%") :])
    return f"({' || '.join([*parts, string_literal(rest)])})"


def _bad(text: str) -> BergError:
    return BergError(ErrorCode.INVALID, f"'{text[:10]}' is no place of a format.", hint="A percent sign is written %%.")


def _placed(value: Bound, place: re.Match[str], context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    _, flags, width, precision, kind = place.groups()
    lower = kind.lower()
    wrong = BergError(ErrorCode.TYPE, f"{place.group()} does not take a value of the type {value.type.kind.value}.")
    if value.type.kind is Kind.NULL:
        text = "CAST(NULL AS VARCHAR)"
    elif lower == "s":
        text = coerce(value, STRING, context).sql
        text = f"left({text}, {precision[1:]})" if precision else text
    elif lower == "b":
        text = f"CAST({value.sql} AS VARCHAR)" if value.type.kind is Kind.BOOLEAN else "'true'"
        text = f"lower({text})"
    elif lower == "d" and value.type.kind in INTEGERS:
        text = f"printf('%{_signs(flags, width)}d', CAST({value.sql} AS BIGINT))"
    elif lower in "xo" and value.type.kind in INTEGERS:
        bits = 64 if value.type.kind is Kind.BIGINT else 32
        unsigned = f"CAST(CAST({value.sql} AS HUGEINT) & {(1 << bits) - 1} AS UBIGINT)"
        text = f"printf('%{_signs(flags.replace('+', ''), width)}{lower}', {unsigned})"
    elif lower in "fe" and value.type.kind in (*FLOATS, Kind.DECIMAL):
        digits = int(precision[1:]) if precision else 6
        if digits > 30 or "(" in flags:
            raise not_supported(f"The place {place.group()} in a format")
        text = _fixed(value, digits, flags, width) if lower == "f" else _scientific(value, digits, flags, width)
    elif lower == "c" and value.type.kind in INTEGERS:
        text = f"chr(CAST({value.sql} AS INTEGER))"
    elif lower in "dxofec":
        raise wrong
    else:
        raise not_supported(f"The place {place.group()} in a format")
    null = "'false'" if lower == "b" else "'null'"
    text = f"coalesce({text}, {null})"
    text = f"upper({text})" if kind.isupper() else text
    if not width:
        return text
    pad = "rpad" if "-" in flags else "lpad"
    return let(text, lambda x: f"CASE WHEN length({x}) < {width} THEN {pad}({x}, {width}, ' ') ELSE {x} END")


def _signs(flags: str, width: str | None) -> str:
    """The flags that DuckDB's printf takes as Java does; it fills with zeros up to the width."""
    kept = "".join(f for f in dict.fromkeys(flags) if f in "+ ,")
    return f"{kept}0{width}" if "0" in flags and width and "-" not in flags else kept


def _fixed(value: Bound, digits: int, flags: str, width: str | None) -> str:
    """Halves are rounded away from zero, by the shortest digits of a double."""

    def made(x: str) -> str:
        rounded = f"TRY_CAST(CAST({x} AS VARCHAR) AS DECIMAL(38, {digits}))"
        plain = f"coalesce(CAST({rounded} AS VARCHAR), printf('%.{digits}f', CAST({x} AS DOUBLE)))"
        return _signed(x, f"ltrim({plain}, '-')", flags, width)

    return let(value.sql, made)


def _scientific(value: Bound, digits: int, flags: str, width: str | None) -> str:
    def made(x: str) -> str:
        return _signed(x, f"printf('%.{digits}e', abs(CAST({x} AS DOUBLE)))", flags.replace(",", ""), width)

    return let(value.sql, made)


def _signed(x: str, magnitude: str, flags: str, width: str | None) -> str:
    plus = "'+'" if "+" in flags else "' '" if " " in flags else "''"
    body = grouped(magnitude) if "," in flags else magnitude
    sign = f"CASE WHEN {x} < 0 THEN '-' ELSE {plus} END"
    if "0" in flags and width and "-" not in flags:
        text = let(
            body,
            lambda b: f"{sign} || lpad({b}, CAST(greatest({width} - length({sign}), length({b})) AS INTEGER), '0')",
        )
    else:
        text = f"{sign} || {body}"
    special = f"CASE WHEN isnan({x}) THEN 'NaN' WHEN {x} > 0 THEN {plus} || 'Infinity' ELSE '-Infinity' END"
    return f"CASE WHEN isfinite(CAST({x} AS DOUBLE)) THEN {text} WHEN {x} IS NOT NULL THEN {special} END"


def grouped(digits: str) -> str:
    """Digits with a comma between each three before the point."""

    def made(x: str) -> str:
        whole, fraction = f"split_part({x}, '.', 1)", f"split_part({x}, '.', 2)"
        commas = f"reverse(rtrim(regexp_replace(reverse({whole}), '([0-9]{{3}})', '\\1,', 'g'), ','))"
        return f"({commas} || CASE WHEN contains({x}, '.') THEN '.' || {fraction} ELSE '' END)"

    return let(digits, made)


_PATTERN = re.compile(r"([#,]*)([0,]*)(?:\.(0*)(#*))?")


def _format_number(arguments: list[Bound], context: Context) -> str:
    """With so many digits behind the point, or in a pattern such as ``#,##0.00``. Halves go to the even digit."""
    value, form = arguments
    if value.type.kind is NULL.kind or form.is_null:
        return "CAST(NULL AS VARCHAR)"
    if isinstance(form.constant, bool):
        raise BergError(ErrorCode.TYPE, "FORMAT_NUMBER takes a number of digits or a pattern, not BOOLEAN.")
    if isinstance(form.constant, int):
        if form.constant < 0:
            return "CAST(NULL AS VARCHAR)"
        digits = form.constant
        return let(value.sql, lambda x: _number(x, 1, digits, digits, commas=True))
    if not isinstance(form.constant, str):
        raise not_supported("FORMAT_NUMBER with a format that is not a literal")
    match = _PATTERN.fullmatch(form.constant)
    if match is None:
        raise not_supported(f"The pattern '{form.constant}' of FORMAT_NUMBER")
    optional, whole, least, more = (g or "" for g in match.groups())
    written = optional + whole
    if "," in written and len(written) - written.rindex(",") != 4:
        raise not_supported(f"The pattern '{form.constant}' of FORMAT_NUMBER")
    most = len(least) + len(more)
    return let(value.sql, lambda x: _number(x, whole.count("0"), len(least), most, commas="," in written))


def _number(x: str, whole: int, least: int, most: int, *, commas: bool) -> str:
    if most > 20:
        raise not_supported("FORMAT_NUMBER with more than 20 digits behind the point")
    exact = f"TRY_CAST(CAST({x} AS VARCHAR) AS DECIMAL(38, {min(most + 8, 28)}))"
    text = f"ltrim(CAST(round_even({exact}, {most}) AS VARCHAR), '-')"

    def made(t: str) -> str:
        digits, fraction = f"split_part({t}, '.', 1)", f"split_part({t}, '.', 2)"
        digits = f"ltrim({digits}, '0')"
        if whole:
            digits = let(digits, lambda d: f"lpad({d}, CAST(greatest({whole}, length({d})) AS INTEGER), '0')")
        if least < most:
            fraction = (
                f"rpad(rtrim({fraction}, '0'), CAST(greatest({least}, length(rtrim({fraction}, '0'))) AS INTEGER), '0')"
            )
        body = grouped(digits) if commas else digits
        point = f"CASE WHEN {fraction} <> '' THEN '.' || {fraction} ELSE '' END"
        return f"CASE WHEN {x} < 0 THEN '-' ELSE '' END || {body} || {point}"

    return f"CASE WHEN {x} IS NOT NULL THEN {let(text, made)} END"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("format_string", "s", "ta*", STRING, _format_string),
    Scalar("printf", "fs", "ta*", STRING, _format_string),
    Scalar("format_number", "s", "na", STRING, _format_number),
)
