"""``filesystem``: files of some format in a directory, read and written. Options are those of Flink's connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.catalog.storage.base import storage_for, strip_scheme
from bergsql.engine.connectors.base import Connector
from bergsql.engine.connectors.file_sink import FileSink
from bergsql.engine.connectors.file_source import FileSource
from bergsql.engine.connectors.formats import FORMATS, format_named
from bergsql.engine.sql.types import BIGINT, LTZ3, STRING, DataType

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable

OPTIONS: Final = (
    OptionSpec("path", doc="The directory, or one file.", required=True),
    OptionSpec("format", "enum", doc="What the files are.", values=tuple(FORMATS), required=True),
    OptionSpec(
        "source.monitor-interval",
        "duration",
        doc="How often to look for new files: the table has no end then. Without it, what is there is read.",
    ),
    OptionSpec("source.path.regex-pattern", doc="What the whole path of a file must match to be read."),
    OptionSpec(
        "partition.default-name", default="__DEFAULT_PARTITION__", doc="The directory of rows whose partition is NULL."
    ),
    OptionSpec(
        "sink.rolling-policy.file-size",
        "memory",
        "128mb",
        "About how large a file becomes before the next begins.",
        bounds=("1kb", "1tb"),
    ),
    OptionSpec(
        "sink.rolling-policy.rollover-interval",
        "duration",
        "30 min",
        "Taken, and without effect: no file is longer open than a checkpoint.",
    ),
    OptionSpec(
        "sink.rolling-policy.check-interval", "duration", "1 min", "Taken, and without effect: as the one before."
    ),
    OptionSpec(
        "sink.partition-commit.policy.kind",
        "enum",
        doc="What is done when files of a partition become visible: a file is made that says so.",
        values=("success-file",),
    ),
    OptionSpec("sink.partition-commit.success-file.name", default="_SUCCESS", doc="What that file is called."),
    OptionSpec("sink.parallelism", "int", doc="Taken, and without effect.", bounds=("1", "32768")),
)
METADATA: Final[Mapping[str, DataType]] = {
    "file.path": STRING,
    "file.name": STRING,
    "file.size": BIGINT,
    "file.modification-time": LTZ3,
}


def _options(given: Mapping[str, str]) -> Sequence[OptionSpec]:
    name = given.get("format", "").casefold()
    return (*OPTIONS, *(format_named(name).options if name in FORMATS else ()))


def _check(table: ConnectorTable) -> None:
    path = table.options["path"]
    if "${env:" not in path:
        try:
            storage_for(path)  # which refuses what it does not know
            strip_scheme(path)
        except BergError as error:
            error.message = f"The option 'path': {error.message}"
            raise
    if len(table.stored) == len(table.partitioning):
        raise BergError(ErrorCode.INVALID, "A table of files needs a column that is no partition.")
    FileSource(table)


CONNECTOR = Connector(
    "filesystem",
    _options,
    source=FileSource,
    sink=FileSink,
    metadata=METADATA,
    check=_check,
    fixed=("path",),
    partitioned=True,
    documented=OPTIONS,
)
