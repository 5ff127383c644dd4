"""USE: which catalog and database bare names mean."""

from __future__ import annotations

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.catalogs import UseCatalog
from bergsql.engine.sql.statements.databases import UseDatabase


def use(cursor: Cursor) -> Statement:
    """``USE CATALOG c``, ``USE [DATABASE | NAMESPACE | SCHEMA] [c.]d``, ``USE MODULES m, …``."""
    cursor.expect("USE")
    if cursor.at("CATALOG") and cursor.peek().key != ".":
        cursor.advance()
        name, span = cursor.identifier("the name of a catalog")
        return UseCatalog(name, span)
    if cursor.at("MODULES") and not _bare(cursor):
        from bergsql.engine.sql.statements.modules import UseModules

        cursor.advance()
        modules = [cursor.identifier("the name of a module")]
        while cursor.accept(","):
            modules.append(cursor.identifier("the name of a module"))
        return UseModules(tuple(modules))
    if cursor.key in DATABASE_WORDS and not _bare(cursor):
        cursor.advance()
        return UseDatabase(cursor.name("the name of a database"), bare=False)
    if cursor.at_end:
        raise cursor.expected(("CATALOG", "DATABASE"), "the name of a database, or CATALOG and a name")
    return UseDatabase(cursor.name("the name of a database"))


def _bare(cursor: Cursor) -> bool:
    """Whether the keyword here is itself the name: ``USE catalog``."""
    following = cursor.peek()
    return following.kind is TokenKind.END or following.key in (".", ";")
