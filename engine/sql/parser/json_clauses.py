"""The clauses in calls of SQL's JSON functions: ``RETURNING``, ``WRAPPER``, ``ON EMPTY``, ``ON ERROR``, ``ON NULL``.

A clause becomes an argument: a string with JSON_MARK in front, ``NULL ON EMPTY``. Behind the string ``RETURNING`` comes
a NULL of the type; behind ``DEFAULT`` the expression, and then ``ON EMPTY`` or ``ON ERROR``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

from bergsql.engine.sql.parser.query_words import CAST_MARK, ENDS_OPERAND

if TYPE_CHECKING:
    from bergsql.engine.sql.parser.sqlglot_tokens import Converter

JSON_MARK = "\x03"

_NULLS = (("NULL", "ABSENT"), ("NULL",))
_ON: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "JSON_VALUE": (("NULL", "ERROR", "DEFAULT"), ("EMPTY", "ERROR")),
    "JSON_QUERY": (("NULL", "ERROR", "EMPTY"), ("EMPTY", "ERROR")),
    "JSON_EXISTS": (("TRUE", "FALSE", "UNKNOWN", "ERROR"), ("ERROR",)),
    "JSON_OBJECT": _NULLS,
    "JSON_OBJECTAGG": _NULLS,
    "JSON_ARRAY": _NULLS,
    "JSON_ARRAYAGG": _NULLS,
}
"""Of each function: what may stand before ON, and what behind."""


def json_clause(converter: Converter) -> bool:
    """Whether a clause begins here; then it is taken."""
    cursor, call = converter.cursor, converter.level.call
    key, previous = cursor.token.key, converter.out[-1].token_type
    words, _ = _ON.get(call, ((), ()))
    first = (
        previous is TokenType.L_PAREN and cursor.peek(1).key == "ON" and key in ("NULL", "ABSENT") and len(words) == 2
    )
    if not words or not (first or previous in ENDS_OPERAND):
        return False
    if key == "RETURNING" and call in ("JSON_VALUE", "JSON_QUERY"):
        cursor.index += 1
        _word(converter, "RETURNING")
        _null_of_type(converter)
    elif key in ("WITH", "WITHOUT") and call == "JSON_QUERY":
        _wrapper(converter)
    elif key == "ON":
        _behind_on(converter, "")
    elif key == "DEFAULT" and key in words:
        cursor.index += 1
        _word(converter, "DEFAULT")
        _emit(converter, TokenType.COMMA, ",")
    elif key in words and (key != "EMPTY" or cursor.peek(1).key in ("ARRAY", "OBJECT")):
        cursor.index += 1
        kind = f"EMPTY {cursor.expect_any('ARRAY', 'OBJECT')}" if key == "EMPTY" else key
        _behind_on(converter, f"{kind} ", comma=not first)
    else:
        return False
    return True


def _emit(converter: Converter, kind: TokenType, text: str) -> None:
    last = converter.cursor.previous
    converter.emit(kind, last.start, last.end, text)


def _word(converter: Converter, text: str, *, comma: bool = True) -> None:
    if comma:
        _emit(converter, TokenType.COMMA, ",")
    _emit(converter, TokenType.STRING, JSON_MARK + text)


def _null_of_type(converter: Converter) -> None:
    """``, CAST(NULL AS type)``."""
    _emit(converter, TokenType.COMMA, ",")
    use = converter.type_use()
    _emit(converter, TokenType.VAR, CAST_MARK + "CAST")
    _emit(converter, TokenType.L_PAREN, "(")
    _emit(converter, TokenType.NULL, "NULL")
    _emit(converter, TokenType.COMMA, ",")
    _emit(converter, TokenType.STRING, CAST_MARK + str(len(converter.types)))
    _emit(converter, TokenType.R_PAREN, ")")
    converter.types.append(use)


def _behind_on(converter: Converter, before: str, *, comma: bool = True) -> None:
    cursor = converter.cursor
    cursor.expect("ON")
    _word(converter, f"{before}ON {cursor.expect_any(*_ON[converter.level.call][1])}", comma=comma)


def _wrapper(converter: Converter) -> None:
    cursor = converter.cursor
    kind = "WITHOUT"
    if cursor.accept("WITH"):
        kind = "UNCONDITIONAL"
        if cursor.at("CONDITIONAL") or cursor.at("UNCONDITIONAL"):
            kind = cursor.expect_any("CONDITIONAL", "UNCONDITIONAL")
    else:
        cursor.expect("WITHOUT")
    cursor.accept("ARRAY")
    cursor.expect("WRAPPER")
    _word(converter, f"{kind} WRAPPER")
