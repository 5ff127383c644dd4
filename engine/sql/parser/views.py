"""CREATE, ALTER and DROP of views."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm, distinct, refuse_twice
from bergsql.engine.sql.parser.query import at_query, parse_query
from bergsql.engine.sql.statements.alter import AlterAction, RenameTable, SetProperties, UnsetProperties
from bergsql.engine.sql.statements.base import Option
from bergsql.engine.sql.statements.views import AlterView, CreateView, DropView, SetQuery, ViewColumn


def create_view(cursor: Cursor, *, replace: bool, temporary: bool, shared: bool) -> CreateView:
    """The rest of ``CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW``, behind VIEW."""
    if_not_exists = cursor.if_not_exists()
    if replace and if_not_exists:
        raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other.", cursor.previous.span)
    name = cursor.name("the name of the view")
    columns: list[ViewColumn] = []
    if cursor.at("(") and not at_query(cursor):
        columns = cursor.list_of(lambda: _column(cursor))
        refuse_twice("column", ((c.name, c.span) for c in columns))
    comment: str | None = None
    properties: tuple[Option, ...] = ()
    while not cursor.accept("AS"):
        if comment is not None and cursor.at("COMMENT"):
            raise cursor.error("COMMENT is given twice.")
        if cursor.accept("COMMENT"):
            comment = cursor.string("a comment in quotes")
        elif cursor.accept("TBLPROPERTIES"):
            properties = distinct((*properties, *cursor.options()))
        elif cursor.at("USING"):
            raise UnsupportedForm("CREATE VIEW … USING", cursor.token.span)
        else:
            raise cursor.expected(("COMMENT", "TBLPROPERTIES", "AS", *(() if columns else ("(",))))
    query = parse_query(cursor)
    return CreateView(
        name, query, tuple(columns), comment, properties, replace, if_not_exists, temporary or shared, shared
    )


def _column(cursor: Cursor) -> ViewColumn:
    name, span = cursor.identifier("a column's name")
    return ViewColumn(name, span, cursor.string("a comment in quotes") if cursor.accept("COMMENT") else None)


def alter_view(cursor: Cursor) -> AlterView:
    """The rest of ``ALTER VIEW``, behind VIEW."""
    if_exists = cursor.if_exists()
    name = cursor.name("the name of a view")
    return AlterView(name, _action(cursor), if_exists)


def _action(cursor: Cursor) -> AlterAction:
    if cursor.accept("RENAME"):
        cursor.expect("TO")
        return RenameTable(cursor.name("the new name"))
    if cursor.accept("SET"):
        cursor.expect("TBLPROPERTIES")
        return SetProperties(cursor.some_options())
    if cursor.accept("UNSET"):
        cursor.expect("TBLPROPERTIES")
        if_exists = cursor.if_exists()
        return UnsetProperties(cursor.option_keys(), if_exists)
    if cursor.accept("AS") or at_query(cursor):
        return SetQuery(parse_query(cursor))
    raise cursor.expected(("RENAME TO", "AS", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"))


def drop_view(cursor: Cursor, *, temporary: bool) -> DropView:
    """The rest of ``DROP [TEMPORARY] VIEW``, behind VIEW."""
    if_exists = cursor.if_exists()
    return DropView(cursor.name("the name of a view"), if_exists, temporary)
