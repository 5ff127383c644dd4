"""Definitions that point to an Iceberg table which another catalog, or a directory alone, holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.base import Catalog, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.registry import HADOOP_OPTIONS, build_catalog
from bergsql.engine.definitions import Pointer
from bergsql.engine.names import TableName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st

_OWN = ("connector", "catalog-name", "catalog-database", "catalog-table")
_PLAIN_PROPERTIES = ("format-version", "comment")
"""Properties of tables without a point in their names."""
_CATALOG_KEYS = ("catalog-type", "catalog-impl", "warehouse", "uri")


def connector_pointer(session: Session, statement: st.CreateTable, name: TableName) -> Pointer:
    """What ``'connector'='iceberg'`` points to: ``catalog-database`` and ``catalog-table`` of a catalog.

    The options make the catalog, as those of CREATE CATALOG do; where they only name it, it is the session's. Without
    them the database and the table are called as they are here.

    :raises BergError: OPTION, at the option.
    """
    _check_known(statement)
    values = {o.key: o.value for o in statement.properties}
    spans = {o.key: o.span for o in statement.properties}
    catalog = _catalog(session, values, spans)
    database = values.get("catalog-database") or ".".join(name.ident.namespace)
    table = values.get("catalog-table") or name.ident.name
    return Pointer(statement, TableName(catalog, TableIdent(tuple(database.split(".")), table), name.parts))


def _catalog(session: Session, values: Mapping[str, str], spans: Mapping[str, Span]) -> Catalog:
    name = values.get("catalog-name")
    if name is None:
        raise BergError(
            ErrorCode.OPTION,
            "A table of connector 'iceberg' needs the option 'catalog-name'.",
            span=spans["connector"],
            hint="'catalog-type' and 'warehouse' say what catalog that is; without them it is the session's.",
        )
    if not any(key in values for key in _CATALOG_KEYS):
        return session.catalog(name, spans["catalog-name"])
    given = {k: v for k, v in values.items() if k not in _OWN and _is_catalogs(k)}
    if "catalog-type" not in given and "catalog-impl" not in given:
        given["catalog-type"] = "hive"  # Flink's default
    try:
        return build_catalog(name, {"type": "iceberg", **given})
    except BergError as error:
        raise error.at(spans.get("catalog-type") or spans["catalog-name"]) from None


def _check_known(statement: st.CreateTable) -> None:
    """Refuse an option that is of nothing: properties of tables have a point in their names, but for a few."""
    from bergsql.engine.plan.read_options import READ_OPTIONS

    for option in statement.properties:
        key = option.key
        if "." in key or key in _OWN or key in _PLAIN_PROPERTIES or key in READ_OPTIONS or _is_catalogs(key):
            continue
        known = [*_OWN, *_CATALOG_KEYS, *(s.key for s in HADOOP_OPTIONS), *READ_OPTIONS, *_PLAIN_PROPERTIES]
        raise BergError(
            ErrorCode.OPTION,
            f"A table of connector 'iceberg' has no option '{key}'.",
            span=option.span,
            hint=did_you_mean(key, known)
            or f"Its own are {', '.join(_OWN[1:])}; those of its catalog and of reads go, too.",
        )


def _is_catalogs(key: str) -> bool:
    """Whether a key is the catalog's: all else is a property of the table, should it be made."""
    return key in _CATALOG_KEYS or any(spec.matches(key) for spec in HADOOP_OPTIONS)


def table_properties(statement: st.CreateTable) -> tuple[st.Option, ...]:
    """Those options of a pointer that a table made through it gets."""
    if not any(o.key == "connector" for o in statement.properties):
        return statement.properties
    reads = declared_reads(statement)
    return tuple(o for o in statement.properties if o.key not in _OWN and not _is_catalogs(o.key) and o not in reads)


def declared_reads(statement: st.CreateTable) -> tuple[st.Option, ...]:
    """The read options that the definition of a table of connector 'iceberg' has: they hold for each read of it."""
    if not any(o.key == "connector" for o in statement.properties):
        return ()
    from bergsql.engine.plan.read_options import READ_OPTIONS

    return tuple(o for o in statement.properties if o.key in READ_OPTIONS)


def location_pointer(statement: st.CreateTable, location: str, name: TableName) -> Pointer:
    """The table in a directory, as a catalog of the directory above it has it."""
    from bergsql.catalog.hadoop import HadoopCatalog

    parent, _, last = location.rstrip("/").rpartition("/")
    catalog = HadoopCatalog(name.catalog.name, parent or "/", {"type": "hadoop"})
    return Pointer(statement, TableName(catalog, TableIdent((), last), name.parts))
