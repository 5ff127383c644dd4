"""Where queries put what does not fit into memory: a directory of the session's own below the home directory."""

from __future__ import annotations

import os
from itertools import count

_FALLBACK = "/tmp"
_numbers = count()


def spill_directory(home: str) -> str:
    """The directory, which DuckDB makes when it needs it and deletes at the end. What dead processes left is deleted.

    It is not the machine's directory for temporary files, which may be in memory, unless ``home`` cannot be written.
    """
    above = os.path.join(home, "tmp")  # noqa: PTH118 - pathlib is not imported for SELECT 1 alone
    host = os.uname().nodename
    own = f"{host}-{os.getpid()}-{next(_numbers)}"
    try:
        os.makedirs(above, exist_ok=True)  # noqa: PTH103
        left = [name for name in os.listdir(above) if _is_left(name, host)]  # noqa: PTH208
    except OSError:
        return os.path.join(os.environ.get("TMPDIR") or _FALLBACK, f"bergsql-{own}")  # noqa: PTH118
    if left:
        from shutil import rmtree

        for name in left:
            rmtree(os.path.join(above, name), ignore_errors=True)  # noqa: PTH118
    return os.path.join(above, own)  # noqa: PTH118


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
