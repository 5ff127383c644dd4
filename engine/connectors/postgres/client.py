"""Connections to PostgreSQL, and what the driver raises in our words: without statements and secrets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_text
from bergsql.engine.connectors import denied

if TYPE_CHECKING:
    from psycopg import Connection

    from bergsql.engine.connectors.postgres.options import Settings

_WRITTEN: Final = {
    "datestyle": "ISO,YMD",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "xmlbinary": "base64",
    "row_security": "off",  # a policy that hides rows is an error, not a snapshot that lacks them
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""How values are written: in the rows of a snapshot and in the log alike."""
_PAUSE: Final = 1.0
_SHUT: Final = ("57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53400")


def connect(settings: Settings, *, replication: bool = False) -> Connection[Any]:
    """A connection that commits each statement; with ``replication`` one that speaks of slots.

    :raises BergError: CONNECTION where nobody answers, CONFIG where we are not let in.
    """
    from psycopg import ClientCursor, Connection, OperationalError

    arguments: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "user": settings.user,
        "password": settings.password,
        "dbname": settings.database,
        "connect_timeout": max(2, round(settings.connect_timeout)),
        "application_name": f"bergsql {settings.slot}"[:63],
        "client_encoding": "UTF8",
        "options": " ".join(f"-c {key}={value}" for key, value in _WRITTEN.items()),
        "keepalives_idle": 30,
    }
    if replication:
        arguments["replication"] = "database"
    for left in range(settings.connect_tries - 1, -1, -1):
        try:
            return Connection.connect(autocommit=True, cursor_factory=ClientCursor, **arguments)
        except OperationalError as error:
            found = told(error, settings)
            if not left or found.code is not ErrorCode.CONNECTION:
                raise found from None
            time.sleep(_PAUSE)
    raise AssertionError("unreachable")


@contextmanager
def telling(settings: Settings) -> Iterator[None]:
    """What the driver raises within is raised in our words."""
    from psycopg import Error

    try:
        yield
    except Error as error:
        raise told(error, settings) from None


def rows(connection: Connection[Any], sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """What a statement gives; ``%s`` stands for values."""
    with connection.cursor() as cursor:
        cursor.execute(sql.encode(), values or None)
        return list(cursor.fetchall()) if cursor.description else []


def shut(connection: Connection[Any] | None) -> None:
    """Close it, whatever has become of it."""
    if connection is not None:
        with suppress(Exception):
            connection.close()


def told(error: Exception, settings: Settings) -> BergError:
    """The error that a person sees."""
    code = getattr(error, "sqlstate", None)
    text = _plain(getattr(getattr(error, "diag", None), "message_primary", None) or error, settings)
    if denied.by_postgres(error):
        return _refused(text, settings)
    gone = of_slot(text, settings)
    if gone is not None:
        return gone
    if code is not None and code[:2] != "08" and code not in _SHUT:
        message = f"PostgreSQL at {settings.place} refuses: {text} (error {code})."
        return BergError(ErrorCode.EXECUTION, message)
    return BergError(
        ErrorCode.CONNECTION,
        f"PostgreSQL at {settings.place} cannot be reached, or broke off: {text}.",
        hint="Look whether it runs there, and whether 'hostname' and 'port' name it. A job tries again as "
        "'restart-strategy' says.",
    )


def of_slot(text: str, settings: Settings) -> BergError | None:
    """What the server says of a slot or publication that cannot be read, with what to do."""
    slot = f"The replication slot '{settings.slot}' of {settings.place}"
    if re.search(r"is active for PID|already in use|is active", text):
        return BergError(
            ErrorCode.CONNECTION,
            f"{slot} is in use: {text}.",
            hint="One job reads a slot at a time. End the other one, or name another 'slot.name'.",
        )
    if re.search(r"requested WAL segment .* has (already )?been removed|can no longer get changes|invalidated", text):
        return lost_changes(f"{slot} no longer holds the changes that come next: {text}.")
    if re.search(r"replication slot .* does not exist", text):
        return lost_changes(f"{slot} is not there any more.")
    if re.search(r"publication .* does not exist", text):
        return BergError(
            ErrorCode.INVALID,
            f"The publication '{settings.publication}' of {settings.place} is missing, or is younger than where the "
            "slot is.",
            hint="A slot reads changes from behind the making of its publication: drop the slot, and start a new job.",
        )
    if "all replication slots are in use" in text:
        return BergError(
            ErrorCode.CONFIG,
            f"PostgreSQL at {settings.place} has no replication slot left: {text}.",
            hint="Drop slots that nobody needs (pg_replication_slots), or set max_replication_slots higher. A snapshot "
            "needs one more for a moment.",
        )
    if "wal_level" in text:
        return BergError(
            ErrorCode.CONFIG,
            f"PostgreSQL at {settings.place} writes no log that can be decoded: {text}.",
            hint="Set wal_level = logical in postgresql.conf, and start it again.",
        )
    return None


def lost_changes(message: str) -> BergError:
    """The error where changes are gone for good."""
    return BergError(
        ErrorCode.INVALID,
        message,
        hint="What was changed since cannot be read. Drop the slot if it is there (SELECT "
        "pg_drop_replication_slot('…')), empty the target, and start a new job, which takes all rows first; "
        "max_slot_wal_keep_size says how much log a slot keeps.",
    )


def _refused(text: str, settings: Settings) -> BergError:
    message = f"PostgreSQL at {settings.place} does not let us in, or do what we need: {text}."
    return BergError(
        ErrorCode.CONFIG,
        message,
        hint="The user needs LOGIN and REPLICATION, SELECT on the tables, and may make the publication or finds it "
        "made. Look at 'username', 'password' and 'database-name'.",
    )


def _plain(of: object, settings: Settings) -> str:
    """One line of what a driver says."""
    lines = str(of).strip().splitlines() or [type(of).__name__]
    text = re.sub(r"^(connection failed: )?connection to server .*? failed: (FATAL: +)?", "", lines[0])
    if settings.password:
        text = text.replace(settings.password, "***")
    return mask_text(" ".join(text.split()))[:500].rstrip(". ")
