"""``default_catalog``: the catalog that is there without being made.

Its Iceberg tables and the properties of its databases last in the local warehouse. Definitions of
connector tables and views last as long as the session: they are kept as they come, and whoever made them knows what
they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from bergsql.catalog.base import LoadedTable, Namespace, TableIdent
from bergsql.catalog.default_names import DEFAULT_CATALOG, DEFAULT_DATABASE
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.namespace_properties import FILE_NAME, read_properties, write_properties


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
            raise self.namespace_already_exists(namespace)
        kept = dict(properties or {})
        self._refuse_location(namespace, kept)
        super().create_namespace(namespace)
        if kept:
            try:
                write_properties(self._storage, self._place(namespace), kept)
            except BaseException:
                with suppress(BergError):
                    super().drop_namespace(namespace)
                raise

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        return {**read_properties(self._storage, self._place(namespace)), **super().namespace_properties(namespace)}

    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        if not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        self._refuse_location(namespace, (*changed, *removed))
        place = self._place(namespace)
        if not self._storage.is_dir(place):
            self._make_dir(place)
        with self._storage.turn(place):
            kept = {k: v for k, v in read_properties(self._storage, place).items() if k not in removed}
            write_properties(self._storage, place, {**kept, **changed})

    def _refuse_location(self, namespace: Namespace, keys: Collection[str]) -> None:
        if "location" in keys:
            raise BergError(
                ErrorCode.INVALID,
                f"The 'location' of {self.name}.{'.'.join(namespace)} cannot be chosen: "
                f"it is {self._place(namespace)}.",
            )

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        if namespace == self.default_namespace:
            raise BergError(ErrorCode.INVALID, f"Database {self.name}.{DEFAULT_DATABASE} cannot be dropped.")
        super().drop_namespace(namespace, cascade)

    def _finish_drops(self, namespace: Namespace) -> None:
        super()._finish_drops(namespace)
        place = self._place(namespace)
        if [name for name, _ in self._storage.list(place)] == [FILE_NAME]:  # or the database will not be dropped
            self._storage.delete(f"{place}/{FILE_NAME}")

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
