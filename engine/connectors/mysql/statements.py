"""What a statement that stands in a binlog as a text means for what is read from it."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

_COMMENTS: Final = re.compile(r"/\*(?![!M]).*?\*/|(?:--\s|#)[^\n]*|/\*(?:M?!)\d*|\*/", re.DOTALL)
_SETTINGS: Final = re.compile(r"SET\s+STATEMENT\s.*?\sFOR\s+", re.I | re.S)


class Means(Enum):
    """What a statement means."""

    BEGIN = auto()
    BEGIN_XA = auto()
    GOES_ON = auto()  # inside a transaction
    END = auto()
    TAKEN_BACK = auto()
    PARTLY_TAKEN_BACK = auto()
    ROWS = auto()  # it changes rows, and the binlog does not have them
    OTHER = auto()


_BEGINNINGS: Final = (
    (Means.BEGIN_XA, r"XA\s+(START|BEGIN)\b"),
    (Means.END, r"XA\s+(COMMIT|ROLLBACK)\b"),
    (Means.GOES_ON, r"XA\b|SAVEPOINT\b|RELEASE\b"),
    (Means.PARTLY_TAKEN_BACK, r"ROLLBACK\s+(WORK\s+)?TO\b"),
    (Means.BEGIN, r"BEGIN\b|START\s+TRANSACTION\b"),
    (Means.END, r"COMMIT\b"),
    (Means.TAKEN_BACK, r"ROLLBACK\b"),
    (Means.ROWS, r"\(|(INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH|MERGE|SELECT|VALUES|DO|CALL)\b"),
)
_MEANS: Final = [(means, re.compile(pattern, re.I)) for means, pattern in _BEGINNINGS]


def bare(sql: str) -> str:
    """A statement from its first word on: without comments, and without settings for it alone.

    >>> bare("/* of a tool */ SET STATEMENT lock_wait_timeout = 5 FOR TRUNCATE t")
    'TRUNCATE t'
    """
    return _SETTINGS.sub("", _COMMENTS.sub(" ", sql).strip(), count=1)


def meaning(sql: str) -> Means:
    """What a statement means.

    >>> meaning("# Dummy")
    <Means.OTHER: 8>
    """
    text = bare(sql)
    return next((means for means, pattern in _MEANS if pattern.match(text)), Means.OTHER)
