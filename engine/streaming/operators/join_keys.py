"""What two sides of a join are compared by, so that what is equal in SQL has the same bytes in the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import column

if TYPE_CHECKING:
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.streaming.nodes import Node
    from bergsql.engine.streaming.operators.base import OperatorContext


def equal_columns(left: Sequence[int], right: Sequence[int], null_safe: Sequence[bool] = ()) -> list[str]:
    """The comparisons of the pairs of keys, over ``l`` and ``r``."""
    safe = null_safe or (False,) * len(left)
    return [
        f"l.{column(a)} {'IS NOT DISTINCT FROM' if null else '='} r.{column(b)}"
        for a, b, null in zip(left, right, safe, strict=True)
    ]


def key_sql(
    context: OperatorContext, left: Node, right: Node, left_keys: Sequence[int], right_keys: Sequence[int]
) -> tuple[list[str], list[str]]:
    """The keys of each side in SQL over its columns, each pair in the type in which DuckDB compares it."""
    pairs = [
        _pair(context, left.columns[a].type, right.columns[b].type) for a, b in zip(left_keys, right_keys, strict=True)
    ]
    return (
        [pair.format(column(position)) for pair, position in zip(pairs, left_keys, strict=True)],
        [pair.format(column(position)) for pair, position in zip(pairs, right_keys, strict=True)],
    )


def _pair(context: OperatorContext, left: DataType, right: DataType) -> str:
    a, b = duckdb_name(left), duckdb_name(right)
    if a == b:
        return "{0}"
    common: str = context.query(f"SELECT typeof(CASE WHEN true THEN NULL::{a} ELSE NULL::{b} END) AS t")["t"][0].as_py()
    return "{0}::" + common.replace("{", "{{").replace("}", "}}")
