"""Position delete files (spec, "Position Delete Files"): the rows that go of data files, by path and position.

A file is about one data file, or about all of a partition (``write.delete.granularity``), in Parquet, Avro or ORC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from os import strerror
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.metadata.partition_text import partition_path
from bergsql.catalog.metadata.values import LONG
from bergsql.catalog.storage.base import system_error
from bergsql.engine.table.datafile import DataFile, FileContent, partition_key
from bergsql.engine.table.position_deletes import FILE_PATH, POS
from bergsql.engine.table.row_level_properties import Granularity
from bergsql.engine.table.staging import DELETES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyroaring import BitMap

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.conversion import FileWriter
    from bergsql.engine.table.properties import WriteProperties
    from bergsql.engine.table.row_level_properties import DeleteFileProperties
    from bergsql.engine.table.staging import Staging

_FIELDS = (FILE_PATH, POS)
_BATCH_ROWS = 1 << 16
_ROW_BYTES = 8
"""What a row takes at most, but for a path that it shares with others."""
_LEAST_ROWS = 1 << 10
_MOST_ROWS = 1 << 20
_TOLD = {"delete-type": "position"}
"""What Iceberg's own writers put down in the file beside the rows."""


@dataclass(frozen=True, slots=True)
class FileDeletes:
    """Positions of one data file that are deleted."""

    file: DataFile
    positions: BitMap


def write_position_deletes(
    deletes: Sequence[FileDeletes],
    *,
    metadata: TableMetadata,
    storage: Storage,
    staging: Staging,
    properties: DeleteFileProperties,
) -> list[DataFile]:
    """Write files that delete these positions, in the partitions of the data files. IO errors name the file."""
    groups: dict[object, list[FileDeletes]] = {}
    for d in deletes:
        in_one = d.file.path if properties.granularity is Granularity.FILE else None
        groups.setdefault((in_one, partition_key(d.file.spec_id, d.file.partition)), []).append(d)
    directory = staging.subdirectory("deletes")
    writing = _Writing(metadata, storage, staging, directory, properties.files)
    for group in groups.values():
        writing.write(sorted(group, key=lambda d: d.file.path.encode()))
    storage.delete_tree(directory)
    return writing.made


class _Writing:
    """The delete files of one statement in the making."""

    def __init__(
        self, metadata: TableMetadata, storage: Storage, staging: Staging, directory: str, settings: WriteProperties
    ) -> None:
        self._metadata = metadata
        self._staging = staging
        self._settings = settings
        self._local = storage.local_path(directory)
        self._row_group = max(_LEAST_ROWS, min(_MOST_ROWS, settings.target_file_size // _ROW_BYTES))
        self.made: list[DataFile] = []

    def write(self, deletes: Sequence[FileDeletes]) -> None:
        """Write the deletes, of one partition, as one file or more."""
        batches = _batches(deletes, min(self._row_group, _BATCH_ROWS))
        parts = next(batches, None)
        while parts is not None:
            path = f"{self._local}/{len(self.made)}"
            written = _Written()
            try:
                writer = self._writer(path)
                try:
                    while parts is not None and (not written.rows or writer.size < self._settings.target_file_size):
                        writer.write(_as_rows(parts, dictionary=self._settings.file_format == "PARQUET"))
                        written.add(parts)
                        parts = next(batches, None)
                except BaseException:
                    with suppress(OSError):
                        writer.abandon()
                    raise
                writer.close()
                size = Path(path).stat().st_size
            except OSError as e:
                raise system_error("write", path, e.errno, strerror(e.errno) if e.errno else str(e)) from e
            self._place(path, size, written, deletes[0].file)

    def _place(self, path: str, size: int, written: _Written, of: DataFile) -> None:
        settings = self._settings
        spec = self._metadata.spec_by_id(of.spec_id)
        where = "" if spec is None else partition_path(spec, self._metadata.schema, of.partition)
        lower, upper = {FILE_PATH.field_id: written.first.encode()}, {FILE_PATH.field_id: written.last.encode()}
        one = written.first == written.last
        if one:  # of several data files, positions of the one say nothing of the other
            lower[POS.field_id], upper[POS.field_id] = LONG.pack(written.least), LONG.pack(written.greatest)
        self.made.append(
            DataFile(
                self._staging.place(path, where, f"{DELETES}.{settings.file_format.lower()}"),
                written.rows,
                size,
                settings.file_format,
                content=FileContent.POSITION_DELETES,
                partition=of.partition,
                spec_id=of.spec_id,
                lower_bounds=lower,
                upper_bounds=upper,
                referenced_data_file=written.first if one else None,
            )
        )

    def _writer(self, path: str) -> FileWriter:
        settings = self._settings
        if settings.file_format == "ORC":
            from bergsql.engine.table.orc_data import OrcWriter

            stripe = min(settings.stripe_size, settings.target_file_size)
            return OrcWriter(path, _FIELDS, settings.codec, settings.orc_strategy, stripe)
        if settings.file_format == "AVRO":
            from bergsql.engine.table.avro_data import AvroWriter
            from bergsql.engine.table.avro_schema import record_schema

            schema = record_schema(_FIELDS, "position_delete")
            return AvroWriter(path, schema, settings.codec, settings.level, _TOLD)
        return _ParquetWriter(path, settings, self._row_group)


class _Part(NamedTuple):
    """Some positions of a data file, ascending: plain numbers of 32 bits without sign."""

    path: str
    positions: memoryview


def _batches(deletes: Iterable[FileDeletes], rows: int) -> Iterator[list[_Part]]:
    """All positions in order, at most ``rows`` at a time: of many data files together where each has few."""
    batch: list[_Part] = []
    count = 0
    for d in deletes:
        positions = memoryview(d.positions.to_array())
        for start in range(0, len(positions), rows):
            part = _Part(d.file.path, positions[start : start + rows])
            if batch and count + len(part.positions) > rows:
                yield batch
                batch, count = [], 0
            batch.append(part)
            count += len(part.positions)
    if batch:
        yield batch


def _as_rows(parts: Sequence[_Part], *, dictionary: bool) -> pa.RecordBatch:
    """Positions as rows; with ``dictionary``, each path is told once, and each row's is a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = b"".join(part.positions for part in parts)
    positions = pa.Array.from_buffers(pa.uint32(), len(plain) // 4, [None, pa.py_buffer(plain)]).cast(pa.int64())
    ends = pa.array(accumulate(len(part.positions) for part in parts), pa.int32())
    which = pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends, pa.array(range(len(parts)), pa.int32())))
    names = pa.DictionaryArray.from_arrays(which, pa.array([part.path for part in parts], pa.string()))
    columns = [names if dictionary else names.dictionary_decode(), positions]
    return pa.RecordBatch.from_arrays(columns, names=[f.name for f in _FIELDS])


@dataclass(slots=True)
class _Written:
    """What a file holds so far."""

    rows: int = 0
    first: str = ""
    last: str = ""
    least: int = 0
    greatest: int = 0

    def add(self, parts: Sequence[_Part]) -> None:
        if not self.rows:
            self.first, self.least = parts[0].path, parts[0].positions[0]
        self.last, self.greatest = parts[-1].path, parts[-1].positions[-1]
        self.rows += sum(len(part.positions) for part in parts)


class _ParquetWriter:
    """Writes the local file ``path``, when it is closed: nothing is to be written of what is abandoned."""

    def __init__(self, path: str, settings: WriteProperties, row_group: int) -> None:
        import json

        import pyarrow as pa
        import pyarrow.parquet as pq

        from bergsql.catalog.metadata.schema import Schema

        types = (pa.dictionary(pa.int32(), pa.string()), pa.int64())
        schema = pa.schema(
            [
                pa.field(f.name, t, nullable=False, metadata={b"PARQUET:field_id": str(f.field_id).encode()})
                for f, t in zip(_FIELDS, types, strict=True)
            ]
        )
        told = {**_TOLD, "iceberg.schema": json.dumps(Schema(0, _FIELDS).to_json())}
        self._schema, self._row_group = schema, row_group
        self._open: list[pa.RecordBatch] = []
        """The row group that is not written yet."""
        self._open_rows = 0
        self._path = path
        self._made = pa.BufferOutputStream()
        self._writer: Any = pq.ParquetWriter(
            self._made,
            schema,
            compression={"lz4_raw": "lz4", "uncompressed": "none"}.get(settings.codec, settings.codec),
            compression_level=settings.level,
            use_dictionary=[FILE_PATH.name],
            store_schema=False,
        )
        self._writer.add_key_value_metadata(told)

    @property
    def size(self) -> int:
        """Bytes written so far: whole row groups."""
        return int(self._made.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        self._open.append(batch)
        self._open_rows += batch.num_rows
        if self._open_rows >= self._row_group:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = zip(*(b.columns for b in self._open), strict=True)
        rows = pa.Table.from_arrays([pa.chunked_array(c) for c in columns], schema=self._schema)
        # Of several dictionaries in a row group, Arrow would write none: each path in each row.
        self._writer.write_table(rows.unify_dictionaries(), row_group_size=rows.num_rows)
        self._open, self._open_rows = [], 0

    def close(self) -> None:
        """Finish the file."""
        if self._open:
            self._flush()
        self._writer.close()
        Path(self._path).write_bytes(self._made.getvalue())

    def abandon(self) -> None:
        """Nothing of the file is wanted any more."""
