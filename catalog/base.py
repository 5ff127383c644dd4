"""What a catalog is: names of namespaces and tables, and the one place where a table's next version is decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, CommitConflict, ErrorCode, did_you_mean

if TYPE_CHECKING:
    from bergsql.catalog.metadata.changes import TableUpdate
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

Namespace = tuple[str, ...]
"""A database; more than one part when a catalog nests them."""


@dataclass(frozen=True, slots=True)
class TableIdent:
    """A table's name inside its catalog."""

    namespace: Namespace
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table at the version that was current when it was loaded.

    ``metadata_location`` is empty for a version that is to come.
    """

    ident: TableIdent
    metadata: TableMetadata
    metadata_location: str
    catalog_name: str

    @property
    def full_name(self) -> str:
        """``catalog.database.table``."""
        return f"{self.catalog_name}.{self.ident}"

    def overtaken(self) -> CommitConflict:
        """The error for a commit on a version that is no longer the current one."""
        return CommitConflict(f"Table {self.full_name} was changed by another writer.")


class Catalog(ABC):
    """A place where tables are found and committed.

    ``name`` is the one the session gave it, ``type`` its kind (``hadoop``, …), ``options`` what it was made with,
    secrets masked. ``default_namespace`` is where USE CATALOG leads.
    """

    name: str
    type: str
    options: Mapping[str, str]
    default_namespace: Namespace = ("default",)
    keeps_files: bool = False
    """Whether the files of a dropped table stay where they are, for others to delete."""

    # --- namespaces --------------------------------------------------------------------------------------------------

    @abstractmethod
    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        """The namespaces directly in ``parent``, sorted; NOT_FOUND if there is no ``parent``."""

    @abstractmethod
    def namespace_exists(self, namespace: Namespace) -> bool: ...

    @abstractmethod
    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        """ALREADY_EXISTS if it is there."""

    @abstractmethod
    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        """NOT_FOUND if it is not there; INVALID if it holds anything, unless ``cascade``, which drops its tables."""

    @abstractmethod
    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        """Its properties, ``location`` among them where it has one."""

    @abstractmethod
    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        """Set some properties (``comment`` is one) and take others away, all or none; those that are not there may go.

        NOT_FOUND if there is no such namespace, INVALID where the catalog keeps no properties or not this one.
        """

    # --- tables ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        """The tables in a namespace, sorted; NOT_FOUND if there is no such namespace."""

    @abstractmethod
    def table_exists(self, ident: TableIdent) -> bool: ...

    @abstractmethod
    def load_table(self, ident: TableIdent) -> LoadedTable:
        """The table as it is now; NOT_FOUND, hinting at the nearest name, if there is none."""

    @abstractmethod
    def default_table_location(self, ident: TableIdent) -> str:
        """Where a new table is put when its statement does not say."""

    @abstractmethod
    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        """Publish the first version of a table, which may hold a snapshot already (CTAS).

        ALREADY_EXISTS when the name is taken, also when someone else took it in this very moment.
        """

    @abstractmethod
    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        """One attempt to make the version after ``base``; the caller retries.

        Raises CommitConflict when ``base`` is no longer current (nothing happened), CommitStateUnknown when it could
        not be found out whether it happened.
        """

    def check_writable(self, table: LoadedTable) -> None:  # noqa: B027 - most catalogs let a table be anywhere
        """Refuse a table whose files may not be written where its metadata says; asked before any file is written."""

    @abstractmethod
    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:
        """NOT_FOUND if it is not there. ``purge`` deletes its data where the catalog would keep it."""

    @abstractmethod
    def rename_table(self, source: TableIdent, target: TableIdent) -> None: ...

    # --- files -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def storage(self, location: str | None = None) -> Storage:
        """The file system of ``location``, or of the catalog's own warehouse."""

    # --- errors ------------------------------------------------------------------------------------------------------

    def table_not_found(self, ident: TableIdent) -> BergError:
        """The error for a table that is not there, with the nearest name of its namespace as hint."""
        hint = None
        if self.namespace_exists(ident.namespace):
            hint = did_you_mean(ident.name, [t.name for t in self.list_tables(ident.namespace)])
        else:
            hint = f"There is no database {self.name}.{'.'.join(ident.namespace)}."
        return BergError(ErrorCode.NOT_FOUND, f"Table {self.name}.{ident} was not found.", hint=hint)

    def namespace_not_found(self, namespace: Namespace) -> BergError:
        """The error for a namespace that is not there, with the nearest name as hint."""
        known = [".".join(n) for n in self.list_namespaces()]
        hint = did_you_mean(".".join(namespace), known)
        return BergError(ErrorCode.NOT_FOUND, f"Database {self.name}.{'.'.join(namespace)} was not found.", hint=hint)

    def table_already_exists(self, ident: TableIdent) -> BergError:
        """The error for a table whose name is taken."""
        return BergError(ErrorCode.ALREADY_EXISTS, f"Table {self.name}.{ident} already exists.")

    def namespace_already_exists(self, namespace: Namespace) -> BergError:
        """The error for a namespace that is there already."""
        return BergError(ErrorCode.ALREADY_EXISTS, f"Database {self.name}.{'.'.join(namespace)} already exists.")

    def namespace_not_empty(self, namespace: Namespace, *, tables: int, databases: int = 0) -> BergError:
        """The error for a namespace that cannot be dropped by itself, with how much is in it."""
        count, what = (tables, "table") if tables else (databases, "database")
        held = f"{count} {what}{'' if count == 1 else 's'}"
        return BergError(
            ErrorCode.INVALID,
            f"Database {self.name}.{'.'.join(namespace)} is not empty: it holds {held}.",
            hint="DROP DATABASE … CASCADE drops what is in it too.",
        )
