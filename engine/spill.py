"""Where the session has its own files, below the home: what does not fit into memory, what is kept for later."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

_numbers = count()


class Place(NamedTuple):
    """A directory for what is worth keeping, which need not be there yet, and how many bytes may be kept in it."""

    directory: Path
    limit: int


_asked: list[Callable[[], Place | None]] = []


def keep_at(place: Callable[[], Place | None] | None) -> None:
    """Ask ``place`` from now on, whenever there is something to keep; None: keep nothing. For the process."""
    _asked[:] = [] if place is None else [place]


def current_place() -> Place | None:
    """Where to keep what was worked out of files that never change: nowhere, unless somebody named a place."""
    return _asked[0]() if _asked else None


def spill_directory(home: Path) -> Path:
    """The directory, which DuckDB makes when it needs it and deletes at the end. What dead processes left is deleted.

    It is not the machine's directory for temporary files, which may be in memory, unless ``home`` cannot be written.
    """
    above = home / "tmp"
    host = os.uname().nodename
    own = f"{host}-{os.getpid()}-{next(_numbers)}"
    try:
        above.mkdir(parents=True, exist_ok=True)
        left = [d for d in above.iterdir() if _is_left(d.name, host)]
        writable = os.access(above, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        from tempfile import gettempdir

        return Path(gettempdir(), f"bergsql-{own}")
    if left:
        from shutil import rmtree

        for directory in left:
            rmtree(directory, ignore_errors=True)
    return above / own


def _is_left(name: str, host: str) -> bool:
    """Whether a directory is of a process of this machine that is there no more."""
    of, _, number = name.rpartition("-")[0].rpartition("-")
    if of != host or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # somebody else's
    return False
