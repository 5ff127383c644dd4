"""The table properties that writing and committing obey, read from a table's metadata and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.catalog.storage.base import scheme_of, strip_scheme

CODECS = {
    "zstd": "zstd",
    "gzip": "gzip",
    "snappy": "snappy",
    "lz4": "lz4_raw",
    "lz4_raw": "lz4_raw",
    "brotli": "brotli",
    "uncompressed": "uncompressed",
    "none": "uncompressed",
}
"""Iceberg's names of the Parquet codecs and DuckDB's."""

FORMATS = {"parquet": "PARQUET", "avro": "AVRO", "orc": "ORC"}
"""The formats of data files as properties and as manifests name them."""

AVRO_CODECS = {"gzip": "gzip", "zstd": "zstd", "snappy": "snappy", "uncompressed": "uncompressed"}
"""Iceberg's names of the Avro codecs."""

ORC_CODECS = {
    "zlib": "zlib",
    "zstd": "zstd",
    "snappy": "snappy",
    "lz4": "lz4",
    "lzo": "lzo",
    "none": "uncompressed",
}
"""Iceberg's names of the ORC codecs and Arrow's."""

LEVELS = {"zstd": (1, 22), "gzip": (0, 9), "brotli": (0, 11)}
"""The compression levels that a codec has."""

DISTRIBUTIONS = {"none": "none", "hash": "hash", "range": "range"}
"""What may be asked of how rows are spread over files. One file a partition until it is full, and one order of rows for
all files of a partition, are the writer's way, so all of them are carried out alike."""

_DELETES = "write.delete."
_STRATEGIES = {"speed": "speed", "compression": "compression"}
OBJECT_STORAGE = "write.object-storage.enabled"
DEFAULT_METRICS_COLUMNS = 100
DEFAULT_TRUNCATION = 16


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """What is kept of a column's statistics: ``none`` at all, ``counts``, or ``bounds`` (of at most ``length``)."""

    counts: bool = True
    bounds: bool = True
    length: int | None = DEFAULT_TRUNCATION
    """Characters or bytes that a bound may have; None for all of them."""


@dataclass(frozen=True, slots=True)
class WriteProperties:
    """How data files are written (``write.*``).

    ``location`` is the directory of data files, without a trailing slash. ``level`` None means the codec's default.
    Sizes are bytes; a row group ends at its size or at DuckDB's 122,880 rows, whichever comes first. ``file_format`` is
    as manifests name it; ``codec`` is of that format, in the words of what writes it.
    ``object_storage``, ``partitioned_paths`` and ``context`` (database and table, of data outside the table's
    directory) are about hashed locations.
    """

    location: str
    object_storage: bool
    partitioned_paths: bool
    context: str
    codec: str
    level: int | None
    target_file_size: int
    row_group_size: int
    file_format: str
    stripe_size: int
    orc_strategy: str
    metrics_columns: int
    default_metrics: MetricsMode
    column_metrics: Mapping[str, MetricsMode]

    @staticmethod
    def of(properties: Mapping[str, str], table_location: str) -> WriteProperties:
        """Those of a table; OPTION errors name the property."""
        return _write_properties(PropertyReader(properties), properties, table_location)

    @staticmethod
    def of_deletes(properties: Mapping[str, str], table_location: str) -> WriteProperties:
        """As :meth:`of`, for delete files: ``write.delete.X`` goes before ``write.X``, but for their size."""
        read = PropertyReader(properties, _DELETES)
        size = read.whole(f"{_DELETES}target-file-size-bytes", 64 << 20, least=1)
        return replace(_write_properties(read, properties, table_location), target_file_size=size)


def _write_properties(read: PropertyReader, properties: Mapping[str, str], table_location: str) -> WriteProperties:
    file_format = read.one_of("write.format.default", "parquet", FORMATS)
    read.one_of("write.distribution-mode", "none", DISTRIBUTIONS)
    codec, level = read.codec(file_format)
    if "encryption.key-id" in properties:
        raise unsupported_property("Writing to an encrypted table ('encryption.key-id')", "encryption.key-id")
    if "write.location-provider.impl" in properties:
        form = "Writing to a table with a location provider of its own ('write.location-provider.impl')"
        raise unsupported_property(form, "write.location-provider.impl")
    location = data_location(properties, table_location)
    prefix = "write.metadata.metrics.column."
    return WriteProperties(
        location=location,
        object_storage=read.boolean(OBJECT_STORAGE, False),
        partitioned_paths=read.boolean("write.object-storage.partitioned-paths", True),
        context="" if location.startswith(table_location) else "/".join(table_location.split("/")[-2:]),
        codec=codec,
        level=level,
        target_file_size=read.whole("write.target-file-size-bytes", 512 << 20, least=1),
        row_group_size=read.whole("write.parquet.row-group-size-bytes", 128 << 20, least=1),
        file_format=file_format,
        stripe_size=read.whole("write.orc.stripe-size-bytes", 64 << 20, least=1),
        orc_strategy=read.one_of("write.orc.compression-strategy", "speed", _STRATEGIES),
        metrics_columns=read.whole(
            "write.metadata.metrics.max-inferred-column-defaults", DEFAULT_METRICS_COLUMNS, least=0
        ),
        default_metrics=read.metrics("write.metadata.metrics.default"),
        column_metrics={k.removeprefix(prefix): read.metrics(k) for k in properties if k.startswith(prefix)},
    )


@dataclass(frozen=True, slots=True)
class CommitProperties:
    """How commits are retried and manifests merged (``commit.*``). Waits are seconds, sizes bytes.

    ``retries`` counts what follows the first attempt.
    """

    retries: int
    min_wait: float
    max_wait: float
    total_timeout: float
    status_checks: int
    status_min_wait: float
    status_max_wait: float
    merge_manifests: bool
    min_count_to_merge: int
    manifest_size: int
    metadata_location: str

    @staticmethod
    def of(properties: Mapping[str, str], table_location: str) -> CommitProperties:
        """Those of a table; OPTION errors name the property."""
        read = PropertyReader(properties)
        return CommitProperties(
            retries=read.whole("commit.retry.num-retries", 4, least=0),
            min_wait=read.whole("commit.retry.min-wait-ms", 100, least=0) / 1000,
            max_wait=read.whole("commit.retry.max-wait-ms", 60_000, least=0) / 1000,
            total_timeout=read.whole("commit.retry.total-timeout-ms", 1_800_000, least=0) / 1000,
            status_checks=read.whole("commit.status-check.num-retries", 3, least=0),
            status_min_wait=read.whole("commit.status-check.min-wait-ms", 1000, least=0) / 1000,
            status_max_wait=read.whole("commit.status-check.max-wait-ms", 60_000, least=0) / 1000,
            merge_manifests=read.boolean("commit.manifest-merge.enabled", True),
            min_count_to_merge=read.whole("commit.manifest.min-count-to-merge", 100, least=1),
            manifest_size=read.whole("commit.manifest.target-size-bytes", 8 << 20, least=1),
            metadata_location=read.location("write.metadata.path", table_location) or f"{table_location}/metadata",
        )


def data_location(properties: Mapping[str, str], table_location: str) -> str:
    """The directory of a table's data files, without a trailing slash."""
    read = PropertyReader(properties)
    keys = ["write.data.path", "write.folder-storage.path"]
    if read.boolean(OBJECT_STORAGE, False):
        keys.insert(1, "write.object-storage.path")
    given = (read.location(key, table_location) for key in keys)
    return next(filter(None, given), f"{table_location}/data")


class PropertyError(BergError):
    """A property of a table makes it impossible to do something: its value is none, or not supported yet.

    ``near`` is a hint at what the value may have been meant to be.
    """

    def __init__(self, code: ErrorCode, message: str, key: str, near: str | None = None) -> None:
        mends = f"ALTER TABLE … SET ('{key}'='…'); mends it."
        super().__init__(code, message, hint=f"{near} {mends}" if near else mends)
        self.key = key
        self.near = near

    def at_options(self, spans: Mapping[str, Span]) -> PropertyError:
        """This error as one of a statement that sets the properties whose places are ``spans``."""
        if self.key in spans:
            self.span, self.hint = spans[self.key], self.near
        return self


def unsupported_property(form: str, key: str) -> PropertyError:
    """The error of a property whose meaning is not supported yet."""
    return PropertyError(ErrorCode.UNSUPPORTED, not_supported(form).message, key)


SWITCHES = ("write.upsert.enabled", "write.wap.enabled", "gc.enabled")
"""Properties that decide what a statement does. They are looked at when they are set, too."""


def check_switches(properties: Mapping[str, str]) -> None:
    """Refuse a switch that is neither true nor false: PropertyError (OPTION)."""
    read = PropertyReader(properties)
    for key in SWITCHES:
        read.boolean(key, False)


class PropertyReader:
    """Reads properties of one table; what cannot be read raises a PropertyError (OPTION).

    With ``prefix``, a property that begins so goes before the one that begins with "write." instead.
    """

    def __init__(self, properties: Mapping[str, str], prefix: str = "") -> None:
        self._properties = properties
        self._prefix = prefix

    def _key(self, key: str) -> str:
        """The property that says what ``key`` asks for."""
        own = self._prefix + key.removeprefix("write.")
        return own if self._prefix and own in self._properties else key

    def wrong(self, key: str, takes: str, near: str | None = None) -> PropertyError:
        value = self._properties.get(key, "")
        message = f"The table property '{key}' is '{value}': it takes {takes}."
        return PropertyError(ErrorCode.OPTION, message, key, near)

    def whole(self, key: str, default: int, *, least: int) -> int:
        key = self._key(key)
        text = self._properties.get(key)
        if text is None:
            return default
        if not (text.strip().isascii() and text.strip().isdigit()) or int(text) < least:
            raise self.wrong(key, f"a whole number of at least {least}")
        return int(text)

    def location(self, key: str, table_location: str) -> str | None:
        """A directory, without a trailing slash; None when the property is not there."""
        given = self._properties.get(key)
        if given is None:
            return None
        scheme = scheme_of(given)
        if scheme != scheme_of(table_location):
            form = f"A table property '{key}' on {scheme} ('{given}'), where the table is not,"
            raise unsupported_property(form, key)
        if "\\" in given:
            raise self.wrong(key, "a path without a backslash, which DuckDB takes for a slash")
        if scheme == "file":
            try:
                strip_scheme(given)
            except BergError:
                raise self.wrong(key, "an absolute path") from None
        return given.rstrip("/")

    def boolean(self, key: str, default: bool) -> bool:
        text = self._properties.get(key)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self.wrong(key, "true or false")
        return text.lower() == "true"

    def one_of(self, key: str, default: str, known: Mapping[str, str]) -> str:
        key = self._key(key)
        text = self._properties.get(key, default).lower()
        if text not in known:
            raise self.wrong(key, ", ".join(known), did_you_mean(text, known))
        return known[text]

    def codec(self, file_format: str) -> tuple[str, int | None]:
        """The codec of a format and its level; None for the codec's default."""
        if file_format == "AVRO":
            codec = self.one_of("write.avro.compression-codec", "gzip", AVRO_CODECS)
            return codec, self.level("write.avro.compression-level", codec)
        if file_format == "ORC":
            codec = self.one_of("write.orc.compression-codec", "zlib", ORC_CODECS)
            if codec == "lzo":
                form = "Writing ORC files with 'write.orc.compression-codec'='lzo'"
                raise unsupported_property(form, "write.orc.compression-codec")
            return codec, None
        codec = self.one_of("write.parquet.compression-codec", "zstd", CODECS)
        return codec, self.level("write.parquet.compression-level", codec)

    def level(self, key: str, codec: str) -> int | None:
        key = self._key(key)
        text = self._properties.get(key)
        if text is None or codec not in LEVELS:
            return None
        least, most = LEVELS[codec]
        try:
            level = int(text)
        except ValueError:
            level = least - 1
        if not least <= level <= most:
            raise self.wrong(key, f"a level of {codec}, {least} to {most}")
        return level

    def metrics(self, key: str) -> MetricsMode:
        text = self._properties.get(key, f"truncate({DEFAULT_TRUNCATION})").strip().lower()
        match text:
            case "none":
                return MetricsMode(counts=False, bounds=False)
            case "counts":
                return MetricsMode(bounds=False)
            case "full":
                return MetricsMode(length=None)
        inner = text.removeprefix("truncate(").removesuffix(")")
        if text == f"truncate({inner})" and inner.isascii() and inner.isdigit() and int(inner) > 0:
            return MetricsMode(length=int(inner))
        raise self.wrong(key, "none, counts, truncate(LENGTH) or full")
