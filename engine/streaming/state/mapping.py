"""lmdb as a store uses it: how its file is mapped into memory, and what its errors mean."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import sync_directory

DATA_FILE: Final = "data.mdb"
_MAPS: Final = 4096
"""The most maps of an environment: operators and their parts."""

_SIZES: Final = tuple(1 << bits for bits in (40, 36, 32, 28))
"""Bytes of address space to ask for, not of disk or memory: the file is as long as what is in it. The biggest that the
process may have (``ulimit -v``) is taken, and twice what is used."""

_BIG: Final = 64 << 20
"""From this size on, an environment is opened anew after each commit: lmdb keeps the buffers of all pages that it ever
changed in one transaction, and what it has read of the file counts as the process's memory."""

_TOUCHED: Final = 4096
"""So many keys may be looked up before pages of the file are let go of: the system maps 16 around each that is read."""


def open_environment(path: Path, durable: bool) -> Any:
    """The lmdb environment in the directory ``path``, which is made if need be, for its owner's eyes only."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if durable and not (path / DATA_FILE).exists():
            _make(path)
        return _opened(path, durable)
    except Exception as error:
        if (known := told(error, path)) is not None:
            raise known from error
        raise


def _make(path: Path) -> None:
    """Make an empty environment, whole or not at all: lmdb's first write may be cut short as any other."""
    part = path / "new"
    part.mkdir(mode=0o700, exist_ok=True)
    (part / DATA_FILE).unlink(missing_ok=True)
    environment = _opened(part, durable=True)
    environment.sync(True)
    environment.close()
    (part / DATA_FILE).rename(path / DATA_FILE)
    part.rmdir()
    sync_directory(path)
    sync_directory(path.parent)


def _opened(path: Path, durable: bool) -> Any:
    import lmdb

    data = path / DATA_FILE
    least = 2 * data.stat().st_size if data.exists() else 0
    for size in (max(size, least) for size in _SIZES):
        try:
            return lmdb.open(
                str(path),
                map_size=size,
                max_dbs=_MAPS,
                mode=0o600,
                sync=durable,
                metasync=durable,
                # Neighbours of a page that was read are seldom needed: keys are spread like hashes.
                readahead=False,
                # One process, one thread, which holds a lock of its own (state/store.py).
                lock=False,
            )
        except (MemoryError, lmdb.Error) as error:
            if size == max(_SIZES[-1], least) or not _no_memory(error):
                raise
    raise AssertionError


def used_bytes(environment: Any) -> int:
    """How long the file is, about."""
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def is_big(environment: Any) -> bool:
    """Whether to open it anew after a commit."""
    return used_bytes(environment) >= _BIG


class Pages:
    """Bounds how much of a big file is mapped, within a transaction, by counting keys that are looked up."""

    def __init__(self, path: Path) -> None:
        self._file = str(path / DATA_FILE)
        self._touched = 0

    def touch(self, keys: int, environment: Any) -> None:
        """Some keys are about to be looked up."""
        self._touched += keys
        if self._touched > _TOUCHED:
            self._touched = 0
            if used_bytes(environment) >= 4 * _BIG:
                self._release()

    def _release(self) -> None:
        """Unmap what is mapped: nothing is lost, as pages of the file that are changed are elsewhere until a commit."""
        import ctypes
        import mmap

        with suppress(OSError, AttributeError, ValueError):  # other systems count such pages as nobody's
            libc = ctypes.CDLL(None)
            for line in Path("/proc/self/maps").read_text().splitlines():
                if line.endswith(self._file):
                    first, last = (int(end, 16) for end in line.split(" ", 1)[0].split("-"))
                    libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


def told(error: BaseException, path: Path) -> BergError | None:
    """What an error of lmdb or of the file system means to a person; None for what is none of theirs."""
    import lmdb

    if isinstance(error, BergError) or not isinstance(error, lmdb.Error | OSError | MemoryError):
        return None
    if isinstance(error, lmdb.CorruptedError | lmdb.InvalidError | lmdb.PageNotFoundError):
        return BergError(
            ErrorCode.CORRUPT,
            f"The state in '{path}' is damaged.",
            hint="Start the job from a savepoint, or anew without this state.",
        )
    if isinstance(error, lmdb.VersionMismatchError):
        return BergError(ErrorCode.INVALID, f"The state in '{path}' was made by another version of lmdb.")
    if isinstance(error, lmdb.MapFullError):
        return BergError(
            ErrorCode.IO,
            f"The state in '{path}' does not fit into the address space that this process may have.",
            hint="Raise the limit of virtual memory (ulimit -v), or bound the state by table.exec.state.ttl.",
        )
    if any(os.strerror(number) in str(error) for number in (errno.ENOSPC, errno.EDQUOT)):
        return BergError(
            ErrorCode.IO,
            f"The disk is full: the state in '{path}' could not be written.",
            hint="Make room and resume the job: it goes on from its last checkpoint.",
        )
    return BergError(ErrorCode.IO, f"The state in '{path}' could not be read or written: {_cause(error)}.")


def _cause(error: BaseException) -> str:
    """The error without the place in lmdb's source: ``mdb_put: Input/output error``."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).rstrip(".") or type(error).__name__


def _no_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or os.strerror(errno.ENOMEM) in str(error)
