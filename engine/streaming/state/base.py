"""What operators ask of their state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class StateScope(Protocol):
    """An ordered map from bytes to bytes: the state of one operator, or a part of it.

    What is written is seen at once, and lasts when the checkpoint does. Keys are at most :data:`MAX_KEY` bytes long (a
    codec shortens longer ones by a hash) and never empty; they are ordered as bytes are.
    """

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of keys, in their order; None for one that is not there."""

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Set values, in the place of those that were there."""

    def delete_many(self, keys: Sequence[bytes]) -> None:
        """Forget keys; one that is not there is no error."""

    def scan(self, prefix: bytes = b"", start: bytes = b"", stop: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries whose keys begin with ``prefix`` and are at least ``start`` and below ``stop``, in order.

        The scope must not be changed while they are read.
        """

    def scan_many(self, prefixes: Sequence[bytes], limit: int | None = None) -> list[tuple[bytes, bytes, bytes]]:
        """Of each of many prefixes the entries, in order, or the first ``limit``: with their prefix in front."""

    def last(self, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        """The last entry whose key begins with ``prefix``."""

    def part(self, name: str) -> StateScope:
        """A map of its own within this one."""

    def count(self) -> int:
        """How many entries there are, without those of parts."""


MAX_KEY = 480
"""The most bytes of a key."""
