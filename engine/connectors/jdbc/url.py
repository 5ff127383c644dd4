"""URLs of databases as Java writes them: ``jdbc:mysql://host:3306/db?useSSL=false``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean


class Dialect(StrEnum):
    """The databases that there are."""

    MYSQL = "mysql"
    POSTGRES = "postgresql"
    SQLITE = "sqlite"


_LAST_PORT: Final = 65535
_PORTS: Final = {Dialect.MYSQL: 3306, Dialect.POSTGRES: 5432}
_NAMES: Final = {
    "mysql": Dialect.MYSQL,
    "mariadb": Dialect.MYSQL,
    "postgresql": Dialect.POSTGRES,
    "sqlite": Dialect.SQLITE,
}
DRIVERS: Final = {
    "com.mysql.cj.jdbc.Driver": Dialect.MYSQL,
    "com.mysql.jdbc.Driver": Dialect.MYSQL,
    "org.mariadb.jdbc.Driver": Dialect.MYSQL,
    "org.postgresql.Driver": Dialect.POSTGRES,
    "org.sqlite.JDBC": Dialect.SQLITE,
}
"""Java's driver classes, which the option ``driver`` may name."""
EXTRAS: Final = {
    Dialect.MYSQL: ("sqlalchemy", "pymysql"),
    Dialect.POSTGRES: ("sqlalchemy", "psycopg"),
    Dialect.SQLITE: ("sqlalchemy",),
}
"""The modules that each needs."""


class Address(NamedTuple):
    """What a URL says.

    ``database`` is a file of SQLite. ``user`` and ``password`` are None where the URL has none. ``zone`` is that of
    wall clocks, where a column is an instant and the table's is none, or the other way round. ``arguments`` go to the
    driver. ``zero_dates``: what a date of zeros, which MySQL keeps, is read as.
    """

    dialect: Dialect
    host: str
    port: int
    database: str
    user: str | None
    password: str | None
    arguments: Mapping[str, object]
    schema: str | None = None
    zone: str = "UTC"
    zero_dates: str = "EXCEPTION"

    @property
    def shown(self) -> str:
        """The URL without anything secret."""
        if self.dialect is Dialect.SQLITE:
            return f"jdbc:sqlite:{self.database}"
        return f"jdbc:{self.dialect}://{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """Host and port, or the file."""
        if self.dialect is Dialect.SQLITE:
            return self.database
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_url(url: str) -> Address:
    """
    :raises BergError: OPTION for what is no such URL, a database that is not there, or an unknown parameter.
    """
    found = re.fullmatch(r"jdbc:([A-Za-z0-9]+):(.*)", url.strip(), re.DOTALL)
    if found is None:
        raise _wrong("'url' is not a JDBC URL", "Write 'url' = 'jdbc:mysql://host:3306/database'.")
    dialect = _NAMES.get(found[1].casefold())
    if dialect is None:
        known = "jdbc:mysql:, jdbc:mariadb:, jdbc:postgresql: and jdbc:sqlite:"
        hint = did_you_mean(found[1], _NAMES) or f"URLs begin with {known}."
        raise _wrong(f"'url' names the database '{found[1]}', to which there is no connection", hint)
    if dialect is Dialect.SQLITE:
        return _sqlite(found[2])
    return _server(dialect, found[2])


def _sqlite(rest: str) -> Address:
    path = rest.partition("?")[0]
    if "?" in rest:
        raise _wrong("'url' has parameters, and one of SQLite takes none", None)
    if not path or path.startswith(":memory:"):
        raise _wrong("'url' names no file of SQLite", "Write 'url' = 'jdbc:sqlite:/path/to/file.db'.")
    from pathlib import Path

    return Address(Dialect.SQLITE, "", 0, str(Path(path).expanduser().absolute()), None, None, {})


_SERVER = re.compile(
    r"//(?:([^@/?]*)@)?(\[[0-9A-Fa-f:.]+\]|[^@:/?,\[\]]*)(?::(\d+))?(?:/([^?/]*))?/?(?:\?(.*))?", re.DOTALL
)


def _server(dialect: Dialect, rest: str) -> Address:
    form = f"Write 'url' = 'jdbc:{dialect}://host:{_PORTS[dialect]}/database'."
    found = _SERVER.fullmatch(rest)
    if found is None:
        place = rest.partition("?")[0]
        if "@" in place:
            form += " In a user or password write @ as %40, / as %2F, : as %3A."
        what = "names several hosts: one is taken" if "," in place and "@" not in place else "is not understood"
        raise _wrong(f"'url' {what}", form)
    user, host, port, database, query = found.groups()
    if port and int(port) > _LAST_PORT:
        raise _wrong(f"'url' names the port {port[:10]}, which is none", form)
    if not database:
        raise _wrong("'url' names no database", form)
    name, _, password = (user or "").partition(":")
    address = Address(
        dialect,
        host.strip("[]") or "localhost",
        int(port or _PORTS[dialect]),
        unquote(database),
        unquote(name) or None,
        unquote(password) or None,
        {},
    )
    known = _MYSQL if dialect is Dialect.MYSQL else _POSTGRES
    by_name = {key.casefold(): key for key in known}
    for key, value in sorted(parse_qsl(query or "", keep_blank_values=True), key=_precedence):
        taken = by_name.get(key.casefold())
        if taken is None:
            message = f"'url' has the parameter '{key}', which is not known"
            raise _wrong(message, did_you_mean(key, known) or f"Known are {', '.join(sorted(known))}.")
        address = known[taken](address, value)
    return address


def _precedence(parameter: tuple[str, str]) -> int:
    """What goes before others comes after them, as Java's drivers have it: wherever it stands, it says it best."""
    return {"verifyservercertificate": 1, "sslmode": 2}.get(parameter[0].casefold(), 0)


# --- parameters: each takes the address and the value, and gives the address ------------------------------------------

_Parameter = Callable[[Address, str], Address]


def _nothing(address: Address, _: str) -> Address:
    """What has a meaning for Java's driver only, or is so in any case."""
    return address


def _argument(name: str, convert: Callable[[str], object] = str) -> _Parameter:
    def taken(address: Address, value: str) -> Address:
        try:
            return address._replace(arguments={**address.arguments, name: convert(value)})
        except ValueError:
            raise _wrong(f"A parameter of 'url' is '{value}', which is no number", None) from None

    return taken


def _timeout(name: str) -> _Parameter:
    """Milliseconds, as seconds for the driver; 0 is no end."""

    def taken(address: Address, value: str) -> Address:
        if not value.isdecimal():
            raise _wrong(f"A timeout in 'url' is '{value}', which is no number of milliseconds", None)
        seconds = max(1, round(int(value) / 1000))
        if int(value) == 0 or seconds > _LONGEST:
            return address
        return address._replace(arguments={**address.arguments, name: seconds})

    return taken


_LONGEST: Final = 31536000
"""Seconds, which PyMySQL waits at most."""


def _tls(address: Address, value: str) -> Address:
    """``useSSL``, ``requireSSL``, ``sslMode`` of MySQL's drivers."""
    folded = value.casefold().replace("-", "_")
    address = address._replace(arguments={k: v for k, v in address.arguments.items() if not k.startswith("ssl")})
    if folded in ("false", "disabled", "disable"):
        return _argument("ssl_disabled", bool)(address, value)
    if folded in ("preferred", "true", "required", "require", "trust"):
        made = {"ssl": {"check_hostname": False, "verify_mode": "none"}} if folded != "preferred" else {}
    elif folded in ("verify_ca", "verify_identity", "verify_full"):
        made = {"ssl": {"check_hostname": folded != "verify_ca", "verify_mode": "required"}}
    else:
        raise _wrong(f"'url' asks for TLS by '{value}', which is not known", None)
    return address._replace(arguments={**address.arguments, **made})


def _verified(address: Address, value: str) -> Address:
    """``verifyServerCertificate``, behind ``useSSL``."""
    asked = value.casefold() == "true" and "ssl_disabled" not in address.arguments
    return _tls(address, "verify_ca") if asked else address


def _encoding(address: Address, value: str) -> Address:
    if value.casefold().replace("-", "").replace("_", "") not in ("utf8", "utf8mb4"):
        raise _wrong(f"'url' asks for the encoding '{value}': text is always sent as UTF-8", None)
    return address


def _zone(address: Address, value: str) -> Address:
    from bergsql.engine.plan.times import zone

    name = {"server": "UTC", "local": "UTC"}.get(value.casefold(), value)
    if zone(name) is None:
        raise _wrong(f"'url' names the time zone '{value}', which is not known", "Write Asia/Shanghai or GMT%2B8.")
    return address._replace(zone=name)


def _zeros(address: Address, value: str) -> Address:
    folded = value.upper().replace("_", "")
    kinds = {"EXCEPTION": "EXCEPTION", "CONVERTTONULL": "NULL", "ROUND": "ROUND"}
    if folded not in kinds:
        raise _wrong(f"'zeroDateTimeBehavior' in 'url' is '{value}'", "It is EXCEPTION, CONVERT_TO_NULL or ROUND.")
    return address._replace(zero_dates=kinds[folded])


def _user(address: Address, value: str) -> Address:
    return address._replace(user=value)


def _password(address: Address, value: str) -> Address:
    return address._replace(password=value)


def _schema(address: Address, value: str) -> Address:
    return address._replace(schema=value.partition(",")[0])


def _sslmode(address: Address, value: str) -> Address:
    known = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
    if value not in known:
        raise _wrong(f"'sslmode' in 'url' is '{value}'", did_you_mean(value, known) or f"It is {', '.join(known)}.")
    return _argument("sslmode")(address, value)


def _postgres_tls(address: Address, value: str) -> Address:
    return _argument("sslmode")(address, "verify-full" if value.casefold() in ("true", "") else "prefer")


_MYSQL: Final[Mapping[str, _Parameter]] = {
    "user": _user,
    "password": _password,
    "connectTimeout": _timeout("connect_timeout"),
    "socketTimeout": _timeout("read_timeout"),
    "useSSL": _tls,
    "requireSSL": _tls,
    "sslMode": _tls,
    "verifyServerCertificate": _verified,
    "characterEncoding": _encoding,
    "serverTimezone": _zone,
    "connectionTimeZone": _zone,
    "zeroDateTimeBehavior": _zeros,
    **dict.fromkeys(
        (
            *("useUnicode", "rewriteBatchedStatements", "allowPublicKeyRetrieval", "autoReconnect", "failOverReadOnly"),
            *("useServerPrepStmts", "cachePrepStmts", "prepStmtCacheSize", "prepStmtCacheSqlLimit", "useCursorFetch"),
            *("tinyInt1isBit", "nullCatalogMeansCurrent", "useInformationSchema"),
            *("useLegacyDatetimeCode", "allowMultiQueries", "maxReconnects", "tcpKeepAlive", "permitMysqlScheme"),
            *("useLocalSessionState", "forceConnectionTimeZoneToSession", "useCompression", "yearIsDateType"),
        ),
        _nothing,
    ),
}
_POSTGRES: Final[Mapping[str, _Parameter]] = {
    "user": _user,
    "password": _password,
    "currentSchema": _schema,
    "ssl": _postgres_tls,
    "sslmode": _sslmode,
    "sslrootcert": _argument("sslrootcert"),
    "sslcert": _argument("sslcert"),
    "sslkey": _argument("sslkey"),
    "connectTimeout": _argument("connect_timeout", int),
    "loginTimeout": _argument("connect_timeout", int),
    "ApplicationName": _argument("application_name"),
    **dict.fromkeys(
        (
            *("reWriteBatchedInserts", "stringtype", "prepareThreshold", "tcpKeepAlive", "defaultRowFetchSize"),
            *("preparedStatementCacheQueries", "binaryTransfer", "socketTimeout", "autosave"),
        ),
        _nothing,
    ),
}


def _wrong(message: str, hint: str | None) -> BergError:
    return BergError(ErrorCode.OPTION, f"{message}.", hint=hint)
