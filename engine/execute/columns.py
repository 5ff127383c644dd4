"""SHOW COLUMNS, and DESCRIBE of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.definitions import find
from bergsql.engine.execute.describe import columns, flink_columns, flink_row
from bergsql.engine.execute.like import matcher
from bergsql.engine.names import load, metadata_table
from bergsql.engine.result import Result, Row, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import from_iceberg, spark_name

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def show(session: Session, statement: st.ShowColumns) -> Result:
    """``SHOW COLUMNS IN t``: in flink as DESCRIBE has them, in spark their names."""
    name = _name(statement)
    keeps = matcher(statement.like, session.flavour) if statement.like is not None else lambda _: True
    if session.flavour is Flavour.FLINK:
        listed = columns(session, name)
        return Result(listed.kind, listed.columns, [[row for row in listed.rows() if keeps(str(row[0]))]])
    if find(session, name.parts, name.span) is not None or metadata_table(session, name) is not None:
        names = [str(row[0]) for row in columns(session, name).rows()]
    else:
        names = [field.name for field in load(session, name, declared=True, states=True)[1].metadata.schema.fields]
    return listing(("col_name",), [(n,) for n in names if keeps(n)])


def _name(statement: st.ShowColumns) -> st.Name:
    """The table's name; Spark may give its database behind it."""
    name, database = statement.name, statement.database
    if database is None:
        return name
    before = name.parts[:-1]
    if before and before != database.parts[-len(before) :]:
        raise BergError(
            ErrorCode.INVALID,
            f"The table is in {'.'.join(before)}, and the statement says {database}.",
            span=database.span,
        )
    return st.Name((*database.parts, name.parts[-1]), name.span)


def describe_column(session: Session, name: st.Name, column: st.Name) -> Result:
    """``DESCRIBE t column``: one line in flink, Spark's layout in spark. A column may be one within another."""
    row = _column(session, name, column)
    if session.flavour is Flavour.FLINK:
        return flink_columns([row])
    told, type_, comment = str(row[0]), str(row[1]), row[-1]
    pairs: list[Row] = [("col_name", told), ("data_type", type_), ("comment", "NULL" if comment is None else comment)]
    return listing(("info_name", "info_value"), pairs)


def _column(session: Session, name: st.Name, column: st.Name) -> Row:
    """The column as DESCRIBE lists it.

    :raises BergError: NOT_FOUND, at the column.
    """
    wanted, flink = str(column), session.flavour is Flavour.FLINK
    if find(session, name.parts, name.span) is None and metadata_table(session, name) is None:
        schema = load(session, name, declared=True, states=True)[1].metadata.schema
        field = schema.find(wanted, case_sensitive=flink)
        if field is not None:
            full = schema.name_of(field.field_id) or field.name
            return flink_row(schema, full, field) if flink else (full, spark_name(from_iceberg(field.type)), field.doc)
        known = list(schema.names)
    else:
        listed = columns(session, name)
        rows = list(listed.rows())
        known = [str(row[0]) for row in rows]
        for row in rows:
            if row[0] == wanted or (not flink and str(row[0]).casefold() == wanted.casefold()):
                return row if len(row) == 7 or not flink else (*row, None)
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"Table {name} has no column '{wanted}'.",
        span=column.span,
        hint=did_you_mean(wanted, known),
    )
