"""When a job that failed begins again: Flink's restart strategies ("Task Failure Recovery" in its documentation)."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import parse_duration

PREFIX: Final = "restart-strategy"

_LASTING: Final = frozenset(
    {
        ErrorCode.SYNTAX,
        ErrorCode.UNSUPPORTED,
        ErrorCode.NOT_FOUND,
        ErrorCode.ALREADY_EXISTS,
        ErrorCode.INVALID,
        ErrorCode.TYPE,
        ErrorCode.ARITY,
        ErrorCode.OPTION,
        ErrorCode.CONFIG,
        ErrorCode.CORRUPT,
    }
)
"""What is as wrong the next time: a table that was dropped, a rollback of the sink, a definition that does not fit."""


def can_be_mended(error: BergError) -> bool:
    """Whether a job that failed so may do better when it begins again."""
    return error.code not in _LASTING


class RestartStrategy(ABC):
    """Told of each failure, it says when to begin again."""

    @abstractmethod
    def delay(self, now: int) -> int | None:
        """Milliseconds to wait after a failure at ``now`` (milliseconds of any clock); None: the job has failed."""


class NoRestart(RestartStrategy):
    """``none``: the first failure is the end."""

    def delay(self, now: int) -> int | None:  # noqa: ARG002 - it never waits
        return None


class FixedDelay(RestartStrategy):
    """``fixed-delay``: so many restarts in all, each after the same time."""

    def __init__(self, attempts: int, pause: int) -> None:
        self._left = attempts
        self._pause = pause

    def delay(self, now: int) -> int | None:  # noqa: ARG002 - when it was is all the same
        self._left -= 1
        return self._pause if self._left >= 0 else None


class FailureRate(RestartStrategy):
    """``failure-rate``: as long as there are at most so many failures in an interval."""

    def __init__(self, most: int, interval: int, pause: int) -> None:
        self._most = most
        self._interval = interval
        self._pause = pause
        self._failures: deque[int] = deque()

    def delay(self, now: int) -> int | None:
        while self._failures and now - self._failures[0] > self._interval:
            self._failures.popleft()
        self._failures.append(now)
        return self._pause if len(self._failures) <= self._most else None


class ExponentialDelay(RestartStrategy):
    """``exponential-delay``: longer and longer waits, until the job has run for ``threshold`` without a failure."""

    def __init__(
        self,
        initial: int,
        most: int,
        multiplier: float,
        threshold: int,
        jitter: float,
        attempts: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._initial = initial
        self._most = most
        self._multiplier = multiplier
        self._threshold = threshold
        self._jitter = jitter
        self._attempts = attempts
        self._chance = chance
        self._pause = float(initial)
        self._failures = 0
        self._begun: int | None = None
        """When it began again the last time."""

    def delay(self, now: int) -> int | None:
        if self._begun is not None and now - self._begun >= self._threshold:
            self._pause, self._failures = float(self._initial), 0
        self._failures += 1
        if self._failures > self._attempts:
            return None
        pause = self._pause * (1 + self._jitter * (2 * self._chance() - 1))
        waited = round(max(min(pause, self._most), min(self._initial, self._most)))
        self._pause = min(self._pause * self._multiplier, self._most)
        self._begun = now + waited
        return waited


def strategy(setting: Callable[[str], str | None]) -> RestartStrategy:
    """The strategy that the settings ``restart-strategy.*`` ask for."""

    def text(key: str) -> str:
        return setting(f"{PREFIX}.{key}") or ""

    def time(key: str) -> int:
        return parse_duration(text(key), f"{PREFIX}.{key}")

    match text("type"):
        case "none" | "disable" | "off":
            return NoRestart()
        case "fixed-delay" | "fixeddelay":
            return FixedDelay(int(text("fixed-delay.attempts")), time("fixed-delay.delay"))
        case "failure-rate" | "failurerate":
            return FailureRate(
                int(text("failure-rate.max-failures-per-interval")),
                time("failure-rate.failure-rate-interval"),
                time("failure-rate.delay"),
            )
        case _:
            name = "exponential-delay"
            return ExponentialDelay(
                time(f"{name}.initial-backoff"),
                time(f"{name}.max-backoff"),
                float(text(f"{name}.backoff-multiplier")),
                time(f"{name}.reset-backoff-threshold"),
                float(text(f"{name}.jitter-factor")),
                int(text(f"{name}.attempts-before-reset-backoff")),
            )
