"""Values that are others each time: rand(), uuid(), the time. To take back a row that has one needs the old one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.functions.stream_times import WATERMARK_SQL
from bergsql.engine.streaming.changelog import OP, ChangelogMode, RowKind
from bergsql.engine.streaming.nodes import CalcNode, NormalizeNode

if TYPE_CHECKING:
    from bergsql.engine.streaming.changelog import StreamColumn
    from bergsql.engine.streaming.planner.build import Building, Stream

_DRAWN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<drawn>\b(?:random|uuid|now)\(\)|\bcurrent_date\b)""")


def is_drawn(sql: str) -> bool:
    """Whether SQL may give another value for the same row.

    >>> is_drawn("(i.c0 + random())"), is_drawn("'now()'")
    (True, False)
    """
    return WATERMARK_SQL in sql or any(m["drawn"] for m in _DRAWN.finditer(sql))


def refuse_drawn(conditions: Sequence[str]) -> None:
    """Refuse conditions over rows that change whose answer may be another when a row is taken back.

    :raises BergError: UNSUPPORTED.
    """
    if any(is_drawn(sql) for sql in conditions):
        raise BergError(
            ErrorCode.UNSUPPORTED,
            "A condition with the time or a random value is over rows that change: when one is taken back, it may "
            "not hold any more.",
            hint="Put it where rows only come: below GROUP BY, or into the source's own WHERE.",
        )


def redrawn(building: Building, stream: Stream, items: Sequence[tuple[str, StreamColumn]], joined: str) -> Stream:
    """A projection with such values over rows that change: each row of a key is kept as it was given.

    :raises BergError: UNSUPPORTED where the rows have no key among the items.
    """
    made = building.plain_calc(stream, items, (), joined)
    node = made.node
    if not node.key or joined or not isinstance(node, CalcNode):
        raise BergError(
            ErrorCode.UNSUPPORTED,
            "The time or a random value is computed of rows that change and have no key in the result: a row could "
            "not be taken back.",
            hint="Select the key of the rows too, such as what the query groups by.",
        )
    below = replace(node, mode=ChangelogMode.UPSERT, condition=f"i.{OP} <> {RowKind.UPDATE_BEFORE.value}")
    kept = NormalizeNode(uid="", inputs=(below,), columns=node.columns, mode=ChangelogMode.RETRACT, key=node.key)
    from bergsql.engine.streaming.planner.build import Stream as Made

    return Made(kept)
