"""Functions that need OVER."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.functions.model import Aggregate, Function
from bergsql.engine.sql.types import BIGINT, DOUBLE, INT, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call


def _rank(duck: str, name: str) -> Callable[[Call, list[Bound], Context], str]:
    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        number = call(duck, *(a.sql for a in arguments))
        return number if name == "BIGINT" else f"CAST({number} AS {name})"

    return made


def _ntile(name: str) -> Callable[[Call, list[Bound], Context], str]:
    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        count = arguments[0].constant
        if not isinstance(count, int) or count < 1:
            raise BergError(ErrorCode.INVALID, "NTILE takes a literal number above 0.")
        return _rank("ntile", name)(call, arguments, context)

    return made


def _shifted(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    """LAG and LEAD; a negative offset looks the other way, as in DuckDB."""

    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.casts import coerce

        sql = [a.sql for a in arguments]
        for i in (0, 2)[: len(arguments) - 1]:
            sql[i] = coerce(arguments[i], _value_type(arguments), context).sql
        return call(duck, *sql)

    return made


def _nth_value(call: Call, arguments: list[Bound], context: Context) -> str:
    number = arguments[1].constant
    if isinstance(number, int) and number < 1:
        raise BergError(ErrorCode.INVALID, "NTH_VALUE takes a number above 0.")
    return call("nth_value", *(a.sql for a in arguments))


def _value_type(arguments: Sequence[Bound]) -> DataType:
    """The type of the value; that of the default where the value is a bare NULL."""
    value = arguments[0].type
    return arguments[2].type if value.kind is Kind.NULL and len(arguments) > 2 else value


FUNCTIONS: tuple[Function, ...] = (
    Aggregate("row_number", "s", "", INT, _rank("row_number", "INTEGER"), window_only=True),
    Aggregate("rank", "s", "", INT, _rank("rank", "INTEGER"), window_only=True),
    Aggregate("dense_rank", "s", "", INT, _rank("dense_rank", "INTEGER"), window_only=True),
    Aggregate("ntile", "s", "i", INT, _ntile("INTEGER"), window_only=True),
    Aggregate("row_number", "f", "", BIGINT, _rank("row_number", "BIGINT"), window_only=True),
    Aggregate("rank", "f", "", BIGINT, _rank("rank", "BIGINT"), window_only=True),
    Aggregate("dense_rank", "f", "", BIGINT, _rank("dense_rank", "BIGINT"), window_only=True),
    Aggregate("ntile", "f", "l", BIGINT, _ntile("BIGINT"), window_only=True),
    Aggregate("percent_rank", "fs", "", DOUBLE, _rank("percent_rank", "BIGINT"), window_only=True),
    Aggregate("cume_dist", "fs", "", DOUBLE, _rank("cume_dist", "BIGINT"), window_only=True),
    Aggregate("lag", "fs", "ai?a?", _value_type, _shifted("lag"), window_only=True, may_ignore_nulls=True),
    Aggregate("lead", "fs", "ai?a?", _value_type, _shifted("lead"), window_only=True, may_ignore_nulls=True),
    Aggregate("nth_value", "fs", "ai", 0, _nth_value, window_only=True, may_ignore_nulls=True),
)
