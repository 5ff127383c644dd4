"""When windows close, and what of their bounds is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bergsql.engine.sql.types import Kind
from bergsql.engine.streaming.changelog import NO_WATERMARK

if TYPE_CHECKING:
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.streaming.operators.base import OperatorContext

LATENESS: Final = "table.exec.emit.allow-lateness"
"""How long a window's result may still change behind its end."""

_LAST: Final = 1000
"""Microseconds from a window's last instant to its end: its time is the last millisecond in it, as in Flink."""
_WATERMARK: Final = b"watermark"


def lateness_of(setting: Callable[[str], str | None]) -> int:
    """Milliseconds of lateness that windows allow.

    :raises BergError: OPTION for what is no duration.
    """
    from bergsql.catalog.options import parse_duration

    return parse_duration(setting(LATENESS) or "0", LATENESS)


def allows_lateness(setting: Callable[[str], str | None]) -> bool:
    """Whether the results of windows may change after they came out."""
    return lateness_of(setting) > 0


class WindowTimes:
    """The times of windows over one column, in microseconds as watermarks are.

    A window is *due* when the watermark has come to its last instant, and *over* when it has passed the lateness that
    is allowed behind it: its rows are late from then on.
    """

    def __init__(self, context: OperatorContext, type_: DataType) -> None:
        """``type_``: of the time, TIMESTAMP or TIMESTAMP_LTZ. Bounds are what the session's clock shows."""
        self._zoned = type_.kind is Kind.TIMESTAMP_LTZ
        self._zone = context.time_zone
        self.lateness = lateness_of(context.setting) * 1000
        self._kept = context.state.part("times")
        (kept,) = self._kept.get_many([_WATERMARK])
        self.watermark = NO_WATERMARK if kept is None else int.from_bytes(kept, "big", signed=True)
        """Of the last round."""

    def pass_to(self, watermark: int) -> None:
        """End a round: the watermark is kept, as what is late is told by it."""
        if watermark > self.watermark:
            self.watermark = watermark
            self._kept.put_many([(_WATERMARK, watermark.to_bytes(8, "big", signed=True))])

    def due_sql(self, end: str) -> str:
        """When a window is due, by SQL of its end (TIMESTAMP)."""
        if not self._zoned:
            return f"(epoch_us({end}) - {_LAST})"
        from bergsql.engine.plan.zones import instant

        return f"epoch_us({instant(f'({end} - to_microseconds({_LAST}))', self._zone)})"

    def over_sql(self, due: str) -> str:
        """The condition that windows that are due then were over in the last round."""
        return f"{due} <= {self.watermark - self.lateness}" if self.watermark > NO_WATERMARK else "FALSE"

    def time_sql(self, due: str) -> str:
        """A window's time, by when it is due."""
        return f"make_timestamptz({due})" if self._zoned else f"make_timestamp({due})"

    def micros_sql(self, time: str) -> str:
        """A time in microseconds, cut to milliseconds as Flink's rowtimes are."""
        return f"(epoch_ms({time}) * 1000)"

    def clock_sql(self, micros: str) -> str:
        """What the clock shows then (TIMESTAMP)."""
        return f"CAST(make_timestamptz({micros}) AS TIMESTAMP)" if self._zoned else f"make_timestamp({micros})"

    def is_over(self, due: int, watermark: int) -> bool:
        return due + self.lateness <= watermark
