"""Flink's ``generic_in_memory`` catalog: databases and definitions that last as long as the session.

It has no place for data, so it holds connector tables and views, and refuses Iceberg tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from bergsql.catalog.base import LoadedTable, Namespace, TableIdent
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import TableUpdate
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.options import OptionSpec
from bergsql.catalog.storage.base import Storage

MEMORY_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("type", doc="'generic_in_memory'."),
    OptionSpec("default-database", doc="The database that is there from the start; `default` when it is not given."),
    OptionSpec("property-version", "enum", values=("1",), doc="The version of these options."),
)
"""The options of a catalog in memory."""


class MemoryCatalog(DefinitionCatalog):
    """Databases with their properties, one level of them, and definitions; all forgotten with the session."""

    type = "generic_in_memory"

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        super().__init__()
        self.name = name
        self.options = dict(options)
        self.default_namespace = (options.get("default-database") or "default",)
        self._namespaces: dict[Namespace, dict[str, str]] = {self.default_namespace: {}}

    def take_over(self, other: MemoryCatalog) -> None:
        """Hold what ``other`` holds."""
        self._namespaces = {self.default_namespace: {}, **other._namespaces}
        self._definitions = other._definitions

    # --- namespaces --------------------------------------------------------------------------------------------------

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if not parent:
            return sorted(self._namespaces)
        self._properties(parent)
        return []

    def namespace_exists(self, namespace: Namespace) -> bool:
        return namespace in self._namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        if len(namespace) != 1:
            raise BergError(ErrorCode.INVALID, f"Catalog {self.name} has one level of databases.")
        if namespace in self._namespaces:
            raise self.namespace_already_exists(namespace)
        self._namespaces[namespace] = dict(properties or {})

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        self._properties(namespace)
        held = self.definitions_in(namespace)
        if held and not cascade:
            raise self.namespace_not_empty(namespace, tables=len(held))
        for ident in held:
            self.drop_definition(ident)
        del self._namespaces[namespace]

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        return dict(self._properties(namespace))

    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        kept = {k: v for k, v in self._properties(namespace).items() if k not in removed}
        self._namespaces[namespace] = {**kept, **changed}

    def _properties(self, namespace: Namespace) -> dict[str, str]:
        if namespace not in self._namespaces:
            raise self.namespace_not_found(namespace)
        return self._namespaces[namespace]

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        self._properties(namespace)
        return sorted(self.definitions_in(namespace), key=lambda ident: ident.name)

    def table_exists(self, ident: TableIdent) -> bool:
        return self.definition(ident) is not None

    def load_table(self, ident: TableIdent) -> LoadedTable:
        if self.table_exists(ident):
            raise BergError(ErrorCode.INVALID, f"{self.name}.{ident} is not an Iceberg table.")
        raise self.table_not_found(ident)

    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:  # noqa: ARG002 - there is no data to purge
        if not self.drop_definition(ident):
            raise self.table_not_found(ident)

    def rename_table(self, source: TableIdent, target: TableIdent) -> None:
        definition = self.definition(source)
        if definition is None:
            raise self.table_not_found(source)
        self.put_definition(target, definition)
        self.drop_definition(source)

    def default_table_location(self, ident: TableIdent) -> str:  # noqa: ARG002 - no table has one here
        self._no_iceberg_tables()

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:  # noqa: ARG002
        self._no_iceberg_tables()

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:  # noqa: ARG002
        self._no_iceberg_tables()

    def storage(self, location: str | None = None) -> Storage:  # noqa: ARG002
        self._no_iceberg_tables()

    def _no_iceberg_tables(self) -> NoReturn:
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {self.name} is kept in memory and has no place for an Iceberg table.",
            hint="Name a connector in WITH ('connector'='…'), or use default_catalog or an Iceberg catalog.",
        )
