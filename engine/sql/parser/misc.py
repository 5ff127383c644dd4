"""Statements that bergsql knows but does not run yet: each is refused by its name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import at_query, parse_expression, parse_query


def call(cursor: Cursor) -> NoReturn:
    """``CALL [catalog.]system.procedure(argument, name => argument, …)``."""
    start = cursor.token.start
    cursor.expect("CALL")
    cursor.name("the name of a procedure")
    cursor.expect("(")
    if not cursor.accept(")"):
        cursor.index -= 1
        cursor.list_of(lambda: _argument(cursor))
    raise cursor.refused("CALL", start)


def _argument(cursor: Cursor) -> None:
    if cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.peek().key == "=>":
        cursor.index += 2
    parse_expression(cursor)


def truncate(cursor: Cursor) -> NoReturn:
    """``TRUNCATE TABLE t``."""
    start = cursor.token.start
    cursor.expect("TRUNCATE", "TABLE")
    cursor.name("the name of a table")
    raise cursor.refused("TRUNCATE TABLE", start)


def analyze(cursor: Cursor) -> NoReturn:
    """``ANALYZE TABLE t … COMPUTE STATISTICS …``."""
    start = cursor.token.start
    cursor.expect("ANALYZE")
    cursor.expect_any("TABLE", "TABLES")
    if not cursor.accept_any("FROM", "IN") and cursor.at("COMPUTE"):
        raise cursor.later("ANALYZE TABLES", start)
    cursor.name("the name of a table")
    if cursor.accept("PARTITION"):
        cursor.list_of(lambda: parse_expression(cursor))
    cursor.expect("COMPUTE", "STATISTICS")
    raise cursor.later("ANALYZE TABLE", start)


def add(cursor: Cursor) -> NoReturn:
    """``ADD JAR 'path'``, ``ADD FILE …``."""
    _resource(cursor, "ADD")


def remove(cursor: Cursor) -> NoReturn:
    """``REMOVE JAR 'path'``."""
    _resource(cursor, "REMOVE")


def listing(cursor: Cursor) -> NoReturn:
    """``LIST JARS``."""
    _resource(cursor, "LIST")


def _resource(cursor: Cursor, verb: str) -> NoReturn:
    start = cursor.token.start
    cursor.expect(verb)
    what = cursor.expect_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES")
    hint = "bergsql runs without a JVM: it has no use for jars." if what.startswith("JAR") else None
    raise cursor.later(f"{verb} {what}", start, hint)


def load(cursor: Cursor) -> NoReturn:
    """``LOAD MODULE m [WITH (…)]``, ``LOAD DATA …``."""
    start = cursor.token.start
    cursor.expect("LOAD")
    if cursor.expect_any("MODULE", "DATA") == "DATA":
        raise cursor.later("LOAD DATA", start)
    cursor.identifier("the name of a module")
    if cursor.accept("WITH"):
        cursor.options()
    raise cursor.refused("LOAD MODULE", start)


def unload(cursor: Cursor) -> NoReturn:
    """``UNLOAD MODULE m``."""
    start = cursor.token.start
    cursor.expect("UNLOAD", "MODULE")
    cursor.identifier("the name of a module")
    raise cursor.refused("UNLOAD MODULE", start)


def stop(cursor: Cursor) -> NoReturn:
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""
    start = cursor.token.start
    cursor.expect("STOP", "JOB")
    cursor.string("the job's id in quotes")
    while cursor.accept("WITH"):
        cursor.expect_any("SAVEPOINT", "DRAIN")
    raise cursor.refused("STOP JOB", start)


def cache(cursor: Cursor) -> NoReturn:
    """``CACHE [LAZY] TABLE t [AS query]``, ``UNCACHE TABLE t``, ``CLEAR CACHE``."""
    start = cursor.token.start
    verb = cursor.expect_any("CACHE", "UNCACHE", "CLEAR")
    if verb == "CLEAR":
        cursor.expect("CACHE")
        raise cursor.refused("CLEAR CACHE", start)
    cursor.accept("LAZY")
    cursor.expect("TABLE")
    cursor.if_exists()
    cursor.name("the name of a table")
    if verb == "CACHE":
        if cursor.accept("OPTIONS"):
            cursor.options()
        if cursor.accept("AS") or at_query(cursor):
            parse_query(cursor)
    raise cursor.refused(f"{verb} TABLE", start)


def refresh(cursor: Cursor) -> NoReturn:
    """``REFRESH [TABLE] t``, ``[MSCK] REPAIR TABLE t``."""
    start = cursor.token.start
    verb = cursor.advance().key
    if verb == "MSCK":
        cursor.expect("REPAIR")
        verb = "REPAIR"
    cursor.accept("TABLE")
    cursor.accept("FUNCTION")
    if cursor.token.kind is TokenKind.STRING:
        cursor.advance()
    else:
        cursor.name("the name of a table")
    raise cursor.refused(f"{verb} TABLE", start)


def comment(cursor: Cursor) -> NoReturn:
    """``COMMENT ON {TABLE | DATABASE | NAMESPACE} x IS 'text'``."""
    start = cursor.token.start
    cursor.expect("COMMENT", "ON")
    what = cursor.expect_any("TABLE", *DATABASE_WORDS, "COLUMN")
    cursor.name("a name")
    cursor.expect("IS")
    if not cursor.accept("NULL"):
        cursor.string("a comment in quotes")
    raise cursor.refused(f"COMMENT ON {what}", start)


def refused(cursor: Cursor) -> NoReturn:
    """Statements known by their first word only."""
    token = cursor.advance()
    raise UnsupportedForm("A transaction" if token.key in ("START", "COMMIT", "ROLLBACK") else token.key, token.span)
