"""Times of streams: Flink's PROCTIME() and CURRENT_WATERMARK(rowtime)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import STAMPS, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bergsql.engine.plan.context import Context

PROCTIME_SQL: Final = "date_trunc('milliseconds', now())"
"""What PROCTIME() is: a column that is this alone is a time attribute of a stream."""

WATERMARK_SQL: Final = "CAST(NULL /* the watermark */ AS BIGINT)"
"""Stands for the watermark, in microseconds, until an operator puts it in; a batch has none."""


def _proctime(arguments: list[Bound], context: Context) -> Bound:
    return Bound(PROCTIME_SQL, DataType(Kind.TIMESTAMP_LTZ, 3), "PROCTIME()", False, volatile=True)


def _current_watermark(arguments: list[Bound], context: Context) -> str:
    if not context.planner.streams:
        return "CAST(NULL AS TIMESTAMP)" if arguments[0].type.kind is Kind.TIMESTAMP else "CAST(NULL AS TIMESTAMPTZ)"
    made = "make_timestamptz" if arguments[0].type.kind is Kind.TIMESTAMP_LTZ else "make_timestamp"
    return f"{made}({WATERMARK_SQL})"


def _type(arguments: Sequence[Bound]) -> DataType:
    kind = arguments[0].type.kind
    if kind not in STAMPS:
        raise BergError(ErrorCode.TYPE, "CURRENT_WATERMARK takes a rowtime.")
    return DataType(kind, 3)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("proctime", "f", "", DataType(Kind.TIMESTAMP_LTZ, 3), _proctime, volatile=True),
    Scalar("current_watermark", "f", "S", _type, _current_watermark),
)
