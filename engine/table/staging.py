"""Where the data files of a statement are written, and how they get their names: all of them, or none that stays.

Files are first written to a directory of the statement's own below the table's data directory, on the same file system,
and then renamed to their places. A process that is killed leaves at most that directory and files that no snapshot
names, which is what removing orphan files looks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from bergsql.catalog.errors import BergError
from bergsql.engine.table.data_locations import data_file_location

if TYPE_CHECKING:
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.properties import WriteProperties

DELETES = "-deletes"
"""What the names of delete files end with, before the point and the format."""


class Staging:
    """The files of one statement, in a table's data directory."""

    def __init__(self, storage: Storage, settings: WriteProperties, write_id: str | None = None) -> None:
        self._storage = storage
        self._settings = settings
        self._location = location = settings.location
        self._write_id = write_id or str(uuid4())
        self.directory = f"{location}/staging-{self._write_id}"
        """For files in the making."""
        self._made = _missing_parents(storage, location)
        self._parents: set[str] = set()
        self._placed: list[str] = []
        self._count = 0

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays where the block failed."""
        if kind is not None:
            self.discard()
            return
        try:
            self.finish()
        except BaseException:
            self.discard()
            raise

    def open(self) -> None:
        """Make the directory for files in the making."""
        self._storage.mkdir(self.directory)

    def subdirectory(self, name: str) -> str:
        """A new directory for files in the making."""
        path = f"{self.directory}/{name}"
        self._storage.mkdir(path)
        return path

    def clear(self) -> None:
        """Throw away all files in the making."""
        self._storage.delete_tree(self.directory)
        self._storage.mkdir(self.directory)

    def place(self, staged: str, partition_path: str, ending: str) -> str:
        """Rename a complete file, whose local path is ``staged``, to its place in a partition; its location.

        Its name ends with ``ending``: a point and its format, say.
        """
        path = self._new_place(partition_path, ending)
        parent = path.rpartition("/")[0]
        if parent not in self._parents:
            self._storage.mkdir(parent)
            self._parents.add(parent)
        self._placed.append(path)  # before it is true: an interruption between the two must not leave the file
        self._storage.rename(staged, path)
        return path

    def _new_place(self, partition_path: str, ending: str) -> str:
        """A location that no other file has."""
        self._count += 1
        name = f"00000-0-{self._write_id}-{self._count:05d}{ending}"
        return data_file_location(self._settings, partition_path, name)

    def finish(self) -> None:
        """Remove what was in the making. The placed files are not durable yet: a commit makes them so."""
        self._storage.delete_tree(self.directory)

    def discard(self) -> None:
        """Delete everything again, directories that were made for it too. For a statement that failed."""
        storage = self._storage
        with suppress(BergError):
            storage.delete_tree(self.directory)
        delete_files(storage, self._placed, self._location)
        for directory in sorted(self._made, key=len, reverse=True):
            with suppress(BergError):
                storage.delete_empty_dir(directory)


def delete_files(storage: Storage, paths: Iterable[str], above: str) -> None:
    """Delete files as far as that works, and the directories below ``above`` that are empty then."""
    emptied: set[str] = set()
    for path in paths:
        with suppress(BergError):  # what is left is only an orphan
            storage.delete(path)
        emptied.add(path.rpartition("/")[0])
    for directory in sorted(emptied, key=len, reverse=True):
        while directory.startswith(f"{above}/"):
            try:
                if not storage.delete_empty_dir(directory):
                    break
            except BergError:
                break
            directory = directory.rpartition("/")[0]


def _missing_parents(storage: Storage, location: str) -> list[str]:
    """``location`` and the directories above it, as far as they do not exist yet."""
    missing = []
    while location.strip("/") and not storage.exists(location):
        missing.append(location)
        location = location.rpartition("/")[0]
    return missing
