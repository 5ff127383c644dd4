"""ALTER CATALOG, ALTER DATABASE and COMMENT ON."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor
from bergsql.engine.sql.statements.base import Option, Statement
from bergsql.engine.sql.statements.catalogs import AlterCatalog
from bergsql.engine.sql.statements.databases import AlterDatabase

_PROPERTIES = ("DBPROPERTIES", "PROPERTIES")


def alter_catalog(cursor: Cursor) -> AlterCatalog:
    """``ALTER CATALOG c {SET (…) | RESET (…) | COMMENT '…'}``, from the name on."""
    name, span = cursor.identifier("the name of a catalog")
    match cursor.expect_any("SET", "RESET", "COMMENT"):
        case "SET":
            return AlterCatalog(name, span, changed=cursor.some_options())
        case "RESET":
            return AlterCatalog(name, span, removed=cursor.option_keys())
        case _:
            return AlterCatalog(name, span, comment=cursor.string("a comment in quotes"))


def alter_database(cursor: Cursor) -> AlterDatabase:
    """``ALTER DATABASE d {SET [DBPROPERTIES] (…) | UNSET … | RESET (…) | SET LOCATION '…'}``, from the name on."""
    if_exists = cursor.if_exists()
    name = cursor.name("the name of a database")
    match cursor.expect_any("SET", "UNSET", "RESET"):
        case "SET":
            if cursor.accept("LOCATION"):
                start = cursor.token.start
                place = cursor.string("a path in quotes")
                changed: tuple[Option, ...] = (Option("location", place, cursor.span_from(start)),)
            elif cursor.accept_any(*_PROPERTIES) or cursor.at("("):
                changed = cursor.some_options()
            else:
                raise cursor.expected((*_PROPERTIES, "LOCATION", "("))
            return AlterDatabase(name, changed, if_exists=if_exists)
        case "UNSET":
            cursor.expect_any(*_PROPERTIES)
            lenient = cursor.if_exists()
            return AlterDatabase(name, removed=cursor.option_keys(), if_exists=if_exists, needs_keys=not lenient)
        case _:
            return AlterDatabase(name, removed=cursor.option_keys(), if_exists=if_exists)


def comment_on(cursor: Cursor) -> Statement:
    """``COMMENT ON {CATALOG | DATABASE | TABLE | COLUMN} x IS {'text' | NULL}``."""
    from bergsql.engine.sql.statements.alter import CommentOnColumn, CommentOnTable

    cursor.expect("COMMENT", "ON")
    what = cursor.expect_any("TABLE", *DATABASE_WORDS, "CATALOG", "COLUMN")
    name = cursor.name(f"the name of a {what.lower()}")
    cursor.expect("IS")
    start = cursor.token.start
    text = None if cursor.accept("NULL") else cursor.string("a comment in quotes, or NULL")
    if what == "COLUMN":
        if len(name.parts) < 2:
            raise cursor.error("A column is named with its table: table.column.", name.span)
        return CommentOnColumn(name, text)
    if what == "CATALOG" and len(name.parts) > 1:
        raise cursor.error("A catalog's name has one part.", name.span)
    if what == "CATALOG":
        return AlterCatalog(name.parts[0], name.span, comment=text or "")
    if what == "TABLE":
        return CommentOnTable(name, text)
    changed = () if text is None else (Option("comment", text, cursor.span_from(start)),)
    return AlterDatabase(name, changed, () if changed else ("comment",))
