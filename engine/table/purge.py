"""Deleting the files of a table that its catalog has forgotten (DROP TABLE … PURGE)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import parent_of
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest
from bergsql.engine.table.staging import delete_files

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.storage.base import Storage

GC_ENABLED = "gc.enabled"


def may_purge(table: LoadedTable) -> bool:
    """Whether the table's files are its own; ``gc.enabled`` = false says that others may use them."""
    return table.metadata.properties.get(GC_ENABLED, "true").casefold() == "true"


def table_files(table: LoadedTable, storage: Storage) -> list[str]:
    """All files that some snapshot or version of the table names, those that lead to others last.

    What is missing or damaged already leads to no others.
    """
    data: dict[str, None] = {}
    leading: dict[str, None] = {}
    metadata = table.metadata
    for snapshot in metadata.snapshots:
        with suppress(BergError):
            for manifest in read_manifest_list(storage, snapshot, metadata):
                if manifest.path in leading:
                    continue
                leading[manifest.path] = None
                with suppress(BergError):
                    data |= {entry.data_file.path: None for entry in read_manifest(storage, manifest, metadata)}
        if snapshot.manifest_list:
            leading[snapshot.manifest_list] = None
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        path = statistics.get("statistics-path")
        if isinstance(path, str):
            leading[path] = None
    leading |= {entry.metadata_file: None for entry in metadata.metadata_log}
    leading[table.metadata_location] = None
    return [*data, *leading]


def purge(table: LoadedTable, files: list[str], storage: Storage) -> None:
    """Delete files of a table that no catalog names any more, and its directories as far as they are empty then."""
    location = table.metadata.location
    own = [path for path in files if path.startswith(f"{location}/")]
    elsewhere = [path for path in files if not path.startswith(f"{location}/")]
    delete_files(storage, own, location)
    data = table.metadata.properties.get("write.data.path") or location
    delete_files(storage, elsewhere, parent_of(data.rstrip("/")) or location)
    for directory in (f"{location}/data", f"{location}/metadata", location):
        with suppress(BergError):
            storage.delete_empty_dir(directory)


def refuse_purge(table: LoadedTable) -> BergError:
    """The error for a table whose files may belong to others."""
    return BergError(
        ErrorCode.INVALID,
        f"Cannot purge table {table.full_name}: '{GC_ENABLED}' is false, so its files may be used by other tables.",
        hint="DROP TABLE without PURGE keeps the files.",
    )
