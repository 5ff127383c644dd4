"""ALTER TABLE on tables with a connector, which are only their definitions; the rules are Flink's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.table_definition import check_connector_columns, check_key_change, no_key
from bergsql.engine.names import TableName, named_table, renamed_table
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.catalog.definitions import DefinitionCatalog
    from bergsql.engine.definitions import Found
    from bergsql.engine.session import Session


def alter_definition(session: Session, statement: st.AlterTable, found: Found, definition: st.CreateTable) -> Result:
    """Change the definition of a connector table, by all of the actions or by none."""
    if found.temporary:
        raise BergError(
            ErrorCode.INVALID,
            f"{found} is a temporary table, which ALTER TABLE does not change.",
            span=statement.name.span,
            hint="DROP TEMPORARY TABLE it, and create it anew.",
        )
    name = named_table(session, statement.name)
    catalog = cast("DefinitionCatalog", name.catalog)
    for action in statement.actions:
        if isinstance(action, st.RenameTable):
            return _rename(session, name, action, definition)
        try:
            definition = _changed(definition, action)
        except BergError as error:
            raise error.at(statement.name.span) from None
    try:
        check_connector_columns(definition)
    except BergError as error:
        raise error.at(statement.name.span) from None
    catalog.put_definition(name.ident, definition, replace=True)
    return ok()


def _rename(session: Session, name: TableName, action: st.RenameTable, definition: st.CreateTable) -> Result:
    to = renamed_table(session, name, action.to)
    catalog = cast("DefinitionCatalog", name.catalog)
    try:
        catalog.put_definition(to.ident, definition)
    except BergError as error:
        raise error.at(action.to.span) from None
    catalog.drop_definition(name.ident)
    return ok()


def _changed(table: st.CreateTable, action: st.AlterAction) -> st.CreateTable:
    """The definition after one action."""
    change: Callable[[st.CreateTable, st.AlterAction], st.CreateTable] | None = _CHANGES.get(type(action).__name__)
    if change is None:
        span: Span | None = getattr(action, "span", None)
        raise BergError(
            ErrorCode.INVALID,
            "A table with a connector is only its definition: it has no files to change this of.",
            span=span,
            hint="ALTER TABLE changes its options, columns, key and watermark.",
        )
    return change(table, action)


# --- options ---------------------------------------------------------------------------------------------------------


def _set_properties(table: st.CreateTable, action: st.SetProperties) -> st.CreateTable:
    from bergsql.engine.connectors.registry import check_changed

    given, _ = options_of(action.options)
    check_changed(table, action.options)
    kept = tuple(o for o in table.properties if o.key not in given)
    return replace(table, properties=(*kept, *action.options))


def _unset_properties(table: st.CreateTable, action: st.UnsetProperties) -> st.CreateTable:
    if "connector" in action.keys:
        raise BergError(ErrorCode.OPTION, "The table is its connector's: 'connector' cannot be reset.")
    return replace(table, properties=tuple(o for o in table.properties if o.key not in action.keys))


# --- columns ---------------------------------------------------------------------------------------------------------


def _add(table: st.CreateTable, action: st.AddColumn) -> st.CreateTable:
    column = action.column
    _refuse_nested((*action.path, column.name), column.span)
    if any(c.name == column.name for c in table.columns):
        if action.if_not_exists:
            return table
        raise BergError(ErrorCode.ALREADY_EXISTS, f"Column '{column.name}' already exists.", span=column.span)
    columns = list(table.columns)
    columns.insert(_place(columns, action.after, action.after_span), column)
    return replace(table, columns=tuple(columns))


def _modify(table: st.CreateTable, action: st.ModifyColumn) -> st.CreateTable:
    column = action.column
    _refuse_nested((*action.path, column.name), column.span)
    i = _index(table.columns, column.name, column.span)
    old = table.columns[i]
    new = replace(column, comment=old.comment if column.comment is None else column.comment)
    return _put(table, i, new, action.after, action.after_span)


def _alter(table: st.CreateTable, action: st.ChangeColumn) -> st.CreateTable:
    _refuse_nested(action.path, action.span)
    i = _index(table.columns, action.path[0], action.span)
    old = table.columns[i]
    if action.default is not None or action.drop_default:
        raise BergError(ErrorCode.INVALID, "Columns of a table with a connector have no DEFAULT.", span=action.span)
    new = replace(
        old,
        type=old.type if action.type is None else action.type,
        nullable=old.nullable if action.nullable is None else action.nullable,
        comment=old.comment if action.comment is None else action.comment,
    )
    table = _put(table, i, new, action.after, action.after_span)
    if action.to is None or action.to == old.name:
        return table
    return _rename_column(table, st.RenameColumn((old.name,), action.to, action.span))


def _put(
    table: st.CreateTable, i: int, new: st.ColumnDef, after: str | None, after_span: Span | None
) -> st.CreateTable:
    """The definition with ``new`` for its column ``i``, at another place where ``after`` says so."""
    columns = list(table.columns)
    if after is None:
        columns[i] = new
        return replace(table, columns=tuple(columns))
    if after == new.name:
        raise BergError(ErrorCode.INVALID, f"Cannot move the column '{after}' after itself.", span=after_span)
    del columns[i]
    columns.insert(_place(columns, after, after_span), new)
    return replace(table, columns=tuple(columns))


def _drop(table: st.CreateTable, action: st.DropColumn) -> st.CreateTable:
    _refuse_nested(action.path, action.span)
    name = action.path[0]
    if action.if_exists and all(c.name != name for c in table.columns):
        return table
    i = _index(table.columns, name, action.span)
    if table.primary_key is not None and name in table.primary_key.columns:
        raise _needed(name, "the primary key", "dropped", action.span)
    _refuse_used(table, name, "dropped", action.span)
    if len(table.columns) == 1:
        raise BergError(ErrorCode.INVALID, f"Cannot drop the column '{name}': it is the only one.", span=action.span)
    return replace(table, columns=(*table.columns[:i], *table.columns[i + 1 :]))


def _rename_column(table: st.CreateTable, action: st.RenameColumn) -> st.CreateTable:
    _refuse_nested(action.path, action.span)
    name, to = action.path[0], action.to
    i = _index(table.columns, name, action.span)
    if any(c.name == to for c in table.columns):
        raise BergError(
            ErrorCode.ALREADY_EXISTS, f"Cannot rename '{name}' to '{to}': there is such a column.", span=action.span
        )
    _refuse_used(table, name, "renamed", action.span)
    key = table.primary_key
    if key is not None:
        key = replace(key, columns=tuple(to if c == name else c for c in key.columns))
    old = table.columns[i]
    columns = (*table.columns[:i], replace(old, name=to), *table.columns[i + 1 :])
    return replace(table, columns=columns, primary_key=key)


def _refuse_nested(path: Sequence[str], span: Span) -> None:
    if len(path) > 1:
        raise BergError(
            ErrorCode.INVALID,
            f"'{'.'.join(path)}' is inside a column: in a table with a connector only whole columns change.",
            span=span,
            hint=f"ALTER TABLE … MODIFY {path[0]} ROW<…>; declares the column anew.",
        )


def _refuse_used(table: st.CreateTable, name: str, how: str, span: Span) -> None:
    """Refuse to take a column away that expressions or the partitioning name."""
    for other in table.columns:
        if other.computed is not None and other.name != name and name in _named(other.computed):
            raise _needed(name, f"the computed column '{other.name}'", how, span)
    mark = table.watermark
    if mark is not None and (mark.column == name or name in _named(mark.expression)):
        raise _needed(name, "the watermark", how, span)
    if any(p.transform.column == name for p in table.partitioning):
        raise _needed(name, "the partitioning", how, span)


def _needed(name: str, by: str, how: str, span: Span) -> BergError:
    return BergError(ErrorCode.INVALID, f"Column '{name}' cannot be {how}: {by} needs it.", span=span)


def _named(expression: st.Expression) -> set[str]:
    """The columns that an expression names."""
    return {c.parts[0].name for c in expression.ast.find_all(exp.Column)}


def _index(columns: Sequence[st.ColumnDef], name: str, span: Span | None) -> int:
    names = [c.name for c in columns]
    if name not in names:
        raise BergError(
            ErrorCode.NOT_FOUND, f"Column '{name}' was not found.", span=span, hint=did_you_mean(name, names)
        )
    return names.index(name)


def _place(columns: Sequence[st.ColumnDef], after: str | None, span: Span | None) -> int:
    """Where a column goes among the others: at the end, first, or behind one."""
    if after is None:
        return len(columns)
    return 0 if after == "" else _index(columns, after, span) + 1


# --- key and watermark -----------------------------------------------------------------------------------------------


def _set_key(table: st.CreateTable, action: st.SetKey) -> st.CreateTable:
    key, old = action.key, table.primary_key
    check_key_change(action, old.columns if old is not None else ())
    columns = tuple(replace(c, nullable=False) if c.name in key.columns else c for c in table.columns)
    return replace(table, columns=columns, primary_key=key)


def _drop_key(table: st.CreateTable, action: st.DropKey) -> st.CreateTable:
    key = table.primary_key
    if key is None:
        raise no_key(action.span)
    name = key.constraint or f"PK_{'_'.join(key.columns)}"  # as Flink calls one without a name
    if action.constraint is not None and action.constraint != name:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"The table has no constraint '{action.constraint}'.",
            span=action.span,
            hint=f"Its primary key is called '{name}'.",
        )
    return replace(table, primary_key=None)


def _set_watermark(table: st.CreateTable, action: st.SetWatermark) -> st.CreateTable:
    mark = action.watermark
    if table.watermark is not None and not action.modify:
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"The table has a watermark for '{table.watermark.column}' already.",
            span=mark.span,
            hint="ALTER TABLE … MODIFY WATERMARK FOR … AS …; gives it another.",
        )
    if table.watermark is None and action.modify:
        raise BergError(ErrorCode.NOT_FOUND, "The table has no watermark.", span=mark.span)
    names = {c.name for c in table.columns}
    for name in (mark.column, *sorted(_named(mark.expression))):
        if name.split(".")[0] not in names:
            _index(table.columns, name, mark.span)
    from bergsql.engine.connectors.registry import check_watermark

    changed = replace(table, watermark=mark)
    check_watermark(changed)
    return changed


def _drop_watermark(table: st.CreateTable, action: st.DropWatermark) -> st.CreateTable:
    if table.watermark is None:
        raise BergError(ErrorCode.NOT_FOUND, "The table has no watermark.", span=action.span)
    return replace(table, watermark=None)


_CHANGES: dict[str, Callable[..., st.CreateTable]] = {
    "SetProperties": _set_properties,
    "UnsetProperties": _unset_properties,
    "AddColumn": _add,
    "ModifyColumn": _modify,
    "ChangeColumn": _alter,
    "DropColumn": _drop,
    "RenameColumn": _rename_column,
    "SetKey": _set_key,
    "DropKey": _drop_key,
    "SetWatermark": _set_watermark,
    "DropWatermark": _drop_watermark,
}
