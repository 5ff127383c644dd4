"""How servers of databases say that they do not let a user in, or do what is asked: to try again would not help."""

from __future__ import annotations

import re
from typing import Final

MYSQL: Final = frozenset(
    {1044, 1045, 1049, 1129, 1130, 1142, 1143, 1227, 1251, 1524, 1698, 1820, 1835, 1862, 3118, 3159, 4151}
    | {2012, 2026, 2049, 2054, 2058, 2059, 2061}
)
"""Numbers of errors of MySQL and MariaDB; from 2000 on what a client finds: no TLS, a login that it does not know."""
_CONNECTING: Final = re.compile(
    r"authentication failed|does not exist|pg_hba\.conf|no password supplied|not permitted to log in"
    r"|permission denied for database|does not support SSL|certificate verify failed"
)


def lacks_package(error: BaseException) -> bool:
    """Whether MySQL's driver needs another package for the way in which the server asks for the password."""
    return isinstance(error, RuntimeError) and "package is required" in str(error)


def by_postgres(error: BaseException) -> bool:
    """Whether PostgreSQL lets nobody in. Errors of connecting have no code."""
    code = getattr(error, "sqlstate", None)
    if code is not None:
        return code[:2] in ("28", "3D") or code == "42501"
    return type(error).__name__ == "OperationalError" and _CONNECTING.search(str(error)) is not None
