"""DROP TABLE and SHOW TABLES."""

from __future__ import annotations

from bergsql.catalog.base import Catalog, TableIdent
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.definitions import Definition, Found, View, temporaries_in, temporary_named
from bergsql.engine.execute.like import like
from bergsql.engine.names import TableName, listed_database, named_table
from bergsql.engine.result import Column, Result, ResultKind, Row, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import BOOLEAN, STRING


def drop(session: Session, statement: st.DropTable) -> Result:
    """``DROP [TEMPORARY] TABLE t``: a Hadoop catalog removes the table's folder, as Java's does.

    A name means the temporary object that has it, never the lasting table below. See :func:`drop_with_files`.
    """
    span = statement.name.span
    temporary = temporary_named(session, statement.name.parts, span)
    if statement.temporary:
        is_table = temporary is not None and not isinstance(temporary.definition, View)
        return _drop_temporary(session, statement, temporary if is_table else None)
    if temporary is not None:
        return _drop_hidden(session, statement, temporary)
    table = named_table(session, statement.name)
    if isinstance(table.catalog, DefinitionCatalog) and isinstance(table.catalog.definition(table.ident), View):
        raise BergError(
            ErrorCode.INVALID,
            f"{table} is a view, not a table.",
            span=span,
            hint=f"DROP VIEW {statement.name}; drops it.",
        )
    if not table.catalog.table_exists(table.ident):
        if statement.if_exists:
            return ok()
        try:
            table.catalog.load_table(table.ident)  # says that there is none, and what is near
        except BergError as error:
            raise error.at(span) from None
    try:
        drop_with_files(table, asked=statement.purge, by_default=session.flavour is Flavour.FLINK)
    except BergError as error:
        if statement.if_exists and error.code is ErrorCode.NOT_FOUND:
            return ok()  # someone else dropped it meanwhile
        raise error.at(span) from None
    return ok()


def _drop_hidden(session: Session, statement: st.DropTable, temporary: Found) -> Result:
    """``DROP TABLE t`` where a temporary object is called so, which hides what else is.

    Spark drops a temporary view of that name, Flink wants its temporary objects dropped as such. There, a temporary
    view does not keep the table below it from being dropped; here it does, as a temporary table does.
    """
    is_view = isinstance(temporary.definition, View)
    if is_view and session.flavour is Flavour.SPARK:
        del session.temporaries[temporary.parts]
        return ok(f"Dropped the temporary view {temporary}.")
    what = "view" if is_view else "table"
    raise BergError(
        ErrorCode.INVALID,
        f"There is a temporary {what} {temporary}, which is dropped first.",
        span=statement.name.span,
        hint=f"DROP TEMPORARY {what.upper()} {statement.name}; drops it.",
    )


def _drop_temporary(session: Session, statement: st.DropTable, found: Found | None) -> Result:
    if found is not None:
        del session.temporaries[found.parts]
    elif not statement.if_exists:
        known = [key[-1] for key, kept in session.temporaries.items() if not isinstance(kept, View)]
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"Temporary table {statement.name} was not found.",
            span=statement.name.span,
            hint=did_you_mean(statement.name.parts[-1], known),
        )
    return ok()


def drop_with_files(table: TableName, *, asked: bool, by_default: bool) -> None:
    """Drop a table; what its catalog would leave of its files is deleted if PURGE asks for it, as Flink always does.

    A Hadoop catalog leaves what is not in the table's directory. Files that others may use (``gc.enabled`` = false)
    stay, and PURGE is refused.
    """
    catalog = table.catalog
    defined = isinstance(catalog, DefinitionCatalog) and catalog.definition(table.ident) is not None
    if defined:
        catalog.drop_table(table.ident, purge=asked)
        return
    if not (asked or (catalog.keeps_files and by_default)):
        _drop_and_forget(table, asked)
        return
    from bergsql.engine.table.manifest_memory import forget_table
    from bergsql.engine.table.purge import may_purge, purge, refuse_purge, table_files

    try:
        loaded = catalog.load_table(table.ident)
    except BergError as error:
        if (asked and catalog.keeps_files) or error.code is ErrorCode.NOT_FOUND:
            raise
        catalog.drop_table(table.ident)  # its metadata is lost, and with it which files it has
        return
    if asked and not may_purge(loaded):
        raise refuse_purge(loaded)
    storage = catalog.storage(loaded.metadata_location)
    files = table_files(loaded, storage) if may_purge(loaded) else []
    catalog.drop_table(table.ident, purge=asked)
    forget_table(loaded.metadata)
    if files:
        purge(loaded, files, storage)


def _drop_and_forget(table: TableName, asked: bool) -> None:
    """Drop a table, and what the cache on disk holds of it. One whose metadata is lost is dropped all the same."""
    from bergsql.engine.table.manifest_memory import forget_table

    try:
        metadata = table.catalog.load_table(table.ident).metadata
    except BergError:
        metadata = None
    table.catalog.drop_table(table.ident, purge=asked)
    if metadata is not None:
        forget_table(metadata)


def show(session: Session, statement: st.ShowTables) -> Result:
    """``SHOW TABLES [IN database] [LIKE pattern]``."""
    _, namespace, names, temporary = _named(session, statement.database, statement.like)
    if session.flavour is Flavour.FLINK:
        return listing(("table name",), [(name,) for name in sorted({*names, *(f.parts[-1] for f in temporary)})])
    columns = (Column("namespace", STRING), Column("tableName", STRING), Column("isTemporary", BOOLEAN))
    rows: list[Row] = [(".".join(namespace), name, False) for name in names]
    rows += [(f.database, f.parts[-1], True) for f in temporary]
    return Result(ResultKind.LISTING, columns, [rows])


def show_extended(session: Session, statement: st.ShowTableExtended) -> Result:
    """Spark's ``SHOW TABLE EXTENDED``: all that there is to tell of each table, in one cell."""
    from bergsql.engine.execute.table_details import information

    catalog, namespace, names, temporary = _named(session, statement.database, statement.like)
    rows: list[Row] = []
    for name in names:
        table = TableName(catalog, TableIdent(namespace, name))
        kept = catalog.definition(table.ident) if isinstance(catalog, DefinitionCatalog) else None
        found = Found(table.parts, kept, False) if isinstance(kept, Definition) else None
        text = information(table, found, statement.partition)
        rows += [(".".join(namespace), name, False, text)] if text is not None else []
    for found in temporary:
        table = TableName(catalog, TableIdent(namespace, found.parts[-1]))
        text = information(table, found, statement.partition)
        rows += [(found.database, found.parts[-1], True, text)] if text is not None else []
    texts = ("namespace", "tableName", "isTemporary", "information")
    columns = tuple(Column(name, BOOLEAN if name == "isTemporary" else STRING) for name in texts)
    return Result(ResultKind.LISTING, columns, [rows])


def _named(
    session: Session, database: st.Name | None, pattern: st.LikePattern | None
) -> tuple[Catalog, tuple[str, ...], list[str], list[Found]]:
    """A database (None: the current one), and the names in it that match: those that last, and temporary ones."""
    catalog, namespace = listed_database(session, database)
    held = catalog.list_tables(namespace) if catalog.namespace_exists(namespace) else []
    names = like(pattern, [ident.name for ident in held], session.flavour)
    temporary = temporaries_in(session, catalog.name, namespace)
    shown = like(pattern, {f.parts[-1] for f in temporary}, session.flavour)
    return catalog, namespace, names, [f for f in temporary if f.parts[-1] in shown]
