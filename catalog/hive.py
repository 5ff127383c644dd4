"""The Hive catalog: a metastore keeps where a table's current metadata file is (Iceberg's HiveCatalog).

A pointer is moved under the table's lock in the metastore, as Java does, so that any number of engines may write.
Hive knows names in small letters only: a table is found by its name in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from bergsql.catalog.base import Namespace, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.extras import need
from bergsql.catalog.hive_client import HiveClient, outcome_counts, told
from bergsql.catalog.hive_locks import locked
from bergsql.catalog.hive_tables import LOCATION, PREVIOUS, changed_table, is_iceberg, new_table
from bergsql.catalog.options import resolve_env
from bergsql.catalog.pointer import Pointer, PointerCatalog
from bergsql.catalog.secrets import mask_value
from bergsql.catalog.warehouse import absolute_warehouse, check_names

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata

LOCK_ENABLED = "engine.hive.lock-enabled"
"""The table property that Java takes for a metastore that compares by itself when it alters a table."""


class HiveCatalog(PointerCatalog):
    """Tables of a Hive metastore; options as in :data:`~bergsql.catalog.registry.HIVE_OPTIONS`."""

    type = "hive"

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        need("A Hive catalog", "hive", "thrift")
        super().__init__()
        self.name = name
        self.options = {k: mask_value(k, v) for k, v in options.items()}
        self._client = HiveClient(resolve_env(options["uri"]))
        given = options.get("warehouse")
        self._warehouse = absolute_warehouse(resolve_env(given)) if given is not None else None
        self._patience = int(options.get("iceberg.hive.lock-timeout-ms", "180000")) / 1000

    @property
    def warehouse(self) -> str:  # type: ignore[override]
        """Where databases go that are made: the option, else the place of the metastore's own database."""
        if self._warehouse is None:
            self._warehouse = self._place(self._database(("default",))).rstrip("/")
        return self._warehouse

    # --- namespaces --------------------------------------------------------------------------------------------------

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            if not self.namespace_exists(parent):
                raise self.namespace_not_found(parent)
            return []
        with self._client.open() as connection, told("Listing databases"):
            return sorted((name,) for name in connection.get_all_databases())

    def namespace_exists(self, namespace: Namespace) -> bool:
        return not namespace or self._found(namespace) is not None

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        from hive_metastore import ttypes

        name = _one(namespace)
        check_names(namespace, "database")
        given = dict(properties or {})
        database = ttypes.Database(
            name=name,
            description=given.pop("comment", None),
            locationUri=given.pop("location", None) or f"{self.warehouse}/{name.lower()}.db",
            parameters=given,
        )
        with self._client.open() as connection, told(f"Creating database {name}"):
            try:
                connection.create_database(database)
            except ttypes.AlreadyExistsException:
                raise self.namespace_already_exists(namespace) from None

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        name = _one(namespace)
        self._database(namespace)
        with self._client.open() as connection, told(f"Dropping database {name}"):
            held = connection.get_all_tables(name)
            if held and not cascade:
                raise self.namespace_not_empty(namespace, tables=len(held))
            connection.drop_database(name, False, cascade)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        database = self._database(namespace)
        comment = {"comment": database.description} if database.description else {}
        return {"location": self._place(database), **comment, **(database.parameters or {})}

    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        database = self._database(namespace)
        given = {k: v for k, v in {**(database.parameters or {}), **changed}.items() if k not in removed}
        if "location" in removed:
            raise BergError(ErrorCode.INVALID, f"Database {self.name}.{'.'.join(namespace)} must have a 'location'.")
        database.locationUri = given.pop("location", database.locationUri)
        database.description = None if "comment" in removed else given.pop("comment", database.description)
        database.parameters = given
        with self._client.open() as connection, told(f"Changing database {'.'.join(namespace)}"):
            connection.alter_database(database.name, database)

    def _found(self, namespace: Namespace) -> Any:
        from hive_metastore import ttypes

        if len(namespace) != 1:
            return None
        with self._client.open() as connection, told(f"Looking for database {namespace[0]}"):
            try:
                return connection.get_database(namespace[0])
            except ttypes.NoSuchObjectException:
                return None

    def _database(self, namespace: Namespace) -> Any:
        found = self._found(namespace)
        if found is None:
            raise self.namespace_not_found(namespace)
        return found

    @staticmethod
    def _place(database: Any) -> str:
        return str(database.locationUri or "")

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        self._database(namespace)
        with self._client.open() as connection, told(f"Listing tables of {'.'.join(namespace)}"):
            names = connection.get_all_tables(namespace[0])
            tables = connection.get_table_objects_by_name(namespace[0], names) if names else []
        return sorted((TableIdent(namespace, t.tableName) for t in tables if is_iceberg(t)), key=lambda i: i.name)

    def default_table_location(self, ident: TableIdent) -> str:
        check_names((*ident.namespace, ident.name), "table")
        return f"{self._place(self._database(ident.namespace)).rstrip('/')}/{ident.name}"

    def rename_table(self, source: TableIdent, target: TableIdent) -> None:
        self._database(target.namespace)
        if self._table(target) is not None:
            raise self.table_already_exists(target)
        what = f"Renaming {self.name}.{source}"
        with locked(self._client, source, self._patience) as held, told(what):
            connection = held.connection
            table = self._read(connection, source)
            if table is None:
                raise self.table_not_found(source)
            table.dbName, table.tableName = target.namespace[0], target.name
            held.confirm()
            with outcome_counts(what):
                connection.alter_table(source.namespace[0], source.name, table)

    # --- pointers ----------------------------------------------------------------------------------------------------

    def pointer(self, ident: TableIdent) -> Pointer | None:
        table = self._table(ident)
        if table is None:
            return None
        if not is_iceberg(table) or LOCATION not in table.parameters:
            raise BergError(ErrorCode.INVALID, f"{self.name}.{ident} is a table of Hive, not of Iceberg.")
        return Pointer(table.parameters[LOCATION], table.parameters.get(PREVIOUS))

    def insert_pointer(self, ident: TableIdent, location: str) -> None:
        from hive_metastore import ttypes

        self._database(ident.namespace)
        made = new_table(ident, self._metadata(location), location)
        what = f"Creating table {self.name}.{ident}"
        with self._client.open() as connection, told(what), outcome_counts(what):
            try:
                connection.create_table(made)
            except ttypes.AlreadyExistsException:
                raise self.table_already_exists(ident) from None

    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        from hive_metastore import ttypes

        metadata = self._metadata(location)
        if metadata.properties.get(LOCK_ENABLED, "true").casefold() == "false":
            raise BergError(
                ErrorCode.UNSUPPORTED,
                f"Writing without a lock, as '{LOCK_ENABLED}' of {self.name}.{ident} asks, is not supported yet.",
                hint=f"ALTER TABLE … SET ('{LOCK_ENABLED}'='true'); by the engine that set it.",
            )
        what = f"Changing table {self.name}.{ident}"
        with locked(self._client, ident, self._patience) as held, told(what):
            connection = held.connection
            table = self._read(connection, ident)
            if table is None or (table.parameters or {}).get(LOCATION) != expected:
                return False
            changed = changed_table(table, self._metadata(expected), metadata, location)
            # Newer metastores compare by themselves, too (HIVE-26882); others pass over it.
            compared = {"expected_parameter_key": LOCATION, "expected_parameter_value": expected}
            context = ttypes.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true", **compared})
            held.confirm()
            with outcome_counts(what):
                connection.alter_table_with_environment_context(ident.namespace[0], ident.name, changed, context)
        return True

    def remove_pointer(self, ident: TableIdent) -> bool:
        from hive_metastore import ttypes

        if self.pointer(ident) is None:
            return False
        what = f"Dropping table {self.name}.{ident}"
        with self._client.open() as connection, told(what):
            try:
                connection.drop_table(ident.namespace[0], ident.name, False)
            except ttypes.NoSuchObjectException:
                return False
        return True

    def _metadata(self, location: str) -> TableMetadata:
        return self._cache.load(self.storage(location), location)

    def _table(self, ident: TableIdent) -> Any:
        with self._client.open() as connection, told(f"Looking for table {ident}"):
            return self._read(connection, ident)

    @staticmethod
    def _read(connection: Any, ident: TableIdent) -> Any:
        from hive_metastore import ttypes

        if len(ident.namespace) != 1:
            return None
        try:
            return connection.get_table(ident.namespace[0], ident.name)
        except ttypes.NoSuchObjectException:
            return None


def _one(namespace: Namespace) -> str:
    """The name of a database, of which Hive has one level."""
    if len(namespace) != 1 or not namespace[0]:
        raise BergError(ErrorCode.INVALID, f"Hive has one level of databases: '{'.'.join(namespace)}' has more.")
    return namespace[0]
