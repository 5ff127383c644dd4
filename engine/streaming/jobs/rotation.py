"""The standard output of a job, which is a file: a full one gets another name, and a new one takes its place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from bergsql.catalog.private_files import PRIVATE

_BYTES: Final = 16 << 20
_OLD: Final = ".1"
"""What the full one's name ends in."""


def rotate_output(path: Path, most: int = _BYTES) -> None:
    """Begin a new file for what this process prints, if the one at ``path`` is full."""
    try:
        sys.stdout.flush()
        if path.stat().st_size < most:
            return
        path.replace(path.with_name(path.name + _OLD))
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    except OSError:
        return  # it goes on in the one that there is
    os.dup2(fresh, sys.stdout.fileno())
    os.close(fresh)
