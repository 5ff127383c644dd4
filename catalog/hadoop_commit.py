"""One attempt to change a Hadoop catalog's table: what may be changed, and that nobody else changed it before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop_publish import publish_version
from bergsql.catalog.hadoop_versions import MetadataFile, file_name, metadata_dir, newest, numbered_version
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata_cache import MetadataCache
from bergsql.catalog.storage.base import FileExists, FileMissing, Storage
from bergsql.catalog.warehouse import NO_BACKSLASH

if TYPE_CHECKING:
    from bergsql.catalog.metadata.changes import TableUpdate

COMPRESSION_CODEC = "write.metadata.compression-codec"
METADATA_PATH = "write.metadata.path"


def commit_version(
    storage: Storage, cache: MetadataCache, base: LoadedTable, location: str, updates: Sequence[TableUpdate]
) -> LoadedTable:
    """Make the version after ``base`` of the table in the directory ``location``.

    Raises CommitConflict when another version is current by now, CommitStateUnknown when it cannot be found out
    whether the version was made. Updates that change nothing make no version.
    """
    from bergsql.catalog.metadata.updates import apply_updates, log_previous

    changed = apply_updates(base.metadata, updates, now_ms())
    if changed is base.metadata:
        return base
    version = numbered_version(base.metadata_location)
    if version is None:
        raise BergError(
            ErrorCode.INVALID,
            f"Table {base.full_name} cannot be changed here: its metadata files are another catalog's "
            f"({base.metadata_location}).",
            hint="Only that catalog knows the current version. Change the table through it.",
        )
    check_place(storage, base.full_name, base.metadata, location)
    _check_path_based(base, changed)
    metadata = log_previous(changed, base.metadata, base.metadata_location)
    # Named by the base's codec: all who build on one base must compete for one name.
    gzipped = is_gzip(base.metadata)
    made = MetadataFile(version + 1, f"{metadata_dir(location)}/{file_name(version + 1, gzipped)}")

    def check() -> None:
        _check_current(storage, cache, base, location)

    try:
        publish_version(storage, cache, metadata, made, location, check, base.metadata)
    except FileExists:
        raise base.overtaken() from None
    return LoadedTable(base.ident, metadata, made.location, base.catalog_name)


def _check_current(storage: Storage, cache: MetadataCache, base: LoadedTable, location: str) -> None:
    """Refuse when ``base`` is not the table's newest version, or not the same table any more."""
    head = newest(storage, location)
    try:
        current = head is not None and numbered_version(head.location) == numbered_version(base.metadata_location)
        same = current and cache.load(storage, base.metadata_location).table_uuid == base.metadata.table_uuid
    except FileMissing:
        same = False
    if not same:
        raise base.overtaken()


def _check_path_based(base: LoadedTable, changed: TableMetadata) -> None:
    if changed.location != base.metadata.location:
        raise BergError(ErrorCode.INVALID, f"Table {base.full_name} cannot be moved: a Hadoop table is where it is.")
    refuse_metadata_path(changed)


def check_place(storage: Storage, full_name: str, metadata: TableMetadata, location: str) -> None:
    """Refuse to write to a table that says to be elsewhere than at ``location``, where it was found."""
    if not _is_same(storage, metadata.location, location):
        raise BergError(
            ErrorCode.INVALID,
            f"Table {full_name} can only be read: it lies at {location}, but its metadata says {metadata.location}, "
            "and its new files would go there.",
            hint="If it was moved, move it back. If it is a copy, CREATE TABLE … AS SELECT … makes one to write to.",
        )
    if "\\" in location:
        raise BergError(
            ErrorCode.INVALID, f"Table {full_name} can only be read: it lies at {location}, and {NO_BACKSLASH}"
        )
    refuse_metadata_path(metadata)


def check_new_place(storage: Storage, full_name: str, metadata: TableMetadata, location: str) -> None:
    """Refuse a table to come that would not be at ``location``, where it will be looked for."""
    if not _is_same(storage, metadata.location, location):
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot put the table {full_name} at {metadata.location}: in a Hadoop catalog it must be at {location}.",
        )
    refuse_metadata_path(metadata)


def refuse_metadata_path(metadata: TableMetadata) -> None:
    """A Hadoop table's metadata is found by its place, so it cannot be put elsewhere."""
    elsewhere = metadata.properties.get(METADATA_PATH)
    if elsewhere is not None and elsewhere != metadata_dir(metadata.location):
        raise BergError(
            ErrorCode.INVALID,
            f"A Hadoop table keeps its metadata in its own directory: '{METADATA_PATH}' cannot be set.",
        )


def is_gzip(metadata: TableMetadata) -> bool:
    """Whether the table wants its metadata files gzipped."""
    codec = metadata.properties.get(COMPRESSION_CODEC, "none").casefold()
    if codec not in ("none", "gzip"):
        raise BergError(
            ErrorCode.OPTION, f"The table property '{COMPRESSION_CODEC}' is '{codec}': it takes 'none' or 'gzip'."
        )
    return codec == "gzip"


def _is_same(storage: Storage, one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return storage.same(one, other)
    except BergError:
        return False  # another file system, or nothing that can be looked at
