"""What WITH says of a ``postgres-cdc`` table: the options of Flink CDC 3.x's connector, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.options import OptionSpec, parse_bool, parse_duration
from bergsql.engine.sql.types import LTZ3, STRING, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable

INITIAL: Final = "initial"
LATEST: Final = "latest-offset"
COMMITTED: Final = "committed-offset"
SNAPSHOT: Final = "snapshot"

_SLOT = r"[a-z0-9_]{1,63}"
_NO_EFFECT = "Taken, and without effect"
_CHUNKS = "scan.incremental.snapshot.chunk"
_PLUGIN = OptionSpec("decoding.plugin.name", "str", "pgoutput", "The output plugin of the slot: pgoutput.")

OPTIONS: Final = (
    OptionSpec("hostname", doc="The host of the PostgreSQL server.", required=True),
    OptionSpec("port", "int", "5432", "Its port.", bounds=("1", "65535")),
    OptionSpec("username", doc="Who reads: a user that may replicate.", required=True),
    OptionSpec("password", doc="The password of that user."),
    OptionSpec("database-name", doc="The database that is read.", required=True),
    OptionSpec("schema-name", doc="A regular expression that the names of schemas match as a whole.", required=True),
    OptionSpec("table-name", doc="A regular expression that the names of tables match as a whole.", required=True),
    OptionSpec("slot.name", doc="The replication slot: a slot of its own for each job.", required=True),
    _PLUGIN,
    OptionSpec(
        "changelog-mode",
        "enum",
        "all",
        "all: with the rows as they were, of tables with REPLICA IDENTITY FULL. upsert: with the key only.",
        values=("all", "upsert"),
    ),
    OptionSpec(
        "scan.startup.mode",
        "enum",
        INITIAL,
        "Where a new job begins: all rows and then changes, changes from now on, changes from where the slot is, or "
        "only the rows.",
        values=(INITIAL, LATEST, COMMITTED, SNAPSHOT),
    ),
    OptionSpec(
        "scan.incremental.snapshot.enabled",
        "bool",
        "true",
        "Read the rows by chunks of the primary key, with checkpoints between; false: in one go.",
    ),
    OptionSpec(f"{_CHUNKS}.size", "int", "8096", "How many rows a chunk has.", bounds=("1", "100000000")),
    OptionSpec("heartbeat.interval.ms", "duration", "30s", "How often the slot moves on while nothing changes."),
    OptionSpec("connect.timeout", "duration", "30s", "How long a connection may take to come about."),
    OptionSpec("connect.max-retries", "int", "3", "How often connecting is tried.", bounds=("1", "1000")),
    OptionSpec(
        "scan.lsn-commit.checkpoints-num-delay",
        "int",
        "3",
        "By how many checkpoints the slot stays behind what is committed.",
        bounds=("0", "1000000"),
    ),
    OptionSpec("debezium.publication.name", "str", "dbz_publication", "The publication that is read."),
    OptionSpec(
        "debezium.publication.autocreate.mode",
        "enum",
        "filtered",
        "Whether the publication is made, and tables are added to it: filtered (those that are read), all_tables or "
        "disabled.",
        values=("filtered", "all_tables", "disabled"),
    ),
    OptionSpec("connection.pool.size", "int", "30", f"{_NO_EFFECT}: a reader has up to three connections."),
    OptionSpec("scan.snapshot.fetch.size", "int", "1024", f"{_NO_EFFECT}: chunks are read by COPY."),
    OptionSpec(f"{_CHUNKS}.key-column", doc=f"{_NO_EFFECT}: chunks follow the primary key."),
    OptionSpec("chunk-meta.group.size", "int", "1000", f"{_NO_EFFECT}: chunks are told by where they end."),
    OptionSpec("chunk-key.even-distribution.factor.upper-bound", "number", "1000", f"{_NO_EFFECT}: as above."),
    OptionSpec("chunk-key.even-distribution.factor.lower-bound", "number", "0.05", f"{_NO_EFFECT}: as above."),
    OptionSpec(
        "scan.incremental.snapshot.backfill.skip", "bool", "false", f"{_NO_EFFECT}: there is nothing to fill back."
    ),
    OptionSpec("scan.incremental.close-idle-reader.enabled", "bool", "false", f"{_NO_EFFECT}: there is one reader."),
    OptionSpec(
        "scan.incremental.snapshot.unbounded-chunk-first.enabled",
        "bool",
        "false",
        f"{_NO_EFFECT}: chunks are read in the order of their keys.",
    ),
)

METADATA: Final[Mapping[str, DataType]] = {
    "table_name": STRING,
    "schema_name": STRING,
    "database_name": STRING,
    "op_ts": LTZ3,
    "row_kind": STRING,
}


class Settings(NamedTuple):
    """The options of a table, read. Times are in seconds."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    schemas: str
    tables: str
    slot: str
    upsert: bool
    startup: str
    chunked: bool
    chunk_rows: int
    heartbeat: float
    connect_timeout: float
    connect_tries: int
    confirm_delay: int
    publication: str
    autocreate: str

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.host}:{self.port}/{self.database}"


def settings_of(given: Mapping[str, str]) -> Settings:
    """The options of a table that was checked."""
    defaults = {spec.key: spec.default for spec in OPTIONS}

    def text(key: str) -> str:
        return given.get(key) or defaults[key] or ""

    return Settings(
        host=text("hostname"),
        port=int(text("port")),
        user=text("username"),
        password=given.get("password"),
        database=text("database-name"),
        schemas=text("schema-name"),
        tables=text("table-name"),
        slot=text("slot.name"),
        upsert=text("changelog-mode").casefold() == "upsert",
        startup=text("scan.startup.mode").casefold(),
        chunked=parse_bool(text("scan.incremental.snapshot.enabled")),
        chunk_rows=int(text(f"{_CHUNKS}.size")),
        heartbeat=parse_duration(text("heartbeat.interval.ms")) / 1000,
        connect_timeout=parse_duration(text("connect.timeout")) / 1000,
        connect_tries=int(text("connect.max-retries")),
        confirm_delay=int(text("scan.lsn-commit.checkpoints-num-delay")),
        publication=text("debezium.publication.name"),
        autocreate=text("debezium.publication.autocreate.mode").casefold(),
    )


def check(table: ConnectorTable) -> None:
    """Refuse what cannot be, beyond single options.

    :raises BergError: OPTION, UNSUPPORTED, INVALID or TYPE.
    """
    given = table.options
    plugin = given.get(_PLUGIN.key, "pgoutput")
    if "${env:" not in plugin and plugin != "pgoutput":
        if plugin in ("decoderbufs", "wal2json"):
            raise not_supported(f"'{_PLUGIN.key}' = '{plugin}'", hint="pgoutput comes with every PostgreSQL.")
        raise BergError(ErrorCode.OPTION, f"'{plugin}' is not a value of '{_PLUGIN.key}': it takes 'pgoutput'.")
    for key in ("schema-name", "table-name"):
        _check_pattern(key, given[key])
    slot = given["slot.name"]
    if "${env:" not in slot and not re.fullmatch(_SLOT, slot):
        raise BergError(
            ErrorCode.OPTION,
            f"'{slot}' is not a value of 'slot.name': it takes up to 63 small letters, digits and underscores.",
        )
    chunk_key = given.get(f"{_CHUNKS}.key-column")
    if chunk_key is not None and chunk_key not in {c.name for c in table.stored}:
        raise BergError(
            ErrorCode.OPTION, f"'{_CHUNKS}.key-column' names '{chunk_key}', which is no column of the table."
        )
    if given.get("changelog-mode", "all").casefold() == "upsert" and not table.key:
        raise BergError(
            ErrorCode.INVALID,
            "A table with 'changelog-mode' = 'upsert' needs a primary key.",
            hint="Declare PRIMARY KEY (…) NOT ENFORCED with the columns of the table's own key.",
        )
    if not table.stored:
        raise BergError(ErrorCode.INVALID, "A table of connector 'postgres-cdc' needs a column that is stored.")
    for column in table.columns:
        if column.metadata is None:
            check_type(column.name, column.type)


def check_type(name: str, type_: DataType) -> None:
    """Refuse a declared type that no value of PostgreSQL becomes.

    :raises BergError: TYPE.
    """
    if type_.kind is Kind.ARRAY:
        check_type(name, type_.children[0].type)
        return
    if type_.kind in UNREAD:
        raise BergError(
            ErrorCode.TYPE,
            f"Column '{name}' of a table of connector 'postgres-cdc' cannot be a {type_.kind.value}.",
            hint="As STRING it holds what PostgreSQL writes of the value.",
        )


UNREAD: Final = frozenset(
    {
        Kind.HUGEINT,
        Kind.INTERVAL_DAY_TIME,
        Kind.INTERVAL_YEAR_MONTH,
        Kind.MAP,
        Kind.ROW,
        Kind.MULTISET,
        Kind.VARIANT,
        Kind.GEOMETRY,
        Kind.GEOGRAPHY,
        Kind.NULL,
    }
)


def _check_pattern(key: str, pattern: str) -> None:
    if "${env:" in pattern:
        return
    try:
        re.compile(pattern)
    except re.error as error:
        raise BergError(
            ErrorCode.OPTION, f"'{pattern}' is not a value of '{key}': as a regular expression it fails: {error.msg}."
        ) from None
