"""Functions that need OVER."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import BIGINT, DOUBLE, INT, Bound
from bergsql.engine.sql.functions.model import Aggregate, Function

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call
    from bergsql.engine.sql.types import DataType


def _rank(duck: str, name: str) -> Callable[[Call, list[Bound], Context], str]:
    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        number = call(duck, *(a.sql for a in arguments))
        return number if name == "BIGINT" else f"CAST({number} AS {name})"

    return made


def _shifted(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    """LAG and LEAD; a negative offset looks the other way, as in DuckDB."""

    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.casts import coerce

        sql = [a.sql for a in arguments]
        if len(arguments) > 2:
            sql[2] = coerce(arguments[2], arguments[0].type, context).sql
        return call(duck, *sql)

    return made


def _first(arguments: Sequence[Bound]) -> DataType:
    return arguments[0].type


FUNCTIONS: tuple[Function, ...] = (
    Aggregate("row_number", "s", "", INT, _rank("row_number", "INTEGER"), window_only=True),
    Aggregate("rank", "s", "", INT, _rank("rank", "INTEGER"), window_only=True),
    Aggregate("dense_rank", "s", "", INT, _rank("dense_rank", "INTEGER"), window_only=True),
    Aggregate("ntile", "s", "i", INT, _rank("ntile", "INTEGER"), window_only=True),
    Aggregate("row_number", "f", "", BIGINT, _rank("row_number", "BIGINT"), window_only=True),
    Aggregate("rank", "f", "", BIGINT, _rank("rank", "BIGINT"), window_only=True),
    Aggregate("dense_rank", "f", "", BIGINT, _rank("dense_rank", "BIGINT"), window_only=True),
    Aggregate("ntile", "f", "l", BIGINT, _rank("ntile", "BIGINT"), window_only=True),
    Aggregate("percent_rank", "fs", "", DOUBLE, _rank("percent_rank", "BIGINT"), window_only=True),
    Aggregate("cume_dist", "fs", "", DOUBLE, _rank("cume_dist", "BIGINT"), window_only=True),
    Aggregate("lag", "fs", "ai?a?", _first, _shifted("lag"), window_only=True),
    Aggregate("lead", "fs", "ai?a?", _first, _shifted("lead"), window_only=True),
    Aggregate("nth_value", "fs", "ai", _first, "nth_value", window_only=True),
)
