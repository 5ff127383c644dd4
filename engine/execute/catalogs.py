"""CREATE, DROP, USE and SHOW of catalogs."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.registry import build_catalog
from bergsql.engine.execute.like import like
from bergsql.engine.result import Result, listing, ok
from bergsql.engine.session import DEFAULT_CATALOG, Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour


def create(session: Session, statement: st.CreateCatalog) -> Result:
    """``CREATE CATALOG c WITH (…)``: the catalog lives as long as the session."""
    if session.has_catalog(statement.name):
        if statement.if_not_exists:
            return ok()
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"Catalog {statement.name} already exists.",
            span=statement.span,
            hint="CREATE CATALOG IF NOT EXISTS … leaves it as it is.",
        )
    options: dict[str, str] = {}
    for option in statement.options:
        if option.key in options:
            raise BergError(ErrorCode.OPTION, f"'{option.key}' is given twice.", span=option.span)
        options[option.key] = option.value
    try:
        catalog = build_catalog(statement.name, options, session.home)
    except BergError as error:
        named = next((o.span for o in statement.options if f"'{o.key}'" in error.message), statement.span)
        raise error.at(named) from None
    session.add_catalog(catalog)
    return ok()


def drop(session: Session, statement: st.DropCatalog) -> Result:
    """``DROP CATALOG c``: the session forgets it; its tables stay."""
    if statement.name == DEFAULT_CATALOG:
        raise BergError(ErrorCode.INVALID, "default_catalog cannot be dropped.", span=statement.span)
    if not session.has_catalog(statement.name):
        if statement.if_exists:
            return ok()
        session.catalog(statement.name, statement.span)
    if statement.name == session.current_catalog:
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {statement.name} is the current one and cannot be dropped.",
            span=statement.span,
            hint=f"USE CATALOG {DEFAULT_CATALOG}; first.",
        )
    session.remove_catalog(statement.name)
    return ok()


def use(session: Session, statement: st.UseCatalog) -> Result:
    """``USE CATALOG c``: its default database becomes the current one."""
    use_catalog(session, session.catalog(statement.name, statement.span).name)
    return ok()


def use_catalog(session: Session, name: str) -> None:
    """Make a catalog the current one, with the database that is its default."""
    session.current_catalog = name
    session.namespace = session.catalog(name).default_namespace


def show(session: Session, statement: st.ShowCatalogs) -> Result:
    names = like(statement.like, session.catalog_names(), session.flavour)
    title = "catalog name" if session.flavour is Flavour.FLINK else "catalog"
    return listing((title,), [(name,) for name in names])


def show_current(session: Session, _statement: st.ShowCurrentCatalog) -> Result:
    return listing(("current catalog name",), [(session.current_catalog,)])


def show_create(session: Session, statement: st.ShowCreateCatalog) -> Result:
    """The statement that would make the catalog again, secrets masked."""
    from bergsql.catalog.secrets import mask_value

    catalog = session.catalog(statement.name, statement.span)
    pairs = ",\n".join(
        f"  '{k}' = '{mask_value(k, v).replace(chr(39), chr(39) * 2)}'" for k, v in sorted(catalog.options.items())
    )
    return listing(("result",), [(f"CREATE CATALOG `{catalog.name}`\nWITH (\n{pairs}\n)\n",)])
