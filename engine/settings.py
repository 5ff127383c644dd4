"""Every setting as data, and the session's values of them.

SET checks against this table and the documentation is written from it. A key that is not in the table but belongs to
Flink's or Spark's runtime is kept and noted; a near miss of a key that works here is refused; a word without a dot is
a variable for ``${NAME}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.options import OptionSpec, check_value


class Setting(NamedTuple):
    """A setting: what its value may be, whose it is, and other names it has."""

    spec: OptionSpec
    flavour: str = "both"
    aliases: tuple[str, ...] = ()


def _setting(
    key: str,
    type_: str,
    default: str | None,
    doc: str,
    *,
    flavour: str = "both",
    aliases: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
    bounds: tuple[str, str] | None = None,
) -> Setting:
    spec = OptionSpec(key, type_, default, doc=doc, values=values, bounds=bounds)
    return Setting(spec, flavour, aliases)


_OF_A_TABLE = (
    *("snapshot-id", "as-of-timestamp", "branch", "tag", "start-tag", "end-tag"),
    *("start-snapshot-id", "end-snapshot-id", "start-snapshot-timestamp"),
)
"""Flink's read options that have no key of a session."""
_OF_STREAMS = "Of tables that are read as a stream, as the read option."

_FACTORS = {
    "exponential-delay.backoff-multiplier": ("1", "1000000"),
    "exponential-delay.jitter-factor": ("0", "1"),
}
"""Of restart strategies: what they may be."""

SETTINGS: tuple[Setting, ...] = (
    _setting("sql.dialect", "enum", "flink", "The flavour of the statements that follow.", values=("flink", "spark")),
    _setting(
        "execution.runtime-mode",
        "enum",
        "automatic",
        "Whether a statement runs as a batch or as a stream; automatic: as its sources are.",
        flavour="flink",
        values=("automatic", "batch", "streaming"),
    ),
    _setting(
        "sql-client.execution.result-mode",
        "enum",
        "tableau",
        "How the result of a SELECT is drawn at a terminal: below the statement, or in a view of its own that shows "
        "the rows or their changes. Elsewhere all are drawn alike.",
        flavour="flink",
        values=("tableau", "table", "changelog"),
    ),
    _setting(
        "sql-client.execution.max-table-result.rows",
        "int",
        "100000",
        "How many rows the result modes table and changelog read and show.",
        flavour="flink",
    ),
    _setting(
        "table.local-time-zone",
        "zone",
        "default",
        "The time zone in which instants are shown and zone-less text is read: a place, or hours as in GMT+08:00 (kept "
        "as POSIX names them); default: the machine's.",
        aliases=("spark.sql.session.timeZone",),
    ),
    _setting(
        "table.display.max-column-width",
        "int",
        "30",
        "The widest that a column of a tableau gets, in display columns.",
        flavour="flink",
        aliases=("sql-client.display.max-column-width",),
    ),
    _setting(
        "sql-client.display.print-time-cost",
        "bool",
        "true",
        "Whether the footer of a result tells the time it took.",
        flavour="flink",
    ),
    _setting(
        "table.catalog-store.kind",
        "enum",
        "generic_in_memory",
        "Where catalogs that are made are kept, and tables with a connector and views of default_catalog: in the "
        "session, or in files, as by --catalog-store.",
        flavour="flink",
        values=("generic_in_memory", "file"),
    ),
    _setting(
        "table.catalog-store.file.path",
        "str",
        None,
        "The directory of the catalogs' files, when they are kept in files.",
        flavour="flink",
    ),
    _setting(
        "table.dml-sync",
        "bool",
        "false",
        "Whether an INSERT that is a job is waited for; a batch INSERT always is.",
        flavour="flink",
    ),
    _setting(
        "pipeline.name",
        "str",
        None,
        "What the jobs that follow are called; default: insert-into_ and the names of their tables.",
        flavour="flink",
    ),
    _setting(
        "execution.checkpointing.interval",
        "duration",
        "10s",
        "How long after a checkpoint a stream makes the next one: what it wrote becomes visible then.",
        flavour="flink",
    ),
    _setting(
        "execution.state-recovery.ignore-unclaimed-state",
        "bool",
        "false",
        "Whether a job drops what it finds in its savepoint of operators and sources that its query has no more.",
        flavour="flink",
        aliases=("execution.savepoint.ignore-unclaimed-state",),
    ),
    _setting(
        "table.exec.state.ttl",
        "duration",
        "0ms",
        "How long streams keep state that is not used; 0: for ever.",
        flavour="flink",
    ),
    _setting(
        "table.exec.sink.upsert-materialize",
        "enum",
        "AUTO",
        "Whether a stream keeps all rows of each primary key of its sink, so that the one before comes back when one "
        "goes: AUTO where the key does not tell the query's rows apart; NONE for a query that never gives two.",
        values=("NONE", "AUTO", "FORCE"),
        flavour="flink",
    ),
    _setting(
        "table.exec.mini-batch.enabled",
        "boolean",
        "false",
        "Whether streams gather rows and work less often; needs the two below.",
        flavour="flink",
    ),
    _setting(
        "table.exec.mini-batch.allow-latency",
        "duration",
        "0ms",
        "How long rows are held back, so that more of them are worked on at once.",
        flavour="flink",
    ),
    _setting(
        "table.exec.mini-batch.size",
        "int",
        "-1",
        "How many rows make a stream go on without holding any back.",
        flavour="flink",
    ),
    _setting(
        "table.exec.emit.allow-lateness",
        "duration",
        "0ms",
        "How long behind its end a window's result may still change by late rows.",
        flavour="flink",
    ),
    _setting(
        "table.exec.source.idle-timeout",
        "duration",
        "0ms",
        "After how long a source that gives nothing no longer holds up the watermarks of others; 0: never.",
        flavour="flink",
    ),
    _setting(
        "execution.checkpointing.savepoint-dir",
        "str",
        None,
        "Where STOP JOB … WITH SAVEPOINT puts savepoints; default: savepoints/ of the home directory.",
        flavour="flink",
        aliases=("state.savepoints.dir",),
    ),
    _setting(
        "execution.state-recovery.path",
        "str",
        None,
        "The savepoint from which the jobs that follow start.",
        flavour="flink",
        aliases=("execution.savepoint.path",),
    ),
    _setting(
        "restart-strategy.type",
        "enum",
        "exponential-delay",
        "When a job that failed begins again, from its last checkpoint; what is lastingly wrong ends it at once.",
        flavour="flink",
        aliases=("restart-strategy",),
        values=(
            *("none", "disable", "off", "fixed-delay", "fixeddelay", "failure-rate", "failurerate"),
            *("exponential-delay", "exponentialdelay"),
        ),
    ),
    *(
        _setting(f"restart-strategy.{name}", type_, default, doc, flavour="flink", bounds=_FACTORS.get(name))
        for name, type_, default, doc in (
            ("fixed-delay.attempts", "int", "1", "How many restarts there are in all."),
            ("fixed-delay.delay", "duration", "1 s", "The time before each restart."),
            ("failure-rate.max-failures-per-interval", "int", "1", "The failures in an interval that are borne."),
            ("failure-rate.failure-rate-interval", "duration", "1 min", "The interval in which failures are counted."),
            ("failure-rate.delay", "duration", "1 s", "The time before each restart."),
            ("exponential-delay.initial-backoff", "duration", "1 s", "The time before the first restart."),
            ("exponential-delay.max-backoff", "duration", "1 min", "The most time before a restart."),
            ("exponential-delay.backoff-multiplier", "number", "1.5", "How the time grows from restart to restart."),
            (
                "exponential-delay.reset-backoff-threshold",
                "duration",
                "1 h",
                "The time without a failure behind which all begins with the initial backoff.",
            ),
            ("exponential-delay.jitter-factor", "number", "0.1", "By which part of it the time is off, by chance."),
            (
                "exponential-delay.attempts-before-reset-backoff",
                "int",
                "2147483647",
                "How many restarts there are until the backoff is reset.",
            ),
        )
    ),
    _setting(
        "table.dynamic-table-options.enabled",
        "bool",
        "true",
        "Whether OPTIONS hints are allowed.",
        flavour="flink",
    ),
    _setting(
        "spark.sql.sources.partitionOverwriteMode",
        "enum",
        "static",
        "What INSERT OVERWRITE replaces. static: what PARTITION names, or all; dynamic: the partitions that get rows.",
        flavour="spark",
        values=("static", "dynamic"),
    ),
    _setting(
        "spark.wap.branch",
        "str",
        None,
        "The branch that is written and read of tables with 'write.wap.enabled'; the first write makes it.",
        flavour="spark",
    ),
    _setting(
        "spark.wap.id",
        "str",
        None,
        "What is written to tables with 'write.wap.enabled' is staged under this id: nobody reads it.",
        flavour="spark",
    ),
    _setting(
        "spark.sql.storeAssignmentPolicy",
        "enum",
        "ANSI",
        "Which assignments INSERT allows. Only Spark's default is available.",
        flavour="spark",
        values=("ANSI",),
    ),
    _setting(
        "spark.sql.ansi.enabled",
        "enum",
        "false",
        "Whether arithmetic and casts fail instead of giving NULL. Only Spark 3's default is available.",
        flavour="spark",
        values=("false",),
    ),
    _setting(
        "shell.format",
        "enum",
        None,
        "The format of results; default: --format's.",
        values=("tableau", "vertical", "csv", "tsv", "json", "jsonl", "markdown", "arrow", "parquet"),
    ),
    _setting(
        "shell.null-mark", "str", None, "What NULL is shown as, in every format of text; default: the format's own."
    ),
    _setting(
        "shell.auto-vertical",
        "bool",
        "true",
        "Whether a query's table that is wider than the terminal is drawn vertically at the prompt.",
    ),
    _setting("shell.timing", "bool", "false", "Whether the time that each statement took is told, as by --timing."),
    _setting(
        "connector.iceberg.limit",
        "int",
        None,
        "How many rows of each Iceberg table a query reads at most, -1 all; the read option `limit` goes before.",
        flavour="flink",
        bounds=("-1", "999999999999999999"),
    ),
    _setting(
        "connector.iceberg.streaming",
        "bool",
        "false",
        "Whether every Iceberg table that is read is read as a stream; the read option `streaming` goes before.",
        flavour="flink",
    ),
    *(
        _setting(f"connector.iceberg.{name}", type_, None, "Checked, as the read option; no effect.", flavour="flink")
        for name, type_ in (
            ("case-sensitive", "bool"),
            ("include-column-stats", "bool"),
            ("split-size", "int"),
            ("split-lookback", "int"),
            ("split-file-open-cost", "int"),
        )
    ),
    _setting(
        "connector.iceberg.max-allowed-planning-failures",
        "int",
        None,
        "How many looks at a table that is read as a stream may fail in a row, -1 any number; as the read option.",
        flavour="flink",
        bounds=("-1", "2147483647"),
    ),
    *(
        _setting(f"connector.iceberg.{name}", type_, None, _OF_STREAMS, flavour="flink", values=values)
        for name, type_, values in (
            ("monitor-interval", "duration", ()),
            ("max-planning-snapshot-count", "int", ()),
            ("watermark-column", "str", ()),
            (
                "watermark-column-time-unit",
                "enum",
                ("DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"),
            ),
            (
                "starting-strategy",
                "enum",
                (
                    "TABLE_SCAN_THEN_INCREMENTAL",
                    "INCREMENTAL_FROM_LATEST_SNAPSHOT",
                    "INCREMENTAL_FROM_LATEST_SNAPSHOT_EXCLUSIVE",
                    "INCREMENTAL_FROM_EARLIEST_SNAPSHOT",
                    "INCREMENTAL_FROM_SNAPSHOT_ID",
                    "INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP",
                ),
            ),
        )
    ),
    _setting(
        "engine.memory-limit",
        "memory",
        None,
        "How much memory queries may use; default: half of the machine.",
        bounds=("64mb", "1024tb"),
    ),
    _setting(
        "engine.manifest-cache-size",
        "memory",
        "512mb",
        "How much of the tables' manifests is kept in cache/ of the home directory, for sessions to come; 0: nothing.",
        bounds=("0b", "1024tb"),
    ),
    _setting(
        "engine.threads", "int", None, "How many threads queries may use; default: one a core.", bounds=("1", "256")
    ),
    _setting(
        "engine.sink.schema-change",
        "enum",
        "follow",
        "What a job does where columns that may be NULL, or have a default, are added to a table that it writes to: "
        "follow, or fail. Other changes of its columns stop it.",
        values=("follow", "fail"),
    ),
)

CATALOG_PREFIX = "spark.sql.catalog."
"""``spark.sql.catalog.NAME[.option]`` defines a catalog."""

_FOREIGN = (
    "akka. blob. classloader. client. cluster. collect-sink. compiler. datanucleus. env. execution. "
    "flink-maintenance. fs. hadoop. high-availability. historyserver. hive. iceberg. io. javax. job. jobmanager. "
    "jobstore. kubernetes. local. mapred. mapreduce. metrics. parallelism. pekko. pipeline. python. "
    "queryable-state. resourcemanager. rest. restart-strategy. s3. security. slot. spark. sql-client. sql-gateway. "
    "state. streaming. table. task. taskmanager. web. yarn. zookeeper."
).split()
"""Namespaces of keys that Flink's, Spark's, Hive's or Hadoop's runtime knows."""

_BY_NAME: dict[str, Setting] = {
    name.casefold(): setting for setting in SETTINGS for name in (setting.spec.key, *setting.aliases)
}


class Settings:
    """The values of one session, set and default."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._watchers: list[Callable[[str], None]] = []

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call ``watcher(key)`` after a change of any key."""
        self._watchers.append(watcher)

    def get(self, key: str) -> str | None:
        """The value in force: what was set, else the default, else None."""
        known = _BY_NAME.get(key.casefold())
        if known is None:
            return self._values.get(key)
        return self._values.get(known.spec.key, known.spec.default)

    def flag(self, key: str) -> bool:
        """Whether a bool setting is true."""
        return self.get(key) == "true"

    def number(self, key: str) -> int:
        """The value of an int setting, which is set or has a default."""
        return int(self.get(key) or 0)

    def __contains__(self, key: str) -> bool:
        return key.casefold() in _BY_NAME or key in self._values

    def items(self) -> Iterator[tuple[str, str]]:
        """What was set, by key."""
        yield from sorted(self._values.items())

    def set(self, key: str, value: str, span: Span | None = None) -> str | None:
        """Set ``key``; a note for the person comes back when the key means nothing here."""
        note = None
        known = _BY_NAME.get(key.casefold())
        if known is not None:
            key = known.spec.key
            value = _checked(known.spec, value, span)
        elif key.startswith(CATALOG_PREFIX):
            pass
        elif "." in key or "-" in key:
            _refuse_near_miss(key, span)
            if not key.startswith(tuple(_FOREIGN)):
                raise _unknown(key, span)
            note = f"'{key}' is kept, but means nothing here."
        self._values[key] = value
        self._notify(key)
        return note

    def reset(self, key: str | None = None, span: Span | None = None) -> None:
        """Forget what was set, for one key or for all."""
        if key is None:
            gone = list(self._values)
            self._values.clear()
        else:
            known = _BY_NAME.get(key.casefold())
            key = known.spec.key if known else key
            if known is None and key not in self._values:
                _refuse_near_miss(key, span)
            gone = [key] if self._values.pop(key, None) is not None else []
        for changed in gone:
            self._notify(changed)

    def _notify(self, key: str) -> None:
        for watcher in self._watchers:
            watcher(key)


def _unknown(key: str, span: Span | None) -> BergError:
    hint = did_you_mean(key, (s.spec.key for s in SETTINGS))
    if key.removeprefix("connector.iceberg.") in _OF_A_TABLE:
        hint = "It stands in a hint behind a table's name, /*+ OPTIONS(…) */."
    hint = hint or "A variable for ${NAME} has no dot or dash in its name; SET; lists what is set."
    return BergError(ErrorCode.OPTION, f"There is no setting '{key}'.", span=span, hint=hint)


def _checked(spec: OptionSpec, value: str, span: Span | None) -> str:
    if spec.type == "int":
        value = check_value(spec, value, span)
        if spec.bounds is None and int(value) < 1:
            raise BergError(ErrorCode.OPTION, f"'{spec.key}' is {value}, and must be 1 or more.", span=span)
        return value
    if spec.type != "zone":
        return check_value(spec, value, span)
    return check_zone(value, span)


def check_zone(value: str, span: Span | None = None) -> str:
    """``value`` as the name of a time zone that DuckDB takes, or ``default``."""
    if value.casefold() == "default":
        return "default"
    import re
    from zoneinfo import available_timezones

    if offset := re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?", value.strip().upper()):
        sign, hours, minutes = offset.groups()
        if int(minutes or 0) or int(hours) > 14 or (sign == "-" and int(hours) > 12):
            message = f"The time zone '{value}' is not supported: an offset has whole hours, from -12:00 to +14:00."
            raise BergError(ErrorCode.OPTION, message, span=span, hint="Name a place, such as 'Asia/Kolkata'.")
        # POSIX counts them from the other side.
        return f"Etc/GMT{'-' if sign == '+' else '+'}{int(hours)}" if int(hours) else "UTC"
    zones: Mapping[str, str] = {z.casefold(): z for z in available_timezones()}
    try:
        return zones[value.casefold()]
    except KeyError:
        hint = did_you_mean(value, zones.values()) or "Time zones are named as in 'Asia/Shanghai' or 'UTC'."
        raise BergError(ErrorCode.OPTION, f"There is no time zone '{value}'.", span=span, hint=hint) from None


def _refuse_near_miss(key: str, span: Span | None) -> None:
    from difflib import get_close_matches

    near = get_close_matches(key.casefold(), _BY_NAME, n=1, cutoff=0.88)
    if near:
        name = next(n for s in SETTINGS for n in (s.spec.key, *s.aliases) if n.casefold() == near[0])
        raise BergError(ErrorCode.OPTION, f"There is no setting '{key}'.", span=span, hint=f"Did you mean '{name}'?")


def shown(key: str, value: str) -> str:
    """A value as it may be shown: without the secrets in it."""
    from bergsql.catalog.secrets import mask_value

    return mask_value(key, value)


def as_statement(key: str, value: str) -> str:
    """The SET statement that sets ``key`` again."""
    from bergsql.engine.sql.quoting import flink_text

    text = shown(key, value)
    statement = f"SET {flink_text(key)} = {flink_text(text)};"
    return f"-- {statement}" if text != value else statement
