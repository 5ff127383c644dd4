"""Changes in SQL: batches folded into rows with weights, and rows with weights made batches again.

A row's weight is how many times it comes, less how many times it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import OP, Batch, RowKind, column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from bergsql.engine.streaming.nodes import SortKey
    from bergsql.engine.streaming.operators.base import Flow, OperatorContext
    from bergsql.engine.streaming.state.rows import Rows

IS_ADDED = f"{OP} IN ({RowKind.INSERT.value}, {RowKind.UPDATE_AFTER.value})"
"""Whether a row of a batch comes."""


def watermark_of(inputs: Sequence[Flow]) -> int:
    """How far time is in all inputs."""
    return min(each.watermark for each in inputs)


def names(count: int, alias: str = "") -> str:
    """The columns c0, c1, … as a list in SQL."""
    dot = f"{alias}." if alias else ""
    return ", ".join(f"{dot}{column(position)}" for position in range(count))


def ordering(keys: Sequence[SortKey], alias: str = "") -> list[str]:
    """The parts of an ORDER BY."""
    dot = f"{alias}." if alias else ""
    ways = ((key, "DESC" if key.descending else "ASC", "FIRST" if key.nulls_first else "LAST") for key in keys)
    return [f"{dot}{column(key.position)} {way} NULLS {nulls}" for key, way, nulls in ways]


def folded(batch: Batch, count: int) -> str:
    """A query of the rows of a batch (a table) with their weight ``w``, less those that come as often as they go.

    ``place`` is where a row came first.
    """
    weight = f"sum(CASE WHEN {IS_ADDED} THEN 1 ELSE -1 END)"
    return (
        f"SELECT {names(count)}, {weight}::BIGINT AS w, min(rowid) AS place FROM {batch.sql}"
        f" GROUP BY {names(count)} HAVING {weight} <> 0"
    )


def changes(
    context: OperatorContext, weighted: str, count: int, key: Sequence[int] | None, order: Sequence[str] = ()
) -> Batch | None:
    """A batch of the rows of a query with the columns c0, … and ``w``: each as often as its weight says.

    What goes stands before what comes, and then they are in the order of the columns in ``order``. Where a ``key`` of
    one row each is known, a row that goes and one that comes in its place are an update.
    """
    columns = names(count)
    gone, come = str(RowKind.DELETE.value), str(RowKind.INSERT.value)
    if key:
        pair = f"OVER (PARTITION BY {', '.join(map(column, key))})"
        updated = f"min(w) {pair} < 0 AND max(w) {pair} > 0"
        gone = f"CASE WHEN {updated} THEN {RowKind.UPDATE_BEFORE.value} ELSE {gone} END"
        come = f"CASE WHEN {updated} THEN {RowKind.UPDATE_AFTER.value} ELSE {come} END"
    more = "".join(f", {name}" for name in order)
    sql = f"""(WITH weighted AS MATERIALIZED ({weighted}),
        changed AS (SELECT {columns}, (CASE WHEN w < 0 THEN {gone} ELSE {come} END)::TINYINT AS {OP}, w{more}
            FROM weighted WHERE w <> 0)
        SELECT {columns}, {OP} FROM (
            SELECT {columns}, {OP}{more} FROM changed WHERE abs(w) = 1
            UNION ALL
            SELECT {columns}, {OP}{more} FROM changed, range(abs(w)) WHERE abs(w) > 1
        ) ORDER BY {OP} IN ({RowKind.INSERT.value}, {RowKind.UPDATE_AFTER.value}){more})"""
    return held(context, sql)


def held(context: OperatorContext, sql: str) -> Batch | None:
    """What a query in parentheses gives, as a table of the round; None for no rows."""
    batch = context.table(Batch(sql))
    return batch if batch.rows else None


def placed(context: OperatorContext, rows: Rows, tables: Sequence[pa.Table], more: Sequence[str] = ()) -> Batch | None:
    """A batch of rows in Arrow with the columns c0, …, ``place`` and ``op``: in order of place, the old before the new.

    ``more`` are columns behind those of ``rows``, in SQL.
    """
    items = [*rows.names, *more, f"{OP}::TINYINT AS {OP}"]
    parts = [f"SELECT {', '.join(items)}, place FROM {rows.relation(table)}" for table in tables if table.num_rows]
    if not parts:
        return None
    return held(context, f"(SELECT * EXCLUDE (place) FROM ({' UNION ALL '.join(parts)}) ORDER BY place, {OP})")


def with_columns(table: pa.Table, **columns: Sequence[int] | npt.NDArray[np.int64]) -> pa.Table:
    """The table with columns of BIGINTs behind its own."""
    import pyarrow as pa

    for name, values in columns.items():
        table = table.append_column(name, pa.array(values, pa.int64()))
    return table
