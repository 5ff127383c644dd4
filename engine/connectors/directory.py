"""A directory of files as a table sees it: which files there are, in which partition, and which were read already."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import FileMissing, Storage, storage_for, strip_scheme, system_error

HIDDEN = (".", "_")
"""What names begin with that no reader looks at, of directories too."""
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
"""The value of a partition whose column is NULL, unless an option says another."""


class FoundFile(NamedTuple):
    """A file: its local path, its size in bytes, and when it was last changed, in nanoseconds since 1970."""

    path: str
    size: int
    changed: int


class Directory:
    """The files at a location: a directory with all below it, or one file.

    pattern
        What the whole path of a file must match.
    """

    def __init__(self, location: str, pattern: str | None = None) -> None:
        self.path = strip_scheme(location)
        self._pattern = _compiled(pattern) if pattern is not None else None

    @property
    def storage(self) -> Storage:
        """What may be read is asked of it each time."""
        return storage_for(self.path)

    def files(self) -> list[FoundFile]:
        """The files that are there, by time and name. Names that begin with a point or an underscore are left out.

        :raises BergError: NOT_FOUND where there is nothing at the location, IO where it cannot be read.
        """
        if not self.storage.exists(self.path):
            raise FileMissing(self.path)
        try:
            if not self.storage.is_dir(self.path):
                found = [_found(self.path, os.stat(self.path))]  # noqa: PTH116 - the path is a text
            else:
                found = list(_walk(self.path))
        except OSError as error:
            raise system_error("read", self.path, error.errno, error.strerror or str(error)) from error
        if self._pattern is not None:
            found = [f for f in found if self._pattern.fullmatch(f.path)]
        return sorted(found, key=lambda f: (f.changed, f.path))

    def relative(self, path: str) -> str:
        """A file's path below the directory."""
        return os.path.relpath(path, self.path) if path != self.path else os.path.basename(path)  # noqa: PTH119


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"'{pattern}' is not a value of 'source.path.regex-pattern': {error}."
        raise BergError(ErrorCode.OPTION, message) from None


def _found(path: str, told: os.stat_result) -> FoundFile:
    return FoundFile(path, told.st_size, told.st_mtime_ns)


def _walk(directory: str) -> Iterator[FoundFile]:
    below = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith(HIDDEN):
                    continue
                try:
                    if entry.is_dir():
                        below.append(entry.path)
                    elif entry.is_file():
                        yield _found(entry.path, entry.stat())
                except FileNotFoundError:
                    continue  # it was taken away meanwhile
    except FileNotFoundError:
        return
    for path in sorted(below):
        yield from _walk(path)


# --- partitions ------------------------------------------------------------------------------------------------------


def partition_values(relative: str, names: Sequence[str], default: str) -> dict[str, str | None]:
    """The texts of the partition columns of a file, which are in the names of the directories above it.

    :raises BergError: INVALID for a file that lies in no such directory.
    """
    found: dict[str, str | None] = {}
    for part in relative.split("/")[:-1]:
        name, equals, value = part.partition("=")
        name = unquote(name)
        if equals and name in names:
            text = unquote(value)
            found[name] = None if text == default else text
    for name in names:
        if name not in found:
            raise BergError(
                ErrorCode.INVALID,
                f"The file {relative} lies in no directory '{name}=…', though the table is partitioned by '{name}'.",
            )
    return found


def partition_path(values: Mapping[str, str | None], default: str) -> str:
    """The directories of a partition, escaped as Hive and Flink do it."""
    return "/".join(f"{_escaped(n)}={_escaped(v or default)}" for n, v in values.items())


def _escaped(text: str) -> str:
    return re.sub("[\x00-\x1f\x7f\"#%'*/:=?\\\\{}\\[\\]^]", lambda m: f"%{ord(m[0]):02X}", text)


# --- what was read ---------------------------------------------------------------------------------------------------


class DoneFiles:
    """The files of a directory that were read: 64 bits of each path's hash, so that the order of listings is of no
    account. As JSON it is a text of about 10 characters a file."""

    def __init__(self, kept: str | None = None) -> None:
        self._hashes: set[int] = set()
        self._text: str | None = kept
        if kept:
            import numpy as np

            deltas = np.frombuffer(zlib.decompress(base64.b64decode(kept)), dtype="<u8")
            self._hashes = set(np.cumsum(deltas, dtype=np.uint64).tolist())

    def __contains__(self, relative: str) -> bool:
        return _hash(relative) in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, relatives: Iterable[str]) -> None:
        self._hashes.update(map(_hash, relatives))
        self._text = None

    @property
    def text(self) -> str:
        """What the constructor takes."""
        if self._text is None:
            import numpy as np

            ordered = np.sort(np.fromiter(self._hashes, dtype=np.uint64, count=len(self._hashes)))
            deltas = np.diff(ordered, prepend=np.uint64(0)).astype("<u8")
            self._text = base64.b64encode(zlib.compress(deltas.tobytes(), 1)).decode()
        return self._text


def _hash(relative: str) -> int:
    return int.from_bytes(blake2b(os.fsencode(relative), digest_size=8).digest(), "little")
