"""Clauses of CREATE TABLE that Hive and Flink know, few of which an Iceberg table can have."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.base import Option

_HANDLER = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"
_FORMATS = ("PARQUET", "AVRO", "ORC")
_BUCKETS = "PARTITIONED BY (bucket(n, column)) makes buckets."

_REFUSED = {
    "DISTRIBUTED": (
        "DISTRIBUTED BY has no meaning: no table or connector here keeps such buckets.",
        _BUCKETS,
    ),
    "CLUSTERED BY": ("An Iceberg table is not CLUSTERED BY columns.", _BUCKETS),
    "CLUSTER BY": ("An Iceberg table is not CLUSTERED BY columns.", _BUCKETS),
    "SORTED BY": ("CREATE TABLE does not sort an Iceberg table.", "ALTER TABLE … WRITE ORDERED BY … does."),
    "SKEWED BY": ("An Iceberg table is not SKEWED BY columns.", None),
    "ROW FORMAT": ("An Iceberg table has no ROW FORMAT: its files are Parquet, Avro or ORC.", None),
}


def refuse_clause(cursor: Cursor) -> None:
    """Refuse a clause that stands here and that no Iceberg table has, as the engines do.

    :raises BergError: INVALID, at the clause's words.
    """
    start = cursor.token.start
    for words, (message, hint) in _REFUSED.items():
        if cursor.accept(*words.split()):
            raise BergError(ErrorCode.INVALID, message, span=cursor.span_from(start), hint=hint)


def stored_by(cursor: Cursor) -> None:
    """``STORED BY 'org.apache.iceberg.mr.hive.HiveIcebergStorageHandler'`` or ``STORED BY ICEBERG``, behind BY."""
    token = cursor.token
    if token.kind is TokenKind.STRING and token.text == _HANDLER:
        cursor.advance()
    elif not cursor.accept("ICEBERG"):
        raise cursor.error(
            "The storage handler is not Iceberg's.", token.span, f"Write STORED BY ICEBERG, or STORED BY '{_HANDLER}'."
        )


def stored_as(cursor: Cursor, *, iceberg: bool) -> Option:
    """``STORED AS format``, behind AS: the format of an Iceberg table's data files behind STORED BY, and only there."""
    token = cursor.token
    name, span = cursor.identifier("the name of a file format")
    option = Option("write.format.default", name.lower(), span)
    if name.upper() not in _FORMATS:
        raise cursor.error(f"Iceberg has no data files of format {name}.", span, f"It has {', '.join(_FORMATS)}.")
    if not iceberg:
        raise BergError(
            ErrorCode.INVALID,
            "STORED AS makes a table of Hive's, not an Iceberg table.",
            span=token.span,
            hint=f"TBLPROPERTIES ('{option.key}'='{option.value}') says the format of an Iceberg table's data files.",
        )
    return option
