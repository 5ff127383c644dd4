"""The table properties that DELETE, UPDATE and MERGE obey, read and checked.

``write.{delete,update,merge}.{mode,isolation-level,distribution-mode}``, ``write.delete.*`` of delete files. (Iceberg's
"Table properties" page.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.properties import DISTRIBUTIONS, PropertyReader, WriteProperties
from bergsql.engine.table.row_delta import Isolation


class Mode(StrEnum):
    """How rows of data files are made to go: by writing the other rows anew, or by delete files beside them."""

    COPY_ON_WRITE = "copy-on-write"
    MERGE_ON_READ = "merge-on-read"


class Granularity(StrEnum):
    """What one position delete file is about: one data file, or all of a partition."""

    FILE = "file"
    PARTITION = "partition"


COMMANDS = ("delete", "update", "merge")


@dataclass(frozen=True, slots=True)
class RowLevelProperties:
    """How the rows of a table are changed by one command."""

    mode: Mode
    isolation: Isolation

    @staticmethod
    def of(properties: Mapping[str, str], command: str, format_version: int) -> RowLevelProperties:
        """Those of ``command``: delete, update or merge.

        Distribution modes are only checked: see ``DISTRIBUTIONS``.

        :raises BergError: OPTION naming a property with a wrong value; UNSUPPORTED for merge-on-read in format version
            1, which has no delete files.
        """
        read = PropertyReader(properties)
        for key in ("write.distribution-mode", *(f"write.{c}.distribution-mode" for c in COMMANDS)):
            read.one_of(key, "none", DISTRIBUTIONS)
        key = f"write.{command}.mode"
        mode = Mode(read.one_of(key, Mode.COPY_ON_WRITE, {str(m): str(m) for m in Mode}))
        check_mode(mode, format_version, key)
        isolation = read.one_of(
            f"write.{command}.isolation-level", Isolation.SERIALIZABLE, {str(i): str(i) for i in Isolation}
        )
        return RowLevelProperties(mode, Isolation(isolation))


def check_mode(mode: Mode, format_version: int, key: str = "write.delete.mode") -> None:
    """Refuse delete files where the format has none: OPTION, naming the property ``key``."""
    if mode is Mode.MERGE_ON_READ and format_version < 2:
        raise BergError(
            ErrorCode.OPTION,
            f"The table property '{key}' is 'merge-on-read', and tables of format version 1 have no delete files.",
            hint=f"Set '{key}' to 'copy-on-write', or 'format-version' to '2'.",
        )


@dataclass(frozen=True, slots=True)
class DeleteFileProperties:
    """How position delete files are written. ``files`` are the properties of data files, with those of delete files
    in their places."""

    granularity: Granularity
    files: WriteProperties

    @staticmethod
    def of(properties: Mapping[str, str], table_location: str) -> DeleteFileProperties:
        """Those of a table; OPTION errors name the property."""
        read = PropertyReader(properties)
        granularity = read.one_of("write.delete.granularity", Granularity.FILE, {str(g): str(g) for g in Granularity})
        return DeleteFileProperties(Granularity(granularity), WriteProperties.of_deletes(properties, table_location))
