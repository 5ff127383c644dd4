"""Ratios measured in one run: both sides by turns, so that a noisy machine hurts both alike."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, and seconds of CPU, processes that were waited for included."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """What both sides cost: the least of the runs, which a noisy machine spoils least."""

    name: str
    ours: Cost
    theirs: Cost
    goal: float
    """The most that ours may be, as a multiple of theirs, on the clock."""

    @property
    def wall(self) -> float:
        return self.ours.wall / self.theirs.wall

    @property
    def cpu(self) -> float:
        return self.ours.cpu / max(self.theirs.cpu, 1e-6)

    def __str__(self) -> str:
        verdict = "met" if self.wall <= self.goal else "MISSED"
        times = f"{self.ours.wall * 1000:9.1f} ms {self.theirs.wall * 1000:9.1f} ms"
        return f"{self.name:<22} {times} {self.wall:6.2f} x   CPU {self.cpu:5.2f} x   goal {self.goal:.2f}: {verdict}"


HEADER = f"{'':<22} {'bergsql':>12} {'floor':>12}   ratio"


def cost(run: Callable[[], object]) -> Cost:
    """What one run costs."""
    wall, before = time.perf_counter(), _cpu()
    run()
    return Cost(time.perf_counter() - wall, _cpu() - before)


def _cpu() -> float:
    """Seconds of CPU of this process and those that it waited for, in microseconds' steps, not the clock's ticks."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def by_turns(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float, runs: int) -> Ratio:
    """Run each once to warm up, then ``runs`` times by turns, each side first every other time."""
    ours()
    theirs()
    costs: dict[Callable[[], object], list[Cost]] = {ours: [], theirs: []}
    for turn in range(runs):
        for side in (ours, theirs) if turn % 2 else (theirs, ours):
            costs[side].append(cost(side))
    return Ratio(name, _least(costs[ours]), _least(costs[theirs]), goal)


def _least(costs: list[Cost]) -> Cost:
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs))
