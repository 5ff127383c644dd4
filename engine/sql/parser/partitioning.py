"""Partition transforms (``days(ts)``, ``bucket(4, id)``, a column) and the PARTITION clause of SHOW and DESCRIBE."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.tables import PartitionFilter, Transform

TRANSFORMS = {
    "YEAR": "year",
    "YEARS": "year",
    "MONTH": "month",
    "MONTHS": "month",
    "DAY": "day",
    "DAYS": "day",
    "DATE": "day",
    "HOUR": "hour",
    "HOURS": "hour",
    "DATE_HOUR": "hour",
    "BUCKET": "bucket",
    "TRUNCATE": "truncate",
    "TRUNC": "truncate",
    "IDENTITY": "identity",
    "VOID": "void",
}
"""The names that a partition transform may be written with."""


def transform(cursor: Cursor) -> Transform:
    """``column``, ``days(column)``, ``bucket(4, column)``, ``truncate(column, 2)``, without an alias."""
    start = cursor.token
    if start.kind is TokenKind.WORD and cursor.peek().key == "(":
        return _applied(cursor)
    name = cursor.name("a column or a transform")
    return Transform("identity", ".".join(name.parts), name.span)


def _applied(cursor: Cursor) -> Transform:
    word = cursor.advance()
    name = TRANSFORMS.get(word.key)
    if name is None:
        known = [k.lower() for k in TRANSFORMS]
        hint = did_you_mean(word.text, known) or "Transforms: years, months, days, hours, bucket(n, c), truncate(n, c)."
        raise BergError(ErrorCode.SYNTAX, f"Unknown partition transform '{word.text}'.", span=word.span, hint=hint)
    cursor.expect("(")
    width: int | None = None
    columns: list[str] = []
    while True:
        if cursor.token.kind is TokenKind.NUMBER:
            at = cursor.token.span
            if width is not None or name not in ("bucket", "truncate"):
                raise BergError(ErrorCode.SYNTAX, f"{word.text}() takes no number here.", span=at)
            if columns and name == "bucket":
                raise BergError(
                    ErrorCode.SYNTAX,
                    "bucket() takes its number first.",
                    span=at,
                    hint=f"bucket({cursor.token.text}, {columns[0]})",
                )
            width = cursor.integer()
        else:
            columns.append(".".join(cursor.name("a column's name").parts))
        if cursor.accept(","):
            continue
        if not cursor.accept(")"):
            raise cursor.expected((",", ")"))
        break
    span = cursor.span_from(word.start)
    if len(columns) != 1:
        raise BergError(ErrorCode.SYNTAX, f"{word.text}() takes one column.", span=span)
    if name in ("bucket", "truncate") and width is None:
        raise BergError(ErrorCode.SYNTAX, f"{word.text}() needs a number.", span=span, hint=f"{name}(4, {columns[0]})")
    if width == 0:
        raise BergError(ErrorCode.INVALID, f"The number of {word.text}() must be greater than 0.", span=span)
    return Transform(name, columns[0], span, width)


def partition_filter(cursor: Cursor) -> PartitionFilter:
    """``PARTITION (name = value, …)``: strings, numbers, booleans, ``DATE '…'`` and its kin, NULL."""
    start = cursor.token.start
    cursor.expect("PARTITION")
    values = tuple(cursor.list_of(lambda: _partition_value(cursor)))
    return PartitionFilter(values, cursor.span_from(start))


def _partition_value(cursor: Cursor) -> tuple[str, str | None]:
    name = ".".join(cursor.name("the name of a partition field").parts)
    if not cursor.accept_any("=", "=="):
        raise cursor.expected(("=",))
    if cursor.accept("NULL"):
        return name, None
    sign = "-" if cursor.accept("-") else ""
    if cursor.accept_any("TRUE", "FALSE"):
        return name, cursor.previous.key.lower()
    if not sign and cursor.peek().kind is TokenKind.STRING:
        cursor.accept_any("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME")
    if cursor.token.kind is not (TokenKind.NUMBER if sign else TokenKind.STRING) and (
        cursor.token.kind is not TokenKind.NUMBER
    ):
        raise cursor.expected((), "a constant")
    return name, sign + cursor.advance().text
