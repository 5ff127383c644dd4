"""CREATE TABLE … AS with a connector: the definition that a query's columns make, and an INSERT of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.execute.create_table_as import insert_of
from bergsql.engine.execute.given_columns import given_columns
from bergsql.engine.execute.insert import insert
from bergsql.engine.execute.table_definition import check_connector_table, queried_schema, storable
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.result import Result
    from bergsql.engine.session import Session


def defined_by_query(session: Session, statement: st.CreateTable) -> st.CreateTable:
    """The table with the columns of its query, all of them nullable.

    :raises BergError: where its query or its connector does not allow it.
    """
    query = statement.query
    assert query is not None
    if statement.columns or statement.order:
        raise not_supported("A column list in CREATE TABLE … AS with a connector", statement.name.span)
    if any(o.key == "connector" and o.value == "iceberg" for o in statement.properties):
        raise BergError(
            ErrorCode.INVALID,
            "A table of connector 'iceberg' names one that is elsewhere: it is not made by a query.",
            span=statement.name.span,
            hint="Without 'connector' an Iceberg table is made here.",
        )
    planned = given_columns(query, SessionRelations(session))
    queried_schema(planned, 3, query.span)  # refuses columns without names, and two of one name
    columns = tuple(st.ColumnDef(c.name, storable(c.type), query.span) for c in planned)
    defined = replace(statement, columns=columns, query=None)
    check_connector_table(session, defined)
    return defined


def filled(session: Session, statement: st.CreateTable, undo: Callable[[], object]) -> Result:
    """Fill the table, which was defined just now: it goes where that fails."""
    try:
        return insert(session, insert_of(statement))
    except BaseException:
        undo()
        raise
