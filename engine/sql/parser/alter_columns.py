"""The actions of ALTER TABLE on columns: Spark's, Hive's and Flink's."""

from __future__ import annotations

from dataclasses import replace

from bergsql.catalog.errors import Span
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.query import parse_expression
from bergsql.engine.sql.parser.tables import at_constraint, column, column_options, primary_key, watermark
from bergsql.engine.sql.statements.alter import (
    AddColumn,
    AlterAction,
    ChangeColumn,
    DropColumn,
    ModifyColumn,
    ReplaceColumns,
    SetKey,
    SetWatermark,
)
from bergsql.engine.sql.statements.tables import ColumnDef, PrimaryKey
from bergsql.engine.sql.type_parser import parse_type_tokens

_CHANGES = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP")
_SPELLED = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET NOT NULL", "DROP NOT NULL", "SET DEFAULT", "DROP DEFAULT")


def added_columns(cursor: Cursor) -> list[AlterAction]:
    """``[COLUMN[S]] [IF NOT EXISTS] c type …, …``, in parentheses or not; keys and watermarks too."""
    _skip_word(cursor)
    if_not_exists = cursor.if_not_exists()
    return _declarations(cursor, modify=False, if_not_exists=if_not_exists)


def modified_columns(cursor: Cursor) -> list[AlterAction]:
    """Flink's ``MODIFY c type …`` and ``MODIFY (c type …, …)``."""
    _skip_word(cursor)
    return _declarations(cursor, modify=True)


def _skip_word(cursor: Cursor) -> None:
    """Step over COLUMN or COLUMNS where it is the keyword, not a column called so."""
    if cursor.key in ("COLUMN", "COLUMNS") and (cursor.peek().key == "(" or not cursor.ends(2)):
        cursor.advance()


def _declarations(cursor: Cursor, *, modify: bool, if_not_exists: bool = False) -> list[AlterAction]:
    keys: list[PrimaryKey] = []

    def one() -> AlterAction:
        return _declaration(cursor, keys, modify=modify, if_not_exists=if_not_exists)

    if cursor.at("("):
        actions = cursor.list_of(one)
    else:
        actions = [one()]
        while cursor.accept(","):
            actions.append(one())
    return [*actions, *(SetKey(key, modify) for key in keys)]


def _declaration(cursor: Cursor, keys: list[PrimaryKey], *, modify: bool, if_not_exists: bool) -> AlterAction:
    if at_constraint(cursor):
        return SetKey(primary_key(cursor), modify)
    if cursor.at("WATERMARK", "FOR"):
        return SetWatermark(watermark(cursor), modify)
    name = cursor.name("a column's name")
    declared = column(cursor, name.parts[-1], name.span, keys)
    after, after_span = _position(cursor)
    if after is not None and declared.computed is None:
        declared = _with_more(cursor, declared, keys)
    parent = name.parts[:-1]
    if modify:
        return ModifyColumn(declared, parent, after, after_span)
    return AddColumn(declared, parent, after, after_span, if_not_exists)


def _with_more(cursor: Cursor, declared: ColumnDef, keys: list[PrimaryKey]) -> ColumnDef:
    """The column with what stands behind its place: Spark takes these in any order."""
    more = column_options(cursor, declared.name, declared.span, declared.type, keys)
    return replace(
        declared,
        nullable=declared.nullable and more.nullable,
        comment=declared.comment if more.comment is None else more.comment,
        default=more.default or declared.default,
    )


def _position(cursor: Cursor) -> tuple[str | None, Span | None]:
    if cursor.accept("FIRST"):
        return "", None
    if cursor.accept("AFTER"):
        return cursor.identifier("a column's name")
    return None, None


def replaced_columns(cursor: Cursor, start: int) -> AlterAction:
    """The list of ``REPLACE COLUMNS (c type …, …)``, whose words begin at ``start``."""
    words = cursor.span_from(start)
    return ReplaceColumns(tuple(cursor.list_of(lambda: column(cursor))), words)


# --- ALTER COLUMN and CHANGE COLUMN ----------------------------------------------------------------------------------


def altered_columns(cursor: Cursor) -> list[AlterAction]:
    """``ALTER [COLUMN] c TYPE t``, ``COMMENT …`` and so on; Spark 4 takes several columns."""
    _skip_word(cursor)
    actions = [_altered(cursor)]
    while cursor.accept(","):
        actions.append(_altered(cursor))
    return actions


def changed_column(cursor: Cursor) -> list[AlterAction]:
    """Spark's other word for ALTER COLUMN, or Hive's ``CHANGE [COLUMN] old new type [COMMENT …] [FIRST|AFTER c]``."""
    _skip_word(cursor)
    if cursor.peek().key in _CHANGES or cursor.peek().key == ".":
        at = cursor.index
        cursor.name()
        hive = cursor.key not in _CHANGES
        cursor.index = at
        if not hive:
            return altered_columns(cursor)
    old = cursor.name("a column's name")
    if cursor.ends():
        raise cursor.expected(_SPELLED)
    new, span = cursor.identifier("the new name, or the same again")
    at_type = cursor.token.start
    declared = column(cursor, new, span)
    type_span = Span(at_type, max(at_type + 1, cursor.previous_end))
    after, after_span = _position(cursor)
    change = ChangeColumn(
        old.parts,
        old.span,
        to=new,
        type=declared.type,
        type_span=type_span,
        nullable=None if declared.nullable else False,
        comment=declared.comment,
        default=declared.default,
        after=after,
        after_span=after_span,
    )
    return [change]


def _altered(cursor: Cursor) -> AlterAction:
    name = cursor.name("a column's name")
    change = ChangeColumn(name.parts, name.span)
    while True:
        changed = _one_change(cursor, change)
        if changed is None:
            break
        change = changed
    if change == ChangeColumn(name.parts, name.span):
        raise cursor.expected(_SPELLED)
    return change


def _one_change(cursor: Cursor, change: ChangeColumn) -> ChangeColumn | None:
    """``change`` with what the next words say; None when they say nothing more of the column."""
    if cursor.accept("TYPE"):
        start = cursor.token.start
        type_ = parse_type_tokens(cursor)
        return replace(change, type=type_, type_span=cursor.span_from(start))
    if cursor.accept("COMMENT"):
        return replace(change, comment=cursor.string("a comment in quotes"))
    if cursor.key in ("FIRST", "AFTER"):
        after, after_span = _position(cursor)
        return replace(change, after=after, after_span=after_span)
    verb = cursor.accept_any("SET", "DROP")
    if not verb:
        return None
    if cursor.accept("NOT"):
        cursor.expect("NULL")
        return replace(change, nullable=verb == "DROP")
    if not cursor.accept("DEFAULT"):
        raise cursor.expected(("NOT NULL", "DEFAULT"))
    if verb == "DROP":
        return replace(change, drop_default=True)
    return replace(change, default=parse_expression(cursor, _CHANGES))


# --- DROP COLUMN -----------------------------------------------------------------------------------------------------


def dropped_columns(cursor: Cursor) -> list[AlterAction]:
    """``DROP [COLUMN[S]] [IF EXISTS] a, b`` or ``(a, b)``."""
    if cursor.key in ("COLUMN", "COLUMNS") and not cursor.ends(1):
        cursor.advance()
    if_exists = cursor.if_exists()

    def one() -> AlterAction:
        name = cursor.name("a column's name")
        return DropColumn(name.parts, name.span, if_exists)

    if cursor.at("("):
        return cursor.list_of(one)
    actions = [one()]
    while cursor.accept(","):
        actions.append(one())
    return actions
