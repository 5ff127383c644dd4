"""Functions of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.sql_text import failure, let, let_all
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.java_regex import group_count, java_replacement, pattern_sql
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BOOLEAN, INT, STRING, DataType

if TYPE_CHECKING:
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context


def _texts(arguments: Sequence[Bound]) -> DataType:
    return array_of(STRING)


def _matches(arguments: list[Bound], context: Context) -> str:
    return f"regexp_matches({arguments[0].sql}, {pattern_sql(arguments[1])})"


def _replace(arguments: list[Bound], context: Context) -> str:
    value, pattern, replacement = arguments[:3]
    known = pattern.constant if isinstance(pattern.constant, str) else None
    if isinstance(replacement.constant, str):
        written = string_literal(java_replacement(replacement.constant, known))
    else:
        written = f"regexp_replace({replacement.sql}, '\\$([0-9])', '\\\\\\1', 'g')"

    def replaced(text: str) -> str:
        return f"regexp_replace({text}, {pattern_sql(pattern)}, {written}, 'g')"

    if len(arguments) < 4:
        return replaced(value.sql)

    def from_there(given: list[str]) -> str:
        text, start = given
        changed = f"left({text}, {start} - 1) || {replaced(f'substr({text}, {start})')}"
        return f"CASE WHEN {start} < 1 THEN NULL WHEN {start} > length({text}) THEN {text} ELSE {changed} END"

    return let_all([value.sql, arguments[3].sql], from_there)


def _group(name: str, arguments: list[Bound], context: Context, default: int) -> int:
    """The number of the group that is asked for; -1 where there is none (flink).

    :raises BergError: INVALID where Spark refuses it.
    """
    given = arguments[2] if len(arguments) > 2 else None
    if given is None:
        number = default
    elif isinstance(given.constant, int):
        number = given.constant
    else:
        raise not_supported(f"{name} of a group whose number is not a literal")
    if number > 9:
        raise not_supported(f"{name} of a group other than 0 to 9")
    pattern = arguments[1].constant
    groups = group_count(pattern) if isinstance(pattern, str) else None
    if number >= 0 and (groups is None or number <= groups):
        return number
    if not context.spark:
        return -1
    if number < 0:
        raise BergError(ErrorCode.INVALID, f"The group of {name} is not negative.")
    has = f"the pattern has {groups} {'group' if groups == 1 else 'groups'}"
    raise BergError(ErrorCode.INVALID, f"{name} of group {number}: {has}.")


def _extract(arguments: list[Bound], context: Context) -> str:
    if any(a.is_null for a in arguments):
        return "CAST(NULL AS VARCHAR)"
    number = _group("REGEXP_EXTRACT", arguments, context, 1 if context.spark else 0)
    if number < 0:
        return "CAST(NULL AS VARCHAR)"
    value, pattern = arguments[0].sql, pattern_sql(arguments[1])
    found = f"regexp_extract({value}, {pattern}, {number})"
    return found if context.spark else f"CASE WHEN regexp_matches({value}, {pattern}) THEN {found} END"


def _extract_all(arguments: list[Bound], context: Context) -> str:
    if any(a.is_null for a in arguments):
        return "CAST(NULL AS VARCHAR[])"
    number = _group("REGEXP_EXTRACT_ALL", arguments, context, 1)
    if number < 0:
        return "CAST(NULL AS VARCHAR[])"
    found = f"regexp_extract_all({arguments[0].sql}, {pattern_sql(arguments[1])}, {number})"
    if not isinstance(arguments[1].constant, str):
        wrong = failure(f"REGEXP_EXTRACT_ALL of group {number}: the pattern has no such group.")
        tests = " AND ".join(f"{a.sql} IS NOT NULL" for a in arguments[:2])
        found = f"coalesce(TRY({found}), CASE WHEN {tests} THEN {wrong} END)"
    # A group that takes no part in a match is the empty text.
    return f"list_transform({found}, lambda part: coalesce(part, ''))"


def _count(arguments: list[Bound], context: Context) -> str:
    return f"CAST(len(regexp_extract_all({arguments[0].sql}, {pattern_sql(arguments[1])})) AS INTEGER)"


def _substr(arguments: list[Bound], context: Context) -> str:
    value, pattern = arguments[0].sql, pattern_sql(arguments[1])
    return f"CASE WHEN regexp_matches({value}, {pattern}) THEN regexp_extract({value}, {pattern}) END"


def utf16_length(text: str) -> str:
    """The number of UTF-16 units, in which Java counts places."""
    return f"(length({text}) + length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]', '', 'g')))"


def _instr(arguments: list[Bound], context: Context) -> str:
    """What stands before the first match is what its removal leaves before the mark put in its place."""

    def made(given: list[str]) -> str:
        text, pattern = given
        before = let(f"split_part(regexp_replace({text}, {pattern}, chr(57344)), chr(57344), 1)", utf16_length)
        found = f"CASE WHEN regexp_matches({text}, {pattern}) THEN {before} + 1 WHEN {text} IS NOT NULL AND "
        return f"CAST({found}{pattern} IS NOT NULL THEN 0 END AS INTEGER)"

    return let_all([arguments[0].sql, pattern_sql(arguments[1])], made)


def _split(arguments: list[Bound], context: Context) -> str:
    """At most ``limit`` parts if it is positive: the last is then all that is left."""
    value, pattern = arguments[0], arguments[1]
    plain = isinstance(pattern.constant, str) and not re.search(r"[\\^$.|?*+()\[\]{}]", pattern.constant)
    split = "string_split" if plain else "regexp_split_to_array"
    by = pattern.sql if plain else pattern_sql(pattern)
    limit = arguments[2] if len(arguments) > 2 else None
    if limit is None or (isinstance(limit.constant, int) and limit.constant <= 0):
        return f"{split}({value.sql}, {by})"
    if pattern.constant == "":  # Spark cuts off what is left of single characters
        kept = f"CASE WHEN {limit.sql} > 0 THEN {limit.sql} ELSE length({value.sql}) END"
        return f"string_split({value.sql}, '')[1:{kept}]"

    def made(given: list[str]) -> str:
        text, by, most = given
        parts = f"{split}({text}, {by})"
        marks = f"regexp_extract_all({text}, {by})"
        before = f"length(array_to_string({parts}[1:{most} - 1], ''))"
        before += (
            f" + ({most} - 1) * length({by})" if plain else f" + length(array_to_string({marks}[1:{most} - 1], ''))"
        )
        rest = f"substr({text}, 1 + {before})"
        cut = f"CASE WHEN len({parts}) > {most} THEN list_append({parts}[1:{most} - 1], {rest}) ELSE {parts} END"
        return f"CASE WHEN {most} > 0 THEN {cut} WHEN {most} <= 0 THEN {parts} END"

    return let_all([value.sql, by, limit.sql], made)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("regexp_like rlike", "s", "tt", BOOLEAN, _matches),
    Scalar("regexp", "fs", "tt", BOOLEAN, _matches),
    Scalar("regexp_replace", "s", "ttti?", STRING, _replace),
    Scalar("regexp_replace", "f", "ttt", STRING, _replace),
    Scalar("regexp_extract", "fs", "tti?", STRING, _extract, defaults=("", "", "1")),
    Scalar("regexp_extract_all", "fs", "tti?", _texts, _extract_all, defaults=("", "", "1")),
    Scalar("regexp_count", "fs", "tt", INT, _count),
    Scalar("regexp_substr", "fs", "tt", STRING, _substr),
    Scalar("regexp_instr", "s", "tti?", INT, _instr, defaults=("", "", "0")),
    Scalar("regexp_instr", "f", "tt", INT, _instr),
    Scalar("split", "s", "tti?", _texts, _split),
    Scalar("split", "f", "tt", _texts, "string_split({0}, {1})"),
)
