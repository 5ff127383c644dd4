"""DuckDB's errors in our words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.duck import duckdb, stream_failure
from bergsql.engine.plan.file_errors import file_error
from bergsql.engine.plan.sql_text import DIVISION_BY_ZERO, FAILURE_MARK, FUNCTION_FAILURE
from bergsql.engine.sql.depth import HINT

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

_TOO_DEEP = r"maximum expression depth|stack overflow"
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
        r"Type \w+ with value (\S+) can't be cast .*(?:destination type|to) (\w+)",
        ErrorCode.EXECUTION,
        lambda m: _no_fit(m[1], m[2]),
    ),
    (
        r"(?:Could not cast|Casting|Failed to cast decimal) value \"?([^\s\"]+)\"? to (?:type )?(\w+(?:\(\d+,\d+\))?)",
        ErrorCode.EXECUTION,
        lambda m: _no_fit(m[1], m[2]),
    ),
    (
        r"[Tt]imestamp \w*seconds out of range|[Dd]ate(?: and time)? (?:out of|not in) (?:timestamp )?range",
        ErrorCode.EXECUTION,
        "A date or timestamp is out of the range of its type.",
    ),
    (rf"{FUNCTION_FAILURE} (\S+): (.*)", ErrorCode.EXECUTION, lambda m: f"Function {m[1]} failed: {m[2].rstrip('.')}."),
    (r"Overflow in (\w+)", ErrorCode.EXECUTION, "A number is too large for its type."),
    (r"[Dd]ivision by zero", ErrorCode.EXECUTION, DIVISION_BY_ZERO),
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
        r"failed to (?:allocate|pin)|could not allocate|Out of Memory",
        ErrorCode.EXECUTION,
        "The query needs more memory than engine.memory-limit allows.",
    ),
    (
        r"((?:missing|unexpected|invalid|bad|no argument for) (?:[\])]|repetition|escape|perl|character class)[^:]*)",
        ErrorCode.INVALID,
        lambda m: f"A regular expression cannot be read: {m[1].strip()}.",
    ),
    (
        r"argument in function \"\w+\" must (?:be a constant expression|not be NULL)|QUANTILE can only take",
        ErrorCode.INVALID,
        "The fraction of a percentile is a literal number from 0 to 1.",
    ),
    (r"Map keys can not be NULL", ErrorCode.EXECUTION, "A key of a map is NULL."),
    (r"Map keys must be unique", ErrorCode.EXECUTION, "A map has the same key twice."),
    (r"could not convert blob to UTF8", ErrorCode.EXECUTION, "Bytes that are no UTF-8 cannot become text."),
    (_TOO_DEEP, ErrorCode.INVALID, "The query is nested too deeply."),
    (r"Unknown TimeZone '(.*?)'", ErrorCode.INVALID, lambda m: f"There is no time zone '{m[1]}'."),
)


def _type(name: str) -> str:
    return _SQL_TYPES.get(name.upper(), name.upper().replace(",", ", "))


def _no_fit(value: str, type_: str) -> str:
    written = value.rstrip("0").rstrip(".") if "." in value and "e" not in value else value
    return f"The value {'NaN' if value == 'nan' else written} does not fit into {_type(type_)}."


def _last(name: str) -> str:
    return name.replace('"', "").rpartition(".")[2]


def from_duckdb_error(
    error: Exception, plan: QueryPlan | None = None, damaged: Callable[[], BergError | None] = lambda: None
) -> BergError:
    """What DuckDB raised, as one sentence, at the operation it is about if the query has only one such.

    ``damaged`` looks for the file that it may be about, where it is nothing that a query does.
    """
    text = str(error)
    if (of_stream := stream_failure(text)) is not None:
        return of_stream
    if FAILURE_MARK in text:
        message = " ".join(text.split(FAILURE_MARK, 1)[1].split())
        return BergError(ErrorCode.EXECUTION, message, span=_place(message, plan))
    from bergsql.engine.table.copy_sql import NULL_MARK

    if f"Error: {NULL_MARK}" in text:
        from bergsql.engine.table.writer import null_error

        if (missing := null_error(error)) is not None:
            return missing.at(plan.query.span if plan is not None and plan.query is not None else None)
    failed = file_error(text)
    if failed is not None:
        return failed
    first = _first_line(text)
    for pattern, code, message_of in _RULES:
        found = re.search(pattern, text if "\n" not in pattern else first)
        if found:
            message = message_of if isinstance(message_of, str) else message_of(found)
            return BergError(code, message, span=_place(message, plan), hint=_hint(error))
    found_file = damaged()
    if found_file is not None:
        return found_file
    if isinstance(error, duckdb.IOException):
        return BergError(ErrorCode.IO, _sentence(first), span=_whole(plan))
    if type(error) is duckdb.Error and plan is not None and plan.scans:
        named = ", ".join(f"{s.table} (snapshot {s.snapshot_id})" for s in plan.scans)
        return BergError(ErrorCode.CORRUPT, f"A data file of {named} is damaged.", span=_whole(plan))
    code, message = _last_resort(error)
    return BergError(code, message, span=_whole(plan), hint=_hint(error) or "--debug shows what the engine says.")


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def _sentence(line: str) -> str:
    """The message without DuckDB's class name, as a sentence."""
    line = re.sub(r"^(?:[A-Z][\w-]* )*Error: ", "", line.strip()).strip()
    return (line[:1].upper() + line[1:]).rstrip(".") + "." if line else "The query failed."


def _last_resort(error: Exception) -> tuple[ErrorCode, str]:
    """For what no rule knows: DuckDB's own words name its types and functions, which nobody wrote."""
    if isinstance(error, duckdb.InternalException | duckdb.ParserException | duckdb.FatalException):
        return ErrorCode.INTERNAL, "The query cannot be run: the engine does not understand its plan."
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException | duckdb.NotImplementedException):
        return ErrorCode.INVALID, "The query cannot be run: a function or an operator does not take these values."
    if isinstance(error, duckdb.ConversionException | duckdb.TypeMismatchException):
        return ErrorCode.TYPE, "The query cannot be run: a value cannot be turned into the type that is wanted."
    if isinstance(error, duckdb.OutOfRangeException):
        return ErrorCode.EXECUTION, "The query cannot be run: a value is out of the range of its type."
    return ErrorCode.EXECUTION, "The query cannot be run: a function does not take one of its values."


def _hint(error: Exception) -> str | None:
    if re.search(_TOO_DEEP, str(error)):
        return HINT
    if isinstance(error, duckdb.OutOfMemoryException):
        return "SET 'engine.memory-limit' = '…'; raises it."
    return None


def _place(message: str, plan: QueryPlan | None) -> Span | None:
    """Where the query does what the message is about, or the whole query. Never by the value that a message quotes:
    the same text may stand anywhere in the query and mean something else."""
    return _find_operation(message, plan) or _whole(plan)


def _whole(plan: QueryPlan | None) -> Span | None:
    return plan.query.span if plan is not None and plan.query is not None else None


def _find_operation(message: str, plan: QueryPlan | None) -> Span | None:
    """The place of the only operation that can have failed so. Plans carry no places: equal expressions of GROUP BY
    and SELECT must have equal SQL."""
    if plan is None or plan.query is None:
        return None
    from sqlglot import exp

    from bergsql.engine.sql.parser.query import declared_type, span_of

    found: list[exp.Expr] = []
    cast_to = re.search(r" (?:cast to|fit into) ([A-Z]+)", message)
    first = re.match(r"(?:Function )?([\w.]*)", message)  # messages of functions begin with their name
    called = first[1].rpartition(".")[2].casefold() if first else ""
    for node in plan.query.ast.walk():
        if DIVISION_BY_ZERO in message:
            if isinstance(node, exp.Div | exp.Mod | exp.IntDiv):
                found.append(node.expression)
            elif isinstance(node, exp.Anonymous) and str(node.this).lower() in ("mod", "pmod"):
                found.append(node)
        elif "subquery that is a value" in message:
            if isinstance(node, exp.Subquery) and not isinstance(node.parent, exp.From | exp.Join | exp.Lateral):
                found.append(node)
        elif (isinstance(node, exp.Anonymous) and str(node.this).casefold() == called) or (
            cast_to and isinstance(node, exp.Cast) and declared_type(node).kind.value == cast_to[1]
        ):
            found.append(node)
    return span_of(found[0]) if len(found) == 1 else None
