"""Publishing a version of a Hadoop catalog's table: exactly one writer gets to make it, and a crash loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.hadoop_versions import (
    HINT_FILE,
    MetadataFile,
    file_name,
    metadata_dir,
    newest,
    numbered_version,
    read_hint,
    version_file,
)
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata_cache import MetadataCache
from bergsql.catalog.storage.base import FileExists, FileMissing, Storage

if TYPE_CHECKING:
    from bergsql.catalog.metadata.updates import TableUpdate

COMPRESSION_CODEC = "write.metadata.compression-codec"
DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
METADATA_PATH = "write.metadata.path"


def commit_version(
    storage: Storage, cache: MetadataCache, base: LoadedTable, location: str, updates: Sequence[TableUpdate]
) -> LoadedTable:
    """Make the version after ``base`` of the table in the directory ``location``.

    Raises CommitConflict when another version is current by now, CommitStateUnknown when it cannot be found out
    whether the version was made. Updates that change nothing make no version.
    """
    from time import time_ns

    from bergsql.catalog.metadata.updates import apply_updates, log_previous

    changed = apply_updates(base.metadata, updates, time_ns() // 1_000_000)
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
    _check_path_based(base, changed)
    _check_current(storage, cache, base, location)
    metadata = log_previous(changed, base.metadata, base.metadata_location)
    # Named by the base's codec: all who build on one base must compete for one name.
    gzipped = _is_gzip(base.metadata)
    made = MetadataFile(version + 1, f"{metadata_dir(location)}/{file_name(version + 1, gzipped)}")
    try:
        publish_version(storage, cache, metadata, made, location, base.metadata)
    except FileExists:
        raise _conflict(base) from None
    return LoadedTable(base.ident, metadata, made.location, base.catalog_name)


def publish_version(
    storage: Storage,
    cache: MetadataCache,
    metadata: TableMetadata,
    made: MetadataFile,
    location: str,
    before: TableMetadata | None = None,
) -> None:
    """Write the metadata as the version ``made``, durably, then move the hint and tidy up after ``before``.

    Raises FileExists when that version is there already, CommitConflict when the table's directory is gone or later
    versions overtook this one.
    """
    staged = f"{metadata_dir(location)}/{uuid4()}.metadata.json.tmp"
    data = metadata.serialize()
    if made.location.endswith(".gz.metadata.json"):
        from gzip import compress

        data = compress(data, mtime=0)
    try:
        storage.write_new(staged, data, make_dirs=False)
    except FileMissing:
        raise CommitConflict(f"The table at {location} was dropped meanwhile.") from None
    mine = storage.identity(staged)
    try:
        storage.publish(staged, made.location)
        _settle(storage, cache, metadata, made, location, before)
    except (FileExists, CommitConflict):
        storage.delete(staged)
        raise
    except BaseException as e:
        _settle_failure(storage, e, mine, staged, made)
        _settle(storage, cache, metadata, made, location, before)


def _settle_failure(storage: Storage, failure: BaseException, mine: object, staged: str, made: MetadataFile) -> None:
    """Find out whether a publication that was cut short happened. Returns if it did; raises otherwise."""
    if isinstance(failure, FileMissing):
        raise CommitConflict("The table was dropped meanwhile.") from None
    try:
        # The staged name goes away only after the version has got its own.
        happened = storage.identity(made.location) == mine or storage.identity(staged) is None
    except BergError:
        raise CommitStateUnknown(f"It is not known whether {made.location} was written: {failure}") from failure
    if happened and not isinstance(failure, Exception):
        # Ctrl-C came too late: the version is there, and to report a failure would make the caller delete its files.
        return
    if happened:
        raise CommitStateUnknown(f"{made.location} was written, but maybe not safely: {failure}") from failure
    storage.delete(staged)
    raise failure


def _settle(
    storage: Storage,
    cache: MetadataCache,
    metadata: TableMetadata,
    made: MetadataFile,
    location: str,
    before: TableMetadata | None,
) -> None:
    """What follows a publication: the check that it was not late, the cache, the hint, the files no longer logged."""
    hint = read_hint(storage, location)
    if isinstance(hint, int) and hint > made.version:
        _check_not_overtaken(storage, cache, metadata, made, location)
    cache.remember(made.location, storage.identity(made.location), metadata)
    if not isinstance(hint, int) or hint < made.version or version_file(storage, location, hint) is None:
        _write_hint(storage, metadata_dir(location), made.version)
    if before is not None:
        _delete_dropped(storage, location, before, metadata)


def _write_hint(storage: Storage, directory: str, version: int) -> None:
    """Move the hint. If that fails readers find the version without it, and the next writer writes it."""
    try:
        # Hadoop's local file system leaves a checksum beside the file, and would refuse to read what we write.
        storage.delete(f"{directory}/.{HINT_FILE}.crc")
        storage.replace(f"{directory}/{HINT_FILE}", str(version).encode())
    except BergError:
        return


def _check_not_overtaken(
    storage: Storage, cache: MetadataCache, metadata: TableMetadata, made: MetadataFile, location: str
) -> None:
    """Refuse a version that was published behind later ones.

    That can only be when this process stood still between its look at the head and its publication while others made
    at least two versions and deleted the first of them again (``delete-after-commit``): the name was free once more.
    """
    head = newest(storage, location, listed=True)
    if head is None or head.version <= made.version:
        return
    latest = cache.load(storage, head.location)
    name = made.location.rpartition("/")[2]
    logged = [e for e in latest.metadata_log if e.metadata_file.rpartition("/")[2] == name]
    if logged and logged[0].timestamp_ms == metadata.last_updated_ms and latest.table_uuid == metadata.table_uuid:
        return
    if any(latest.snapshot(s.snapshot_id) for s in metadata.snapshots[-1:]) and not logged:
        raise CommitStateUnknown(f"Other writers overtook {made.location}, and its outcome cannot be told.")
    storage.delete(made.location)
    raise CommitConflict(f"Version {made.version} was late: the table is at version {head.version} already.")


def _check_current(storage: Storage, cache: MetadataCache, base: LoadedTable, location: str) -> None:
    """Refuse early when ``base`` is not the table's newest version, or not the same table any more."""
    head = newest(storage, location)
    try:
        current = head is not None and numbered_version(head.location) == numbered_version(base.metadata_location)
        same = current and cache.load(storage, base.metadata_location).table_uuid == base.metadata.table_uuid
    except FileMissing:
        same = False
    if not same:
        raise _conflict(base)


def _conflict(base: LoadedTable) -> CommitConflict:
    return CommitConflict(f"Table {base.full_name} was changed by another writer.")


def _check_path_based(base: LoadedTable, changed: TableMetadata) -> None:
    if changed.location != base.metadata.location:
        raise BergError(ErrorCode.INVALID, f"Table {base.full_name} cannot be moved: a Hadoop table is where it is.")
    refuse_metadata_path(changed)


def refuse_metadata_path(metadata: TableMetadata) -> None:
    """A Hadoop table's metadata is found by its place, so it cannot be put elsewhere."""
    elsewhere = metadata.properties.get(METADATA_PATH)
    if elsewhere is not None and elsewhere != metadata_dir(metadata.location):
        raise BergError(
            ErrorCode.INVALID,
            f"A Hadoop table keeps its metadata in its own directory: '{METADATA_PATH}' cannot be set.",
        )


def _is_gzip(metadata: TableMetadata) -> bool:
    codec = metadata.properties.get(COMPRESSION_CODEC, "none").casefold()
    if codec not in ("none", "gzip"):
        raise BergError(
            ErrorCode.OPTION, f"The table property '{COMPRESSION_CODEC}' is '{codec}': it takes 'none' or 'gzip'."
        )
    return codec == "gzip"


def _delete_dropped(storage: Storage, location: str, before: TableMetadata, after: TableMetadata) -> None:
    """Delete the metadata files that fell out of the log, if the table asks for it."""
    if after.properties.get(DELETE_AFTER_COMMIT, "false").casefold() != "true":
        return
    kept = {e.metadata_file for e in after.metadata_log}
    for entry in before.metadata_log:
        name = entry.metadata_file.rpartition("/")[2]
        # By name in this directory: the log of a table that was copied names the original's files.
        own = version_file(storage, location, numbered_version(name) or 0)
        if entry.metadata_file in kept or own is None or not own.location.endswith(f"/{name}"):
            continue
        try:
            storage.delete(own.location)
            storage.delete(f"{metadata_dir(location)}/.{name}.crc")
        except BergError:
            # It stays as an orphan. The commit is done, and that is what counts.
            continue


def same_place(storage: Storage, one: str, other: str) -> bool:
    """Whether two locations lead to the same file or directory."""
    if one == other:
        return True
    try:
        return storage.identity(one) is not None and storage.identity(one) == storage.identity(other)
    except BergError:
        return False
