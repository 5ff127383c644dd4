"""What the driver and the server raise, as it is told: without secrets and tracebacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_text
from bergsql.engine.connectors import denied

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.options import MysqlOptions

_ABSENT: Final = frozenset({1054, 1146})
PURGED: Final = 1236
"""ER_MASTER_FATAL_ERROR_READING_BINLOG: a file that is not there, or a place that is none."""

_TAKEN: Final = "same server_uuid/server_id"
"""What both servers say to a reader when another one comes with its number."""


@contextmanager
def told(options: MysqlOptions, what: str) -> Iterator[None]:
    """Tell errors of the driver in our words. ``what`` failed: "The binlog could not be read"."""
    import struct

    import pymysql

    try:
        yield
    except pymysql.err.Error as error:
        raise of_driver(error, options, what) from None
    except (OSError, EOFError, struct.error) as error:
        raise lost(options, what, str(error)) from None


def of_driver(error: Exception, options: MysqlOptions, what: str) -> BergError:
    """An error of PyMySQL: a number and the server's words."""
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    words = _plain(error.args[1] if len(error.args) > 1 else error)
    if code in denied.MYSQL or denied.lacks_package(error):
        hint = (
            "The user needs SELECT, REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR); look at"
            " 'username', 'password' and SHOW GRANTS."
        )
        return BergError(ErrorCode.CONFIG, f"{what} at {options.address}: {words}", hint=hint)
    if code in _ABSENT:
        hint = "The table was changed while it was read: start the statement again."
        return BergError(ErrorCode.NOT_FOUND, f"{what} at {options.address}: {words}", hint=hint)
    if _TAKEN in words:
        hint = "Give each job a 'server-id' of its own, which no replica has, or none: then one is made up."
        return BergError(
            ErrorCode.CONFIG, f"{what} at {options.address}, as another reader has its 'server-id'.", hint=hint
        )
    if code == PURGED:
        return BergError(ErrorCode.INVALID, f"{what} at {options.address}: {words}", hint=NEW_SNAPSHOT)
    return lost(options, what, words)


NEW_SNAPSHOT: Final = (
    "Start the statement again as a new job, without its saved state: it reads a new snapshot. Keep binlogs longer"
    " (expire_logs_days, binlog_expire_logs_seconds) than a job may stand still."
)


def lost(options: MysqlOptions, what: str, words: str) -> BergError:
    """A connection that could not be made, or broke."""
    return BergError(
        ErrorCode.CONNECTION,
        f"{what} at {options.address}: {_plain(words)}",
        hint="Look whether the server runs, and 'hostname' and 'port'.",
    )


def _plain(words: object) -> str:
    text = re.sub(r"\s+", " ", mask_text(str(words))).strip().rstrip(".")
    return (text or "the connection was lost")[:300] + "."
