"""The files of one checkpoint of a job: they get their places when the checkpoint is prepared, and can be found again.

They are written in a directory of the job's own, ``staging-<job>-<sink>-open`` below the table's data directory. To
prepare a checkpoint is to write down there, as manifests, what the files are and where they belong, to give the
directory the checkpoint's number in the place of ``open``, to rename the files to their places and to make all that
durable. The directory stays until the snapshot is committed. So after a crash nothing has to be looked for: what lies
in an open directory was never prepared, and what is named in one with a number that the job does not know can go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.datafile import DataFile, FileContent, ManifestFile
from bergsql.engine.table.durable import directories_of, make_durable
from bergsql.engine.table.manifest_changes import ManifestWriter
from bergsql.engine.table.manifests import cut_manifest
from bergsql.engine.table.staging import Staging, delete_files

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.properties import WriteProperties

_OPEN = "open"
_LIST = "files.json"
"""What a prepared directory says of its files."""


class CheckpointFiles(NamedTuple):
    """What a checkpoint adds to a table."""

    data: Sequence[DataFile]
    deletes: Sequence[DataFile]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A complete file under the name that it will have, and its place."""

    staged: str
    path: str


class CheckpointStaging(Staging):
    """The files of a checkpoint in the making. ``owner`` names the job and its sink, ``run`` this try of it."""

    def __init__(self, storage: Storage, settings: WriteProperties, owner: str, run: str) -> None:
        super().__init__(storage, settings, f"{owner}-{run}")
        self._owner = owner
        self._home = f"{settings.location}/{_prefix(owner)}{_OPEN}"
        self.directory = self._home
        self._metadata: TableMetadata | None = None
        self._prepared = ""
        self._writes = 0
        self._kept: list[_Kept] = []

    def open(self) -> None:
        self._storage.mkdir(f"{self._home}/files")
        self._next()

    def _next(self) -> None:
        self._writes += 1
        self.directory = f"{self._home}/write-{self._writes}"
        self._storage.mkdir(self.directory)

    def clear(self) -> None:
        self._storage.delete_tree(self.directory)
        self._next()

    def place(self, staged: str, partition_path: str, ending: str) -> str:
        """Keep a complete file for its place in a partition, where :meth:`prepare` brings it; its location there."""
        path = self._new_place(partition_path, ending)
        kept = f"{self._home}/files/{path.rpartition('/')[2]}"
        self._storage.rename(staged, kept)
        self._kept.append(_Kept(kept, path))
        return path

    def prepare(self, checkpoint: int, files: Iterable[DataFile], metadata: TableMetadata) -> str:
        """Bring the files to their places and make them durable; the directory that tells what they are.

        ``files`` are those that were placed, as they are to be added to the table at ``metadata``.
        """
        storage = self._storage
        storage.delete_tree(self.directory)
        # No snapshot has them yet: the id is never asked for.
        writer = ManifestWriter(storage, self._home, "files", 0)
        manifests = writer.write_added(files, metadata)
        listed = [
            {"name": m.path.rpartition("/")[2], "length": m.length, "spec-id": m.spec_id, "content": m.content}
            for m in manifests
        ]
        storage.write_new(f"{self._home}/{_LIST}", json.dumps(listed).encode(), fsync=False, make_dirs=False)
        make_durable(storage, [*writer.paths, f"{self._home}/{_LIST}"], [self._home])
        prepared = f"{self._location}/{_prefix(self._owner)}{checkpoint}"
        self._metadata, self._prepared = metadata, prepared
        _throw_away(storage, prepared, metadata, self._location)  # of a try that failed behind this point
        storage.rename(self._home, prepared)
        parents: set[str] = set()
        for kept in self._kept:
            parent = kept.path.rpartition("/")[0]
            if parent not in parents:
                storage.mkdir(parent)
                parents.add(parent)
            storage.rename(f"{prepared}/files/{kept.staged.rpartition('/')[2]}", kept.path)
        paths = [kept.path for kept in self._kept]
        outside = self._location.rpartition("/")[0]
        directories = directories_of(paths, metadata.location) | directories_of(paths, outside)
        make_durable(storage, paths, sorted(directories | {self._location, prepared}))
        return prepared

    def discard(self) -> None:
        """Delete everything again, what a :meth:`prepare` that failed has done too."""
        with suppress(BergError):
            self._storage.delete_tree(self._home)
        if self._metadata is not None:
            with suppress(BergError):
                _throw_away(self._storage, self._prepared, self._metadata, self._location)
        super().discard()


def read_prepared(storage: Storage, directory: str, metadata: TableMetadata) -> CheckpointFiles:
    """The files of a prepared checkpoint. ``metadata`` is the table's, of that time or later.

    :raises BergError: CORRUPT where the directory is gone or damaged.
    """
    try:
        manifests = _manifests(storage, directory)
    except (BergError, ValueError, KeyError, TypeError) as error:
        raise BergError(
            ErrorCode.CORRUPT,
            f"What a checkpoint prepared is not there any more: {directory} ({error}).",
            hint="It is not to be deleted while its job may go on.",
        ) from error
    files = [
        entry.data_file
        for manifest in manifests
        for entry in cut_manifest(storage.read(manifest.path), manifest, metadata).entries()
    ]
    return CheckpointFiles(
        [f for f in files if f.content == FileContent.DATA], [f for f in files if f.content != FileContent.DATA]
    )


def _manifests(storage: Storage, directory: str) -> list[ManifestFile]:
    return [
        ManifestFile(f"{directory}/{m['name']}", m["length"], m["spec-id"], m["content"])
        for m in json.loads(storage.read(f"{directory}/{_LIST}"))
    ]


def remove_unprepared(
    storage: Storage, location: str, owner: str, durable: int, committed: int, metadata: TableMetadata
) -> None:
    """Delete the files of ``owner`` that no checkpoint up to ``durable`` holds. No other process may run the job.

    Of checkpoints up to ``committed``, which the table has, goes what was left for their commit. ``location`` is the
    table's data directory.
    """
    if not storage.is_dir(location):
        return
    prefix = _prefix(owner)
    for name, _ in list(storage.list(location)):
        of = name.removeprefix(prefix)
        if of == _OPEN and name != of:
            storage.delete_tree(f"{location}/{name}")
        elif name != of and of.isdigit() and int(of) > durable:
            _throw_away(storage, f"{location}/{name}", metadata, location)
        elif name != of and of.isdigit() and int(of) <= committed:
            storage.delete_tree(f"{location}/{name}")


def _throw_away(storage: Storage, directory: str, metadata: TableMetadata, above: str) -> None:
    """Delete a prepared checkpoint, with its files where they are."""
    if not storage.is_dir(directory):
        return
    try:
        files = read_prepared(storage, directory, metadata)
    except BergError:
        pass  # a power failure took what was never made durable: no file got its place then
    else:
        delete_files(storage, [f.path for f in (*files.data, *files.deletes)], above)
    storage.delete_tree(directory)


def _prefix(owner: str) -> str:
    return f"staging-{owner}-"
