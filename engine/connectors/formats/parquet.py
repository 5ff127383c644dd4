"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import OptionSpec
from bergsql.catalog.storage.base import storage_for
from bergsql.engine.connectors.formats.base import Format, Scan, copy_rows, path_list
from bergsql.engine.connectors.formats.columnar import scan_alike
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    import duckdb


class Parquet(Format):
    """Columns are found by name."""

    name: ClassVar[str] = "parquet"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec(
            "parquet.compression",
            "enum",
            "SNAPPY",
            "How files are compressed.",
            values=("SNAPPY", "ZSTD", "GZIP", "LZ4", "BROTLI", "UNCOMPRESSED"),
        ),
        OptionSpec("parquet.utc-timezone", "bool", "true", "Taken: times are read and written as they are."),
    )

    def scan(self, files: Sequence[str], prefix: str) -> Scan:  # noqa: ARG002 - it has no variables
        return scan_alike(self.columns, files, _names, _read)

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        items = [f"c{i} AS {identifier(c.name)}" for i, c in enumerate(self.columns)]
        options = ["FORMAT parquet", f"COMPRESSION {(self.option('compression') or 'SNAPPY').lower()}"]
        return copy_rows(cursor, f"SELECT {', '.join((*items, *by))} FROM {rows}", options, directory, size, by)


def _names(file: str) -> list[str]:
    """The columns of a file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with storage_for(file).open_input(file) as opened:
            names: list[str] = parquet.read_schema(opened).names
            return names
    except (pa.ArrowException, OSError) as error:
        raise BergError(ErrorCode.CORRUPT, f"{file} is no Parquet file, or is damaged.") from error


def _read(
    files: Sequence[str],
    names: Sequence[str],
    number: int,  # noqa: ARG001 - the signature that scan_alike asks for
) -> tuple[str, Callable[[int], str], dict[str, object]]:
    source = f"(SELECT *, filename AS file FROM read_parquet({path_list(files)}, hive_partitioning=false))"
    return source, lambda place: identifier(names[place]), {}
