"""A table with a connector as text: its definition is all there is of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.definitions import Found
from bergsql.engine.execute.options import option_text
from bergsql.engine.plan.query import plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Row
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.quoting import flink_identifier, flink_text
from bergsql.engine.sql.type_names import flink_create_name, flink_name

if TYPE_CHECKING:
    from bergsql.engine.session import Session

PROCESSING_TIME = "TIMESTAMP_LTZ(3) *PROCTIME*"
"""The type of ``PROCTIME()``, which is never NULL."""


def connector_rows(session: Session, definition: st.CreateTable) -> list[Row]:
    """Its columns as DESCRIBE lists them in flink: name, type, null, key, extras, watermark, comment."""
    keys = definition.primary_key.columns if definition.primary_key else ()
    mark = definition.watermark
    rows: list[Row] = []
    for c in definition.columns:
        type_ = flink_name(c.type) if c.computed is None else _computed_type(session, definition, c.computed)
        processing = type_ == PROCESSING_TIME
        marked = mark is not None and mark.column == c.name
        rows.append(
            (
                c.name,
                f"{type_} *ROWTIME*" if marked else type_,
                c.nullable and c.name not in keys and not processing,
                f"PRI({', '.join(keys)})" if c.name in keys else None,
                f"AS {c.computed.text}" if c.computed is not None else _metadata_clause(c) or None,
                mark.expression.text if mark is not None and marked else None,
                c.comment,
            )
        )
    return rows


def _computed_type(session: Session, definition: st.CreateTable, expression: st.Expression) -> str:
    """The type of a computed column; empty where its expression cannot be planned yet."""
    if re.fullmatch(r"(?i)\s*PROCTIME\s*\(\s*\)\s*", expression.text):
        return PROCESSING_TIME
    physical = [c for c in definition.columns if c.computed is None]
    nulls = ", ".join(f"CAST(NULL AS {flink_name(c.type)}) AS {flink_identifier(c.name)}" for c in physical)
    try:
        statement = parse(f"SELECT {expression.text} FROM (SELECT {nulls or 1}) AS t", Flavour.FLINK)
        if not isinstance(statement, st.Select):
            return ""
        type_ = plan_query(statement.query, SessionRelations(session)).columns[0].type
    except BergError:
        return ""
    return "" if type_ is None else flink_name(type_)


def _metadata_clause(column: st.ColumnDef) -> str:
    if column.metadata is None:
        return ""
    source = "" if column.metadata == column.name else f" FROM {flink_text(column.metadata)}"
    return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"


def create_connector_text(found: Found, definition: st.CreateTable) -> str:
    """The statement that would make the table again, secrets masked."""
    keys = definition.primary_key.columns if definition.primary_key else ()
    lines = []
    for c in definition.columns:
        if c.computed is not None:
            line = f"  {flink_identifier(c.name)} AS {c.computed.text}"
        else:
            line = f"  {flink_identifier(c.name)} {flink_create_name(c.type)}"
            line += "" if c.nullable and c.name not in keys else " NOT NULL"
        clause = _metadata_clause(c)
        line += f" {clause}" if clause else ""
        line += f" COMMENT {flink_text(c.comment)}" if c.comment else ""
        lines.append(line)
    if definition.watermark is not None:
        lines.append(
            f"  WATERMARK FOR {flink_identifier(definition.watermark.column)} AS {definition.watermark.expression.text}"
        )
    if keys:
        lines.append(f"  PRIMARY KEY ({', '.join(map(flink_identifier, keys))}) NOT ENFORCED")
    words = "CREATE TEMPORARY TABLE" if found.temporary else "CREATE TABLE"
    out = f"{words} {'.'.join(map(flink_identifier, found.parts))} (\n" + ",\n".join(lines) + "\n)\n"
    if definition.comment is not None:
        out += f"COMMENT {flink_text(definition.comment)}\n"
    if definition.partitioning:
        out += f"PARTITIONED BY ({', '.join(flink_identifier(p.transform.column) for p in definition.partitioning)})\n"
    return out + "WITH (\n" + option_text({o.key: o.value for o in definition.properties}, flink_text) + "\n)\n"
