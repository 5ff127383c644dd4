"""State that is not used for long is forgotten: ``table.exec.state.ttl``.

As Flink's, it counts by the clock from when an entry was last written to (`Idle State Retention Time
<https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/config/>`_), and what has expired is not seen any
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bergsql.engine.streaming.state.base import StateScope

KEY: Final = "table.exec.state.ttl"

_STEPS: Final = 16
"""Times are rounded up to a sixteenth of the retention: a key that is used all the time is noted down seldom, and one
lives at most a sixteenth longer than it must."""
_CHUNK: Final = 10_000


def retention_of(setting: Callable[[str], str | None], state: StateScope) -> Retention | None:
    """The retention of an operator with ``state``, as the settings want it; None for keeping all for ever (0).

    :raises BergError: OPTION for what is no duration.
    """
    kept = kept_for(setting)
    return Retention(state, kept) if kept > 0 else None


def kept_for(setting: Callable[[str], str | None]) -> int:
    """How many milliseconds state is kept after its last use; 0 for ever.

    :raises BergError: OPTION for what is no duration.
    """
    from bergsql.catalog.options import parse_duration

    return parse_duration(setting(KEY) or "0", KEY)


def ends_at(now: int, kept: int) -> int:
    """When what is used now ends, rounded up (milliseconds since 1970)."""
    step = max(1, kept // _STEPS)
    return -(-(now + kept) // step) * step


class Retention:
    """When each key of an operator's state was last used. What it costs follows the keys that are used or expire.

    It has two parts of the operator's state: by key, when it expires; and by that time, the keys. Call :meth:`expired`
    first in a round and forget the state of those keys, then :meth:`touch` for those that are used.
    """

    def __init__(self, state: StateScope, kept: int) -> None:
        """``kept``: milliseconds from the last use to the end."""
        self._kept = kept
        self._ends = state.part("ttl")
        self._timeline = state.part("ttl-timeline")

    def touch(self, keys: Sequence[bytes], now: int) -> None:
        """Note that ``keys`` are used now (milliseconds since 1970)."""
        keys = list(dict.fromkeys(keys))
        ends = _time(ends_at(now, self._kept))
        known = self._ends.get_many(keys)
        # A clock that was set back shortens no life.
        moved = [(key, old) for key, old in zip(keys, known, strict=True) if old is None or old < ends]
        self._timeline.delete_many([old + key for key, old in moved if old is not None])
        self._timeline.put_many([(ends + key, b"") for key, _ in moved])
        self._ends.put_many([(key, ends) for key, _ in moved])

    def forget(self, keys: Sequence[bytes]) -> None:
        """Of keys whose state the operator has given up itself."""
        known = self._ends.get_many(keys)
        self._timeline.delete_many([old + key for key, old in zip(keys, known, strict=True) if old is not None])
        self._ends.delete_many(keys)

    def expired(self, now: int) -> Iterator[list[bytes]]:
        """The keys whose time is over, some at a time; they are forgotten here as they are given."""
        stop = _time(now + 1)
        while True:
            chunk = [entry for entry, _ in islice(self._timeline.scan(stop=stop), _CHUNK)]
            if not chunk:
                return
            keys = [entry[8:] for entry in chunk]
            self._timeline.delete_many(chunk)
            self._ends.delete_many(keys)
            yield keys


def _time(milliseconds: int) -> bytes:
    """Eight bytes in the order of times since 1970."""
    return max(0, milliseconds).to_bytes(8, "big")
