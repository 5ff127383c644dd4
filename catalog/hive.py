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
from bergsql.catalog.hive_client import HiveClient, OutcomeCounts, told
from bergsql.catalog.hive_locks import locked, settle
from bergsql.catalog.hive_tables import (
    LOCATION,
    PREVIOUS,
    UUID,
    changed_table,
    is_iceberg,
    location_of,
    new_table,
    read_table,
)
from bergsql.catalog.options import resolve_env
from bergsql.catalog.pointer import Pointer, PointerCatalog
from bergsql.catalog.secrets import mask_value
from bergsql.catalog.warehouse import absolute_warehouse, check_names

if TYPE_CHECKING:
    from bergsql.catalog.hive_client import Connection
    from bergsql.catalog.metadata.table_metadata import TableMetadata

LOCK_ENABLED = "engine.hive.lock-enabled"
"""The table property that Java takes for a metastore that compares by itself when it alters a table."""


class HiveCatalog(PointerCatalog):
    """Tables of a Hive metastore; options as in :data:`~bergsql.catalog.registry.HIVE_OPTIONS`."""

    type = "hive"
    may_be_late = True

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        need("A Hive catalog", "hive", "thrift")
        super().__init__()
        self.name = name
        self.options = {k: mask_value(k, v) for k, v in options.items()}
        self._client = HiveClient(resolve_env(options["uri"]), int(options.get("clients", "2")))
        given = options.get("warehouse")
        self._warehouse = absolute_warehouse(resolve_env(given)) if given is not None else None
        self._patience = int(options.get("iceberg.hive.lock-timeout-ms", "180000")) / 1000

    @property
    def warehouse(self) -> str:  # type: ignore[override]
        """Where databases go that are made: the option, else the place of the metastore's own database."""
        if self._warehouse is None:
            self._warehouse = _place(self._database(("default",))).rstrip("/")
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
        what = f"Creating database {self.name}.{name}"
        if self.namespace_exists(namespace):
            raise self.namespace_already_exists(namespace)
        with self._client.open() as connection, told(what):
            try:
                with OutcomeCounts(self._client, what, lambda other: _read_database(other, name) is not None):
                    connection.create_database(database)
            except ttypes.AlreadyExistsException:
                raise self.namespace_already_exists(namespace) from None

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        name = _one(namespace)
        self._database(namespace)
        what = f"Dropping database {self.name}.{name}"
        with self._client.open() as connection, told(what):
            held = connection.get_all_tables(name)
            if held and not cascade:
                raise self.namespace_not_empty(namespace, tables=len(held))
            with OutcomeCounts(self._client, what, lambda other: _read_database(other, name) is None):
                connection.drop_database(name, False, cascade)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        return _properties(self._database(namespace))

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
        what = f"Changing database {self.name}.{'.'.join(namespace)}"

        def happened(other: Connection) -> bool:
            found = _read_database(other, database.name)
            return found is not None and _properties(found) == _properties(database)

        with self._client.open() as connection, told(what), OutcomeCounts(self._client, what, happened):
            connection.alter_database(database.name, database)

    def _found(self, namespace: Namespace) -> Any:
        if len(namespace) != 1:
            return None
        with self._client.open() as connection, told(f"Looking for database {namespace[0]}"):
            return _read_database(connection, namespace[0])

    def _database(self, namespace: Namespace) -> Any:
        found = self._found(namespace)
        if found is None:
            raise self.namespace_not_found(namespace)
        return found

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        self._database(namespace)
        with self._client.open() as connection, told(f"Listing tables of {'.'.join(namespace)}"):
            names = connection.get_all_tables(namespace[0])
            tables = connection.get_table_objects_by_name(namespace[0], names) if names else []
        return sorted((TableIdent(namespace, t.tableName) for t in tables if is_iceberg(t)), key=lambda i: i.name)

    def default_table_location(self, ident: TableIdent) -> str:
        check_names((*ident.namespace, ident.name), "table")
        return f"{_place(self._database(ident.namespace)).rstrip('/')}/{ident.name}"

    def rename_table(self, source: TableIdent, target: TableIdent) -> None:
        self._database(target.namespace)
        if self._table(target) is not None:
            raise self.table_already_exists(target)
        what = f"Renaming table {self.name}.{source}"
        with locked(self._client, source, None, self._patience) as held, told(what):
            connection = held.connection
            table = read_table(connection, source)
            if table is None:
                raise self.table_not_found(source)
            location = location_of(table)
            table.dbName, table.tableName = target.namespace[0], target.name

            def happened(other: Connection) -> bool:
                made = read_table(other, target)
                return read_table(other, source) is None and made is not None and location_of(made) == location

            held.confirm()
            with OutcomeCounts(self._client, what, happened):
                connection.alter_table(source.namespace[0], source.name, table)

    # --- pointers ----------------------------------------------------------------------------------------------------

    def pointer(self, ident: TableIdent) -> Pointer | None:
        table = self._table(ident)
        location = None if table is None else location_of(table)
        settle(self._client, ident, location)
        if table is None:
            return None
        if not is_iceberg(table) or location is None:
            raise BergError(ErrorCode.INVALID, f"{self.name}.{ident} is a table of Hive, not of Iceberg.")
        return Pointer(location, table.parameters.get(PREVIOUS))

    def insert_pointer(self, ident: TableIdent, location: str) -> None:
        from hive_metastore import ttypes

        self._database(ident.namespace)
        made = new_table(ident, self._metadata(location), location)
        what = f"Creating table {self.name}.{ident}"

        def happened(other: Connection) -> bool:
            return self._location(other, ident) == location

        with self._client.open() as connection, told(what):
            try:
                with OutcomeCounts(self._client, what, happened):
                    connection.create_table(made)
            except ttypes.AlreadyExistsException:
                # The metastore tries again by itself, and may have met the table that it had made.
                if not happened(connection):
                    raise self.table_already_exists(ident) from None

    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        from hive_metastore import ttypes
        from thrift.Thrift import TException

        metadata = self._metadata(location)
        if metadata.properties.get(LOCK_ENABLED, "true").casefold() == "false":
            raise BergError(
                ErrorCode.UNSUPPORTED,
                f"Writing without a lock, as '{LOCK_ENABLED}' of {self.name}.{ident} asks, is not supported yet.",
                hint=f"ALTER TABLE … SET ('{LOCK_ENABLED}'='true'); by the engine that set it.",
            )
        what = f"Changing table {self.name}.{ident}"

        def happened(other: Connection) -> bool:
            return self._location(other, ident) == location

        before = self._metadata(expected)
        with locked(self._client, ident, expected, self._patience) as held, told(what):
            connection = held.connection
            table = read_table(connection, ident)
            if table is None or location_of(table) != expected:
                return False
            changed = changed_table(table, before, metadata, location)
            # Newer metastores compare by themselves, too (HIVE-26882); others pass over it.
            compared = {"expected_parameter_key": LOCATION, "expected_parameter_value": expected}
            context = ttypes.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true", **compared})
            held.confirm()
            try:
                with OutcomeCounts(self._client, what, happened):
                    connection.alter_table_with_environment_context(ident.namespace[0], ident.name, changed, context)
            except TException:
                # The metastore tries again by itself, and may have met the change that it had made.
                now = self._location(connection, ident)
                if now == expected:
                    raise
                return now == location
        return True

    def remove_pointer(self, ident: TableIdent) -> bool:
        from hive_metastore import ttypes

        table = self._table(ident)
        if table is None or self.pointer(ident) is None:
            return False
        what = f"Dropping table {self.name}.{ident}"

        def happened(other: Connection) -> bool:
            found = read_table(other, ident)
            return found is None or found.parameters.get(UUID) != table.parameters.get(UUID)

        with self._client.open() as connection, told(what):
            try:
                with OutcomeCounts(self._client, what, happened):
                    connection.drop_table(ident.namespace[0], ident.name, False)
            except ttypes.NoSuchObjectException:
                return False
        return True

    def _metadata(self, location: str) -> TableMetadata:
        return self._cache.load(self.storage(location), location)

    def _table(self, ident: TableIdent) -> Any:
        with self._client.open() as connection, told(f"Looking for table {ident}"):
            return read_table(connection, ident)

    @staticmethod
    def _location(connection: Connection, ident: TableIdent) -> str | None:
        table = read_table(connection, ident)
        return None if table is None else location_of(table)


def _one(namespace: Namespace) -> str:
    """The name of a database, of which Hive has one level."""
    if len(namespace) != 1 or not namespace[0]:
        raise BergError(ErrorCode.INVALID, f"Hive has one level of databases: '{'.'.join(namespace)}' has more.")
    return namespace[0]


def _read_database(connection: Connection, name: str) -> Any:
    from hive_metastore import ttypes

    try:
        return connection.get_database(name)
    except ttypes.NoSuchObjectException:
        return None


def _place(database: Any) -> str:
    return str(database.locationUri or "")


def _properties(database: Any) -> dict[str, str]:
    comment = {"comment": database.description} if database.description else {}
    return {"location": _place(database), **comment, **(database.parameters or {})}
