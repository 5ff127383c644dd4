"""``default_catalog``: the catalog that is there without being made.

Its Iceberg tables last in the local warehouse. Definitions of connector tables and views last as long as the session:
they are kept as they come, and whoever made them knows what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bergsql.catalog.base import LoadedTable, Namespace, TableIdent
from bergsql.catalog.default_names import DEFAULT_CATALOG, DEFAULT_DATABASE
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.table_metadata import TableMetadata


class DefaultCatalog(HadoopCatalog):
    """A Hadoop catalog at ``warehouse`` with a ``default_database`` always, and definitions beside the tables."""

    type = "default"
    default_namespace = (DEFAULT_DATABASE,)

    def __init__(self, warehouse: Path | str) -> None:
        super().__init__(DEFAULT_CATALOG, str(warehouse), {"type": "default", "warehouse": str(warehouse)})
        self._definitions: dict[TableIdent, object] = {}

    # --- definitions -------------------------------------------------------------------------------------------------

    def put_definition(self, ident: TableIdent, definition: object, *, replace: bool = False) -> None:
        """Keep the definition of a connector table or view; ALREADY_EXISTS unless ``replace`` and it is one too."""
        if not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        if (ident in self._definitions and not replace) or super().table_exists(ident):
            raise BergError(ErrorCode.ALREADY_EXISTS, f"Table {self.name}.{ident} already exists.")
        self._definitions[ident] = definition

    def definition(self, ident: TableIdent) -> object | None:
        """What :meth:`put_definition` keeps under this name; None when it is an Iceberg table or nothing."""
        return self._definitions.get(ident)

    def drop_definition(self, ident: TableIdent) -> bool:
        """Forget a definition; whether there was one."""
        return self._definitions.pop(ident, None) is not None

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
        defined = [i for i in self._definitions if i.namespace == namespace]
        return sorted([*super().list_tables(namespace), *defined], key=lambda i: i.name)

    def table_exists(self, ident: TableIdent) -> bool:
        return ident in self._definitions or super().table_exists(ident)

    def load_table(self, ident: TableIdent) -> LoadedTable:
        if ident in self._definitions:
            raise BergError(ErrorCode.INVALID, f"{self.name}.{ident} is not an Iceberg table.")
        return super().load_table(ident)

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        if not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        return super().create_table(ident, metadata)

    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:
        if not self.drop_definition(ident):
            super().drop_table(ident, purge)
