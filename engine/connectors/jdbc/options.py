"""What WITH says of a table of connector 'jdbc': Flink's options of its JDBC connector."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.options import OptionSpec, parse_duration, parse_int
from bergsql.engine.connectors.jdbc.url import DRIVERS, Address, Dialect, parse_url

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable

_SCAN: Final = "scan.partition."
_CACHE: Final = "lookup.partial-cache."

OPTIONS: Final = (
    OptionSpec(
        "url", required=True, doc="The database: `jdbc:mysql://host:3306/db`, `jdbc:postgresql:…`, `jdbc:sqlite:/file`."
    ),
    OptionSpec("table-name", required=True, doc="The table in it, `name` or `schema.name`."),
    OptionSpec("username", doc="The user, unless the URL names one."),
    OptionSpec("password", doc="The user's password."),
    OptionSpec(
        "driver", doc="Java's class of the driver: taken if it is one of the URL's database, and without effect."
    ),
    OptionSpec(
        "compatible-mode", doc="Taken where it is the URL's database (`mysql`, `postgres`), and without effect."
    ),
    OptionSpec("connection.max-retry-timeout", "duration", "60s", "How long a connection may take to be made."),
    OptionSpec(
        "scan.partition.column", doc="The column of numbers by whose ranges the table is read; with the next three."
    ),
    OptionSpec("scan.partition.num", "int", doc="How many ranges.", bounds=("1", "100000")),
    OptionSpec("scan.partition.lower-bound", "int", doc="The smallest value: rows below it are not read."),
    OptionSpec("scan.partition.upper-bound", "int", doc="The largest value: rows above it are not read."),
    OptionSpec("scan.fetch-size", "int", "0", "Rows that are fetched at once; 0: 10,000.", bounds=("0", "10000000")),
    OptionSpec("scan.auto-commit", "bool", "true", "Taken, and without effect: what is read is one transaction."),
    OptionSpec("lookup.cache", "enum", "NONE", "Whether a lookup join keeps rows.", ("NONE", "PARTIAL")),
    OptionSpec(f"{_CACHE}expire-after-access", "duration", doc="How long a key is kept that nobody asks for."),
    OptionSpec(f"{_CACHE}expire-after-write", "duration", doc="How long a key is kept."),
    OptionSpec(f"{_CACHE}max-rows", "int", doc="How many keys are kept at most.", bounds=("1", "1000000000")),
    OptionSpec(f"{_CACHE}cache-missing-key", "bool", "true", "Whether it is kept that a key has no rows."),
    OptionSpec("lookup.max-retries", "int", "3", "How often a lookup is tried again.", bounds=("0", "1000")),
    OptionSpec(
        "sink.buffer-flush.max-rows", "int", "100", "Taken, and without effect: rows are written by checkpoints."
    ),
    OptionSpec("sink.buffer-flush.interval", "duration", "1s", "Taken, and without effect, as before."),
    OptionSpec(
        "sink.max-retries", "int", "3", "How often the rows of a checkpoint are tried again.", bounds=("0", "1000")
    ),
    OptionSpec("sink.parallelism", "int", doc="Taken, and without effect.", bounds=("1", "32768")),
)


class Partitions(NamedTuple):
    """Ranges of a column of whole numbers: from ``lower`` to ``upper``, both of them in it."""

    column: str
    number: int
    lower: int
    upper: int

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The first value of each range, and the first that is behind it."""
        whole = self.upper - self.lower + 1
        count = min(self.number, whole)
        ends = [self.lower + whole * n // count for n in range(count + 1)]
        return list(pairwise(ends))


class Cache(NamedTuple):
    """How a lookup join keeps rows; times in seconds."""

    after_access: float | None
    after_write: float | None
    most: int | None
    missing: bool


class Settings(NamedTuple):
    """The options of a table, read."""

    address: Address
    schema: str | None
    table: str
    timeout: float
    partitions: Partitions | None
    fetch_size: int
    cache: Cache | None
    lookup_retries: int
    sink_retries: int


def settings_of(options: Mapping[str, str]) -> Settings:
    """
    :raises BergError: OPTION where they do not fit together.
    """

    def number(key: str, otherwise: int) -> int:
        return parse_int(options[key], key) if key in options else otherwise

    address = parse_url(options["url"])
    address = address._replace(
        user=options.get("username", address.user), password=options.get("password", address.password)
    )
    _check_named(options, address.dialect)
    schema, table = _named(options["table-name"], address)
    return Settings(
        address,
        schema,
        table,
        parse_duration(options.get("connection.max-retry-timeout", "60s")) / 1000,
        _partitions(options),
        number("scan.fetch-size", 0) or 10_000,
        _cache(options),
        number("lookup.max-retries", 3),
        number("sink.max-retries", 3),
    )


def check(table: ConnectorTable) -> None:
    """Refuse options that do not fit together. References to the environment are looked at when the table is used."""
    if table.partitioning:
        raise BergError(ErrorCode.INVALID, "A table of connector 'jdbc' has no partitions.")
    if any("${env:" in value for value in table.options.values()):
        return
    settings = settings_of(table.options)
    found = settings.partitions
    if found is not None and found.column not in (names := [c.name for c in table.stored]):
        message = f"'{_SCAN}column' names '{found.column}', which is no column of the table."
        raise BergError(ErrorCode.OPTION, message, hint=did_you_mean(found.column, names))


def _check_named(options: Mapping[str, str], dialect: Dialect) -> None:
    driver = options.get("driver")
    if driver is not None and DRIVERS.get(driver) is not dialect:
        known = [name for name, of in DRIVERS.items() if of is dialect]
        message = f"'driver' is '{driver}', which is no driver of the database in 'url'."
        raise BergError(
            ErrorCode.OPTION, message, hint=did_you_mean(driver, known) or f"It may be {known[0]}, or left out."
        )
    mode = options.get("compatible-mode")
    modes = {"mysql": Dialect.MYSQL, "postgres": Dialect.POSTGRES, "postgresql": Dialect.POSTGRES}
    if mode is not None and modes.get(mode.casefold()) is not dialect:
        message = f"'compatible-mode' is '{mode}', which is not the database in 'url'."
        raise BergError(ErrorCode.OPTION, message, hint="It may be left out.")


def _named(name: str, address: Address) -> tuple[str | None, str]:
    schema, dot, table = name.rpartition(".")
    if not dot:
        schema = ""
    if not table or (dot and not schema):
        raise BergError(ErrorCode.OPTION, f"'table-name' is '{name}', which names no table.", hint="Write schema.name.")
    return schema or address.schema, table


def _partitions(options: Mapping[str, str]) -> Partitions | None:
    keys = [f"{_SCAN}{name}" for name in ("column", "num", "lower-bound", "upper-bound")]
    given = [key for key in keys if key in options]
    if not given:
        return None
    missing = next((key for key in keys if key not in options), None)
    if missing is not None:
        message = f"'{given[0]}' comes with '{missing}', which is not there."
        raise BergError(ErrorCode.OPTION, message, hint=f"All of {', '.join(keys)} stand together.")
    count, lower, upper = (parse_int(options[key], key) for key in keys[1:])
    if lower > upper:
        raise BergError(ErrorCode.OPTION, f"'{_SCAN}lower-bound' is {lower}, above '{_SCAN}upper-bound', {upper}.")
    return Partitions(options[keys[0]], count, lower, upper)


def _cache(options: Mapping[str, str]) -> Cache | None:
    def seconds(name: str) -> float | None:
        value = options.get(f"{_CACHE}{name}")
        return parse_duration(value) / 1000 if value is not None else None

    if options.get("lookup.cache", "NONE").upper() == "NONE":
        given = next((key for key in options if key.startswith(_CACHE)), None)
        if given is not None:
            message = f"'{given}' is of a cache that is not there."
            raise BergError(ErrorCode.OPTION, message, hint="'lookup.cache' = 'PARTIAL' makes one.")
        return None
    most = options.get(f"{_CACHE}max-rows")
    made = Cache(
        seconds("expire-after-access"),
        seconds("expire-after-write"),
        int(most) if most is not None else None,
        options.get(f"{_CACHE}cache-missing-key", "true").casefold() == "true",
    )
    if made.after_access is None and made.after_write is None and made.most is None:
        raise BergError(
            ErrorCode.OPTION,
            "'lookup.cache' is PARTIAL, and nothing says when a row leaves it.",
            hint=f"Set '{_CACHE}expire-after-write', '{_CACHE}expire-after-access' or '{_CACHE}max-rows'.",
        )
    return made
