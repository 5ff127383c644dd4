"""What a file system must do for catalogs and tables, and which one serves a location."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from errno import EACCES, EDQUOT, EMFILE, ENOSPC, EPERM, EROFS, EXDEV
from typing import BinaryIO, Protocol

from bergsql.catalog.errors import BergError, ErrorCode, not_supported

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


MOST_BYTES = 2 << 30
"""What a file may have that is read as a whole: no metadata comes near it."""
PATIENCE = 5.0
"""Seconds that a writer waits for its turn while nothing happens."""


class FileMissing(BergError):
    """There is no such file."""

    def __init__(self, path: str) -> None:
        super().__init__(ErrorCode.NOT_FOUND, f"The file {path} was not found.")
        self.path = path


class NameTooLong(FileMissing):
    """No file can have this name on its file system, so there is none, and none can be made."""

    def __init__(self, path: str) -> None:
        BergError.__init__(self, ErrorCode.INVALID, f"The name is too long for the file system: {path}")
        self.path = path


class FileExists(BergError):
    """There is such a file already, and it was not replaced."""

    def __init__(self, path: str) -> None:
        super().__init__(ErrorCode.ALREADY_EXISTS, f"The file {path} exists already.")
        self.path = path


_HINTS = {
    EACCES: "Are the permissions right?",
    EPERM: "Are the permissions right?",
    EROFS: "Are the permissions right?",
    ENOSPC: "The disk is full.",
    EDQUOT: "The disk quota is used up.",
    EXDEV: "The two places are on different disks.",
    EMFILE: "The process may not open more files: ulimit -n raises that.",
}


def system_error(verb: str, path: str, number: int | None, reason: str) -> BergError:
    """The error for what the system refused to do with a file; ``number`` is its errno, ``reason`` its text."""
    return BergError(ErrorCode.IO, f"Cannot {verb} {path}: {reason}.", hint=_HINTS.get(number or 0))


class Storage(Protocol):
    """Files by location. Every location may carry the scheme.

    Failures are BergErrors: :class:`FileMissing`, :class:`FileExists`, else IO with the system's reason.
    """

    def read(self, path: str) -> bytes:
        """The whole file, which must be a regular one of at most :data:`MOST_BYTES`."""
        ...

    def open_input(self, path: str) -> BinaryIO:
        """The file, open for reading, which must be a regular one; the caller closes it."""
        ...

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        """Write a file that must not exist yet, durably if ``fsync``; a failed write leaves no file.

        Its directory is made if missing, unless ``make_dirs`` is False: then it is FileMissing. The directory itself
        is not synced (see :meth:`fsync_dir`).
        """
        ...

    def publish(self, staged: str, path: str) -> None:
        """Give the complete file ``staged`` the name ``path``, durably, unless that name is taken (FileExists).

        Atomic: at no time does ``path`` name an incomplete file. ``staged`` is gone afterwards, or kept on failure.
        """
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Write or overwrite a small file atomically; after a crash it may be old, new or, without a sync, empty.

        Its directory is not made: without it, it is FileMissing.
        """
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory."""
        ...

    def is_dir(self, path: str) -> bool:
        """Whether there is a directory."""
        ...

    def identity(self, path: str) -> object:
        """A value that is equal for two names only if they are one file, unchanged; None if there is no file."""
        ...

    def same(self, one: str, other: str) -> bool:
        """Whether two locations are the same place, however they are spelt; there need not be anything."""
        ...

    def list(self, path: str) -> Iterator[tuple[str, bool]]:
        """The names directly in a directory, each with whether it is a directory; FileMissing if it is none."""
        ...

    def mkdir(self, path: str) -> None:
        """Make a directory and its parents, if they are missing."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name, atomically. Nothing may have that name yet."""
        ...

    def delete(self, path: str) -> bool:
        """Delete a file; whether it was there."""
        ...

    def delete_empty_dir(self, path: str) -> bool:
        """Delete a directory; False, and nothing happens, when it holds anything."""
        ...

    def delete_tree(self, path: str) -> None:
        """Delete a directory with all it holds, if it is there."""
        ...

    def fsync_file(self, path: str) -> None:
        """Make a file that someone else wrote durable."""
        ...

    def fsync_dir(self, path: str) -> None:
        """Make the names in a directory durable."""
        ...

    def turn(self, path: str) -> AbstractContextManager[None]:
        """Wait until no other thread or process is inside a ``turn`` of the directory ``path``.

        A courtesy among writers that would otherwise make each other fail; nothing may depend on it. It does nothing
        where the file system has no locks or the thread is inside already, and gives up waiting when nothing has
        happened in the directory for ``PATIENCE`` seconds.
        """
        ...

    def local_path(self, path: str) -> str:
        """The path that DuckDB reads and writes the file by."""
        ...

    def readable_path(self, path: str) -> str:
        """The path that DuckDB reads the file by, which must be there and a regular one: from others it may read
        without end, or wait."""
        ...


def scheme_of(location: str) -> str:
    """The scheme in lower case: ``file`` for a plain path, ``s3`` for ``s3://…``."""
    m = _SCHEME.match(location)
    return m[1].lower() if m else "file"


def strip_scheme(location: str) -> str:
    """The absolute path of ``/abs``, ``file:/abs`` or ``file:///abs``, without a trailing slash.

    Nothing is percent-decoded: Hadoop, whose locations these are, writes spaces and percent signs as they are.
    """
    if scheme_of(location) != "file":
        raise BergError(ErrorCode.INVALID, f"{location} is not a local file.")
    path = location
    if _SCHEME.match(location):
        path = location.split(":", 1)[1]
        if path.startswith("//"):
            host, slash, rest = path[2:].partition("/")
            if host not in ("", "localhost"):
                raise BergError(ErrorCode.INVALID, f"{location} names the host '{host}': write file:///path instead.")
            path = slash + rest
        path = "/" + path.lstrip("/") if path.startswith("/") else path
    if not path.startswith("/"):
        raise BergError(ErrorCode.INVALID, f"The location {location} is not absolute.")
    if "\0" in path:
        raise BergError(ErrorCode.INVALID, "A location cannot hold a NUL character.")
    return path.rstrip("/") or "/"


def parent_of(location: str) -> str | None:
    """The directory that holds ``location``, spelt as it is; None for a root.

    >>> parent_of("/a/b"), parent_of("file:/a"), parent_of("s3://bucket/a"), parent_of("s3://bucket"), parent_of("/")
    ('/a', 'file:/', 's3://bucket/', None, None)
    """
    m = _SCHEME.match(location)
    root, path = (m[0], location[m.end() :]) if m else ("", location)
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        root, path = f"{root}//{host}", slash + path
    path = path.rstrip("/")
    return root + (path.rpartition("/")[0] or "/") if path else None


class OutsideFence(BergError):
    """A place outside of the directories whose files may be used."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID, message)


_fence: tuple[str, ...] | None = None


def fence_in(places: tuple[str, ...] | None) -> None:
    """Let local files be used only inside of these directories, links followed; None: everywhere. For the process."""
    global _fence
    _fence = places


def is_fenced() -> bool:
    """Whether local files may be used inside of some directories only."""
    return _fence is not None


def storage_for(location: str) -> Storage:
    """The file system that serves ``location``."""
    scheme = scheme_of(location)
    if scheme == "file" and _fence is not None:
        from bergsql.catalog.storage.fenced import FencedStorage

        return FencedStorage(_fence)
    if scheme == "file":
        from bergsql.catalog.storage.local import LocalStorage

        return LocalStorage()
    raise not_supported(f"Storage on {scheme}")
