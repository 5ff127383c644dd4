"""What a snapshot's summary says: how many files, rows and bytes came and went, and what the table holds now.

Keys, and their order, are those of Iceberg's Java writers (spec, "Optional Snapshot Summary Fields").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bergsql.engine.table.datafile import DataFile, FileContent, PartitionKey, partition_key
from bergsql.engine.version import version

ENGINE_NAME = "bergsql"
OPERATION = "operation"

_TOTALS = {
    "total-records": ("added-records", "deleted-records"),
    "total-files-size": ("added-files-size", "removed-files-size"),
    "total-data-files": ("added-data-files", "deleted-data-files"),
    "total-delete-files": ("added-delete-files", "removed-delete-files"),
    "total-position-deletes": ("added-position-deletes", "removed-position-deletes"),
    "total-equality-deletes": ("added-equality-deletes", "removed-equality-deletes"),
}


@dataclass(slots=True)
class Tally:
    """Counts the files that a snapshot adds and removes."""

    _counts: dict[str, int] = field(default_factory=dict)
    _partitions: set[PartitionKey] = field(default_factory=set)

    def add(self, files: Iterable[DataFile]) -> None:
        """Count files that the snapshot adds."""
        for file in files:
            self._count(file, "added", "added")

    def remove(self, files: Iterable[DataFile]) -> None:
        """Count files that the snapshot removes."""
        for file in files:
            self._count(file, "removed", "deleted")

    def _count(self, file: DataFile, verb: str, data_verb: str) -> None:
        self._partitions.add(partition_key(file.spec_id, file.partition))
        self._plus(f"{verb}-files-size", file.file_size if file.content_size is None else file.content_size)
        match file.content:
            case FileContent.DATA:
                self._plus(f"{data_verb}-data-files", 1)
                self._plus(f"{data_verb}-records", file.record_count)
            case FileContent.EQUALITY_DELETES:
                self._plus(f"{verb}-delete-files", 1)
                self._plus(f"{verb}-equality-delete-files", 1)
                self._plus(f"{verb}-equality-deletes", file.record_count)
            case _:
                self._plus(f"{verb}-delete-files", 1)
                self._plus(f"{verb}-dvs" if file.format == "PUFFIN" else f"{verb}-position-delete-files", 1)
                self._plus(f"{verb}-position-deletes", file.record_count)

    def _plus(self, key: str, count: int) -> None:
        self._counts[key] = self._counts.get(key, 0) + count

    def summary(
        self, operation: str, properties: Mapping[str, str], previous: Mapping[str, str] | None
    ) -> dict[str, str]:
        """The summary of the snapshot.

        ``properties`` are the statement's own; ``previous`` is the summary of the parent, None without one. A total
        that the parent does not give stays unknown.
        """
        out = {OPERATION: operation, **properties}
        out.update({key: str(self._counts[key]) for key in _ORDER if self._counts.get(key)})
        out["changed-partition-count"] = str(len(self._partitions))
        for total, (added, removed) in _TOTALS.items():
            before = "0" if previous is None else previous.get(total)
            if before is not None and before.isascii() and before.isdigit():
                now = int(before) + self._counts.get(added, 0) - self._counts.get(removed, 0)
                if now >= 0:
                    out[total] = str(now)
        out["engine-version"] = version()
        out["engine-name"] = ENGINE_NAME
        return out


_ORDER = (
    "added-data-files",
    "deleted-data-files",
    "added-equality-delete-files",
    "removed-equality-delete-files",
    "added-position-delete-files",
    "removed-position-delete-files",
    "added-delete-files",
    "removed-delete-files",
    "added-dvs",
    "removed-dvs",
    "added-records",
    "deleted-records",
    "added-files-size",
    "removed-files-size",
    "added-position-deletes",
    "removed-position-deletes",
    "added-equality-deletes",
    "removed-equality-deletes",
)
