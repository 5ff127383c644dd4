"""CREATE, ALTER, DROP, USE, DESCRIBE and SHOW of catalogs."""

from __future__ import annotations

from collections.abc import Mapping

from bergsql.catalog.base import Catalog
from bergsql.catalog.default_names import DEFAULT_CATALOG
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.memory import MemoryCatalog
from bergsql.catalog.registry import build_catalog
from bergsql.catalog.secrets import mask_value
from bergsql.engine.execute.like import like
from bergsql.engine.execute.options import at_option, option_text, options_of
from bergsql.engine.result import Result, Row, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, flink_text


def create(session: Session, statement: st.CreateCatalog) -> Result:
    """``CREATE CATALOG c WITH (…)``: for the session, and for later ones where catalogs are kept."""
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
    catalog = _built(statement.name, options, None, spans, statement.span)
    _known(session, catalog, options, statement.comment, spans, statement.span)
    return ok()


def _built(
    name: str, options: Mapping[str, str], spark_class: str | None, spans: Mapping[str, Span], span: Span
) -> Catalog:
    """:func:`build_catalog`, its errors at the option that they name."""
    try:
        return build_catalog(name, options, spark_class)
    except BergError as error:
        raise at_option(error, spans, span) from None


def _known(
    session: Session,
    catalog: Catalog,
    options: Mapping[str, str],
    comment: str | None,
    spans: Mapping[str, Span],
    span: Span,
) -> None:
    """Let the session know a catalog, and keep it where catalogs are kept."""
    try:
        session.add_catalog(catalog, options, comment)
    except BergError as error:
        raise at_option(error, spans, span) from None


def alter(session: Session, statement: st.AlterCatalog) -> Result:
    """``ALTER CATALOG c SET | RESET | COMMENT``: the catalog is built anew before the old one is forgotten."""
    name, span = statement.name, statement.span
    old = session.catalog(name, span)
    if statement.comment is not None:
        session.set_catalog_comment(name, statement.comment)
        return ok()
    changed, spans = options_of(statement.changed)
    if name == DEFAULT_CATALOG:
        raise BergError(
            ErrorCode.INVALID,
            f"The options of {DEFAULT_CATALOG} cannot be changed.",
            span=span,
            hint="--warehouse says where its tables are.",
        )
    given = session.catalog_options(name)
    spark_class, from_settings = session.catalog_settings(name) if given is None else (None, given)
    options = {**from_settings, **changed}
    for key in statement.removed:
        if options.pop(key, None) is None:
            hint = did_you_mean(key, from_settings)
            raise BergError(ErrorCode.OPTION, f"Catalog {name} has no option '{key}'.", span=span, hint=hint)
    new = _built(name, options, spark_class, spans, span)
    if spark_class is not None:
        session.change_catalog_settings(name, changed, statement.removed)
        return ok()
    if isinstance(old, MemoryCatalog) and isinstance(new, MemoryCatalog):
        new.take_over(old)
    _known(session, new, options, session.catalog_comment(name), spans, span)
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


def describe(session: Session, statement: st.DescribeCatalog) -> Result:
    """``DESCRIBE CATALOG [EXTENDED] c``: what it is; with EXTENDED its options too, secrets masked."""
    catalog = session.catalog(statement.name, statement.span)
    rows: list[Row] = [
        ("name", catalog.name),
        ("type", catalog.options.get("type", catalog.type)),
        ("comment", session.catalog_comment(catalog.name)),
    ]
    if statement.extended:
        options = sorted(catalog.options.items())
        rows += [(f"option:{key}", mask_value(key, value)) for key, value in options if key != "type"]
    flink = session.flavour is Flavour.FLINK
    return listing(("info name", "info value") if flink else ("info_name", "info_value"), rows)


def show(session: Session, statement: st.ShowCatalogs) -> Result:
    names = like(statement.like, session.catalog_names(), session.flavour)
    title = "catalog name" if session.flavour is Flavour.FLINK else "catalog"
    return listing((title,), [(name,) for name in names])


def show_current(session: Session, _statement: st.ShowCurrentCatalog) -> Result:
    return listing(("current catalog name",), [(session.current_catalog,)])


def show_create(session: Session, statement: st.ShowCreateCatalog) -> Result:
    """The statement that would make the catalog again, secrets masked."""
    catalog = session.catalog(statement.name, statement.span)
    pairs = option_text(catalog.options, flink_text)
    comment = session.catalog_comment(catalog.name)
    commented = f"COMMENT {flink_text(comment)}\n" if comment is not None else ""
    return listing(
        ("result",), [(f"CREATE CATALOG {flink_identifier(catalog.name)}\n{commented}WITH (\n{pairs}\n)\n",)]
    )
