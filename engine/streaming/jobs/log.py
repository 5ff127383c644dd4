"""The log of a job: rotated, private, and without secrets."""

from __future__ import annotations

import logging
import os
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from bergsql.catalog.secrets import mask_text

_BYTES: Final = 4 << 20
_KEPT: Final = 4
"""How many old logs there are beside the one that is written."""


class _Masked(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return mask_text(super().format(record))


class _Private(RotatingFileHandler):
    def _open(self):  # type: ignore[no-untyped-def]
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=_opened)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def open_log(path: Path) -> logging.Logger:
    """The log at ``path``, to which lines are added."""
    handler = _Private(path, maxBytes=_BYTES, backupCount=_KEPT)
    handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("bergsql.job")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    return log
