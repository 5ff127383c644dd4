"""Data files that DuckDB cannot read itself, as streams that it can: Avro, ORC and some Parquet files, through Arrow, a
batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.engine.table.arrow_stream import ArrowStream
from bergsql.engine.table.avro_schema import FIELD_ID
from bergsql.engine.table.parquet_schema import BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, Node, read_row_count

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile

FORMATS = ("AVRO", "ORC")
PARQUET_BY_ARROW = "PARQUET, by Arrow"
"""What stands for the format of a Parquet file that DuckDB fails on."""
FILE_INDEX = "file_index"
"""The column that tells from which of the stream's files a row is."""
FILE_ROW_NUMBER = "file_row_number"
"""The column that tells a row's place in its file."""

_columns: Lru[tuple[str, int], tuple[Node, ...]] = Lru(5_000)
_rows: Lru[tuple[str, int], int] = Lru(5_000)


def stream_columns(storage: Storage, file_format: str, path: str, size: int) -> tuple[Node, ...]:
    """The columns of the data file ``path`` of ``size`` bytes. Raises NOT_FOUND, IO or CORRUPT naming it."""
    known = _columns.get((path, size))
    if known is None:
        if file_format == "AVRO":
            _check_length(storage, path, size)
        fields = _fields(storage, file_format, path)
        try:
            known = tuple(map(_node, fields))
        except ValueError as e:  # whatever garbage makes of an id
            message = f"Data file {path} is damaged: the ids of its columns cannot be read."
            raise BergError(ErrorCode.CORRUPT, message) from e
        _columns.put((path, size), known)
    return known


def _check_length(storage: Storage, path: str, size: int) -> None:
    """Refuse an Avro file that lost its end: where a block of rows ended there, the file itself does not tell."""
    with storage.open_input(path) as file:
        there = file.seek(0, 2)
    if there < size:
        message = f"Data file {path} is damaged: it has {there} bytes, and its manifest says {size}."
        raise BergError(ErrorCode.CORRUPT, message)


def _fields(storage: Storage, file_format: str, path: str) -> list[pa.Field]:
    if file_format == "AVRO":
        from bergsql.engine.table.avro_data import avro_columns

        return avro_columns(storage, path)
    if file_format == PARQUET_BY_ARROW:
        from bergsql.engine.table.arrow_parquet import parquet_columns

        return parquet_columns(storage, path)
    from bergsql.engine.table.orc_data import orc_columns

    return orc_columns(storage, path)


def _batches(storage: Storage, file_format: str, path: str, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    if file_format == "AVRO":
        from bergsql.engine.table.avro_data import read_avro

        return read_avro(storage, path, columns)
    if file_format == PARQUET_BY_ARROW:
        from bergsql.engine.table.arrow_parquet import read_parquet_batches

        return read_parquet_batches(storage, path, columns)
    from bergsql.engine.table.orc_data import read_orc

    return read_orc(storage, path, columns)


def count_rows(storage: Storage, file: DataFile) -> int:
    """How many rows a data file has, from the file itself. Raises NOT_FOUND, IO or CORRUPT naming it."""
    if file.format == "PARQUET":
        return read_row_count(storage, file.path, file.file_size)
    key = (file.path, file.file_size)
    known = _rows.get(key)
    if known is None:
        known = sum(batch.num_rows for batch in _batches(storage, file.format, file.path, ()))
        _rows.put(key, known)
    return known


def _node(f: pa.Field) -> Node:
    """An Arrow field as the readers of columns see those of Parquet files."""
    import pyarrow as pa

    number = (f.metadata or {}).get(FIELD_ID)
    field_id, t = None if number is None else int(number), f.type
    if pa.types.is_struct(t):
        return Node(f.name, field_id, "struct", tuple(_node(part) for part in t))
    if pa.types.is_list(t):
        return Node(f.name, field_id, "list", (_node(t.value_field),))
    if pa.types.is_map(t):
        return Node(f.name, field_id, "map", (_node(t.key_field), _node(t.item_field)))
    physical = None
    if pa.types.is_fixed_size_binary(t) and not pa.types.is_decimal(t):
        physical = FIXED_LEN_BYTE_ARRAY
    elif pa.types.is_binary(t) or pa.types.is_string(t):
        physical = BYTE_ARRAY
    utc = t.tz is not None if pa.types.is_timestamp(t) else None
    return Node(f.name, field_id, "primitive", (), physical, pa.types.is_string(t), str(t), utc)


@dataclass(frozen=True)
class FileStream(ArrowStream):
    """Files of one schema, of which the columns at some positions are read, called ``c<position>``."""

    storage: Storage
    file_format: str
    paths: tuple[str, ...]
    columns: tuple[int, ...]
    positions: bool = False
    """Whether each row's place in its file is given too."""

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        fields = _fields(self.storage, self.file_format, self.paths[0])
        named = [fields[i].with_name(stream_name(i)).with_nullable(True) for i in self.columns]
        extra = [FILE_INDEX, FILE_ROW_NUMBER] if self.positions else [FILE_INDEX]
        return pa.schema([*named, *(pa.field(name, pa.int64()) for name in extra)])

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self.schema()
        for n, path in enumerate(self.paths):
            at = 0
            for batch in _batches(self.storage, self.file_format, path, self.columns):
                extra: list[pa.Array] = [pa.repeat(pa.scalar(n, pa.int64()), batch.num_rows)]
                if self.positions:
                    extra.append(pa.arange(at, at + batch.num_rows))
                    at += batch.num_rows
                yield pa.RecordBatch.from_arrays([*batch.columns, *extra], schema=schema)


def stream_name(position: int) -> str:
    """What a stream calls the column of its files at ``position``."""
    return f"c{position}"
