"""Local files inside of some directories only: what ``--safe`` makes of the local file system.

The fence is the process's, as catalogs and tables ask for storage by location alone. Links are followed before it is
looked at where a place is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from bergsql.catalog.storage.base import OutsideFence, strip_scheme
from bergsql.catalog.storage.local import LocalStorage


def real_places(locations: Iterable[str]) -> tuple[str, ...]:
    """The directories that local locations are: as they are named, and with links followed."""
    named = [os.path.abspath(strip_scheme(location)) for location in locations]  # noqa: PTH100 - a string is wanted
    return tuple(dict.fromkeys((*named, *map(os.path.realpath, named))))


def is_inside(location: str, places: Iterable[str]) -> bool:
    """Whether a local location is one of the directories ``places`` or below one."""
    real = os.path.realpath(strip_scheme(location))
    return any(real == place or real.startswith(place.rstrip("/") + "/") for place in places)


def outside(location: str) -> OutsideFence:
    """The error for a place that may not be touched."""
    return OutsideFence(f"{location} is outside of the warehouses, and bergsql was started with --safe.")


class FencedStorage(LocalStorage):
    """A :class:`LocalStorage` that refuses (INVALID) what is not inside of ``places``."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._places = places

    def _inside(self, path: str) -> str:
        if not is_inside(path, self._places):
            raise outside(path)
        return path

    def read(self, path: str) -> bytes:
        return super().read(self._inside(path))

    def open_input(self, path: str) -> BinaryIO:
        return super().open_input(self._inside(path))

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        super().write_new(self._inside(path), data, fsync=fsync, make_dirs=make_dirs)

    def publish(self, staged: str, path: str) -> None:
        super().publish(self._inside(staged), self._inside(path))

    def replace(self, path: str, data: bytes) -> None:
        super().replace(self._inside(path), data)

    def exists(self, path: str) -> bool:
        return super().exists(self._inside(path))

    def is_dir(self, path: str) -> bool:
        return super().is_dir(self._inside(path))

    def identity(self, path: str) -> object:
        return super().identity(self._inside(path))

    def list(self, path: str) -> Iterator[tuple[str, bool]]:
        return super().list(self._inside(path))

    def mkdir(self, path: str) -> None:
        super().mkdir(self._inside(path))

    def rename(self, source: str, target: str) -> None:
        super().rename(self._inside(source), self._inside(target))

    def delete(self, path: str) -> bool:
        return super().delete(self._inside(path))

    def delete_empty_dir(self, path: str) -> bool:
        return super().delete_empty_dir(self._inside(path))

    def delete_tree(self, path: str) -> None:
        super().delete_tree(self._inside(path))

    @contextmanager
    def turn(self, path: str) -> Iterator[None]:
        with super().turn(self._inside(path)):
            yield

    def local_path(self, path: str) -> str:
        return super().local_path(self._inside(path))

    def readable_path(self, path: str) -> str:
        return super().readable_path(self._inside(path))
