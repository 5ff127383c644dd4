"""A table with a connector as text: its definition is all there is of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.engine.definitions import Found
from bergsql.engine.execute.options import option_text
from bergsql.engine.names import connector_of
from bergsql.engine.plan.connectors import connector_columns
from bergsql.engine.plan.context import Planner
from bergsql.engine.plan.relations import ConnectorRelation
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Row
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.quoting import flink_identifier, flink_text
from bergsql.engine.sql.type_names import flink_create_name, flink_name
from bergsql.engine.sql.types import NULL

if TYPE_CHECKING:
    from bergsql.engine.session import Session

PROCESSING_TIME = "TIMESTAMP_LTZ(3) *PROCTIME*"
"""The type of ``PROCTIME()``, which is never NULL."""
_PROCTIME = re.compile(r"(?i)\s*PROCTIME\s*\(\s*\)\s*")


def connector_rows(session: Session, found: Found, definition: st.CreateTable) -> list[Row]:
    """Its columns as DESCRIBE lists them in flink: name, type, null, key, extras, watermark, comment.

    The type of a computed column is empty where its expression cannot be planned yet.
    """
    relation = ConnectorRelation(found.parts, connector_of(definition), definition.columns)
    planned = connector_columns(relation, Planner(SessionRelations(session)))
    keys = definition.primary_key.columns if definition.primary_key else ()
    mark = definition.watermark
    rows: list[Row] = []
    for c, column in zip(definition.columns, planned, strict=True):
        type_ = "" if column.type == NULL else flink_name(column.type)
        if c.computed is not None and _PROCTIME.fullmatch(c.computed.text):
            type_ = PROCESSING_TIME
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


def _metadata_clause(column: st.ColumnDef) -> str:
    if column.metadata is None:
        return ""
    source = "" if column.metadata == column.name else f" FROM {flink_text(column.metadata)}"
    return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"


def create_connector_text(found: Found, definition: st.CreateTable, *, secrets: bool = False) -> str:
    """The statement that would make the table again, secrets masked unless ``secrets``."""
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
        out += f"PARTITIONED BY ({', '.join(_term(p.transform) for p in definition.partitioning)})\n"
    options = {o.key: o.value for o in definition.properties}
    return out + "WITH (\n" + option_text(options, flink_text, secrets=secrets) + "\n)\n"


def _term(transform: st.Transform) -> str:
    """A member of PARTITIONED BY."""
    column = ".".join(map(flink_identifier, transform.column.split(".")))
    if transform.name == "identity":
        return column
    return f"{transform.name}({f'{transform.width}, ' if transform.width is not None else ''}{column})"
