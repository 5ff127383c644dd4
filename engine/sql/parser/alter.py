"""ALTER TABLE; the other ALTERs are read and refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.catalog.errors import Span
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm
from bergsql.engine.sql.parser.partitioning import transform
from bergsql.engine.sql.parser.tables import at_constraint, column, primary_key, watermark
from bergsql.engine.sql.statements.alter import (
    AddColumn,
    AddPartitionField,
    AlterAction,
    AlterTable,
    DropColumn,
    DropPartitionField,
    RenameColumn,
    RenameTable,
    SetProperties,
    UnsetProperties,
)
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.tables import Transform

_ACTIONS = ("SET", "UNSET", "RESET", "RENAME", "ADD", "DROP", "ALTER", "MODIFY", "CHANGE", "REPLACE", "WRITE", "CREATE")


def alter(cursor: Cursor) -> Statement:
    """``ALTER TABLE [IF EXISTS] t action``."""
    start = cursor.token.start
    cursor.expect("ALTER")
    if cursor.accept("VIEW"):
        from bergsql.engine.sql.parser.views import alter_view

        return alter_view(cursor)
    if not cursor.accept("TABLE"):
        _other(cursor, start)
    if_exists = cursor.if_exists()
    name = cursor.name("the name of a table")
    if cursor.at("PARTITION"):
        raise UnsupportedForm("ALTER TABLE … PARTITION", cursor.token.span)
    action = cursor.token
    key = cursor.accept_any(*_ACTIONS)
    if not key:
        if cursor.accept_any("RECOVER", "EXECUTE", "CLUSTER", "COMPACT"):
            raise UnsupportedForm(f"ALTER TABLE … {action.key}", action.span)
        raise cursor.expected(_ACTIONS)
    try:
        actions = _GRAMMARS[key](cursor)
    except _Refused as refused:
        raise UnsupportedForm(f"ALTER TABLE … {refused}", cursor.spelled(str(refused), action.start)) from None
    return AlterTable(name, tuple(actions), if_exists)


def _other(cursor: Cursor, start: int) -> NoReturn:
    what = cursor.accept_any("DATABASE", "SCHEMA", "NAMESPACE", "CATALOG", "FUNCTION", "MODEL", "MATERIALIZED")
    what = what or (cursor.accept_any("TEMPORARY") and cursor.accept_any("SYSTEM", "FUNCTION"))
    if not what:
        raise cursor.expected(("TABLE", "DATABASE", "CATALOG", "VIEW"))
    form = "ALTER MATERIALIZED TABLE" if what == "MATERIALIZED" else f"ALTER {what}"
    raise cursor.later(form, start)


class _Refused(Exception):
    """An action that is known by these words and not carried out."""


# --- properties ------------------------------------------------------------------------------------------------------


def _set(cursor: Cursor) -> list[AlterAction]:
    if cursor.at("("):
        return [SetProperties(cursor.options())]
    if cursor.accept("TBLPROPERTIES"):
        return [SetProperties(cursor.options())]
    if cursor.accept("IDENTIFIER"):
        cursor.expect("FIELDS")
        _names(cursor)
        raise _Refused("SET IDENTIFIER FIELDS")
    if cursor.accept_any("LOCATION", "SERDE", "SERDEPROPERTIES", "FILEFORMAT"):
        raise _Refused(f"SET {cursor.previous.key}")
    raise cursor.expected(("(", "TBLPROPERTIES", "IDENTIFIER FIELDS", "LOCATION"))


def _unset(cursor: Cursor) -> list[AlterAction]:
    cursor.expect("TBLPROPERTIES")
    if_exists = cursor.if_exists()
    return [UnsetProperties(tuple(cursor.list_of(cursor.option_key)), if_exists)]


def _reset(cursor: Cursor) -> list[AlterAction]:
    if cursor.at("(", ")"):
        raise cursor.error("RESET needs at least one key.")
    return [UnsetProperties(tuple(cursor.list_of(cursor.option_key)), if_exists=True)]


# --- names -----------------------------------------------------------------------------------------------------------


def _rename(cursor: Cursor) -> list[AlterAction]:
    if cursor.at("TO") and cursor.peek().key != "TO":
        cursor.advance()
        return [RenameTable(cursor.name("the new name"))]
    if cursor.at("COLUMN") and cursor.peek().key != "TO":
        cursor.advance()
    elif cursor.at("PARTITION") or (cursor.at("CONSTRAINT") and cursor.peek().key != "TO"):
        cursor.advance()
        raise _Refused(f"RENAME {cursor.previous.key}")
    old = cursor.name("a column's name")
    cursor.expect("TO")
    new, _ = cursor.identifier("the new name")
    return [RenameColumn(old.parts, new, old.span)]


# --- columns ---------------------------------------------------------------------------------------------------------


def _add(cursor: Cursor) -> list[AlterAction]:
    if cursor.at("PARTITION", "FIELD"):
        cursor.accept("PARTITION", "FIELD")
        return [AddPartitionField(_named_transform(cursor))]
    if cursor.at("PARTITION") or cursor.at("IF", "NOT", "EXISTS", "PARTITION"):
        cursor.accept("IF", "NOT", "EXISTS")
        cursor.accept("PARTITION")
        raise _Refused("ADD PARTITION")
    if at_constraint(cursor):
        primary_key(cursor)
        raise _Refused("ADD PRIMARY KEY")
    if cursor.at("WATERMARK", "FOR"):
        watermark(cursor)
        raise _Refused("ADD WATERMARK")
    if cursor.at("DISTRIBUTION"):
        raise _Refused("ADD DISTRIBUTION")
    word = cursor.key in ("COLUMN", "COLUMNS") and _starts_columns(cursor)
    if word:
        cursor.advance()
        if cursor.at("IF", "NOT", "EXISTS"):
            raise UnsupportedForm("ALTER TABLE … ADD COLUMN IF NOT EXISTS", cursor.token.span)
    if cursor.at("("):
        return cursor.list_of(lambda: _added(cursor))
    actions = [_added(cursor)]
    while cursor.accept(","):
        actions.append(_added(cursor))
    return actions


def _starts_columns(cursor: Cursor) -> bool:
    """Whether COLUMN or COLUMNS here is the keyword, not a column called so."""
    following = cursor.peek()
    return following.key == "(" or not cursor.ends(2)


def _added(cursor: Cursor) -> AlterAction:
    if at_constraint(cursor):
        key = primary_key(cursor)
        raise UnsupportedForm("ALTER TABLE … ADD PRIMARY KEY", key.span)
    if cursor.at("WATERMARK", "FOR"):
        mark = watermark(cursor)
        raise UnsupportedForm("ALTER TABLE … ADD WATERMARK", mark.span)
    name = cursor.name("a column's name")
    defined = column(cursor, name.parts[-1], name.span)
    return AddColumn(defined, name.parts[:-1], *_position(cursor))


def _position(cursor: Cursor) -> tuple[str | None, Span | None]:
    if cursor.accept("FIRST"):
        return "", None
    if cursor.accept("AFTER"):
        return cursor.identifier("a column's name")
    return None, None


def _drop(cursor: Cursor) -> list[AlterAction]:
    if cursor.accept("PARTITION", "FIELD"):
        return [_dropped_field(cursor)]
    refused = (
        ("IDENTIFIER", "FIELDS"),
        ("PRIMARY", "KEY"),
        ("IF", "EXISTS", "PARTITION"),
        ("PARTITION", "("),
    )
    for words in refused:
        if cursor.accept(*words):
            raise _Refused("DROP " + ("PARTITION" if "PARTITION" in words else " ".join(words)))
    if cursor.key in ("BRANCH", "TAG", "CONSTRAINT") and not cursor.ends(1):
        what = cursor.advance().key
        cursor.if_exists()
        cursor.identifier("a name")
        raise _Refused(f"DROP {what}")
    if cursor.key in ("WATERMARK", "DISTRIBUTION") and cursor.ends(1):
        what = cursor.advance().key
        raise _Refused(f"DROP {what}")
    if cursor.key in ("COLUMN", "COLUMNS") and not cursor.ends(1):
        cursor.advance()
    if_exists = cursor.if_exists()
    if cursor.at("("):
        return cursor.list_of(lambda: _dropped(cursor, if_exists=if_exists))
    actions = [_dropped(cursor, if_exists=if_exists)]
    while cursor.accept(","):
        actions.append(_dropped(cursor, if_exists=if_exists))
    return actions


def _dropped(cursor: Cursor, *, if_exists: bool) -> AlterAction:
    name = cursor.name("a column's name")
    return DropColumn(name.parts, name.span, if_exists)


# --- partition fields ------------------------------------------------------------------------------------------------


def _named_transform(cursor: Cursor) -> Transform:
    start = cursor.token.start
    made = transform(cursor)
    if not cursor.accept("AS"):
        return made
    alias, _ = cursor.identifier("the name of the partition field")
    return Transform(made.name, made.column, cursor.span_from(start), made.width, alias)


def _dropped_field(cursor: Cursor) -> DropPartitionField:
    made = transform(cursor)
    named = made.name == "identity" and made.width is None and cursor.text[made.span.end - 1] != ")"
    text = made.column if named else cursor.text[made.span.start : made.span.end]
    return DropPartitionField(text, made.span, None if named else made)


# --- forms that are read and refused ---------------------------------------------------------------------------------


def _replace(cursor: Cursor) -> list[AlterAction]:
    if cursor.accept("PARTITION", "FIELD"):
        transform(cursor)
        cursor.expect("WITH")
        _named_transform(cursor)
        raise _Refused("REPLACE PARTITION FIELD")
    if cursor.accept("COLUMNS"):
        raise _Refused("REPLACE COLUMNS")
    if cursor.key in ("BRANCH", "TAG"):
        _reference(cursor, "REPLACE")
    raise cursor.expected(("PARTITION FIELD", "COLUMNS", "BRANCH", "TAG"))


def _create(cursor: Cursor) -> list[AlterAction]:
    if cursor.accept("OR"):
        cursor.expect("REPLACE")
    _reference(cursor, "CREATE")


def _reference(cursor: Cursor, verb: str) -> NoReturn:
    """``BRANCH b [AS OF VERSION n] [RETAIN n DAYS] [WITH SNAPSHOT RETENTION …]``, ``TAG …``."""
    kind = cursor.expect_any("BRANCH", "TAG")
    cursor.if_not_exists()
    cursor.identifier(f"the name of the {kind.lower()}")
    if cursor.accept("AS"):
        cursor.expect("OF", "VERSION")
        cursor.integer("a snapshot id")
    if cursor.accept("RETAIN"):
        _age(cursor)
    if kind == "BRANCH" and cursor.accept("WITH"):
        cursor.expect("SNAPSHOT", "RETENTION")
        if cursor.peek().key in ("SNAPSHOT", "SNAPSHOTS"):
            cursor.integer()
            cursor.advance()
            if not cursor.ends():
                _age(cursor)
        else:
            _age(cursor)
    if not cursor.ends():
        cursor.expect_end("AS OF VERSION", "RETAIN", *(("WITH SNAPSHOT RETENTION",) if kind == "BRANCH" else ()))
    raise _Refused(f"{verb} {kind}")


def _age(cursor: Cursor) -> None:
    cursor.integer("a number of days")
    cursor.expect_any("DAYS", "HOURS", "MINUTES", "DAY", "HOUR", "MINUTE")


def _write(cursor: Cursor) -> list[AlterAction]:
    if cursor.accept("UNORDERED"):
        raise _Refused("WRITE UNORDERED")
    form = "WRITE DISTRIBUTED BY PARTITION"
    if cursor.accept("DISTRIBUTED"):
        cursor.expect("BY", "PARTITION")
        if cursor.ends():
            raise _Refused(form)
    else:
        form = "WRITE ORDERED BY"
    cursor.accept("LOCALLY")
    cursor.expect("ORDERED", "BY")
    wrapped = cursor.accept("(")
    while True:
        transform(cursor)
        cursor.accept_any("ASC", "DESC")
        if cursor.accept("NULLS"):
            cursor.expect_any("FIRST", "LAST")
        if not cursor.accept(","):
            break
    if wrapped:
        cursor.expect(")")
    raise _Refused(form)


def _alter_column(cursor: Cursor) -> list[AlterAction]:
    cursor.accept("COLUMN")
    cursor.name("a column's name")
    if cursor.accept_any("SET", "DROP"):
        if cursor.accept("NOT"):
            cursor.expect("NULL")
        else:
            cursor.expect_any("DEFAULT")
            if cursor.tokens[cursor.index - 2].key == "SET":
                from bergsql.engine.sql.parser.query import parse_expression

                parse_expression(cursor)
    elif cursor.accept("COMMENT"):
        cursor.string("a comment in quotes")
    elif cursor.accept("TYPE"):
        from bergsql.engine.sql.type_parser import parse_type_tokens

        parse_type_tokens(cursor)
    elif _position(cursor) is None:
        raise cursor.expected(("TYPE", "COMMENT", "FIRST", "AFTER", "SET NOT NULL", "DROP NOT NULL", "DROP DEFAULT"))
    raise _Refused("ALTER COLUMN")


def _modify(cursor: Cursor) -> list[AlterAction]:
    if cursor.at("("):
        cursor.list_of(lambda: _modified(cursor))
    else:
        cursor.accept("COLUMN")
        _modified(cursor)
    raise _Refused("MODIFY")


def _modified(cursor: Cursor) -> None:
    if at_constraint(cursor):
        primary_key(cursor)
    elif cursor.at("WATERMARK", "FOR"):
        watermark(cursor)
    else:
        name = cursor.name("a column's name")
        column(cursor, name.parts[-1], name.span)
        _position(cursor)


def _change(cursor: Cursor) -> list[AlterAction]:
    cursor.accept("COLUMN")
    cursor.name("a column's name")
    raise _Refused("CHANGE COLUMN")


def _names(cursor: Cursor) -> None:
    cursor.name("a column's name")
    while cursor.accept(","):
        cursor.name("a column's name")


_GRAMMARS = {
    "SET": _set,
    "UNSET": _unset,
    "RESET": _reset,
    "RENAME": _rename,
    "ADD": _add,
    "DROP": _drop,
    "ALTER": _alter_column,
    "MODIFY": _modify,
    "CHANGE": _change,
    "REPLACE": _replace,
    "WRITE": _write,
    "CREATE": _create,
}
