"""Files as Iceberg's manifests and manifest lists describe them: plain values, free of any encoding.

Iceberg specification, sections "Manifests" and "Manifest Lists".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeVar

T = TypeVar("T")

PartitionKey = tuple[int, tuple[object, ...]]
"""A partition of a table: the spec's id and the values, made comparable by :func:`partition_key`."""


def partition_key(spec_id: int, values: tuple[object, ...]) -> PartitionKey:
    """What is equal for one partition alone: NaN is NaN, and -0.0 another partition than 0.0, as in Java."""
    if not any(isinstance(v, float) for v in values):
        return spec_id, values
    return spec_id, tuple(repr(v) if isinstance(v, float) else v for v in values)


class _Nothing(Mapping[int, Any]):
    """An empty mapping that may be a default."""

    __slots__ = ()

    def __getitem__(self, key: int) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


NO_COUNTS: Mapping[int, int] = _Nothing()
NO_BOUNDS: Mapping[int, bytes] = _Nothing()


class FileContent(IntEnum):
    """What a file of a table holds."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class ManifestContent(IntEnum):
    """What the files of a manifest hold."""

    DATA = 0
    DELETES = 1


class EntryStatus(IntEnum):
    """What the snapshot that wrote a manifest did with an entry's file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data or delete file.

    ``partition`` holds one value a field of the spec ``spec_id``, in its order, as Iceberg stores them: int for date
    (days), time, timestamp (microseconds, or nanoseconds of an ns type) and the time transforms; Decimal; str; bytes
    for binary and fixed; UUID; float; bool; None. Sizes are bytes. Statistics are keyed by field id; a missing key
    means that nothing is known. Bounds are single values in the binary form of the specification's Appendix D.
    """

    path: str
    record_count: int
    file_size: int
    format: str = "PARQUET"
    """``PARQUET``, ``AVRO``, ``ORC`` or ``PUFFIN``, in upper case."""
    content: int = FileContent.DATA
    partition: tuple[object, ...] = ()
    spec_id: int = 0
    column_sizes: Mapping[int, int] = field(default=NO_COUNTS, repr=False)
    value_counts: Mapping[int, int] = field(default=NO_COUNTS, repr=False)
    null_counts: Mapping[int, int] = field(default=NO_COUNTS, repr=False)
    nan_counts: Mapping[int, int] = field(default=NO_COUNTS, repr=False)
    lower_bounds: Mapping[int, bytes] = field(default=NO_BOUNDS, repr=False)
    upper_bounds: Mapping[int, bytes] = field(default=NO_BOUNDS, repr=False)
    key_metadata: bytes | None = field(default=None, repr=False)
    split_offsets: tuple[int, ...] | None = field(default=None, repr=False)
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size: int | None = None


FileIdentity = tuple[str, int | None]
"""What tells delete files apart: the path, and where in it a deletion vector begins."""


def file_identity(file: DataFile) -> FileIdentity:
    """What no two files of a table have in common: a Puffin file may hold many deletion vectors."""
    return file.path, file.content_offset


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A file in a manifest. ``None`` for a snapshot id or sequence number means: inherited from the manifest."""

    status: int
    data_file: DataFile
    snapshot_id: int | None = None
    sequence_number: int | None = None
    file_sequence_number: int | None = None

    @property
    def live(self) -> bool:
        """Whether the file belongs to the table's state (and was not removed by this entry)."""
        return self.status != EntryStatus.DELETED


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """What a manifest's files hold in one partition field. ``None`` means that nothing is known."""

    contains_null: bool = True
    contains_nan: bool | None = None
    lower: bytes | None = None
    upper: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """One manifest, as a manifest list names it. Counts that the writer left out are None (only in v1)."""

    path: str
    length: int
    spec_id: int = 0
    content: int = ManifestContent.DATA
    sequence_number: int = 0
    min_sequence_number: int = 0
    added_snapshot_id: int | None = None
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    deleted_rows_count: int | None = None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def has_live_files(self) -> bool:
        """Whether some file of it may still belong to the table."""
        return self.added_files_count != 0 or self.existing_files_count != 0

    @property
    def live_files(self) -> int:
        """How many files of it belong to the table, as far as that was written down."""
        return (self.added_files_count or 0) + (self.existing_files_count or 0)


def filled(kind: type[T], count: int, columns: Sequence[Iterable[object]]) -> list[T]:
    """So many values of a frozen dataclass with slots, given each field's values in order.

    A column at a time, without Python code for each value: a plan of 100,000 files is made in half the time.
    """
    made = [object.__new__(kind) for _ in range(count)]
    for f, values in zip(fields(kind), columns, strict=True):  # type: ignore[arg-type]
        deque(map(getattr(kind, f.name).__set__, made, values), maxlen=0)
    return made
