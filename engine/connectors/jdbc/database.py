"""A database: connections to it, and what is done on them again when it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bergsql.catalog.errors import BergError, CommitStateUnknown, ErrorCode
from bergsql.catalog.extras import need
from bergsql.engine.connectors.denied import lacks_package
from bergsql.engine.connectors.jdbc.errors import Told, told
from bergsql.engine.connectors.jdbc.url import EXTRAS, Dialect

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from bergsql.engine.connectors.jdbc.options import Settings
    from bergsql.engine.connectors.jdbc.url import Address

_MODE = (
    "STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,"
    "NO_AUTO_VALUE_ON_ZERO"
)
"""MySQL's ``sql_mode``: what does not fit is refused, never cut, and 0 is 0."""
_LONGEST_WAIT = 2.0

T = TypeVar("T")


class Database:
    """Where a table is. One connection at a time is open; it is made when it is needed first.

    ``name``: of the table, for people.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        """
        :raises BergError: CONFIG where a package is missing.
        """
        self.address: Address = settings.address
        need("Connector 'jdbc'", "jdbc", *EXTRAS[self.address.dialect])
        self.name = name
        self._timeout = max(1, round(settings.timeout))
        self._engine: Engine | None = None

    @property
    def dialect(self) -> Dialect:
        return self.address.dialect

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = self._made()
        return self._engine

    def _made(self) -> Engine:
        import sqlalchemy as sa

        address = self.address
        if address.dialect is Dialect.SQLITE:
            if not Path(address.database).is_file():  # which SQLite would make
                raise BergError(ErrorCode.NOT_FOUND, f"The file {address.database} was not found.")
            url = sa.URL.create("sqlite", database=address.database)
            # What is read is read on DuckDB's threads, one after another.
            arguments: dict[str, Any] = {"timeout": self._timeout, "check_same_thread": False}
        else:
            drivers = {Dialect.MYSQL: "mysql+pymysql", Dialect.POSTGRES: "postgresql+psycopg"}
            url = sa.URL.create(
                drivers[address.dialect], address.user, address.password, address.host, address.port, address.database
            )
            arguments = {"connect_timeout": self._timeout, **address.arguments}
        if address.dialect is Dialect.MYSQL:
            # As bytes: the driver would write the password in latin1, and MySQL reads UTF-8.
            arguments["password"] = (address.password or "").encode()
            arguments |= {"charset": "utf8mb4", "ssl": _tls(arguments.pop("ssl", None))}
            if arguments.pop("ssl_disabled", False):
                arguments["ssl"] = None
                arguments["ssl_disabled"] = True
            elif arguments["ssl"] is None:
                del arguments["ssl"]
        elif address.dialect is Dialect.POSTGRES:
            arguments |= {"options": "-c timezone=UTC -c datestyle=ISO", "client_encoding": "utf8"}
            arguments.setdefault("application_name", "bergsql")
        engine = sa.create_engine(
            url, connect_args=arguments, pool_pre_ping=True, pool_size=1, max_overflow=4, hide_parameters=True
        )
        if address.dialect is Dialect.MYSQL:
            sa.event.listen(engine, "connect", _set_session)
        elif address.dialect is Dialect.SQLITE:
            # The driver begins no transaction before the first change: it is begun by us.
            sa.event.listen(engine, "connect", _set_manual)
            sa.event.listen(engine, "begin", _begin)
        return engine

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection within a transaction, which is given up unless it is committed.

        :raises BergError: of whatever is done on it.
        """
        with self.translated(), self.engine.connect() as connection:
            connection.begin()  # what goes to the driver past SQLAlchemy belongs to it, too
            yield connection

    @contextmanager
    def translated(self) -> Iterator[None]:
        """What the database raises inside is told as an error of ours."""
        try:
            yield
        except BergError:
            raise
        except Exception as error:
            if not _is_of_database(error):
                raise
            raise _Failure(told(error, self.address, self.name)) from None

    @contextmanager
    def outcome_counts(self) -> Iterator[None]:
        """Around what must not be done twice.

        :raises BergError: UNKNOWN_OUTCOME where the connection breaks in it: nobody knows whether it was done.
        """
        try:
            with self.translated():
                yield
        except _Failure as failure:
            if not failure.told.lost:
                raise
            raise CommitStateUnknown(
                f"It is not known whether the rows came to {self.name}: {failure.message}",
                hint="Look into the table in the database whether they are there before they are written again. With "
                "a PRIMARY KEY they could be written again in any case.",
            ) from None

    def retried(
        self, action: Callable[[Connection], T], retries: int, on: Callable[[BergError], None] | None = None
    ) -> T:
        """Do something on a connection, and again where the connection was lost or locks were in the way.

        ``on`` is told of each failure that is not the end.
        """
        wait = 0.1
        while True:
            try:
                with self.connected() as connection:
                    return action(connection)
            except _Failure as failure:
                error = failure.told.error
                if not failure.told.again or retries <= 0:
                    raise error from None
                if on is not None:
                    on(error)
            retries -= 1
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
        self._engine = None


class _Failure(BergError):
    """An error of the database."""

    def __init__(self, told: Told) -> None:
        super().__init__(told.error.code, told.error.message, hint=told.error.hint)
        self.told = told


def _is_of_database(error: Exception) -> bool:
    import sqlalchemy.exc as sa

    # Drivers raise some of their own past SQLAlchemy, when they fetch rows.
    known = isinstance(error, sa.SQLAlchemyError | OSError) or lacks_package(error)
    return known or type(error).__module__.split(".")[0] in (
        "pymysql",
        "psycopg",
        "sqlite3",
    )


def _tls(asked: Any) -> Any:
    if asked is None:
        return None
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = asked["check_hostname"]
    context.verify_mode = ssl.CERT_REQUIRED if asked["verify_mode"] == "required" else ssl.CERT_NONE
    return context


def _set_session(connection: Any, _: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION time_zone = '+00:00', sql_mode = '{_MODE}'")


def _set_manual(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
