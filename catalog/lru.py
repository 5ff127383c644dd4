"""A bounded memory of what was worked out and stays true: contents of files that never change."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Values by key that weigh at most ``limit`` together; the least recently used go first. Safe for threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """The value that is kept under ``key``, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Keep a value, in place of the one under its key. One that weighs more than a quarter of all is not kept."""
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._weight -= before[1]
            if 4 * weight > self._limit:
                return
            self._kept[key] = (value, weight)
            self._weight += weight
            while self._weight > self._limit:
                _, (_, freed) = self._kept.popitem(last=False)
                self._weight -= freed

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._weight = 0
