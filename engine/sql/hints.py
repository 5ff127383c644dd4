"""Hints: ``/*+ OPTIONS('k'='v') */`` behind a table, ``/*+ BROADCAST(t) */`` behind SELECT."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.base import Option, TableHint

RUN_HINTS = frozenset(
    (
        "BROADCAST BROADCASTJOIN MAPJOIN MERGE SHUFFLE_MERGE MERGEJOIN SHUFFLE_HASH SHUFFLE_REPLICATE_NL COALESCE "
        "REPARTITION REPARTITION_BY_RANGE REBALANCE NEST_LOOP LOOKUP STATE_TTL MULTI_JOIN"
    ).split()
)
"""Hints of Flink and Spark that only say how to run a query. They are accepted and have no effect."""


def parse_table_hint(cursor: Cursor) -> TableHint:
    """The hint at ``cursor``, behind a table: only OPTIONS means something there."""
    start, after = cursor.token.start, cursor.previous_end
    cursor.expect("/*+")
    options: list[Option] = []
    while True:
        word = cursor.token
        if not cursor.accept("OPTIONS"):
            if word.kind is not TokenKind.WORD:
                raise cursor.expected(("OPTIONS",))
            raise _unknown(word.text, word.span, ["OPTIONS"])
        options.extend(cursor.options())
        cursor.accept(",")
        if cursor.accept("*/"):
            return TableHint(after, tuple(options), Span(start, cursor.previous_end))


def parse_query_hint(cursor: Cursor) -> None:
    """Check the hints behind SELECT and step over them."""
    cursor.expect("/*+")
    while not cursor.accept("*/"):
        word = cursor.token
        if word.kind is not TokenKind.WORD:
            raise cursor.expected((), "a hint")
        if word.key == "OPTIONS":
            raise BergError(
                ErrorCode.SYNTAX, "OPTIONS belongs behind a table.", span=word.span, hint="FROM t /*+ OPTIONS(…) */"
            )
        if word.key not in RUN_HINTS:
            raise _unknown(word.text, word.span, sorted(RUN_HINTS))
        cursor.advance()
        if cursor.at("("):
            _skip_arguments(cursor)
        cursor.accept(",")


def _skip_arguments(cursor: Cursor) -> None:
    depth = 0
    while not cursor.at_end and not cursor.at("*/"):
        key = cursor.advance().key
        depth += (key == "(") - (key == ")")
        if depth == 0:
            return
    raise cursor.expected((")",))


def _unknown(name: str, span: Span, known: list[str]) -> BergError:
    return BergError(ErrorCode.OPTION, f"Unknown hint '{name}'.", span=span, hint=did_you_mean(name, known))
