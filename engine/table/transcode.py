"""Files that DuckDB cannot write as they should be, written once more by pyarrow.

DuckDB has no type of bytes of a fixed length, which Iceberg's ``fixed`` must be in Parquet (Spark fails on anything
else), and takes a compression level only for zstd; its brotli is a hundred times slower than other writers' default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import strerror
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.types import FixedType, walk
from bergsql.catalog.storage.base import system_error
from bergsql.engine.table.arrow_types import wrong_length

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.table.properties import WriteProperties

INTERIM_CODEC = "lz4_raw"
"""How DuckDB compresses what is written once more."""

_BROTLI_LEVEL = 1
"""Parquet's reference implementation takes this level when none is asked for."""
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class Transcoded:
    """A file's figures after it was written again. Column sizes are by field id."""

    size: int
    column_sizes: Mapping[int, int]
    split_offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transcoder:
    """How the files of a table are to be written again. ``fixed`` are the fields of that type, by field id."""

    codec: str
    level: int | None
    fixed: Mapping[int, NestedField]

    @staticmethod
    def needed(schema: Schema, properties: WriteProperties) -> Transcoder | None:
        """What is needed for a table's files; None when DuckDB writes them right."""
        fixed = {f.field_id: f for f in walk(schema.fields) if isinstance(f.type, FixedType)}
        levelled = properties.level is not None and properties.codec != "zstd"
        if not fixed and not levelled and properties.codec != "brotli":
            return None
        level = properties.level
        if level is None and properties.codec == "brotli":
            level = _BROTLI_LEVEL
        return Transcoder(properties.codec, level, fixed)

    def rewrite(self, path: str) -> Transcoded:
        """Write the local file ``path`` again, in its place, a row group at a time."""
        try:
            return self._rewrite(path)
        except OSError as e:
            raise system_error("write", path, e.errno, strerror(e.errno) if e.errno else str(e)) from e

    def _rewrite(self, path: str) -> Transcoded:
        from pathlib import Path

        import pyarrow as pa
        import pyarrow.parquet as pq

        again = f"{path}.again"
        codec = {"lz4_raw": "lz4", "uncompressed": "none"}.get(self.codec, self.codec)
        with pq.ParquetFile(path) as source:
            wanted = pa.schema([self._fixed(f) for f in source.schema_arrow])
            with pq.ParquetWriter(
                again,
                wanted,
                compression=codec,
                compression_level=self.level,
                store_schema=False,
                store_decimal_as_integer=True,
            ) as out:
                for i in range(source.num_row_groups):
                    rows = source.read_row_group(i)
                    out.write_table(self._cast(rows, wanted), row_group_size=max(rows.num_rows, 1))
        Path(again).replace(path)
        with pq.ParquetFile(path) as written:
            return _figures(written, Path(path).stat().st_size)

    def _cast(self, rows: Any, wanted: Any) -> Any:
        import pyarrow as pa

        try:
            return rows.cast(wanted)
        except pa.ArrowInvalid as e:
            raise wrong_length(self.fixed.values()) from e

    def _fixed(self, field: Any) -> Any:
        """An Arrow field with all ``fixed`` ones in it of their length."""
        import pyarrow as pa

        fixed = self.fixed.get(int((field.metadata or {}).get(_FIELD_ID, b"-1")))
        t = field.type
        if fixed is not None and isinstance(fixed.type, FixedType):
            t = pa.binary(fixed.type.length)
        elif pa.types.is_struct(t):
            t = pa.struct([self._fixed(t.field(i)) for i in range(t.num_fields)])
        elif pa.types.is_list(t):
            t = pa.list_(self._fixed(t.value_field))
        elif pa.types.is_map(t):
            t = pa.map_(self._fixed(t.key_field), self._fixed(t.item_field))
        return field.with_type(t)


def _figures(file: Any, size: int) -> Transcoded:
    ids = _leaf_ids(file.schema_arrow)
    sizes = dict.fromkeys(ids, 0)
    offsets = []
    for g in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(g)
        starts = []
        for c in range(group.num_columns):
            column = group.column(c)
            sizes[ids[c]] += column.total_compressed_size
            starts += [o for o in (column.dictionary_page_offset, column.data_page_offset) if o]
        offsets.append(min(starts))
    return Transcoded(size, sizes, tuple(offsets))


def _leaf_ids(schema: Any) -> list[int]:
    """The field ids of a file's columns, in order."""
    import pyarrow as pa

    def inside(field: Any) -> list[int]:
        t = field.type
        if pa.types.is_struct(t):
            return [i for n in range(t.num_fields) for i in inside(t.field(n))]
        if pa.types.is_list(t):
            return inside(t.value_field)
        if pa.types.is_map(t):
            return [*inside(t.key_field), *inside(t.item_field)]
        return [int((field.metadata or {}).get(_FIELD_ID, b"-1"))]

    return [i for f in schema for i in inside(f)]
