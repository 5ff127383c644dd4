"""CREATE, DROP, USE and SHOW of catalogs."""

from __future__ import annotations

from bergsql.catalog.default_names import DEFAULT_CATALOG
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.registry import build_catalog
from bergsql.engine.execute.like import like
from bergsql.engine.execute.options import options_of
from bergsql.engine.result import Result, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, flink_text


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
    options, spans = options_of(statement.options)
    try:
        catalog = build_catalog(statement.name, options)
    except BergError as error:
        # The catalog's errors name the option that they are about.
        named = next((span for key, span in spans.items() if f"'{key}'" in error.message), statement.span)
        raise error.at(named) from None
    session.add_catalog(catalog, statement.comment)
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
        f"  {flink_text(k)} = {flink_text(mask_value(k, v))}" for k, v in sorted(catalog.options.items())
    )
    comment = session.catalog_comment(catalog.name)
    commented = f"COMMENT {flink_text(comment)}\n" if comment is not None else ""
    return listing(
        ("result",), [(f"CREATE CATALOG {flink_identifier(catalog.name)}\n{commented}WITH (\n{pairs}\n)\n",)]
    )
