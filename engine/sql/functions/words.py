"""Functions of text beyond the everyday ones: sounds, edits, masks, lists and maps in a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let, let_all
from bergsql.engine.sql.functions.collections import map_of
from bergsql.engine.sql.functions.java_regex import pattern_sql
from bergsql.engine.sql.functions.maps import checked_map
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BOOLEAN, INT, STRING

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context


def _soundex(arguments: list[Bound], context: Context) -> str:
    """The first letter and the codes of the rest, but for those like their neighbour (H and W between do not count)."""

    def made(x: str) -> str:
        u = f"upper({x})"
        letters = f"regexp_replace({u}, '[^A-Z]', '7', 'g')"
        codes = f"translate({letters}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '01230127022455012623017202')"
        silent = f"regexp_replace({codes}, '7', '', 'g')"
        squeezed = silent
        for digit in "123456":
            squeezed = f"regexp_replace({squeezed}, '{digit}+', '{digit}', 'g')"
        rest = f"replace(substr({squeezed}, 2), '0', '')"
        return f"CASE WHEN regexp_matches({u}, '^[A-Z]') THEN rpad(left({u}, 1) || {rest}, 4, '0') ELSE {x} END"

    return let(arguments[0].sql, made)


def _levenshtein(arguments: list[Bound], context: Context) -> str:
    distance = f"CAST(levenshtein({arguments[0].sql}, {arguments[1].sql}) AS INTEGER)"
    if len(arguments) < 3:
        return distance
    return let_all(
        [distance, arguments[2].sql],
        lambda g: f"CASE WHEN {g[0]} <= {g[1]} THEN {g[0]} WHEN {g[0]} > {g[1]} THEN -1 END",
    )


def _find_in_set(arguments: list[Bound], context: Context) -> str:
    word, listed = (a.sql for a in arguments)
    found = f"CAST(coalesce(list_position(string_split({listed}, ','), {word}), 0) AS INTEGER)"
    return f"CASE WHEN contains({word}, ',') THEN 0 WHEN {word} IS NOT NULL AND {listed} IS NOT NULL THEN {found} END"


def _substring_index(arguments: list[Bound], context: Context) -> str:
    def made(given: list[str]) -> str:
        x, by, n = given
        parts = f"string_split({x}, {by})"
        # A literal separator keeps array_to_string; any other is put before each part and cut off once.
        first = f"list_transform({parts}[1:{n}], lambda part: {by} || part)"
        last = f"list_transform({parts}[len({parts}) + {n} + 1:], lambda part: {by} || part)"

        def text(parts: str) -> str:
            return f"substr(array_to_string({parts}, ''), length({by}) + 1)"

        return (
            f"CASE WHEN {x} IS NULL OR {by} IS NULL OR {n} IS NULL THEN NULL WHEN {by} = '' OR {n} = 0 THEN '' "
            f"WHEN abs({n}) >= len({parts}) THEN {x} WHEN {n} > 0 THEN {text(first)} ELSE {text(last)} END"
        )

    return let_all([arguments[0].sql, arguments[1].sql, f"CAST({arguments[2].sql} AS BIGINT)"], made)


def _split_part(arguments: list[Bound], context: Context) -> str:
    zero = failure("The place of SPLIT_PART is not 0: parts are counted from 1.")

    def made(given: list[str]) -> str:
        x, by, n = given
        whole = f"CASE WHEN {n} IN (1, -1) THEN {x} ELSE '' END"
        return (
            f"CASE WHEN {x} IS NULL OR {by} IS NULL OR {n} IS NULL THEN NULL WHEN {n} = 0 THEN {zero} "
            f"WHEN {by} = '' THEN {whole} ELSE split_part({x}, {by}, {n}) END"
        )

    return let_all([a.sql for a in arguments], made)


def _elt(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce

    index, values = arguments[0], [coerce(a, STRING, context) for a in arguments[1:]]
    cases = " ".join(f"WHEN {i} THEN {v.sql}" for i, v in enumerate(values, start=1))
    return Bound(f"CASE {index.sql} {cases} END", STRING, "")


def _mask(arguments: list[Bound], context: Context) -> str:
    """One pass a kind: what was masked already stands for itself, so the others come first."""
    defaults = ("'X'", "'x'", "'n'", "NULL")
    classes = (r"\p{Lu}", r"\p{Ll}", r"\p{Nd}", r"[^\p{Lu}\p{Ll}\p{Nd}]")
    marks = []
    for i, default in enumerate(defaults, start=1):
        given = arguments[i] if i < len(arguments) else None
        if given is not None and not given.is_constant:
            raise not_supported("MASK with a character that is not a literal")
        if given is None:
            marks.append(None if default == "NULL" else default[1:-1])
        else:
            if given.constant is not None and len(str(given.constant)) != 1:
                raise BergError(ErrorCode.INVALID, "MASK takes single characters.")
            marks.append(None if given.constant is None else str(given.constant))
    # Each kind becomes a character of the private range, then each of these its mark.
    text = arguments[0].sql
    for i, (kind, mark) in enumerate(zip(classes, marks, strict=True)):
        if mark is not None:
            kind = kind if i < 3 else r"[^\p{Lu}\p{Ll}\p{Nd}\x{E000}-\x{E003}]"
            text = f"regexp_replace({text}, '{kind}', chr({0xE000 + i}), 'g')"
    for i, mark in enumerate(marks):
        if mark is not None:
            text = f"replace({text}, chr({0xE000 + i}), {string_literal(mark)})"
    return text


def _luhn(arguments: list[Bound], context: Context) -> str:
    def made(x: str) -> str:
        digits = f"list_transform(string_split(reverse({x}), ''), lambda d: CAST(d AS INTEGER))"
        doubled = f"list_transform({digits}, lambda d, i: CASE WHEN i % 2 = 0 THEN d * 2 // 10 + d * 2 % 10 ELSE d END)"
        valid = f"CASE WHEN regexp_full_match({x}, '[0-9]+') THEN TRY(list_sum({doubled})) % 10 = 0 ELSE FALSE END"
        return f"CASE WHEN {x} IS NOT NULL THEN {valid} END"

    return let(arguments[0].sql, made)


def _str_to_map(arguments: list[Bound], context: Context) -> Bound:
    """Both separators are patterns; a pair is cut at its first separator only."""
    pair = pattern_sql(arguments[1]) if len(arguments) > 1 else "','"
    key = pattern_sql(arguments[2]) if len(arguments) > 2 else "':'" if context.spark else "'='"

    def made(given: list[str]) -> str:
        x, p, k = given
        # A null character marks the cut: a match may be of any length.
        pairs = f"list_transform(regexp_split_to_array({x}, {p}), lambda e: regexp_replace(e, {k}, chr(57344)))"
        keys = f"list_transform({pairs}, lambda e: split_part(e, chr(57344), 1))"
        cut = "substr(e, strpos(e, chr(57344)) + 1)"
        values = f"list_transform({pairs}, lambda e: CASE WHEN contains(e, chr(57344)) THEN {cut} END)"
        if context.spark:
            return checked_map("STR_TO_MAP", keys, values)
        # Flink keeps pairs with a separator only; the last of one key wins.
        kept = f"list_filter({pairs}, lambda e: contains(e, chr(57344)))"
        entries = f"list_transform({kept}, lambda e: struct_pack(key := split_part(e, chr(57344), 1), value := {cut}))"
        last = f"list_filter({entries}, lambda e, i: len(list_filter({entries}[i + 1:], lambda o: o.key = e.key)) = 0)"
        return f"CASE WHEN {x} IS NOT NULL THEN map_from_entries({last}) END"

    return Bound(let_all([arguments[0].sql, pair, key], made), map_of(STRING, STRING), "", volatile=context.spark)


def _quote(arguments: list[Bound], context: Context) -> str:
    return f"('''' || replace({arguments[0].sql}, '''', '\\''') || '''')"


def _is_made_of(pattern: str) -> Callable[[list[Bound], Context], str]:
    return lambda a, c: f"coalesce(regexp_full_match({a[0].sql}, '{pattern}'), FALSE)"


_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"

FUNCTIONS: tuple[Function, ...] = (
    Scalar("soundex", "s", "t", STRING, _soundex),
    Scalar("levenshtein", "s", "tti?", INT, _levenshtein),
    Scalar("find_in_set", "s", "tt", INT, _find_in_set),
    Scalar("substring_index", "s", "tti", STRING, _substring_index),
    Scalar("split_part", "s", "tti", STRING, _split_part),
    Scalar("elt", "fs", "iaa*", STRING, _elt),
    Scalar("mask", "s", "tt?t?t?t?", STRING, _mask, defaults=("", "X", "x", "n", "NULL")),
    Scalar("luhn_check", "s", "t", BOOLEAN, _luhn),
    Scalar("str_to_map", "fs", "tt?t?", 0, _str_to_map, defaults=("", ",", ":")),
    Scalar("quote", "s", "t", STRING, _quote),
    Scalar("is_alpha", "f", "t", BOOLEAN, _is_made_of(r"\pL+")),
    Scalar("is_digit", "f", "t", BOOLEAN, _is_made_of(r"\p{Nd}+")),
    Scalar("is_decimal", "f", "t", BOOLEAN, _is_made_of(_NUMBER)),
)
