"""Avro and ORC data files, made of the Parquet files that DuckDB wrote.

DuckDB partitions, rolls and measures rows while it writes Parquet. Its files are made small, and as many of one
partition as it takes are joined to a file of the size that is wanted; their statistics are exact, and so are those of
the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import strerror
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bergsql.catalog.metadata.values import from_bytes
from bergsql.catalog.storage.base import system_error
from bergsql.engine.table.column_names import WrittenColumn, leaves
from bergsql.engine.table.statistics import FileStatistics

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.table.properties import WriteProperties

_PARTS = 16
"""Into how many interim files the rows of a file go: how far a file may grow beyond its size."""
_LEAST_PART = 256 << 10
_BATCH_ROWS = 8192


class FileWriter(Protocol):
    """Writes one file of some format."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def write(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Made:
    """A file, its size in bytes, and of how many of the files given it was made."""

    path: str
    size: int
    parts: int


class Conversion:
    """How the interim files of one table become files of its format. ``interim`` says how large they are to be."""

    def __init__(self, metadata: TableMetadata, settings: WriteProperties, columns: Sequence[WrittenColumn]) -> None:
        self._metadata = metadata
        self._settings = settings
        self._fields = tuple(c.field for c in columns)
        self._types: Mapping[int, IcebergType] = {leaf.field_id: leaf.type for leaf in leaves(columns)}
        part = max(settings.target_file_size // _PARTS, min(_LEAST_PART, settings.target_file_size))
        self.interim = replace(settings, target_file_size=part)

    @staticmethod
    def needed(
        metadata: TableMetadata, settings: WriteProperties, columns: Sequence[WrittenColumn]
    ) -> Conversion | None:
        """None for Parquet."""
        return None if settings.file_format == "PARQUET" else Conversion(metadata, settings, columns)

    def convert(self, paths: Sequence[str]) -> Iterator[Made]:
        """Make files of the local Parquet files ``paths``, which are of one partition and deleted."""
        try:
            yield from self._convert(paths)
        except OSError as e:
            raise system_error("write", paths[0], e.errno, strerror(e.errno) if e.errno else str(e)) from e

    def _convert(self, paths: Sequence[str]) -> Iterator[Made]:
        at = 0
        while at < len(paths):
            made = f"{paths[at]}.made"
            writer = self._writer(made)
            parts = 0
            try:
                while at < len(paths) and (not parts or writer.size < self._settings.target_file_size):
                    self._append(writer, paths[at])
                    Path(paths[at]).unlink()
                    parts += 1
                    at += 1
            except BaseException:
                with suppress(OSError):
                    writer.abandon()
                raise
            writer.close()
            yield Made(made, Path(made).stat().st_size, parts)

    def _append(self, writer: FileWriter, path: str) -> None:
        import pyarrow.parquet as pq

        from bergsql.engine.table.arrow_types import arrow_schema, cast_rows

        wanted = arrow_schema(self._fields)
        with pq.ParquetFile(path, arrow_extensions_enabled=False) as source:
            for rows in source.iter_batches(_BATCH_ROWS):
                writer.write(cast_rows(rows, wanted, self._fields))

    def _writer(self, path: str) -> FileWriter:
        settings = self._settings
        if settings.file_format == "ORC":
            from bergsql.engine.table.orc_data import OrcWriter

            stripe = min(settings.stripe_size, settings.target_file_size)  # what is in the open stripe is not counted
            return OrcWriter(path, self._fields, settings.codec, settings.orc_strategy, stripe)
        import json

        from bergsql.engine.table.avro_data import AvroWriter
        from bergsql.engine.table.avro_schema import record_schema

        told = {"iceberg.schema": json.dumps(self._metadata.schema.to_json())}
        return AvroWriter(path, record_schema(self._fields, "table"), settings.codec, settings.level, told)

    # --- statistics --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[FileStatistics]) -> FileStatistics:
        """The statistics of a file from those of its parts. Sizes of columns are not known."""
        whole = FileStatistics()
        for field_id, kind in self._types.items():
            for get in (_value_counts, _null_counts, _nan_counts):
                found = [get(p).get(field_id) for p in parts]
                counts = [n for n in found if n is not None]
                if len(counts) == len(parts):
                    get(whole)[field_id] = sum(counts)
            for bounds, best in ((_lower_bounds, min), (_upper_bounds, max)):
                known = [bounds(p).get(field_id) for p in parts if _has_values(p, field_id)]
                given = [b for b in known if b is not None]
                if given and len(given) == len(known):
                    bounds(whole)[field_id] = best(given, key=lambda b: from_bytes(kind, b))
        return whole


def _value_counts(s: FileStatistics) -> dict[int, int]:
    return s.value_counts


def _null_counts(s: FileStatistics) -> dict[int, int]:
    return s.null_counts


def _nan_counts(s: FileStatistics) -> dict[int, int]:
    return s.nan_counts


def _lower_bounds(s: FileStatistics) -> dict[int, bytes]:
    return s.lower_bounds


def _upper_bounds(s: FileStatistics) -> dict[int, bytes]:
    return s.upper_bounds


def _has_values(s: FileStatistics, field_id: int) -> bool:
    """Whether a part may have a value of a column that bounds count: neither NULL nor NaN."""
    values = s.value_counts.get(field_id)
    return values is None or values > s.null_counts.get(field_id, 0) + s.nan_counts.get(field_id, 0)
