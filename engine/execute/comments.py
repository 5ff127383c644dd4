"""COMMENT ON TABLE and COMMENT ON COLUMN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.definitions import find, keep
from bergsql.engine.execute.alter_table import alter
from bergsql.engine.names import load, table_name
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def on_table(session: Session, statement: st.CommentOnTable) -> Result:
    """``COMMENT ON TABLE t IS …``, of a view too; an Iceberg table keeps its comment as a property."""
    name, comment = statement.name, statement.comment
    found = find(session, name.parts, name.span)
    if found is not None:
        keep(session, found, replace(found.definition, comment=comment))
        return ok()
    if comment is None:
        return alter(session, st.AlterTable(name, (st.UnsetProperties(("comment",), if_exists=True),)))
    return alter(session, st.AlterTable(name, (st.SetProperties((st.Option("comment", comment, name.span),)),)))


def on_column(session: Session, statement: st.CommentOnColumn) -> Result:
    """``COMMENT ON COLUMN table.column IS …``: the longest part of the name that is a table's is the table."""
    parts, span = statement.name.parts, statement.name.span
    tables = [parts[:n] for n in range(len(parts) - 1, 0, -1)]
    table = next((t for t in tables if _is_table(session, t)), None)
    if table is None:
        load(session, st.Name(tables[0], span))  # says that there is none
        raise BergError(ErrorCode.NOT_FOUND, f"There is no table of the column {statement.name}.", span=span)
    change = st.ChangeColumn(parts[len(table) :], span, comment=statement.comment or "")
    return alter(session, st.AlterTable(st.Name(table, span), (change,)))


def _is_table(session: Session, parts: tuple[str, ...]) -> bool:
    try:
        if find(session, parts, None) is not None:
            return True
        name = table_name(session, parts)
        return name.catalog.table_exists(name.ident)
    except BergError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return False  # its first word is no catalog
