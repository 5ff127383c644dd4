"""Small files that only their owner reads: each is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700


def write_private(path: Path, text: str, *, durable: bool = True) -> None:
    """Put ``text`` in the place of what a file has; its directory is made if need be.

    :param durable: whether it outlives a power failure when this returns.
    :raises OSError: when it cannot be written; then the file is as it was.
    """
    path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory of files, for the owner alone, and make the copy durable; ``target`` must not be there.

    :raises OSError: when it cannot be copied; then ``target`` may hold a part.
    """
    from shutil import copyfile

    target.mkdir(mode=PRIVATE_DIRECTORY)
    for each in source.iterdir():
        if each.is_dir():
            copy_tree(each, target / each.name)
            continue
        made = target / each.name
        os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
        copyfile(each, made)
        with made.open("rb") as file:
            os.fsync(file.fileno())
    sync_directory(target)
    sync_directory(target.parent)


def sync_directory(path: Path) -> None:
    """Let the names in a directory outlive a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
