"""What drivers and SQLAlchemy raise, as it is told: without statements, parameters and secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_text
from bergsql.engine.connectors import denied
from bergsql.engine.connectors.jdbc.url import Dialect

if TYPE_CHECKING:
    from bergsql.engine.connectors.jdbc.url import Address


class Told(NamedTuple):
    """An error, and whether the same may succeed when it is done again; ``lost``: nobody knows whether it was done."""

    error: BergError
    again: bool
    lost: bool = False


_LOST: Final = frozenset({1040, 1053, 1158, 1159, 1160, 1161, 1203, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 4031})
_WAITED: Final = frozenset({1205, 1213, 1412, 1637, 3058, 3572})
"""Lock timeouts and deadlocks of MySQL and MariaDB."""
_ABSENT: Final = frozenset({1054, 1146})
_UNFIT: Final = frozenset(
    {1048, 1062, 1169, 1216, 1217, 1263, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1441, 1451, 1452, 1465, 1525}
    | {1526, 1557, 1586, 1761, 1762, 1906, 3105, 3140, 3156, 3819, 4025, 1690, 1267}
)


def told(error: Exception, address: Address, table: str) -> Told:
    """The error of something that was done with ``table`` in the database at ``address``."""
    import sqlalchemy.exc as sa

    origin: BaseException = error
    lost = isinstance(error, sa.DBAPIError) and error.connection_invalidated
    if isinstance(error, sa.StatementError):
        origin = error.orig or error
    if address.dialect is Dialect.MYSQL:
        return _of_mysql(origin, lost, address, table)
    if address.dialect is Dialect.POSTGRES:
        return _of_postgres(origin, lost, address, table)
    return _of_sqlite(origin, address, table)


def has_no_value(error: Exception) -> bool:
    """Whether Python has no value for one that the database sent, as for a date before the year 1."""
    origin = getattr(error, "orig", None) or error
    of_driver = type(origin).__module__.startswith("psycopg") and type(origin).__name__ == "DataError"
    return isinstance(origin, ValueError | OverflowError) or (of_driver and getattr(origin, "sqlstate", None) is None)


def _of_mysql(origin: BaseException, lost: bool, address: Address, table: str) -> Told:
    arguments = origin.args
    code = arguments[0] if arguments and isinstance(arguments[0], int) else None
    text = _plain(arguments[1] if code is not None and len(arguments) > 1 else origin)
    if code in denied.MYSQL or denied.lacks_package(origin):
        return _refused(text, address)
    if lost or code in _LOST or code == 0 or isinstance(origin, OSError):
        return _lost(text, address)
    if code in _WAITED:
        return _waited(text, address, table)
    if code in _ABSENT:
        return Told(
            BergError(ErrorCode.NOT_FOUND, f"{table} of {address.place} is not as it was: {text}."), again=False
        )
    column = re.search(r"column [`'](?:[^`']*`\.`)*([^`']+)[`']", text, re.IGNORECASE)
    if code in _UNFIT:
        return _unfit(text, table, column[1] if column else None)
    if code is None:
        return _unfit(text, table, None)
    return Told(BergError(ErrorCode.EXECUTION, f"The database of {table} refuses: {text} (error {code})."), again=False)


def _of_postgres(origin: BaseException, lost: bool, address: Address, table: str) -> Told:
    code = getattr(origin, "sqlstate", None)
    diagnosis = getattr(origin, "diag", None)
    primary = getattr(diagnosis, "message_primary", None)
    text = _plain(primary or origin)
    if denied.by_postgres(origin):
        return _refused(text, address)
    if code is None:
        if lost or type(origin).__name__ in ("OperationalError", "InterfaceError"):
            return _lost(text, address)
        return _unfit(text, table, None)
    if code[:2] == "08" or code in ("57P01", "57P02", "57P03", "57P05", "25P03", "40003", "53300"):
        return _lost(text, address)
    if code in ("40001", "40P01", "55P03"):
        return _waited(text, address, table)
    if code in ("42P01", "42703"):
        return Told(
            BergError(ErrorCode.NOT_FOUND, f"{table} of {address.place} is not as it was: {text}."), again=False
        )
    if code[:2] in ("22", "23") or code in ("42804", "428C9"):
        return _unfit(text, table, getattr(diagnosis, "column_name", None))
    return Told(BergError(ErrorCode.EXECUTION, f"The database of {table} refuses: {text} (error {code})."), again=False)


def _of_sqlite(origin: BaseException, address: Address, table: str) -> Told:
    text = _plain(origin)
    if "locked" in text or "busy" in text:
        return _waited(text, address, table)
    if "unable to open" in text or "not a database" in text or "readonly" in text:
        return Told(BergError(ErrorCode.CONFIG, f"The database {address.place} cannot be used: {text}."), again=False)
    if "no such" in text or "has no column" in text:
        return Told(
            BergError(ErrorCode.NOT_FOUND, f"{table} of {address.place} is not as it was: {text}."), again=False
        )
    column = re.search(r"failed: (?:\w+\.)?(\w+)$", text)
    return _unfit(text, table, column[1] if column else None)


def _plain(of: object) -> str:
    """One line of what a driver says, and no more of it than may be shown."""
    lines = str(of).strip().splitlines() or [type(of).__name__]
    return mask_text(re.sub(r"\s+", " ", lines[0]))[:500].rstrip(". ")


def _lost(text: str, address: Address) -> Told:
    return Told(
        BergError(
            ErrorCode.CONNECTION,
            f"The database at {address.place} cannot be reached, or broke off: {text}.",
            hint="Look whether it runs there, and whether 'url' names that host and port.",
        ),
        again=True,
        lost=True,
    )


def _waited(text: str, address: Address, table: str) -> Told:
    message = f"{table} of {address.place} is locked by others: {text}."
    return Told(
        BergError(ErrorCode.CONNECTION, message, hint="A job tries again as 'restart-strategy' says."), again=True
    )


def _refused(text: str, address: Address) -> Told:
    message = f"The database at {address.place} does not let us in: {text}."
    return Told(BergError(ErrorCode.CONFIG, message, hint="Look at 'username', 'password' and 'url'."), again=False)


def _unfit(text: str, table: str, column: str | None) -> Told:
    at = f"column '{column}' of {table}" if column else table
    message = f"A row does not fit {at}: {text}."
    return Told(
        BergError(ErrorCode.INVALID, message, hint="Nothing of its checkpoint or statement was written."), again=False
    )
