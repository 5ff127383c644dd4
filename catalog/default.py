"""``default_catalog``: the catalog that is there without being made.

Its Iceberg tables last in the local warehouse. Definitions of connector tables and views last as long as the session:
they are kept as they come, and whoever made them knows what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bergsql.catalog.base import LoadedTable, Namespace, TableIdent
from bergsql.catalog.default_names import DEFAULT_CATALOG, DEFAULT_DATABASE
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.table_metadata import TableMetadata


class DefaultCatalog(HadoopCatalog, DefinitionCatalog):
    """A Hadoop catalog at ``warehouse`` with a ``default_database`` always, and definitions beside the tables."""

    type = "default"
    default_namespace = (DEFAULT_DATABASE,)

    def __init__(self, warehouse: Path | str) -> None:
        HadoopCatalog.__init__(self, DEFAULT_CATALOG, str(warehouse), {"type": "default", "warehouse": str(warehouse)})
        DefinitionCatalog.__init__(self)

    # --- the catalog -------------------------------------------------------------------------------------------------

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent == self.default_namespace and not super().namespace_exists(parent):
            return []
        found = super().list_namespaces(parent)
        return sorted({*found, self.default_namespace}) if not parent else found

    def namespace_exists(self, namespace: Namespace) -> bool:
        return namespace == self.default_namespace or super().namespace_exists(namespace)

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        if namespace == self.default_namespace:
            raise BergError(ErrorCode.ALREADY_EXISTS, f"Database {self.name}.{DEFAULT_DATABASE} already exists.")
        super().create_namespace(namespace, properties)

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        if namespace == self.default_namespace:
            raise BergError(ErrorCode.INVALID, f"Database {self.name}.{DEFAULT_DATABASE} cannot be dropped.")
        super().drop_namespace(namespace, cascade)

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        return sorted([*super().list_tables(namespace), *self.definitions_in(namespace)], key=lambda i: i.name)

    def table_exists(self, ident: TableIdent) -> bool:
        return self.definition(ident) is not None or super().table_exists(ident)

    def load_table(self, ident: TableIdent) -> LoadedTable:
        if self.definition(ident) is not None:
            raise BergError(ErrorCode.INVALID, f"{self.name}.{ident} is not an Iceberg table.")
        return super().load_table(ident)

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        if not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        return super().create_table(ident, metadata)

    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:
        if not self.drop_definition(ident):
            super().drop_table(ident, purge)
