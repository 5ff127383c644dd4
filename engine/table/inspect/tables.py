"""The metadata tables by name: their columns, and scans of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.schema import Schema
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.file_origins import origins_named
from bergsql.engine.table.inspect.model import Inspected, RowStream
from bergsql.engine.table.planning import FilePlan
from bergsql.engine.table.read_point import current
from bergsql.engine.table.scan import TableScan

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.inspect.model import Fields
    from bergsql.engine.table.read_point import ReadPoint

_SCANNED = "position_deletes"
"""The one whose rows DuckDB reads from files itself."""
_FAMILIES = {
    "history": "snapshots history metadata_log_entries refs",
    "files": "files data_files delete_files all_files all_data_files all_delete_files entries all_entries",
    "manifests": "manifests all_manifests",
    "partitions": "partitions",
    _SCANNED: _SCANNED,
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}


class _Family(Protocol):
    """What each module of this package has."""

    def fields(self, name: str, metadata: TableMetadata, /) -> Fields: ...

    def batches(self, name: str, inspected: Inspected, wanted: Fields, /) -> Iterator[pa.RecordBatch]: ...


def _family(name: str) -> _Family:
    family = _FAMILY_OF.get(name)
    if family is None:
        raise not_supported(f"The metadata table '{name}'")
    return cast(_Family, import_module(f"bergsql.engine.table.inspect.{family}"))


def metadata_table_fields(name: str, metadata: TableMetadata) -> Fields:
    """The columns of the metadata table ``name`` of a table.

    :raises BergError: UNSUPPORTED for ``changes``.
    """
    return _family(name).fields(name, metadata)


def check_point(name: str) -> None:
    """Refuse a table that is of all snapshots where one snapshot is asked for.

    :raises BergError: INVALID.
    """
    if name.startswith("all_"):
        raise BergError(
            ErrorCode.INVALID,
            f"{name} is of all snapshots: it cannot be read at one.",
            hint=f"{name.removeprefix('all_')} can.",
        )


def metadata_scan(
    name: str,
    table: LoadedTable,
    storage: Storage,
    *,
    point: ReadPoint | None = None,
    columns: frozenset[str] | None = None,
    name_prefix: str = "s0",
) -> TableScan:
    """The scan of the metadata table ``name`` at ``point`` (by default: of the table as it is now).

    As :func:`bergsql.engine.table.scan.build_scan`: the SQL gives ``columns`` (all by default; at least one). The
    columns themselves are always those of the table as it is now, as in Iceberg.

    :raises BergError: UNSUPPORTED for ``changes``; INVALID for a point of a table of all snapshots.
    """
    metadata = table.metadata
    fields = metadata_table_fields(name, metadata)
    if point is not None:
        check_point(name)
    wanted = fields if columns is None else tuple(f for f in fields if f.name in columns) or fields[:1]
    inspected = Inspected(metadata, table.metadata_location, storage, (point or current(metadata)).snapshot)
    if name == _SCANNED:
        from bergsql.engine.table.inspect.position_deletes import scan_sql

        with origins_named(metadata, inspected.snapshot, storage):
            sql, variables = scan_sql(inspected, wanted, name_prefix)
        return TableScan(sql, variables, FilePlan(), Schema(0, fields), wanted)
    stream = RowStream(wanted, lambda: _family(name).batches(name, inspected, wanted))
    variable = f"{name_prefix}_rows"
    sql = f"SELECT {', '.join(identifier(f.name) for f in wanted)} FROM temp.main.{variable}"
    return TableScan(sql, {variable: stream}, FilePlan(), Schema(0, fields), wanted)
