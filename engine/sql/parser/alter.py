"""ALTER TABLE: which action it is; the other ALTERs are read and refused by name."""

from __future__ import annotations

from bergsql.engine.sql.parser.alter_columns import (
    added_columns,
    altered_columns,
    changed_column,
    dropped_columns,
    modified_columns,
    replaced_columns,
)
from bergsql.engine.sql.parser.alter_layout import added_field, dropped_field, replaced_field, write_order
from bergsql.engine.sql.parser.alter_names import alter_catalog, alter_database
from bergsql.engine.sql.parser.alter_references import RefusedAction, reference
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor, UnsupportedForm
from bergsql.engine.sql.parser.tables import at_constraint, primary_key, watermark
from bergsql.engine.sql.statements.alter import (
    AlterAction,
    AlterTable,
    DropIdentifierFields,
    DropKey,
    DropWatermark,
    Inapplicable,
    RenameColumn,
    RenameTable,
    SetIdentifierFields,
    SetKey,
    SetLocation,
    SetProperties,
    SetWatermark,
    UnsetProperties,
)
from bergsql.engine.sql.statements.base import Name, Statement

_ACTIONS = ("SET", "UNSET", "RESET", "RENAME", "ADD", "DROP", "ALTER", "MODIFY", "CHANGE", "REPLACE", "WRITE", "CREATE")


def alter(cursor: Cursor) -> Statement:
    """``ALTER TABLE [IF EXISTS] t action``."""
    start = cursor.token.start
    cursor.expect("ALTER")
    if cursor.accept("VIEW"):
        from bergsql.engine.sql.parser.views import alter_view

        return alter_view(cursor)
    if cursor.accept("CATALOG"):
        return alter_catalog(cursor)
    if cursor.accept_any(*DATABASE_WORDS):
        return alter_database(cursor)
    if not cursor.accept("TABLE"):
        return _other(cursor, start)
    if_exists = cursor.if_exists()
    name = cursor.name("the name of a table")
    action = cursor.token
    if cursor.at("PARTITION", "(") or cursor.at("RECOVER", "PARTITIONS"):
        form = "PARTITION" if cursor.at("PARTITION") else "RECOVER PARTITIONS"
        return AlterTable(name, (_inapplicable(cursor, form, action.start),), if_exists)
    key = cursor.accept_any(*_ACTIONS)
    if not key:
        if cursor.accept_any("EXECUTE", "CLUSTER", "COMPACT"):
            raise UnsupportedForm(f"ALTER TABLE … {action.key}", action.span)
        raise cursor.expected(_ACTIONS)
    try:
        actions = _GRAMMARS[key](cursor)
    except RefusedAction as refused:
        raise UnsupportedForm(f"ALTER TABLE … {refused}", cursor.spelled(str(refused), action.start)) from None
    return AlterTable(name, tuple(actions), if_exists)


def _other(cursor: Cursor, start: int) -> Statement:
    temporary = cursor.accept("TEMPORARY")
    system = temporary and cursor.accept("SYSTEM")
    if cursor.accept("FUNCTION"):
        from bergsql.engine.sql.parser.functions import alter_function

        return alter_function(cursor, temporary=temporary, system=system)
    what = "" if temporary else cursor.accept_any("MODEL", "MATERIALIZED")
    if not what:
        raise cursor.expected(("FUNCTION",) if temporary else ("TABLE", "DATABASE", "CATALOG", "VIEW", "FUNCTION"))
    form = "ALTER MATERIALIZED TABLE" if what == "MATERIALIZED" else f"ALTER {what}"
    raise cursor.later(form, start)


def _inapplicable(cursor: Cursor, form: str, start: int) -> Inapplicable:
    """The action ``form``, whose words begin at ``start``, read to its end."""
    while not cursor.ends():
        cursor.advance()
    return Inapplicable(form, cursor.spelled(form, start))


# --- properties ------------------------------------------------------------------------------------------------------


def _set(cursor: Cursor) -> list[AlterAction]:
    start = cursor.previous.start
    if cursor.at("(") or cursor.accept("TBLPROPERTIES"):
        return [SetProperties(cursor.some_options())]
    if cursor.accept("IDENTIFIER"):
        cursor.expect("FIELDS")
        return [SetIdentifierFields(_names(cursor))]
    if cursor.accept("LOCATION"):
        place = cursor.token.span
        return [SetLocation(cursor.string("a path in quotes"), place)]
    if cursor.key in ("SERDE", "SERDEPROPERTIES", "FILEFORMAT"):
        return [_inapplicable(cursor, f"SET {cursor.key}", start)]
    raise cursor.expected(("(", "TBLPROPERTIES", "IDENTIFIER FIELDS", "LOCATION"))


def _unset(cursor: Cursor) -> list[AlterAction]:
    cursor.expect("TBLPROPERTIES")
    if_exists = cursor.if_exists()
    return [UnsetProperties(cursor.option_keys(), if_exists)]


def _reset(cursor: Cursor) -> list[AlterAction]:
    return [UnsetProperties(cursor.option_keys(), if_exists=True)]


# --- what can be added, modified, dropped, replaced and renamed ------------------------------------------------------


def _add(cursor: Cursor) -> list[AlterAction]:
    start = cursor.previous.start
    if cursor.accept("PARTITION", "FIELD"):
        return [added_field(cursor)]
    if cursor.at("PARTITION", "(") or cursor.at("IF", "NOT", "EXISTS", "PARTITION", "("):
        return [_inapplicable(cursor, "ADD PARTITION", start)]
    found = _constraint(cursor, modify=False)
    return [found] if found is not None else added_columns(cursor)


def _modify(cursor: Cursor) -> list[AlterAction]:
    found = _constraint(cursor, modify=True)
    return [found] if found is not None else modified_columns(cursor)


def _constraint(cursor: Cursor, *, modify: bool) -> AlterAction | None:
    """``PRIMARY KEY …``, ``WATERMARK …`` or ``DISTRIBUTION …``, if one of them is here."""
    start = cursor.previous.start
    if at_constraint(cursor):
        return SetKey(primary_key(cursor), modify)
    if cursor.at("WATERMARK", "FOR"):
        return SetWatermark(watermark(cursor), modify)
    if cursor.at("DISTRIBUTION", "BY") or cursor.at("DISTRIBUTION", "INTO"):
        return _inapplicable(cursor, "MODIFY DISTRIBUTION" if modify else "ADD DISTRIBUTION", start)
    return None


def _drop(cursor: Cursor) -> list[AlterAction]:
    start = cursor.previous.start
    if cursor.accept("PARTITION", "FIELD"):
        return [dropped_field(cursor)]
    if cursor.at("PARTITION", "(") or cursor.at("IF", "EXISTS", "PARTITION", "("):
        return [_inapplicable(cursor, "DROP PARTITION", start)]
    if cursor.accept("IDENTIFIER", "FIELDS"):
        return [DropIdentifierFields(_names(cursor))]
    if cursor.at("PRIMARY", "KEY"):
        first = cursor.advance().start
        cursor.advance()
        return [DropKey(cursor.span_from(first))]
    if cursor.key in ("BRANCH", "TAG", "CONSTRAINT") and not cursor.ends(1):
        what = cursor.advance().key
        cursor.if_exists()
        named, span = cursor.identifier("a name")
        if what == "CONSTRAINT":
            return [DropKey(span, named)]
        raise RefusedAction(f"DROP {what}")
    if cursor.key == "WATERMARK" and cursor.ends(1):
        return [DropWatermark(cursor.advance().span)]
    if cursor.key == "DISTRIBUTION" and cursor.ends(1):
        return [_inapplicable(cursor, "DROP DISTRIBUTION", start)]
    return dropped_columns(cursor)


def _replace(cursor: Cursor) -> list[AlterAction]:
    start = cursor.previous.start
    if cursor.accept("PARTITION", "FIELD"):
        return replaced_field(cursor)
    if cursor.accept("COLUMNS"):
        return [replaced_columns(cursor, start)]
    if cursor.key in ("BRANCH", "TAG"):
        reference(cursor, "REPLACE")
    raise cursor.expected(("PARTITION FIELD", "COLUMNS", "BRANCH", "TAG"))


def _create(cursor: Cursor) -> list[AlterAction]:
    if cursor.accept("OR"):
        cursor.expect("REPLACE")
    reference(cursor, "CREATE")


def _rename(cursor: Cursor) -> list[AlterAction]:
    start = cursor.previous.start
    if cursor.at("TO") and cursor.peek().key != "TO":
        cursor.advance()
        return [RenameTable(cursor.name("the new name"))]
    if cursor.at("COLUMN") and cursor.peek().key != "TO":
        cursor.advance()
    elif cursor.at("PARTITION", "("):
        return [_inapplicable(cursor, "RENAME PARTITION", start)]
    elif cursor.at("CONSTRAINT") and cursor.peek().key != "TO":
        cursor.advance()
        raise RefusedAction("RENAME CONSTRAINT")
    old = cursor.name("a column's name")
    cursor.expect("TO")
    new, _ = cursor.identifier("the new name")
    return [RenameColumn(old.parts, new, old.span)]


def _write(cursor: Cursor) -> list[AlterAction]:
    return [write_order(cursor, cursor.previous.start)]


def _names(cursor: Cursor) -> tuple[Name, ...]:
    names = [cursor.name("a column's name")]
    while cursor.accept(","):
        names.append(cursor.name("a column's name"))
    return tuple(names)


_GRAMMARS = {
    "SET": _set,
    "UNSET": _unset,
    "RESET": _reset,
    "RENAME": _rename,
    "ADD": _add,
    "DROP": _drop,
    "ALTER": altered_columns,
    "MODIFY": _modify,
    "CHANGE": changed_column,
    "REPLACE": _replace,
    "WRITE": _write,
    "CREATE": _create,
}
