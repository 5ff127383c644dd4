"""CREATE, ALTER, DROP and SHOW of views."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.base import TableIdent
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.engine.definitions import GLOBAL_TEMPORARY, Found, Key, View, keep, temporaries_in, temporary_named
from bergsql.engine.execute.given_columns import given_columns
from bergsql.engine.execute.like import like
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.view_text import full_text
from bergsql.engine.names import TableName, listed_database, named_table, require_database, table_name
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Column, Result, ResultKind, Row, listing, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import BOOLEAN, STRING

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_FOR_THE_SESSION = "The definition of a view lasts as long as the session; an init file (-i) makes it anew."


def create(session: Session, statement: st.CreateView) -> Result:
    """Keep a query under a name: for the session, be the view temporary or not."""
    if statement.temporary:
        return _create_temporary(session, statement)
    name = named_table(session, statement.name)
    catalog, span = _home(name, statement.name.span), statement.name.span
    require_database(catalog, name.ident.namespace, span)
    if catalog.table_exists(name.ident):
        is_view = isinstance(catalog.definition(name.ident), View)
        _check_taken(statement, str(name), is_view=is_view)
        if statement.if_not_exists:
            return ok()
    catalog.put_definition(name.ident, _defined(session, statement, name.parts), replace=statement.replace)
    return ok() if catalog.keeper() is not None else ok(_FOR_THE_SESSION)


def _create_temporary(session: Session, statement: st.CreateView) -> Result:
    key = temporary_key(session, statement.name, shared=statement.shared)
    taken = session.temporaries.get(key)
    if taken is not None:
        _check_taken(statement, ".".join(key), is_view=isinstance(taken, View))
        if statement.if_not_exists:
            return ok()
    session.temporaries[key] = _defined(session, statement, key)
    return ok()


def temporary_key(session: Session, name: st.Name, *, shared: bool = False) -> Key:
    """What a temporary object of that name is kept under.

    Spark's have a bare name, or ``global_temp`` before it; Flink's stand in a database, over what has that name there.
    """
    parts = name.parts
    if shared:
        bare = parts[1:] if len(parts) == 2 and parts[0].casefold() == GLOBAL_TEMPORARY else parts
        if len(bare) > 1:
            raise _no_database(name)
        return (GLOBAL_TEMPORARY, bare[0].casefold())
    if session.flavour is Flavour.SPARK:
        if len(parts) > 1:
            raise _no_database(name)
        return (parts[0].casefold(),)
    return table_name(session, parts, name.span).parts


def _no_database(name: st.Name) -> BergError:
    return BergError(
        ErrorCode.INVALID,
        f"A temporary view is in no database: '{name}' says one.",
        span=name.span,
        hint=f"Call it {name.parts[-1]}.",
    )


def _home(name: TableName, span: Span) -> DefinitionCatalog:
    """The catalog of a permanent view.

    :raises BergError: INVALID for a Hadoop catalog, which has nowhere to put one; UNSUPPORTED for others.
    """
    catalog = name.catalog
    if isinstance(catalog, DefinitionCatalog):
        return catalog
    if catalog.type == "hadoop":
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {catalog.name} is a Hadoop catalog, which holds no views.",
            span=span,
            hint="CREATE TEMPORARY VIEW makes one for the session; default_catalog holds views too.",
        )
    raise not_supported(f"A view in a catalog of type '{catalog.type}'", span, "default_catalog holds views.")


def _check_taken(statement: st.CreateView, name: str, *, is_view: bool) -> None:
    if statement.if_not_exists or (statement.replace and is_view):
        return
    what = "View" if is_view else "Table"
    raise BergError(
        ErrorCode.ALREADY_EXISTS,
        f"{what} {name} already exists." if not statement.replace else f"{name} is a table, not a view.",
        span=statement.name.span,
        hint="CREATE VIEW IF NOT EXISTS … leaves it as it is, CREATE OR REPLACE VIEW … replaces it."
        if is_view
        else "A view needs a name of its own.",
    )


# --- what a view is ---------------------------------------------------------------------------------------------------


def _defined(session: Session, statement: st.CreateView, key: Key) -> View:
    properties, _ = options_of(statement.properties)
    view = View(
        session.flavour,
        statement.query,
        "",
        (),
        (),
        (),
        session.current_catalog,
        session.namespace,
        statement.comment,
        properties,
    )
    return _with_query(session, view, statement.query, key, statement.columns, temporary=statement.temporary)


def _with_query(
    session: Session,
    view: View,
    query: st.Query,
    key: Key,
    columns: tuple[st.ViewColumn, ...] = (),
    *,
    temporary: bool,
) -> View:
    """The view with a query, which is checked: it must be readable now."""
    relations = SessionRelations(session, (key,))
    text = full_text(session, query, relations, lasting=not temporary)
    selected = tuple(c.name for c in given_columns(query, relations))
    if columns and len(columns) != len(selected):
        raise BergError(
            ErrorCode.ARITY,
            f"The query has {len(selected)} {'column' if len(selected) == 1 else 'columns'}, "
            f"and the view names {len(columns)}.",
            span=Span(columns[0].span.start, columns[-1].span.end),
        )
    names = tuple(c.name for c in columns) or selected
    _refuse_twice(session, names, query.span)
    return replace(
        view,
        flavour=session.flavour,
        query=query,
        text=text,
        selected=selected,
        names=names,
        comments=tuple(c.comment for c in columns) or (None,) * len(names),
        catalog=session.current_catalog,
        namespace=session.namespace,
    )


def _refuse_twice(session: Session, names: tuple[str, ...], span: Span) -> None:
    seen: set[str] = set()
    for name in names:
        key = name.casefold() if session.flavour is Flavour.SPARK else name
        if key in seen:
            raise BergError(
                ErrorCode.INVALID,
                f"The view would have two columns '{name}'.",
                span=span,
                hint="Name them in the query with AS, or behind the view's name: v (a, b).",
            )
        seen.add(key)


# --- ALTER and DROP ---------------------------------------------------------------------------------------------------


def view_named(session: Session, name: st.Name) -> Found:
    """The view of that name.

    :raises BergError: NOT_FOUND, with the nearest name; INVALID for a table.
    """
    found = temporary_named(session, name.parts, name.span)
    if found is None:
        table = named_table(session, name)
        catalog = table.catalog
        kept = catalog.definition(table.ident) if isinstance(catalog, DefinitionCatalog) else None
        if not isinstance(kept, View):
            raise _no_view(session, table, name)
        return Found(table.parts, kept, False)
    if not isinstance(found.definition, View):
        raise BergError(ErrorCode.INVALID, f"{found} is a table, not a view.", span=name.span)
    return found


def _no_view(session: Session, table: TableName, name: st.Name) -> BergError:
    if table.catalog.table_exists(table.ident):
        return BergError(ErrorCode.INVALID, f"{table} is a table, not a view.", span=name.span)
    known = [f.parts[-1] for f in views_in(session, table.catalog.name, table.ident.namespace)]
    hint = did_you_mean(name.parts[-1], known)
    return BergError(ErrorCode.NOT_FOUND, f"View {table} was not found.", span=name.span, hint=hint)


def alter(session: Session, statement: st.AlterView) -> Result:
    try:
        found = view_named(session, statement.name)
    except BergError as error:
        if statement.if_exists and error.code is ErrorCode.NOT_FOUND:
            return ok()
        raise
    view, action = found.definition, statement.action
    if not isinstance(view, View):
        raise BergError(ErrorCode.INVALID, f"{found} is a table, not a view.", span=statement.name.span)
    if isinstance(action, st.RenameTable):
        return _rename(session, found, view, action)
    if isinstance(action, st.SetQuery):
        changed = _with_query(session, view, action.query, found.parts, temporary=found.temporary)
    elif isinstance(action, st.SetProperties):
        changed = replace(view, properties={**view.properties, **options_of(action.options)[0]})
    elif isinstance(action, st.UnsetProperties):
        missing = [k for k in action.keys if k not in view.properties]
        if missing and not action.if_exists:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"View {found} has no property '{missing[0]}'.",
                span=statement.name.span,
                hint=did_you_mean(missing[0], list(view.properties)) or "IF EXISTS passes over it.",
            )
        changed = replace(view, properties={k: v for k, v in view.properties.items() if k not in action.keys})
    else:
        raise not_supported("This ALTER VIEW", statement.name.span)
    keep(session, found, changed)
    return ok()


def _ident(found: Found) -> TableIdent:
    return TableIdent(found.parts[1:-1], found.parts[-1])


def _rename(session: Session, found: Found, view: View, action: st.RenameTable) -> Result:
    """``RENAME TO``: in its own database, a bare name is enough."""
    to, span = action.to.parts, action.to.span
    parts = (*found.parts[:-1], to[-1]) if len(to) == 1 else table_name(session, to, span).parts
    if parts[:1] != found.parts[:1] and len(found.parts) > 1:
        raise BergError(ErrorCode.INVALID, "A view cannot be renamed into another catalog.", span=span)
    if found.temporary:
        if len(found.parts) == 1 and len(to) > 1:
            raise _no_database(action.to)
        parts = (parts[-1].casefold(),) if len(found.parts) == 1 else parts
        if parts in session.temporaries:
            raise BergError(ErrorCode.ALREADY_EXISTS, f"View {'.'.join(parts)} already exists.", span=span)
        session.temporaries[parts] = session.temporaries.pop(found.parts)
        return ok()
    catalog = session.catalog(found.parts[0])
    if isinstance(catalog, DefinitionCatalog):
        require_database(catalog, parts[1:-1], span)
        try:
            catalog.put_definition(TableIdent(parts[1:-1], parts[-1]), view)
        except BergError as error:
            raise error.at(span) from None
        catalog.drop_definition(_ident(found))
    return ok()


def drop(session: Session, statement: st.DropView) -> Result:
    """``DROP [TEMPORARY] VIEW``.

    In flink a temporary view over a permanent one must be dropped as such, and first; in spark it is just dropped.
    """
    name, span = statement.name, statement.name.span
    found = temporary_named(session, name.parts, span)
    if found is not None and not isinstance(found.definition, View) and not statement.temporary:
        raise BergError(
            ErrorCode.INVALID,
            f"{found} is a temporary table, not a view.",
            span=span,
            hint=f"DROP TEMPORARY TABLE {name}; drops it.",
        )
    if found is not None and isinstance(found.definition, View):
        if statement.temporary or session.flavour is Flavour.SPARK or len(found.parts) < 3:
            del session.temporaries[found.parts]
            return ok()
        raise BergError(
            ErrorCode.INVALID,
            f"There is a temporary view {found}, which is dropped first.",
            span=span,
            hint=f"DROP TEMPORARY VIEW {name}; drops it.",
        )
    if statement.temporary:
        if statement.if_exists:
            return ok()
        known = [key[-1] for key, kept in session.temporaries.items() if isinstance(kept, View)]
        hint = did_you_mean(name.parts[-1], known)
        raise BergError(ErrorCode.NOT_FOUND, f"Temporary view {name} was not found.", span=span, hint=hint)
    table = named_table(session, name)
    catalog = table.catalog
    if isinstance(catalog, DefinitionCatalog) and isinstance(catalog.definition(table.ident), View):
        catalog.drop_definition(table.ident)
        return ok()
    if statement.if_exists and not catalog.table_exists(table.ident):
        return ok()
    error = _no_view(session, table, name)
    if error.code is ErrorCode.INVALID:
        error.hint = "DROP TABLE drops a table."
    raise error


# --- SHOW -------------------------------------------------------------------------------------------------------------


def views_in(session: Session, catalog_name: str, namespace: tuple[str, ...]) -> list[Found]:
    """The views of a database, temporary ones among them, by name."""
    catalog = session.catalog(catalog_name)
    found = [f for f in temporaries_in(session, catalog_name, namespace) if isinstance(f.definition, View)]
    if isinstance(catalog, DefinitionCatalog):
        for ident in catalog.definitions_in(namespace):
            kept = catalog.definition(ident)
            if isinstance(kept, View):
                found.append(Found((catalog_name, *namespace, ident.name), kept, False))
    return sorted(found, key=lambda f: f.parts[-1])


def show(session: Session, statement: st.ShowViews) -> Result:
    """``SHOW VIEWS [IN database] [LIKE pattern]``."""
    catalog, namespace = listed_database(session, statement.database)
    views = views_in(session, catalog.name, namespace)
    names = set(like(statement.like, {f.parts[-1] for f in views}, session.flavour))
    views = [f for f in views if f.parts[-1] in names]
    if session.flavour is Flavour.FLINK:
        return listing(("view name",), [(name,) for name in sorted(names)])
    columns = (Column("namespace", STRING), Column("viewName", STRING), Column("isTemporary", BOOLEAN))
    rows: list[Row] = [(f.database, f.parts[-1], f.temporary) for f in views]
    return Result(ResultKind.LISTING, columns, [rows])


def show_create(session: Session, statement: st.ShowCreateView) -> Result:
    """The statement that would make the view again."""
    from bergsql.engine.execute.view_text import create_view

    title = "createtab_stmt" if session.flavour is Flavour.SPARK else "result"
    try:
        found = view_named(session, statement.name)
    except BergError as error:
        if error.code is ErrorCode.INVALID:
            error.hint = "SHOW CREATE TABLE shows how a table is made."
        raise
    return listing((title,), [(create_view(found, session.flavour),)])
