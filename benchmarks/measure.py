"""Ratios measured in one run: both sides by turns, so that a noisy machine hurts both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """Medians in seconds of the two sides, and the median of the ratios of neighbouring runs."""

    name: str
    ours: float
    theirs: float
    ratio: float
    goal: float

    def __str__(self) -> str:
        verdict = "met" if self.ratio <= self.goal else "MISSED"
        times = f"{self.ours * 1000:9.1f} ms {self.theirs * 1000:9.1f} ms"
        return f"{self.name:<28} {times}   {self.ratio:5.2f} x   goal {self.goal:.2f} x   {verdict}"


HEADER = f"{'':<28} {'bergsql':>12} {'floor':>12}   ratio"


def seconds(run: Callable[[], object]) -> float:
    """Wall seconds of one run."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def by_turns(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float, runs: int) -> Ratio:
    """Run each once to warm up, then ``runs`` times by turns, each side first every other time."""
    ours()
    theirs()
    pairs: list[tuple[float, float]] = []
    for turn in range(runs):
        if turn % 2:
            a = seconds(ours)
            b = seconds(theirs)
        else:
            b = seconds(theirs)
            a = seconds(ours)
        pairs.append((a, b))
    return Ratio(
        name,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
        goal,
    )
