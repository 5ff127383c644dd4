"""Catalogs that keep, for each table, where its current metadata file is: a pointer, swapped by compare-and-swap.

Versions are files ``<table>/metadata/NNNNN-<uuid>.metadata.json``, as Java's and PyIceberg's catalogs name them. A file
is written under a name that nobody else has, and counts from the moment that the pointer names it; until then, and when
another writer was first, it is nobody's.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, CommitStateUnknown, ErrorCode
from bergsql.catalog.hadoop_commit import METADATA_PATH, is_gzip
from bergsql.catalog.hadoop_publish import DELETE_AFTER_COMMIT
from bergsql.catalog.metadata_cache import MetadataCache
from bergsql.catalog.storage.base import FileMissing, Storage, parent_of, scheme_of, storage_for

if TYPE_CHECKING:
    from bergsql.catalog.metadata.changes import TableUpdate
    from bergsql.catalog.metadata.table_metadata import TableMetadata

_VERSION = re.compile(r"(\d{1,9})-")
_READ_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a catalog knows of a table: its metadata file, and the one before where that is kept."""

    location: str
    previous: str | None = None


class PointerCatalog(Catalog):
    """The half of such a catalog that is the same for all: metadata files, commits and their outcomes.

    ``warehouse`` is where new tables go whose database has no ``location`` of its own.
    """

    keeps_files = True
    may_be_late = False
    """Whether a change may still happen when it is not seen behind its CommitStateUnknown."""
    warehouse: str

    def __init__(self) -> None:
        self._cache = MetadataCache()

    # --- what the kinds differ in ------------------------------------------------------------------------------------

    @abstractmethod
    def pointer(self, ident: TableIdent) -> Pointer | None:
        """Where the table is now; None if there is no such table. Never what another writer has not finished."""

    @abstractmethod
    def insert_pointer(self, ident: TableIdent, location: str) -> None:
        """Make the table known, durably; ALREADY_EXISTS if the name is taken.

        A BergError says that it did not happen, CommitStateUnknown that this is not known; an interruption, nothing.
        """

    @abstractmethod
    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        """Move the pointer from ``expected`` to ``location``, durably; False when it was elsewhere.

        Errors as above.
        """

    @abstractmethod
    def remove_pointer(self, ident: TableIdent) -> bool:
        """Forget the table; whether there was one."""

    # --- tables ------------------------------------------------------------------------------------------------------

    def table_exists(self, ident: TableIdent) -> bool:
        return self.pointer(ident) is not None

    def load_table(self, ident: TableIdent) -> LoadedTable:
        location = ""
        for _ in range(_READ_ATTEMPTS):
            found = self.pointer(ident)
            if found is None:
                raise self.table_not_found(ident)
            try:
                metadata = self._cache.load(self.storage(found.location), found.location)
            except FileMissing:
                if found.location == location:
                    break
                # A writer may have made newer versions and deleted this one between the two looks.
                location = found.location
                continue
            return LoadedTable(ident, metadata, found.location, self.name)
        raise BergError(
            ErrorCode.CORRUPT,
            f"The metadata file of table {self.name}.{ident} is missing: {location}.",
            hint="Restore it, or remove the table from the catalog with DROP TABLE.",
        )

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        if self.table_exists(ident):
            raise self.table_already_exists(ident)
        location = self._new_location(metadata, 0)

        def insert() -> None:
            self.insert_pointer(ident, location)

        self._make(ident, location, metadata, None, insert)
        return LoadedTable(ident, metadata, location, self.name)

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        from bergsql.catalog.metadata.updates import apply_updates, log_previous

        changed = apply_updates(base.metadata, updates, now_ms())
        if changed is base.metadata:
            return base
        metadata = log_previous(changed, base.metadata, base.metadata_location)
        location = self._new_location(metadata, _version(base.metadata_location) + 1)

        def swap() -> None:
            if not self.swap_pointer(base.ident, base.metadata_location, location):
                raise base.overtaken()

        self._make(base.ident, location, metadata, base.metadata_location, swap)
        self._delete_dropped(base.metadata, metadata)
        return LoadedTable(base.ident, metadata, location, self.name)

    def drop_table(self, ident: TableIdent, purge: bool = False) -> None:  # noqa: ARG002 - see ``keeps_files``
        if not self.remove_pointer(ident):
            raise self.table_not_found(ident)

    def storage(self, location: str | None = None) -> Storage:
        return storage_for(self.warehouse if location is None else location)

    # --- one version -------------------------------------------------------------------------------------------------

    def _new_location(self, metadata: TableMetadata, version: int) -> str:
        """A name of its own for a metadata file."""
        directory = metadata.properties.get(METADATA_PATH, f"{metadata.location}/metadata").rstrip("/")
        if scheme_of(directory) != scheme_of(metadata.location):
            raise BergError(
                ErrorCode.OPTION, f"The table property '{METADATA_PATH}' leads to another storage: {directory}."
            )
        return f"{directory}/{version:05d}-{uuid4()}{'.gz' if is_gzip(metadata) else ''}.metadata.json"

    def _write(self, location: str, metadata: TableMetadata) -> None:
        """Write a metadata file, durably."""
        data = metadata.serialize()
        if is_gzip(metadata):
            from gzip import compress

            data = compress(data, mtime=0)
        storage = self.storage(location)
        directory = location.rpartition("/")[0]
        above: str | None = directory
        missing = []
        while above is not None and not storage.is_dir(above):
            missing.append(above)
            above = parent_of(above)
        storage.mkdir(directory)
        storage.write_new(location, data)
        for place in (directory, *map(parent_of, missing)):
            if place is not None:
                storage.fsync_dir(place)

    def _make(
        self, ident: TableIdent, location: str, metadata: TableMetadata, base: str | None, move: Callable[[], None]
    ) -> None:
        """Write a new version, built on the one at ``base``, and let the pointer lead to it.

        Returns if it does, also when an interruption came behind that. The new file is deleted when it certainly does
        not; CommitStateUnknown when that cannot be told.
        """
        storage = self.storage(location)
        try:
            self._write(location, metadata)
            self._cache.remember(location, storage.identity(location), metadata)
            move()
        except BaseException as failure:
            told = isinstance(failure, BergError) and not isinstance(failure, CommitStateUnknown)
            if told or not self._happened(ident, location, metadata, base, failure):
                with suppress(BergError):
                    storage.delete(location)
                raise

    def _happened(
        self, ident: TableIdent, location: str, metadata: TableMetadata, base: str | None, failure: BaseException
    ) -> bool:
        """Whether a version became current, though an error came: it is, or later ones were built on it."""
        late = failure if self.may_be_late and isinstance(failure, CommitStateUnknown) else None
        try:
            current = self.pointer(ident)
            if current is not None:
                if location in (current.location, current.previous):
                    return True
                if current.location == base and late is None:
                    return False
                latest = self._cache.load(self.storage(current.location), current.location)
                if latest.table_uuid == metadata.table_uuid:
                    logged = {entry.metadata_file for entry in latest.metadata_log}
                    if base is None or location in logged:
                        return True
                    if base in logged and late is None:
                        return False
                elif base is None:
                    return False
            elif base is None and late is None:
                return False
            # It was dropped or renamed meanwhile, or its log does not reach back so far.
            why = "it has been changed by others since"
        except BergError as error:
            why = error.message
        if late is not None:
            raise late
        raise CommitStateUnknown(
            f"It is not known whether table {self.name}.{ident} was changed: {why}",
            hint=f"Its new version would be {location}.",
        ) from failure

    def _delete_dropped(self, before: TableMetadata, after: TableMetadata) -> None:
        """Delete the metadata files that fell out of the log, if the table asks for it."""
        if after.properties.get(DELETE_AFTER_COMMIT, "false").casefold() != "true":
            return
        kept = {e.metadata_file for e in after.metadata_log}
        for entry in before.metadata_log:
            if entry.metadata_file not in kept:
                with suppress(BergError):  # it stays as an orphan
                    self.storage(entry.metadata_file).delete(entry.metadata_file)


def _version(location: str) -> int:
    """The number in the name of a metadata file; -1 for a file that has none."""
    m = _VERSION.match(location.rpartition("/")[2])
    return int(m[1]) if m else -1
