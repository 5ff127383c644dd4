"""Giving a new version of a Hadoop catalog's table its name, exactly once, and what follows from having done so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown
from bergsql.catalog.hadoop_versions import (
    HINT_FILE,
    MetadataFile,
    metadata_dir,
    newest,
    numbered_version,
    read_hint,
    version_file,
)
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata_cache import MetadataCache
from bergsql.catalog.storage.base import FileMissing, NameTooLong, Storage

DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
_LOOKS = 20
"""How often a head that others delete under the reader's eyes is looked for."""


def publish_version(
    storage: Storage,
    cache: MetadataCache,
    metadata: TableMetadata,
    made: MetadataFile,
    location: str,
    check: Callable[[], None],
    before: TableMetadata | None = None,
) -> None:
    """Write the metadata as the version ``made``, durably, then move the hint and tidy up after ``before``.

    ``check`` refuses when the table is no longer as the version needs it. It is asked when the version is written and
    has no name yet: the name can only be given in the directory that it looked at, not in one that took its place.

    Raises FileExists when that version is there already, CommitConflict when the table's directory is gone or later
    versions overtook this one; then nothing happened. CommitStateUnknown when that cannot be told.
    """
    staged = f"{metadata_dir(location)}/{uuid4()}.metadata.json.tmp"
    data = metadata.serialize()
    if made.location.endswith(".gz.metadata.json"):
        from gzip import compress

        data = compress(data, mtime=0)
    try:
        try:
            storage.write_new(staged, data, make_dirs=False)
        except NameTooLong:
            raise
        except FileMissing:
            raise _dropped(location) from None
        mine = storage.identity(staged)
        check()
        _publish(storage, staged, mine, made, location)
    except BaseException:
        with suppress(BergError):
            storage.delete(staged)
        raise
    publication = _Publication(storage, cache, metadata, made, mine, location, before)
    try:
        publication.settle()
    except KeyboardInterrupt:
        # It came too late: the version is there, and to report a failure would make the caller delete its files.
        publication.settle()


def _publish(storage: Storage, staged: str, mine: object, made: MetadataFile, location: str) -> None:
    """Name the staged file; ``mine`` is its identity. Returns if it has its name, also when Ctrl-C came behind that."""
    try:
        storage.publish(staged, made.location)
    except BaseException as failure:
        missing = isinstance(failure, FileMissing)
        try:
            happened = storage.identity(made.location) == mine
            # The staged name goes away only after the version has got its own, or with the whole directory.
            happened = happened or (not missing and storage.identity(staged) is None)
        except BergError:
            raise CommitStateUnknown(f"It is not known whether {made.location} was written: {failure}") from failure
        if not happened:
            if missing:
                raise _dropped(location) from None
            raise
        try:
            if isinstance(failure, Exception):
                raise failure
            storage.fsync_dir(metadata_dir(location))
            storage.delete(staged)
        except FileMissing:
            return  # The table was dropped after it had this version.
        except Exception as e:
            raise CommitStateUnknown(f"{made.location} was written, but maybe not safely: {e}") from e


def _dropped(location: str) -> CommitConflict:
    return CommitConflict(f"The table at {location} was dropped meanwhile.")


class _Publication:
    """A version that has its name. From here on a failure no longer means that nothing happened."""

    def __init__(
        self,
        storage: Storage,
        cache: MetadataCache,
        metadata: TableMetadata,
        made: MetadataFile,
        mine: object,
        location: str,
        before: TableMetadata | None,
    ) -> None:
        self._storage = storage
        self._cache = cache
        self._metadata = metadata
        self._made = made
        self._mine = mine
        self._location = location
        self._before = before

    def settle(self) -> None:
        """Check that it was not late, then the cache, the hint, and the files that are no longer logged.

        Raises CommitConflict when it was late, CommitStateUnknown when that cannot be told.
        """
        hint = read_hint(self._storage, self._location)
        if isinstance(hint, int) and hint > self._made.version:
            try:
                self._check_not_overtaken()
            except (CommitConflict, CommitStateUnknown):
                raise
            except BergError as e:
                raise self._untold() from e
        with suppress(BergError):  # the commit is done, and that is what counts
            self._tidy(hint)

    def _tidy(self, hint: int | str | None) -> None:
        storage, made = self._storage, self._made
        if not self._is_there():
            # The table was dropped, or others are so far ahead that they deleted this version. The place is not ours.
            return
        self._cache.remember(made.location, self._mine, self._metadata)
        if not isinstance(hint, int) or hint < made.version or version_file(storage, self._location, hint) is None:
            directory = metadata_dir(self._location)
            # Hadoop's local file system leaves a checksum beside the file, and would refuse to read what we write.
            storage.delete(f"{directory}/.{HINT_FILE}.crc")
            storage.replace(f"{directory}/{HINT_FILE}", str(made.version).encode())
        # Behind the hint, and not without it: by the hint a writer sees that the name which it got was free once more.
        if self._before is not None:
            _delete_dropped(storage, self._location, self._before, self._metadata)

    def _is_there(self) -> bool:
        return self._storage.identity(self._made.location) == self._mine

    def _untold(self) -> CommitStateUnknown:
        return CommitStateUnknown(f"Other writers overtook {self._made.location}, and its outcome cannot be told.")

    def _check_not_overtaken(self) -> None:
        """Refuse a version that was published behind later ones.

        That can only be when this process stood still between its look at the head and its publication while others
        made at least two versions and deleted the first of them again (``delete-after-commit``): the name was free
        once more.
        """
        found = self._head()
        if found is None:
            return
        version, latest = found
        if version <= self._made.version:
            return
        same_table = latest.table_uuid == self._metadata.table_uuid
        if same_table and self._is_part_of(latest):
            return
        if self._is_there():
            self._storage.delete(self._made.location)
            raise CommitConflict(f"Version {self._made.version} was late: the table is at version {version} already.")
        if same_table:
            raise self._untold()
        # The table was dropped after it had this version, and another one is in its place.

    def _head(self) -> tuple[int, TableMetadata] | None:
        """The table's newest version; None when the table is gone."""
        for _ in range(_LOOKS):
            head = newest(self._storage, self._location, listed=True)
            if head is None:
                return None
            try:
                return head.version, self._cache.load(self._storage, head.location)
            except FileMissing:
                # Others have made newer versions and deleted this one between the two looks.
                continue
        raise self._untold()

    def _is_part_of(self, latest: TableMetadata) -> bool:
        """Whether the version is known to be in the history of a later one of the same table.

        Raises CommitStateUnknown when the history has a version of this name and time that may be another writer's.
        """
        known = set[int]() if self._before is None else self._before.snapshot_ids()
        if (self._metadata.snapshot_ids() - known) & latest.snapshot_ids():
            return True
        # It may have fallen out of the log by now; the one that was built on it would still have it there.
        following = self._following()
        witness = latest if following is None else following
        if not (self._is_logged(witness) or self._is_logged(latest)):
            return False
        from bergsql.catalog.metadata.kept import keeps_changes

        # A log names a version by number and millisecond, which two writers can have in common.
        if self._before is None or keeps_changes(self._before, self._metadata, witness):
            return True
        raise self._untold()

    def _following(self) -> TableMetadata | None:
        following = version_file(self._storage, self._location, self._made.version + 1)
        try:
            return None if following is None else self._cache.load(self._storage, following.location)
        except FileMissing:
            return None

    def _is_logged(self, later: TableMetadata) -> bool:
        name = self._made.location.rpartition("/")[2]
        logged = (e.timestamp_ms for e in later.metadata_log if e.metadata_file.rpartition("/")[2] == name)
        return self._metadata.last_updated_ms in logged


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
        with suppress(BergError):  # it stays as an orphan
            storage.delete(own.location)
            storage.delete(f"{metadata_dir(location)}/.{name}.crc")
