"""DROP TABLE and SHOW TABLES."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.execute.like import like
from bergsql.engine.names import database_name, named_table, require_database
from bergsql.engine.result import Column, Result, ResultKind, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import BOOLEAN, STRING


def drop(session: Session, statement: st.DropTable) -> Result:
    """``DROP TABLE t``: a Hadoop catalog removes the table's folder, as Java's does."""
    if statement.temporary:
        raise not_supported("DROP TEMPORARY TABLE", statement.name.span)
    table = named_table(session, statement.name)
    if not table.catalog.table_exists(table.ident):
        if statement.if_exists:
            return ok()
        try:
            table.catalog.load_table(table.ident)  # says that there is none, and what is near
        except BergError as error:
            raise error.at(statement.name.span) from None
    try:
        table.catalog.drop_table(table.ident, purge=statement.purge)
    except BergError as error:
        if statement.if_exists and error.code is ErrorCode.NOT_FOUND:
            return ok()  # someone else dropped it meanwhile
        raise error.at(statement.name.span) from None
    return ok()


def show(session: Session, statement: st.ShowTables) -> Result:
    """``SHOW TABLES [IN database] [LIKE pattern]``."""
    if statement.database is None:
        catalog, namespace, span = session.catalog(session.current_catalog), session.namespace, None
    else:
        span = statement.database.span
        catalog, namespace = database_name(session, statement.database.parts, span)
    require_database(catalog, namespace, span)
    names = like(statement.like, [ident.name for ident in catalog.list_tables(namespace)], session.flavour)
    if session.flavour is Flavour.FLINK:
        return listing(("table name",), [(name,) for name in names])
    columns = (Column("namespace", STRING), Column("tableName", STRING), Column("isTemporary", BOOLEAN))
    return Result(ResultKind.LISTING, columns, [[(".".join(namespace), name, False) for name in names]])
