"""The options of ``mysql-cdc``: names and defaults are those of Flink CDC 3.x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from zoneinfo import ZoneInfo

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec, parse_duration

StartupMode = Literal["initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot"]

_WITHOUT_EFFECT: Final = "Taken, and without effect."
_MOST: Final = str(2**31 - 1)
_SERVER_IDS: Final = 2**32 - 1
_SPECIFIC: Final = "scan.startup.specific-offset"
_TIMESTAMP: Final = "scan.startup.timestamp-millis"
_SNAPSHOT: Final = "scan.incremental.snapshot"

_CONNECTION: Final = (
    OptionSpec("hostname", required=True, doc="Where the server is."),
    OptionSpec("port", "int", "3306", "Its port.", bounds=("1", "65535")),
    OptionSpec("username", required=True, doc="Who reads: with SELECT, REPLICATION SLAVE and REPLICATION CLIENT."),
    OptionSpec("password", required=True, doc="The user's password."),
    OptionSpec("database-name", required=True, doc="The database: a regular expression for its whole name."),
    OptionSpec("table-name", required=True, doc="The table: a regular expression for its whole name."),
    OptionSpec(
        "server-id",
        doc="A number, or a range as '5400-5408', by which the server knows this reader among its replicas; a number"
        " of its own without it.",
    ),
    OptionSpec(
        "server-time-zone", doc="In which a TIMESTAMP is read as a time without zone; the session's without it."
    ),
    OptionSpec("connect.timeout", "duration", "30 s", "How long a connection may take to be made."),
    OptionSpec("connect.max-retries", "int", "3", "How often that is tried again.", bounds=("0", "1000")),
    OptionSpec("heartbeat.interval", "duration", "30 s", "How often an idle server tells how far its binlog is."),
    OptionSpec("connection.pool.size", "int", "20", _WITHOUT_EFFECT, bounds=("1", _MOST)),
    OptionSpec("jdbc.properties.useSSL", "bool", doc="Whether the connection is encrypted."),
    OptionSpec(
        "jdbc.properties.sslMode",
        "enum",
        doc="The same, in MySQL's words; the server's certificate is not checked.",
        values=("DISABLED", "REQUIRED"),
    ),
    *(
        OptionSpec(f"jdbc.properties.{key}", doc=_WITHOUT_EFFECT)
        for key in ("allowPublicKeyRetrieval", "characterEncoding", "useUnicode", "autoReconnect", "tinyInt1isBit")
    ),
)
_STARTUP: Final = (
    OptionSpec(
        "scan.startup.mode",
        "enum",
        "initial",
        "Whether the rows that are there come first, and from where the binlog is read.",
        values=("initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot"),
    ),
    OptionSpec(f"{_SPECIFIC}.file", doc="The binlog's file to begin in."),
    OptionSpec(f"{_SPECIFIC}.pos", "int", doc="The place in it.", bounds=("4", str(2**32 - 1))),
    OptionSpec(f"{_SPECIFIC}.gtid-set", doc="Or the transactions that were read, by their GTIDs."),
    OptionSpec(f"{_SPECIFIC}.skip-events", "int", "0", "Only 0.", bounds=("0", "0")),
    OptionSpec(f"{_SPECIFIC}.skip-rows", "int", "0", "Rows to pass over from there.", bounds=("0", _MOST)),
    OptionSpec(_TIMESTAMP, "int", doc="Changes from then on, in milliseconds since 1970.", bounds=("0", str(10**15))),
)
_SCAN: Final = (
    OptionSpec(f"{_SNAPSHOT}.enabled", "bool", "true", "Whether a snapshot is read by chunks, each kept by itself."),
    OptionSpec(f"{_SNAPSHOT}.chunk.size", "int", "8096", "Rows of a chunk.", bounds=("1", "100000000")),
    OptionSpec(f"{_SNAPSHOT}.chunk.key-column", doc="The column that chunks are made by; the primary key without it."),
    OptionSpec("scan.snapshot.fetch.size", "int", "1024", "Rows that are fetched at once.", bounds=("1", _MOST)),
    OptionSpec("treat-tinyint1-as-boolean.enabled", "bool", "true", "Whether a TINYINT(1) may be declared BOOLEAN."),
    OptionSpec(
        "scan.read-changelog-as-append-only.enabled",
        "bool",
        "false",
        "Whether each change is a row that is added; the metadata 'row_kind' says what it was.",
    ),
    OptionSpec(f"{_SNAPSHOT}.backfill.skip", "bool", "false", _WITHOUT_EFFECT),
    OptionSpec(f"{_SNAPSHOT}.unbounded-chunk-first.enabled", "bool", "false", _WITHOUT_EFFECT),
    OptionSpec("scan.incremental.close-idle-reader.enabled", "bool", "false", _WITHOUT_EFFECT),
    OptionSpec("chunk-meta.group.size", "int", "1000", _WITHOUT_EFFECT, bounds=("1", _MOST)),
    OptionSpec("chunk-key.even-distribution.factor.lower-bound", "number", "0.05", _WITHOUT_EFFECT),
    OptionSpec("chunk-key.even-distribution.factor.upper-bound", "number", "1000", _WITHOUT_EFFECT),
    OptionSpec("scan.newly-added-table.enabled", "enum", "false", "Only 'false'.", values=("false",)),
    OptionSpec("scan.parse.online.schema.changes.enabled", "enum", "false", "Only 'false'.", values=("false",)),
)
_DEBEZIUM: Final = (
    OptionSpec("debezium.snapshot.locking.mode", "enum", "none", "Only 'none'.", values=("none",)),
    OptionSpec("debezium.decimal.handling.mode", "enum", "precise", "Only 'precise'.", values=("precise",)),
    OptionSpec("debezium.bigint.unsigned.handling.mode", "enum", "precise", "Only 'precise'.", values=("precise",)),
    OptionSpec("debezium.binary.handling.mode", "enum", "bytes", "Only 'bytes'.", values=("bytes",)),
    OptionSpec(
        "debezium.event.deserialization.failure.handling.mode", "enum", "fail", "Only 'fail'.", values=("fail",)
    ),
    OptionSpec("debezium.inconsistent.schema.handling.mode", "enum", "fail", "Only 'fail'.", values=("fail",)),
    *(
        OptionSpec(f"debezium.{key}", doc=_WITHOUT_EFFECT)
        for key in ("snapshot.fetch.size", "min.row.count.to.stream.results", "max.queue.size", "max.batch.size")
    ),
    *(OptionSpec(f"debezium.{key}", doc=_WITHOUT_EFFECT) for key in ("poll.interval.ms", "connect.keep.alive")),
)
OPTIONS: Final = (*_CONNECTION, *_STARTUP, *_SCAN, *_DEBEZIUM)
_DEFAULTS: Final = {s.key: s.default for s in OPTIONS}


@dataclass(frozen=True)
class Startup:
    """Where reading begins. ``gtids`` or ``file`` and ``pos`` of a specific offset; ``timestamp`` in milliseconds."""

    mode: StartupMode = "initial"
    file: str | None = None
    pos: int = 4
    gtids: str | None = None
    skip_rows: int = 0
    timestamp: int | None = None

    @property
    def snapshot(self) -> bool:
        """Whether the rows that are there are read."""
        return self.mode in ("initial", "snapshot")


@dataclass(frozen=True)
class MysqlOptions:
    """What WITH says. Times are in seconds.

    server_ids
        The first and the last that may be used; None for a made up one.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    table: str
    startup: Startup = field(default_factory=Startup)
    server_ids: tuple[int, int] | None = None
    time_zone: str | None = None
    chunked: bool = True
    chunk_size: int = 8096
    chunk_key: str | None = None
    fetch_size: int = 1024
    connect_timeout: float = 30.0
    retries: int = 3
    heartbeat: float = 30.0
    booleans: bool = True
    append_only: bool = False
    encrypted: bool | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def parse(given: Mapping[str, str]) -> MysqlOptions:
    """The options of a table, whose single values were checked.

    :raises BergError: OPTION for what does not fit together.
    """

    def text(key: str) -> str | None:
        return given.get(key, _DEFAULTS[key])

    def number(key: str) -> int:
        return int(text(key) or 0)

    def flag(key: str) -> bool:
        return (text(key) or "false").strip().casefold() == "true"

    for key in ("database-name", "table-name"):
        _check_pattern(key, given[key])
    zone = text("server-time-zone")
    return MysqlOptions(
        host=given["hostname"],
        port=number("port"),
        user=given["username"],
        password=given["password"],
        database=given["database-name"],
        table=given["table-name"],
        startup=_startup(given),
        server_ids=_server_ids(given.get("server-id")),
        time_zone=None if zone is None else _zone(zone),
        chunked=flag(f"{_SNAPSHOT}.enabled"),
        chunk_size=number(f"{_SNAPSHOT}.chunk.size"),
        chunk_key=text(f"{_SNAPSHOT}.chunk.key-column"),
        fetch_size=number("scan.snapshot.fetch.size"),
        connect_timeout=max(parse_duration(text("connect.timeout") or "30 s") / 1000, 0.001),
        retries=number("connect.max-retries"),
        heartbeat=max(parse_duration(text("heartbeat.interval") or "30 s") / 1000, 0.001),
        booleans=flag("treat-tinyint1-as-boolean.enabled"),
        append_only=flag("scan.read-changelog-as-append-only.enabled"),
        encrypted=_encrypted(given),
    )


def _encrypted(given: Mapping[str, str]) -> bool | None:
    mode, use = given.get("jdbc.properties.sslMode"), given.get("jdbc.properties.useSSL")
    if mode is not None:
        return mode.casefold() == "required"
    return None if use is None else use.strip().casefold() == "true"


def _check_pattern(key: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"'{key}' is no regular expression: {error}."
        raise BergError(
            ErrorCode.OPTION, message, hint="A character with a meaning is written with \\ before."
        ) from None


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        if re.fullmatch(r"[+-]\d{2}:\d{2}", name) is None:
            message = f"'{name}' is not a value of 'server-time-zone': it takes a zone such as 'Asia/Shanghai'."
            raise BergError(ErrorCode.OPTION, message) from None
    return name


def _server_ids(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", text)
    if found is not None:
        first, last = int(found[1]), int(found[2] or found[1])
        if 1 <= first <= last <= _SERVER_IDS:
            return first, last
    raise BergError(
        ErrorCode.OPTION,
        f"'{text}' is not a value of 'server-id': it takes a number from 1 to {_SERVER_IDS}, or two as '5400-5408'.",
    )


def _startup(given: Mapping[str, str]) -> Startup:
    mode = (given.get("scan.startup.mode") or "initial").casefold()
    told = {key: given[key] for key in given if key.startswith(_SPECIFIC) or key == _TIMESTAMP}
    belongs = {"specific-offset": _SPECIFIC, "timestamp": _TIMESTAMP}.get(mode)
    for key in told:
        if belongs is None or not key.startswith(belongs):
            needed = "timestamp" if key == _TIMESTAMP else "specific-offset"
            message = f"'{key}' means nothing with 'scan.startup.mode' = '{mode}'."
            raise BergError(ErrorCode.OPTION, message, hint=f"It goes with 'scan.startup.mode' = '{needed}'.")
    if mode == "timestamp":
        if _TIMESTAMP not in told:
            raise BergError(ErrorCode.OPTION, f"'scan.startup.mode' = 'timestamp' needs '{_TIMESTAMP}'.")
        return Startup("timestamp", timestamp=int(told[_TIMESTAMP]))
    if mode != "specific-offset":
        return Startup(mode)  # type: ignore[arg-type]  # its values were checked
    file, pos = told.get(f"{_SPECIFIC}.file"), told.get(f"{_SPECIFIC}.pos")
    gtids = told.get(f"{_SPECIFIC}.gtid-set")
    if (file is None or pos is None) == (gtids is None) or (gtids is not None and (file or pos)):
        message = f"'scan.startup.mode' = 'specific-offset' needs either '{_SPECIFIC}.file' with '{_SPECIFIC}.pos' or"
        raise BergError(ErrorCode.OPTION, f"{message} '{_SPECIFIC}.gtid-set'.")
    return Startup("specific-offset", file, int(pos or 4), gtids, int(told.get(f"{_SPECIFIC}.skip-rows", "0")))
