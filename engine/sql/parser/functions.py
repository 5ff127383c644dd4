"""CREATE, ALTER, DROP and DESCRIBE of functions."""

from __future__ import annotations

import dataclasses

from bergsql.catalog.errors import Span
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm, refuse_twice
from bergsql.engine.sql.parser.query import parse_expression
from bergsql.engine.sql.statements.base import Name
from bergsql.engine.sql.statements.functions import (
    AlterFunction,
    CreateFunction,
    DescribeFunction,
    DropFunction,
    FunctionParameter,
)
from bergsql.engine.sql.type_parser import parse_type_tokens

_LANGUAGES = ("PYTHON", "JAVA", "SCALA", "SQL")


def create_function(cursor: Cursor, *, replace: bool, temporary: bool, system: bool) -> CreateFunction:
    """The rest of ``CREATE [OR REPLACE] [TEMPORARY [SYSTEM]] FUNCTION``, behind FUNCTION."""
    if_not_exists = cursor.if_not_exists()
    if replace and if_not_exists:
        raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other.", cursor.previous.span)
    name = cursor.name("the name of the function")
    made = CreateFunction(name, replace=replace, if_not_exists=if_not_exists, temporary=temporary, system=system)
    if cursor.at("("):
        return _sql_function(cursor, made)
    language = _language(cursor)
    cursor.expect("AS")
    place_span = cursor.token.span
    place = cursor.string("the class, or 'module.name', in quotes")
    language = _language(cursor) or language or "JAVA"
    if cursor.accept("USING"):
        cursor.expect_any("JAR", "FILE", "ARCHIVE", "ARTIFACT")
        cursor.string("a path in quotes")
        while cursor.accept(","):
            cursor.expect_any("JAR", "FILE", "ARCHIVE", "ARTIFACT")
            cursor.string("a path in quotes")
        if language == "PYTHON":
            raise cursor.error("A function in Python is imported: it has no USING.", cursor.previous.span)
    return dataclasses.replace(made, place=place, place_span=place_span, language=language)


def _language(cursor: Cursor) -> str:
    return cursor.expect_any(*_LANGUAGES) if cursor.accept("LANGUAGE") else ""


def _sql_function(cursor: Cursor, made: CreateFunction) -> CreateFunction:
    """Spark's ``f(a INT [DEFAULT 1] [COMMENT '…'], …) [RETURNS type] [COMMENT '…'] … RETURN expression``."""
    parameters: list[FunctionParameter] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        if parameters:
            cursor.expect(",")
        parameters.append(_parameter(cursor))
    refuse_twice("parameter", ((p.name, p.span) for p in parameters), fold=True)
    returns = comment = None
    while not cursor.accept("RETURN"):
        if cursor.accept("RETURNS"):
            if cursor.at("TABLE"):
                raise UnsupportedForm("CREATE FUNCTION … RETURNS TABLE", cursor.token.span)
            returns = parse_type_tokens(cursor)
        elif cursor.accept("COMMENT"):
            comment = cursor.string("a comment in quotes")
        elif cursor.accept("LANGUAGE"):
            cursor.expect("SQL")
        elif not (
            cursor.accept("DETERMINISTIC")
            or cursor.accept("NOT", "DETERMINISTIC")
            or cursor.accept("CONTAINS", "SQL")
            or cursor.accept("READS", "SQL", "DATA")
        ):
            raise cursor.expected(("RETURNS", "COMMENT", "LANGUAGE SQL", "DETERMINISTIC", "RETURN"))
    body = parse_expression(cursor)
    return dataclasses.replace(
        made, language="SQL", parameters=tuple(parameters), returns=returns, body=body, comment=comment
    )


def _parameter(cursor: Cursor) -> FunctionParameter:
    name, span = cursor.identifier("the name of a parameter")
    kind = parse_type_tokens(cursor)
    default = parse_expression(cursor, ("COMMENT",)) if cursor.accept("DEFAULT") else None
    if cursor.accept("COMMENT"):
        cursor.string("a comment in quotes")
    return FunctionParameter(name, kind, span, default)


def alter_function(cursor: Cursor, *, temporary: bool, system: bool) -> AlterFunction:
    """The rest of ``ALTER [TEMPORARY [SYSTEM]] FUNCTION``, behind FUNCTION."""
    if_exists = cursor.if_exists()
    create = create_function(cursor, replace=True, temporary=temporary, system=system)
    return AlterFunction(create, if_exists)


def drop_function(cursor: Cursor, *, temporary: bool, system: bool) -> DropFunction:
    """The rest of ``DROP [TEMPORARY [SYSTEM]] FUNCTION``, behind FUNCTION."""
    if_exists = cursor.if_exists()
    return DropFunction(cursor.name("the name of a function"), if_exists, temporary, system)


def describe_function(cursor: Cursor) -> DescribeFunction:
    """The rest of ``DESCRIBE FUNCTION [EXTENDED] f``, behind FUNCTION."""
    named = cursor.peek().kind in (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)
    extended = cursor.at("EXTENDED") and named and cursor.accept("EXTENDED")
    token = cursor.token
    if token.kind is TokenKind.STRING:
        cursor.advance()
        return DescribeFunction(Name((token.text,), Span(token.start, token.end)), extended)
    if token.kind is TokenKind.WORD and cursor.peek().key != ".":  # a function may be called as a keyword is: if, left
        cursor.advance()
        return DescribeFunction(Name((token.text,), token.span), extended)
    return DescribeFunction(cursor.name("the name of a function"), extended)
