"""Small pieces of DuckDB SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from zlib import crc32

from bergsql.engine.sql.quoting import string_literal

_ATOM = r"""(?:"(?:[^"]|"")*"(?:\."(?:[^"]|"")*")?|[a-z]\w*(?:\.[ac]\d+)?|-?[\d.]+|'[^']*')"""
_CHEAP = rf"{_ATOM}|CAST\({_ATOM} AS \w+(?:\([\d,]+\))?\)"


LONG = 200
"""Characters from which on an operand that would be written twice is bound to a variable instead."""
DIVISION_BY_ZERO = "Division by zero."


def by_zero(*, spark: bool) -> str:
    """What a division of exact numbers by zero gives: NULL in Spark, an error in Flink."""
    return "NULL" if spark else failure(DIVISION_BY_ZERO)


def is_cheap(sql: str) -> bool:
    """True for a column, a lambda's variable, a literal, or a cast of one: what may be written several times."""
    return re.fullmatch(_CHEAP, sql) is not None


def let(sql: str, body: Callable[[str], str]) -> str:
    """``body`` of a value that it names several times.

    What is more than a column is bound to a lambda's variable: written out several times it would make text that
    doubles with every level of nesting, and a volatile function would give several values.
    """
    if is_cheap(sql):
        return body(sql)
    return f"{each(f'[{sql}]', body)}[1]"


def let_all(values: Sequence[str], body: Callable[[list[str]], str]) -> str:
    """``body`` of several values.

    One lambda for all of them: a subquery among them must not stand inside another's lambda, which DuckDB refuses.
    """
    dear = [v for v in values if not is_cheap(v)]
    if not dear:
        return body(list(values))
    if len(dear) == 1:
        return let(dear[0], lambda x: body([v if is_cheap(v) else x for v in values]))
    packed = ", ".join(f"a{i} := {v}" for i, v in enumerate(dear))

    def unpacked(row: str) -> str:
        names = iter(f"{row}.a{i}" for i in range(len(dear)))
        return body([v if is_cheap(v) else next(names) for v in values])

    return let(f"struct_pack({packed})", unpacked)


def each(sql: str, body: Callable[[str], str]) -> str:
    """``body`` of every element of a list."""
    # Named after what it stands for: the same plan has the same text each time, and no two that nest share a name.
    name = f"v{crc32(sql.encode()):08x}"
    return f"list_transform({sql}, lambda {name}: {body(name)})"


def joined(texts: str, separator: str) -> str:
    """The elements of a list of texts in one, with ``separator`` between; DuckDB's own takes only a literal."""
    if re.fullmatch(r"'(?:[^']|'')*'", separator):
        return f"array_to_string({texts}, {separator})"

    def made(both: list[str]) -> str:
        items, s = both
        inner = f"list_transform({items}, lambda part: {s} || part)"
        return f"CASE WHEN {s} IS NOT NULL THEN substr(array_to_string({inner}, ''), length({s}) + 1) END"

    return let_all([texts, separator], made)


def tries(sql: str) -> bool:
    """True when the SQL uses TRY, which refuses aggregates, subqueries and volatile functions."""
    return "TRY(" in sql


def at_least(sql: str, least: int) -> str:
    """SQL for a number that is no less; NULL stays NULL, which DuckDB's ``greatest`` skips."""
    return f"CASE WHEN {sql} < {least} THEN {least} ELSE {sql} END"


def failure(message: str, detail: str | None = None) -> str:
    """SQL that raises ``message`` (with the text of ``detail`` SQL put in for ``%s``) as an error of ours."""
    before, mark, after = message.partition("%s")

    if not mark or detail is None:
        return f"error({string_literal(FAILURE_MARK + message)})"
    return f"error({string_literal(FAILURE_MARK + before)} || CAST({detail} AS VARCHAR) || {string_literal(after)})"


FUNCTION_FAILURE = "bergsql-function"
"""What the message of an error begins with that a function in Python raised, as DuckDB hands it on."""
FAILURE_MARK = "\u241e"
"""Begins the text of errors that a planned query raises itself."""
