"""The actions of ALTER TABLE on partition fields and the order of rows."""

from __future__ import annotations

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import tokenize
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.partitioning import transform
from bergsql.engine.sql.statements.alter import (
    AddPartitionField,
    AlterAction,
    DropPartitionField,
    OrderBy,
    SetWriteOrder,
)
from bergsql.engine.sql.statements.tables import Transform


def added_field(cursor: Cursor) -> AlterAction:
    """``transform [AS name]``."""
    return AddPartitionField(_named_transform(cursor))


def dropped_field(cursor: Cursor) -> AlterAction:
    """``transform`` or a partition field's ``name``."""
    made = transform(cursor)
    named = made.name == "identity" and made.width is None and cursor.text[made.span.end - 1] != ")"
    text = made.column if named else cursor.text[made.span.start : made.span.end]
    return DropPartitionField(text, made.span, None if named else made)


def replaced_field(cursor: Cursor) -> list[AlterAction]:
    """``transform|name WITH transform [AS name]``: one goes and one comes, at once."""
    dropped = dropped_field(cursor)
    cursor.expect("WITH")
    return [dropped, added_field(cursor)]


def _named_transform(cursor: Cursor) -> Transform:
    start = cursor.token.start
    made = transform(cursor)
    if not cursor.accept("AS"):
        return made
    alias, _ = cursor.identifier("the name of the partition field")
    return Transform(made.name, made.column, cursor.span_from(start), made.width, alias)


def write_order(cursor: Cursor, start: int) -> AlterAction:
    """What follows WRITE, which is at ``start``.

    ``DISTRIBUTED BY PARTITION`` and one of ``ORDERED BY …``, ``LOCALLY ORDERED BY …`` and ``UNORDERED``, or one of
    the two, in any order.
    """
    hash_, ordering = False, ""
    order: list[OrderBy] = []
    while True:
        if not hash_ and cursor.accept("DISTRIBUTED"):
            cursor.expect("BY", "PARTITION")
            hash_ = True
        elif not ordering and cursor.at("UNORDERED"):
            ordering = cursor.advance().key
        elif not ordering and (cursor.at("ORDERED") or cursor.at("LOCALLY")):
            ordering = cursor.advance().key
            if ordering == "LOCALLY":
                cursor.expect("ORDERED")
            cursor.expect("BY")
            order = _order(cursor)
        else:
            break
    if not (hash_ or ordering):
        raise cursor.expected(("ORDERED", "LOCALLY", "UNORDERED", "DISTRIBUTED"))
    mode = "hash" if hash_ else {"UNORDERED": "none", "ORDERED": "range"}.get(ordering)
    return SetWriteOrder(tuple(order), mode, cursor.span_from(start))


def parse_order(text: str) -> list[OrderBy]:
    """What may follow ORDERED BY, from a text of its own; spans are places in it."""
    cursor = Cursor(text, tokenize(text, Flavour.SPARK), Flavour.SPARK)
    keys = _order(cursor)
    cursor.expect_end(",", "ASC", "DESC", "NULLS")
    return keys


def _order(cursor: Cursor) -> list[OrderBy]:
    if cursor.at("("):
        return cursor.list_of(lambda: _order_by(cursor))
    keys = [_order_by(cursor)]
    while cursor.accept(","):
        keys.append(_order_by(cursor))
    return keys


def _order_by(cursor: Cursor) -> OrderBy:
    made = transform(cursor)
    descending = cursor.accept_any("ASC", "DESC") == "DESC"
    nulls_last = descending
    if cursor.accept("NULLS"):
        nulls_last = cursor.expect_any("FIRST", "LAST") == "LAST"
    return OrderBy(made, descending, nulls_last)
