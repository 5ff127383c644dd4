"""Where queries put what does not fit into memory: a directory of the session's own below the home directory."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

_numbers = count()


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
