"""Which snapshot a file came with: an error about a file names both.

Nothing is kept for it: the manifests are asked again when an error is told, which happens once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import FileMissing, scheme_of, strip_scheme
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestEntry

_ABOUT_FILES = frozenset(
    {ErrorCode.CORRUPT, ErrorCode.IO, ErrorCode.NOT_FOUND, ErrorCode.UNSUPPORTED, ErrorCode.INVALID}
)
_NAMED = re.compile(r"\bsnapshot -?\d")


@contextmanager
def origins_named(metadata: TableMetadata, snapshot: Snapshot | None, storage: Storage) -> Iterator[None]:
    """Errors of the block that are about a file of the snapshot say which snapshot added it."""
    try:
        yield
    except BergError as error:
        name_origin(error, metadata, snapshot, storage)
        raise


def name_origin(error: BergError, metadata: TableMetadata, snapshot: Snapshot | None, storage: Storage) -> None:
    """Let ``error``, if it is about a file of ``snapshot``, say which snapshot added the file."""
    if snapshot is None or not _unnamed(error):
        return
    try:
        for manifest in read_manifest_list(storage, snapshot, metadata):
            name_origin_among(error, (e for e in read_manifest(storage, manifest, metadata) if e.live))
            if not _unnamed(error):
                return
    except BergError:
        return  # these cannot be read either: the first error is the one to tell


def name_origin_among(error: BergError, entries: Iterable[ManifestEntry]) -> None:
    """Let ``error``, if it is about a file of ``entries``, say what file that is and which snapshot added it."""
    if not _unnamed(error):
        return
    for entry in entries:
        told = _told(error, entry)
        if told is not None:
            error.message = told
            error.args = (told,)
            return


def _unnamed(error: BergError) -> bool:
    """Whether the error may be about a file whose snapshot it does not say."""
    return error.code in _ABOUT_FILES and "/" in error.message and not _NAMED.search(error.message)


def _told(error: BergError, entry: ManifestEntry) -> str | None:
    """The message with the file's kind and snapshot; None when it is about another file."""
    path = entry.data_file.path
    message = error.message
    spelled = [path]
    if path not in message:
        try:
            spelled = [strip_scheme(path)] if scheme_of(path) == "file" else []
        except BergError:
            return None
    written = next((s for s in spelled if s in message), None)
    if written is None:
        return None
    kind = "Delete" if entry.data_file.content else "Data"
    named = f"{written} of snapshot {entry.snapshot_id}"
    if error.code is ErrorCode.NOT_FOUND and message == FileMissing(written).message:
        return f"{kind} file {named} is missing."
    message = message.replace(written, named, 1)
    return re.sub(rf"(?:Data|The data) file (?={re.escape(written)})", f"{kind} file ", message, count=1)
