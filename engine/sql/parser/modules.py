"""Flink's modules, and jars: ``LOAD``, ``UNLOAD``, ``ADD``, ``REMOVE`` and ``LIST``."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.modules import ChangeJars, LoadModule, ShowJars, UnloadModule


def add(cursor: Cursor) -> Statement:
    """``ADD JAR 'path'``, ``ADD FILE …``."""
    return _resource(cursor, "ADD")


def remove(cursor: Cursor) -> Statement:
    """``REMOVE JAR 'path'``."""
    return _resource(cursor, "REMOVE")


def listing(cursor: Cursor) -> Statement:
    """``LIST JARS``."""
    return _resource(cursor, "LIST")


def _resource(cursor: Cursor, verb: str) -> Statement:
    """A path may be in quotes or bare; bare, it goes to the end of the statement."""
    start = cursor.token.start
    cursor.expect(verb)
    what = cursor.expect_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES")
    if what not in ("JAR", "JARS"):
        raise cursor.later(f"{verb} {what}", start)
    if verb != "LIST" and cursor.ends():
        raise cursor.expected((), "the path of a jar")
    while not cursor.ends():
        cursor.advance()
    return ShowJars() if verb == "LIST" else ChangeJars(verb)


def load(cursor: Cursor) -> Statement:
    """``LOAD MODULE m [WITH (…)]``, ``LOAD DATA …``."""
    start = cursor.token.start
    cursor.expect("LOAD")
    if cursor.expect_any("MODULE", "DATA") == "DATA":
        raise cursor.later("LOAD DATA", start)
    name, span = cursor.identifier("the name of a module")
    if cursor.accept("WITH"):
        return LoadModule(name, span, cursor.options())
    cursor.expect_end("WITH")
    return LoadModule(name, span)


def unload(cursor: Cursor) -> Statement:
    """``UNLOAD MODULE m``."""
    cursor.expect("UNLOAD", "MODULE")
    return UnloadModule(*cursor.identifier("the name of a module"))
