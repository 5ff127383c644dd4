"""Connections to a server, and what it tells of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.errors import lost, of_driver, told

if TYPE_CHECKING:
    from pymysql import Connection

    from bergsql.engine.connectors.mysql.options import MysqlOptions

_UNREACHABLE: Final = frozenset({1040, 1053, 2002, 2003, 2006, 2013})
_PATIENCE: Final = 60
"""Seconds that the server may be silent in the middle of an answer."""


def connection_settings(options: MysqlOptions) -> dict[str, Any]:
    """What PyMySQL is given to connect; it holds the password."""
    settings: dict[str, Any] = {
        "host": options.host,
        "port": options.port,
        "user": options.user,
        "password": (options.password or "").encode(),  # the driver would write it in latin1
        "charset": "utf8mb4",
        "connect_timeout": max(1, round(options.connect_timeout)),
        "read_timeout": _PATIENCE,
        "autocommit": True,
    }
    if options.encrypted is not None:
        settings["ssl_disabled"] = not options.encrypted
    if options.encrypted:
        settings["ssl"] = {"check_hostname": False, "verify_mode": "none"}
    return settings


def connect(options: MysqlOptions, **more: Any) -> Connection[Any]:
    """A connection; its session is in UTC.

    :raises BergError: CONNECTION, or CONFIG where the server refuses the user.
    """
    import pymysql

    what = "MySQL could not be connected to"
    for attempt in range(options.retries + 1):
        try:
            return pymysql.connect(
                **{**connection_settings(options), "init_command": "SET time_zone = '+00:00'", **more}
            )
        except pymysql.err.Error as error:
            if attempt == options.retries or (error.args and error.args[0] not in _UNREACHABLE):
                raise of_driver(error, options, what) from None
        except RuntimeError as error:
            raise of_driver(error, options, what) from None
        except (OSError, EOFError) as error:
            raise lost(options, what, str(error)) from None
    raise AssertionError("unreachable")


class Session:
    """A connection for questions of a line or two."""

    def __init__(self, options: MysqlOptions) -> None:
        self._options = options
        self.connection = connect(options)

    def rows(self, sql: str, values: object = None) -> list[tuple[Any, ...]]:
        """The rows of a statement.

        :raises BergError: CONNECTION and others, as :func:`told` says.
        """
        with told(self._options, "MySQL did not answer"), self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def close(self) -> None:
        from contextlib import suppress

        with suppress(Exception):
            self.connection.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Server:
    """What a server told of itself."""

    version: str
    variables: Mapping[str, str]

    @staticmethod
    def of(session: Session) -> Server:
        names = (
            *("binlog_format", "binlog_row_image", "binlog_row_metadata", "binlog_row_value_options"),
            *("log_bin", "server_id", "server_uuid"),
        )
        marks = ", ".join(f"'{name}'" for name in names)
        found = session.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({marks})")
        ((version,),) = session.rows("SELECT VERSION()")
        return Server(version, {name.casefold(): value for name, value in found})

    @cached_property
    def is_mariadb(self) -> bool:
        return "mariadb" in self.version.casefold()

    @property
    def identity(self) -> str:
        """What tells it from other servers. MariaDB has no more than the number that its administrator gave it."""
        return self.variables.get("server_uuid") or f"server-id {self.variables.get('server_id', 0)}"

    @property
    def tells_places(self) -> bool:
        """Whether it tells the place in the binlog that a snapshot is as of."""
        return self.is_mariadb

    def check_binlog(self, options: MysqlOptions) -> None:
        """Refuse a server whose binlog does not say enough.

        :raises BergError: CONFIG, with what to set.
        """
        wanted = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
        for name, value in wanted.items():
            found = self.variables.get(name)
            if found is None and name == "binlog_row_metadata":
                message = f"MySQL at {options.address} ({self.version}) has no '{name}', which mysql-cdc needs."
                hint = "MySQL 8.0.1 and MariaDB 10.5 have it."
                raise BergError(ErrorCode.CONFIG, message, hint=hint)
            if (found or "OFF").upper() in (value, {"ON": "1"}.get(value, value)):
                continue
            message = f"MySQL at {options.address} has {name} = {found or 'OFF'}, and mysql-cdc needs {value}."
            hint = f"SET GLOBAL {name} = '{value}'; sessions that are open keep what they had."
            if name == "log_bin":
                hint = "Start the server with --log-bin, --server-id and --binlog-format=ROW."
            raise BergError(ErrorCode.CONFIG, message, hint=hint)
        if self.variables.get("binlog_row_value_options"):
            message = f"MySQL at {options.address} writes only what changed within JSON, and mysql-cdc needs all of it."
            hint = "SET GLOBAL binlog_row_value_options = ''; sessions that are open keep what they had."
            raise BergError(ErrorCode.CONFIG, message, hint=hint)

    def status(self, session: Session) -> tuple[str, int, str | None]:
        """Where the binlog ends: its file, the place in it, and MySQL's executed GTIDs."""
        newest = not self.is_mariadb and tuple(int(n) for n in self.version.split("-")[0].split(".")[:2]) >= (8, 2)
        found = session.rows("SHOW BINARY LOG STATUS" if newest else "SHOW MASTER STATUS")
        if not found:
            raise BergError(ErrorCode.CONFIG, "The server writes no binlog.", hint="Start it with --log-bin.")
        file, place, *more = found[0]
        gtids = str(more[2]).replace("\n", "") if len(more) > 2 and more[2] else None
        return str(file), int(place), gtids

    def time_zone(self, session: Session) -> str | None:
        """The server's time zone; None where it does not tell it so that it is known for all times."""
        ((zone, system),) = session.rows("SELECT @@global.time_zone, @@system_time_zone")
        name = str(system if str(zone).upper() == "SYSTEM" else zone)
        if re.fullmatch(r"[+-]\d{2}:\d{2}|[A-Za-z_]+/[A-Za-z_/+-]+|UTC|GMT", name) is None:
            return None
        return "UTC" if name in ("GMT", "+00:00") else name
