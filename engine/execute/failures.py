"""What ended a query: the error that is told names the file that it is about, and the snapshot that the file is of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import duckdb
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.sql.type_names import flink_name

if TYPE_CHECKING:
    from bergsql.engine.duck import Duck
    from bergsql.engine.plan.query import PlannedScan, QueryPlan
    from bergsql.engine.sql.types import DataType

_PATIENCE = 10.0
"""Seconds that are spent on finding the file that DuckDB does not name."""
_OF_PARQUET = (duckdb.IOException, duckdb.InvalidInputException)


def query_failed(duck: Duck, error: Exception, plan: QueryPlan | None) -> BergError:
    """The error to tell when DuckDB raised ``error`` while it ran ``plan``."""
    scans = () if plan is None else plan.scans

    def damaged() -> BergError | None:
        # What its Parquet reader throws is of no class of its own, or of one of these.
        of_reader = type(error) is duckdb.Error or isinstance(error, _OF_PARQUET)
        return _damaged_file(duck, scans) if scans and of_reader else None

    return named(from_duckdb_error(error, plan, damaged), scans)


def with_column(error: BergError, narrowed: Sequence[tuple[str, DataType]]) -> BergError:
    """An error of a value that does not fit into a type, with the name of the column that has the type, if one has."""
    found = re.fullmatch(r"(The value .+ does not fit into) (.+)\.", error.message)
    if found is None:
        return error
    columns = [f"'{name}'" for name, type_ in narrowed if _holds(type_, found[2])]
    if not columns:
        return error
    message = f"{found[1]} {found[2]} in column {' or '.join(columns)}."
    return BergError(error.code, message, span=error.span, hint=error.hint)


def _holds(type_: DataType, name: str) -> bool:
    """Whether the type, or a part of it, is called so."""
    return flink_name(type_) == name or any(_holds(c.type, name) for c in type_.children)


def named(error: BergError, scans: Iterable[PlannedScan]) -> BergError:
    """``error``, saying which snapshot the file is of that it is about."""
    from bergsql.engine.table.file_origins import name_origin
    from bergsql.engine.table.read_point import current

    for scan in scans:
        if scan.relation is not None:
            metadata = scan.relation.table.metadata
            point = scan.relation.point or current(metadata)
            name_origin(error, metadata, point.snapshot, scan.relation.storage)
    return error


def _damaged_file(duck: Duck, scans: Iterable[PlannedScan]) -> BergError | None:
    """The first Parquet file of the scans that cannot be read, found by reading them one by one."""
    deadline = monotonic() + _PATIENCE
    cursor = duck.cursor()
    try:
        for path in dict.fromkeys(_parquet_files(scans)):
            try:
                cursor.execute("SELECT bit_xor(hash(f)) FROM read_parquet(?, hive_partitioning=false) AS f", [path])
            except duckdb.InterruptException as interruption:
                raise KeyboardInterrupt from interruption
            except duckdb.Error as error:
                if type(error) is duckdb.Error or isinstance(error, _OF_PARQUET):
                    plain = path.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")
                    return BergError(ErrorCode.CORRUPT, f"Data file {plain} is damaged: its values cannot be decoded.")
            if monotonic() > deadline:
                return None
    finally:
        duck.done(cursor)
    return None


def _parquet_files(scans: Iterable[PlannedScan]) -> Iterator[str]:
    """The files that the scans read, as DuckDB is told them: delete files, too."""
    from bergsql.engine.table.file_groups import PARQUET, exact_path

    for scan in scans:
        for value in scan.scan.variables.values():
            if isinstance(value, list):
                yield from (v for v in value if isinstance(v, str))
        if scan.relation is not None:
            deletes = {d.data_file.path: d.data_file for t in scan.scan.plan.tasks for d in t.deletes}
            for path, file in deletes.items():
                if file.format == PARQUET:
                    yield exact_path(scan.relation.storage.local_path(path))
