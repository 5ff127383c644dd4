"""Files on a local disk, or on anything mounted like one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EISDIR, EMLINK, ENAMETOOLONG, ENOTEMPTY, ENOTSUP, EPERM
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from time import monotonic, sleep
from typing import BinaryIO
from uuid import uuid4

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import (
    MOST_BYTES,
    PATIENCE,
    FileExists,
    FileMissing,
    NameTooLong,
    strip_scheme,
    system_error,
)

_held = threading.local()
"""The directories in whose ``turn`` the thread is."""
_LONGEST = 60.0
"""Seconds that a writer waits for its turn while others get on."""
_NO_LINKS = frozenset({EPERM, ENOTSUP, EMLINK})
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


class LocalStorage:
    """The :class:`~bergsql.catalog.storage.base.Storage` of ``/abs``, ``file:/abs`` and ``file:///abs``."""

    def read(self, path: str) -> bytes:
        with _errors_of(path, "read"), _open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                raise BergError(ErrorCode.IO, f"Cannot read {path}: it has {size} bytes, more than any metadata has.")
            return file.read(size + 1)

    def open_input(self, path: str) -> BinaryIO:
        with _errors_of(path, "read"):
            return _open_regular(path)

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        local = Path(strip_scheme(path))
        with _errors_of(path, "write"):
            try:
                fd = os.open(local, _NEW_FILE, 0o666)
            except FileNotFoundError:
                if not make_dirs:
                    raise
                local.parent.mkdir(parents=True, exist_ok=True)
                fd = os.open(local, _NEW_FILE, 0o666)
            try:
                try:
                    _write_all(fd, data)
                    if fsync:
                        os.fsync(fd)
                finally:
                    os.close(fd)
            except BaseException:
                with suppress(OSError):
                    local.unlink()
                raise

    def publish(self, staged: str, path: str) -> None:
        source, target = strip_scheme(staged), strip_scheme(path)
        try:
            with _errors_of(path, "publish"):
                os.link(source, target)
        except BergError as e:
            cause = e.__cause__
            if isinstance(cause, OSError) and cause.errno in _NO_LINKS:
                raise BergError(
                    ErrorCode.IO,
                    f"Cannot publish {path}: its file system has no hard links, which a safe commit needs.",
                ) from cause
            raise
        with _errors_of(path, "publish"):
            _fsync(str(Path(target).parent), _DIRECTORY)
        with suppress(OSError):
            Path(source).unlink()

    def replace(self, path: str, data: bytes) -> None:
        local = strip_scheme(path)
        staged = f"{local}.{uuid4().hex}.tmp"
        try:
            self.write_new(staged, data, fsync=False, make_dirs=False)
            with _errors_of(path, "write"):
                Path(staged).replace(local)
        except BaseException:
            with suppress(OSError):
                Path(staged).unlink()
            raise

    def exists(self, path: str) -> bool:
        try:
            with _errors_of(path, "read"):
                Path(strip_scheme(path)).lstat()
        except FileMissing:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        try:
            with _errors_of(path, "read"):
                return S_ISDIR(Path(strip_scheme(path)).stat().st_mode)
        except FileMissing:
            return False

    def identity(self, path: str) -> object:
        try:
            with _errors_of(path, "read"):
                stat = os.stat(strip_scheme(path))  # noqa: PTH116 - twice as fast, and planning asks for thousands
        except FileMissing:
            return None
        return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def same(self, one: str, other: str) -> bool:
        a, b = Path(strip_scheme(one)), Path(strip_scheme(other))
        if a == b:
            return True
        with _errors_of(one, "read"):
            try:
                return a.samefile(b)
            except (FileNotFoundError, NotADirectoryError):
                return a.resolve() == b.resolve()

    def list(self, path: str) -> Iterator[tuple[str, bool]]:
        with _errors_of(path, "list"), os.scandir(strip_scheme(path)) as entries:
            found = [(e.name, e.is_dir()) for e in entries]
        return iter(found)

    def mkdir(self, path: str) -> None:
        with _errors_of(path, "make the directory"):
            Path(strip_scheme(path)).mkdir(parents=True, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        with _errors_of(source, "rename"):
            Path(strip_scheme(source)).rename(strip_scheme(target))

    def delete(self, path: str) -> bool:
        try:
            with _errors_of(path, "delete"):
                Path(strip_scheme(path)).unlink()
        except FileMissing:
            return False
        return True

    def delete_empty_dir(self, path: str) -> bool:
        local = Path(strip_scheme(path))
        with _errors_of(path, "delete"):
            try:
                local.unlink() if local.is_symlink() else local.rmdir()
            except OSError as e:
                if e.errno in (ENOTEMPTY, EEXIST):
                    return False
                raise
        return True

    def delete_tree(self, path: str) -> None:
        from shutil import rmtree

        local = Path(strip_scheme(path))
        with _errors_of(path, "delete"):
            if local.is_symlink():
                local.unlink()
            while local.exists():
                # Others may be deleting in it too.
                with suppress(FileNotFoundError):
                    rmtree(local)

    def fsync_file(self, path: str) -> None:
        with _errors_of(path, "sync"):
            _fsync(strip_scheme(path), os.O_RDONLY)

    def fsync_dir(self, path: str) -> None:
        with _errors_of(path, "sync"):
            _fsync(strip_scheme(path), _DIRECTORY)

    @contextmanager
    def turn(self, path: str) -> Iterator[None]:
        place = strip_scheme(path)
        held: set[str] = _held.__dict__.setdefault("places", set())
        try:
            fd = -1 if place in held else os.open(place, _DIRECTORY | os.O_CLOEXEC)
        except OSError:
            fd = -1
        if fd == -1:
            yield
            return
        try:
            _wait_for_lock(fd)
            held.add(place)
            yield
        finally:
            held.discard(place)
            os.close(fd)  # which gives the lock back, as the end of the process would

    def local_path(self, path: str) -> str:
        return strip_scheme(path)

    def readable_path(self, path: str) -> str:
        local = strip_scheme(path)
        with _errors_of(path, "read"):
            _check_regular(path, os.stat(local).st_mode)  # noqa: PTH116 - there may be 100,000
        return local


def _open_regular(path: str) -> BinaryIO:
    """Open for reading what does not end the process's patience: a pipe would wait, a device never end."""
    fd = os.open(strip_scheme(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _check_regular(path, os.fstat(fd).st_mode)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _check_regular(path: str, mode: int) -> None:
    if S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not S_ISREG(mode):
        raise BergError(ErrorCode.IO, f"Cannot read {path}: it is a device or a pipe, not a file.")


def _wait_for_lock(fd: int) -> None:
    """Lock a directory against other processes; without the lock when it cannot be had.

    As long as files come and go in the directory its holders get on, and there is a turn to come for this one too.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return
    begin = since = monotonic()
    changed = None
    while True:
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            now, before, changed = monotonic(), changed, os.fstat(fd).st_mtime_ns
            if changed != before:
                since = now
            if now - since >= PATIENCE or now - begin >= _LONGEST:
                return
            sleep(0.001)
        except OSError:
            return
        else:
            return


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _fsync(path: str, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _errors_of(path: str, verb: str) -> Iterator[None]:
    """Failures of the system as errors of ours that name the location as it was given."""
    try:
        yield
    except FileNotFoundError as e:
        raise FileMissing(path) from e
    except NotADirectoryError as e:
        raise FileMissing(path) from e
    except FileExistsError as e:
        raise FileExists(path) from e
    except OSError as e:
        if e.errno == ENAMETOOLONG:
            raise NameTooLong(path) from e
        raise system_error(verb, path, e.errno, e.strerror or str(e)) from e
