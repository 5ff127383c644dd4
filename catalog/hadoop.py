"""The Hadoop catalog: namespaces and tables are directories below a warehouse, laid out as by Java's HadoopCatalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.catalog.base import Catalog, LoadedTable, Namespace, TableIdent
from bergsql.catalog.default_names import DEFAULT_CATALOG
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop_commit import check_new_place, check_place, commit_version
from bergsql.catalog.hadoop_publish import publish_version
from bergsql.catalog.hadoop_versions import MetadataFile, file_name, holds_remains, holds_table, metadata_dir, newest
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata_cache import MetadataCache
from bergsql.catalog.options import resolve_env
from bergsql.catalog.secrets import mask_value
from bergsql.catalog.storage.base import (
    FileExists,
    FileMissing,
    OutsideFence,
    Storage,
    parent_of,
    scheme_of,
    storage_for,
)
from bergsql.catalog.warehouse import absolute_warehouse, check_names, is_ident, is_name

if TYPE_CHECKING:
    from bergsql.catalog.metadata.changes import TableUpdate

_READ_ATTEMPTS = 20
_DROPPED = ".dropped-"
"""What the directory of a table is called from its being dropped to its being deleted."""


class HadoopCatalog(Catalog):
    """Tables in ``<warehouse>/<namespace…>/<table>``, each found by its place alone.

    ``warehouse`` may be a plain path or ``file:…``; what new tables call their location follows it.
    """

    type = "hadoop"

    def __init__(self, name: str, warehouse: str, options: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.options = {k: mask_value(k, v) for k, v in (options or {}).items()}
        self.warehouse = absolute_warehouse(resolve_env(warehouse))
        self._storage = storage_for(self.warehouse)
        self._cache = MetadataCache()

    # --- namespaces --------------------------------------------------------------------------------------------------

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent and not self.namespace_exists(parent):
            raise self.namespace_not_found(parent)
        directories = self._directories(parent)
        return [(*parent, name) for name in directories if self._is_table(parent, name) is False]

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not all(map(is_name, namespace)):
            return False
        place = self._place(namespace)
        if not self._storage.is_dir(place):
            self._check_directories(())
            return not namespace
        return not namespace or not holds_table(self._storage, place)

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        check_names(namespace, "database")
        full_name = f"{self.name}.{'.'.join(namespace)}"
        if self._storage.exists(self._place(namespace)):
            raise self.namespace_already_exists(namespace)
        self._check_directories(namespace[:-1])
        if properties:
            keys = ", ".join(f"'{k}'" for k in properties)
            raise BergError(
                ErrorCode.INVALID,
                f"Cannot create the database {full_name} with {keys}: a Hadoop catalog keeps no properties of one.",
                hint=f"The databases of {DEFAULT_CATALOG} have properties.",
            )
        self._make_dir(self._place(namespace))

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        if not namespace or not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        full_name = f"{self.name}.{'.'.join(namespace)}"
        tables, inner = self.list_tables(namespace), self.list_namespaces(namespace)
        if (tables or inner) and not cascade:
            raise self.namespace_not_empty(namespace, tables=len(tables), databases=len(inner))
        for table in tables:
            self.drop_table(table)
        for child in inner:
            if holds_remains(self._storage, self._place(child)):
                self._storage.delete_tree(self._place(child))
            else:
                self.drop_namespace(child, cascade)
        self._finish_drops(namespace)
        if not self._storage.delete_empty_dir(self._place(namespace)):
            raise BergError(
                ErrorCode.INVALID,
                f"Database {full_name} was not dropped: {self._place(namespace)} holds files that are no table's.",
            )

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        if not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        return {"location": self._place(namespace)}

    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        if not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        keys = ", ".join(f"'{k}'" for k in (*changed, *removed))
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot change {keys} of the database {self.name}.{'.'.join(namespace)}: "
            "a Hadoop catalog keeps no properties of one.",
            hint=f"The databases of {DEFAULT_CATALOG} have properties.",
        )

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        if not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        names = self._directories(namespace)
        return [TableIdent(namespace, name) for name in names if self._is_table(namespace, name)]

    def _is_table(self, namespace: Namespace, name: str) -> bool | None:
        """Whether a directory holds a table; None for a link that leads where nothing may be read."""
        try:
            return holds_table(self._storage, self._place(namespace, name))
        except OutsideFence:
            return None

    def table_exists(self, ident: TableIdent) -> bool:
        return is_ident(ident) and holds_table(self._storage, self._location(ident))

    def load_table(self, ident: TableIdent) -> LoadedTable:
        if not is_ident(ident):
            raise self.table_not_found(ident)
        for _ in range(_READ_ATTEMPTS):
            found = newest(self._storage, self._location(ident))
            if found is None:
                raise self.table_not_found(ident)
            try:
                metadata = self._cache.load(self._storage, found.location)
            except FileMissing:
                # A writer has made newer versions and deleted this one between the two looks.
                continue
            return LoadedTable(ident, metadata, found.location, self.name)
        raise BergError(ErrorCode.IO, f"Table {self.name}.{ident} changes too fast to be read.")

    def default_table_location(self, ident: TableIdent) -> str:
        check_names((*ident.namespace, ident.name), "table")
        return self._location(ident)

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        location = self.default_table_location(ident)
        check_new_place(self._storage, f"{self.name}.{ident}", metadata, location)
        taken = self.table_already_exists(ident)

        def check() -> None:
            if self.table_exists(ident):
                raise taken

        check()
        if ident.namespace and holds_table(self._storage, self._place(ident.namespace)):
            raise self.namespace_not_found(ident.namespace)
        self._check_directories(ident.namespace)
        directories = self._levels((*ident.namespace, ident.name, "metadata"))
        missing = [d for d in directories if not self._storage.is_dir(d)]
        first = MetadataFile(1, f"{metadata_dir(location)}/{file_name(1, gzipped=False)}")
        try:
            self._make_dir(directories[-1])
            publish_version(self._storage, self._cache, metadata, first, location, check)
        except BaseException as failure:
            for directory in reversed(missing):  # or the name of the table would be listed as a database
                with suppress(BergError):
                    self._storage.delete_empty_dir(directory)
            if isinstance(failure, FileExists):
                raise taken from None
            raise
        return LoadedTable(ident, metadata, first.location, self.name)

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        return commit_version(self._storage, self._cache, base, self._location(base.ident), updates)

    def check_writable(self, table: LoadedTable) -> None:
        check = check_place if table.metadata_location else check_new_place
        check(self._storage, table.full_name, table.metadata, self._location(table.ident))

    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:  # noqa: ARG002 - the directory goes always
        if not self.table_exists(ident):
            raise self.table_not_found(ident)
        location = self._location(ident)
        parent = location.rpartition("/")[0]
        # Renamed first, so that readers and writers never meet half a table. Not by its name, which may be the longest.
        doomed = f"{parent}/{_DROPPED}{uuid4().hex}"
        try:
            self._storage.rename(location, doomed)
        except FileMissing:
            raise self.table_not_found(ident) from None
        self._storage.fsync_dir(parent)
        self._storage.delete_tree(doomed)

    def _finish_drops(self, namespace: Namespace) -> None:
        """Delete what was dropped from a namespace by processes that died over it."""
        place = self._place(namespace)
        for name, is_dir in self._storage.list(place):
            if is_dir and name.startswith(_DROPPED):
                self._storage.delete_tree(f"{place}/{name}")

    def rename_table(self, source: TableIdent, target: TableIdent) -> None:  # noqa: ARG002
        raise BergError(
            ErrorCode.INVALID,
            "Cannot rename Hadoop tables.",
            hint="Its directory is its name, and its files hold that. CREATE TABLE … AS SELECT copies a table.",
        )

    def storage(self, location: str | None = None) -> Storage:
        return (
            self._storage
            if location is None or scheme_of(location) == scheme_of(self.warehouse)
            else storage_for(location)
        )

    # --- places ------------------------------------------------------------------------------------------------------

    def _place(self, namespace: Namespace, name: str | None = None) -> str:
        return "/".join((self.warehouse, *namespace, *(() if name is None else (name,))))

    def _location(self, ident: TableIdent) -> str:
        return self._place(ident.namespace, ident.name)

    def _directories(self, namespace: Namespace) -> list[str]:
        try:
            entries = list(self._storage.list(self._place(namespace)))
        except FileMissing:
            self._check_directories(namespace)
            return []
        return sorted(name for name, is_dir in entries if is_dir and not name.startswith("."))

    def _check_directories(self, namespace: Namespace) -> None:
        """Refuse a warehouse or a database that is something else than a directory."""
        for i, place in enumerate(self._levels(namespace)):
            if self._storage.exists(place) and not self._storage.is_dir(place):
                what = f"database {self.name}.{'.'.join(namespace[:i])}" if i else f"warehouse of catalog {self.name}"
                raise BergError(ErrorCode.INVALID, f"The {what} is not a directory: {place}.")

    def _levels(self, parts: Sequence[str]) -> list[str]:
        """The warehouse and the directories of ``parts``, each in the one before."""
        return ["/".join((self.warehouse, *parts[:i])) for i in range(len(parts) + 1)]

    def _make_dir(self, place: str) -> None:
        """Make a directory, and make it and all above it last: those that others just made may not be synced."""
        self._storage.mkdir(place)
        while (above := parent_of(place)) is not None:
            try:
                self._storage.fsync_dir(above)
            except BergError:
                if len(above) >= len(self.warehouse):
                    raise
                return  # What may not even be opened was not made for this table.
            place = above
