"""The bounds that DuckDB's statistics of a written file lack, computed from the file itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bergsql.catalog.metadata.types import BinaryType, DoubleType, FixedType, FloatType
from bergsql.engine.duck import duckdb
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.table.column_names import Leaf
from bergsql.engine.table.properties import MetricsMode
from bergsql.engine.table.statistics import bound_readers


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and upper bounds by field id; None says that there is none."""

    lower: Mapping[int, bytes | None]
    upper: Mapping[int, bytes | None]


def read_bounds(
    cursor: duckdb.DuckDBPyConnection, paths: Sequence[str], fields: Sequence[tuple[Leaf, MetricsMode]]
) -> dict[str, Bounds]:
    """The bounds of ``fields`` in each of the local files ``paths``, by path."""
    items = []
    for leaf, mode in fields:
        value, wanted = _comparable(leaf, mode)
        items += [f"CAST(min({value}){wanted} AS VARCHAR)", f"CAST(max({value}){wanted} AS VARCHAR)"]
    files = ", ".join(string_literal(p) for p in paths)
    rows = cursor.execute(
        f"SELECT file_index, {', '.join(items)} FROM read_parquet([{files}], file_row_number = true) GROUP BY ALL"
    ).fetchall()
    return {paths[row[0]]: _bounds(row[1:], fields) for row in rows}


def _comparable(leaf: Leaf, mode: MetricsMode) -> tuple[str, str]:
    """SQL of what bounds the field's values, and of which of them count."""
    cut = None if mode.length is None else mode.length + 1  # one more tells a cut value from a whole one
    match leaf.type:
        case FloatType() | DoubleType():
            return str(leaf.sql), f" FILTER (NOT isnan({leaf.sql}))"
        case BinaryType() | FixedType():
            return f"hex({leaf.sql if cut is None else f'({leaf.sql})[1:{cut}]'})", ""
        case _:
            return str(leaf.sql) if cut is None else f"left({leaf.sql}, {cut})", ""


def _bounds(values: Sequence[str | None], fields: Sequence[tuple[Leaf, MetricsMode]]) -> Bounds:
    lower: dict[int, bytes | None] = {}
    upper: dict[int, bytes | None] = {}
    for i, (leaf, mode) in enumerate(fields):
        to_lower, to_upper = bound_readers(leaf.type, mode.length)
        least, most = values[2 * i], values[2 * i + 1]
        lower[leaf.field_id] = to_lower(least) if to_lower is not None and least is not None else None
        upper[leaf.field_id] = to_upper(most) if to_upper is not None and most is not None else None
    return Bounds(lower, upper)
