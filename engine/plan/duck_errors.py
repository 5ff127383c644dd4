"""DuckDB's errors in our words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.duck import duckdb
from bergsql.engine.plan.sql_text import FAILURE_MARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.query import QueryPlan

_SQL_TYPES = {
    "INT8": "TINYINT",
    "INT16": "SMALLINT",
    "INT32": "INT",
    "INT64": "BIGINT",
    "INT128": "DECIMAL",
    "VARCHAR": "STRING",
    "INTEGER": "INT",
    "BLOB": "BYTES",
}

_RULES: tuple[tuple[str, ErrorCode, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"Could not convert string '(.*)' to (\w+)",
        ErrorCode.TYPE,
        lambda m: f"'{m[1]}' cannot be cast to {_type(m[2])}.",
    ),
    (
        r"(?:date|timestamp|time) field (?:format|value out of range)[^\"]*\"(.*?)\"",
        ErrorCode.TYPE,
        lambda m: f"'{m[1]}' is no date or time that can be read.",
    ),
    (
        r"Type (\w+) with value (\S+) can't be cast .*(?:destination type|to) (\w+)",
        ErrorCode.EXECUTION,
        lambda m: f"The value {m[2]} does not fit into {_type(m[3])}.",
    ),
    (
        r"Could not cast value (\S+) to (DECIMAL\(\d+,\d+\))",
        ErrorCode.EXECUTION,
        lambda m: f"The value {m[1]} does not fit into {m[2]}.",
    ),
    (r"Overflow in (\w+)", ErrorCode.EXECUTION, "A number is too large for its type."),
    (r"[Dd]ivision by zero", ErrorCode.EXECUTION, "Division by zero."),
    (
        r"More than one row returned by a subquery",
        ErrorCode.EXECUTION,
        "A subquery that is a value gave more than one row.",
    ),
    (
        r"column \"?(.+?)\"? must appear in the GROUP BY clause",
        ErrorCode.INVALID,
        lambda m: f"Column '{_last(m[1])}' is neither in GROUP BY nor inside an aggregate function.",
    ),
    (
        r"No files found that match the pattern \"(.*?)\"|Cannot open file \"(.*?)\"",
        ErrorCode.IO,
        lambda m: f"The data file {m[1] or m[2]} cannot be read.",
    ),
    (
        r"failed to (?:allocate|pin)|could not allocate|Out of Memory",
        ErrorCode.EXECUTION,
        "The query needs more memory than engine.memory-limit allows.",
    ),
    (
        r"((?:missing|unexpected|invalid|bad|no argument for) (?:[\])]|repetition|escape|perl|character class)[^:]*)",
        ErrorCode.INVALID,
        lambda m: f"A regular expression cannot be read: {m[1].strip()}.",
    ),
    (r"maximum expression depth|stack overflow", ErrorCode.INVALID, "The query is nested too deeply."),
    (r"Unknown TimeZone '(.*?)'", ErrorCode.INVALID, lambda m: f"There is no time zone '{m[1]}'."),
)


def _type(name: str) -> str:
    return _SQL_TYPES.get(name.upper(), name.upper())


def _last(name: str) -> str:
    return name.replace('"', "").rpartition(".")[2]


def from_duckdb_error(error: Exception, plan: QueryPlan | None = None) -> BergError:
    """What DuckDB raised, as one sentence; with the place of the word it is about, when the query shows it once."""
    text = str(error)
    if FAILURE_MARK in text:
        message = " ".join(text.split(FAILURE_MARK, 1)[1].split())
        return BergError(ErrorCode.EXECUTION, message, span=_find_quoted(message, plan))
    first = _first_line(text)
    for pattern, code, message_of in _RULES:
        found = re.search(pattern, text if "\n" not in pattern else first)
        if found:
            message = message_of if isinstance(message_of, str) else message_of(found)
            return BergError(code, message, span=_find_quoted(message, plan), hint=_hint(error))
    return BergError(_code(error), _sentence(first), hint=_hint(error))


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def _sentence(line: str) -> str:
    """The message without DuckDB's class name, as a sentence."""
    line = re.sub(r"^(?:[A-Z][\w-]* )*Error: ", "", line.strip()).strip()
    return (line[:1].upper() + line[1:]).rstrip(".") + "." if line else "The query failed."


def _code(error: Exception) -> ErrorCode:
    if isinstance(error, duckdb.IOException):
        return ErrorCode.IO
    if isinstance(error, duckdb.InternalException | duckdb.ParserException | duckdb.FatalException):
        return ErrorCode.INTERNAL
    if isinstance(error, duckdb.ConversionException | duckdb.TypeMismatchException):
        return ErrorCode.TYPE
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException | duckdb.NotImplementedException):
        return ErrorCode.INVALID
    return ErrorCode.EXECUTION


def _hint(error: Exception) -> str | None:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "SET 'engine.memory-limit' = '…'; raises it."
    return None


def _find_quoted(message: str, plan: QueryPlan | None) -> Span | None:
    """The place of the text that the message quotes, when the query holds it exactly once."""
    query = plan.query if plan is not None else None
    found = re.search(r"'(.+?)'", message)
    if query is None or not found:
        return None
    word = found.group(1)
    places = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", query.text)]
    if len(places) != 1:
        return None
    start = query.span.start + places[0]
    return Span(start, start + len(word))
