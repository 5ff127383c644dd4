"""Checkpoints: what becomes durable, and in which order. Nothing else commits anything.

Prepare, then roll forward (design: two-phase commit with the state store as its log):

1. each sink prepares: what it wrote is durable, but not visible;
2. one transaction of the store holds offsets, watermarks, committables and the operators' state, and is synced;
3. each sink commits, in the order of the plan;
4. that they have is noted in the next transaction, and the sources are told. Where no checkpoint follows, the note has
   a transaction of its own.

Up to the end of 2 a crash throws all of it away, and the work is done again from the checkpoint before. From then on it
is only ever carried on: recovery (``recovery.py``) repeats 3, which sinks answer once for each number.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from bergsql.engine.streaming.sinks.base import Writer
    from bergsql.engine.streaming.sources.base import Json, Reader
    from bergsql.engine.streaming.state.store import Store

CHECKPOINT: Final = "checkpoint"
COMMITTED: Final = "committed"


class Checkpoint(NamedTuple):
    """What a store holds beside the operators' state. Number 0 is the state before the first one."""

    number: int = 0
    offsets: Mapping[str, Json] = {}
    committables: Mapping[str, Json] = {}
    watermarks: Mapping[str, int] = {}
    at: int = 0
    """When it was made, in milliseconds since 1970."""

    @classmethod
    def last(cls, store: Store) -> Checkpoint:
        """The last one that is durable."""
        kept: Any = store.get_meta(CHECKPOINT)
        return cls() if kept is None else cls(**{name: kept[name] for name in cls._fields if name in kept})

    def is_committed(self, store: Store) -> bool:
        """Whether all sinks are known to have committed it; if not, some of them may have."""
        return self.number == 0 or store.get_meta(COMMITTED) == self.number


class Checkpoints:
    """The checkpoints of a job that runs."""

    def __init__(self, store: Store, readers: Mapping[str, Reader], writers: Mapping[str, Writer]) -> None:
        """``writers``: in the order in which they commit."""
        self._store = store
        self._readers = readers
        self._writers = writers
        self.last = Checkpoint()
        self._unkept: int | None = None
        """The checkpoint of which it is not durable yet that the sinks have it."""

    def offsets(self) -> dict[str, Json]:
        """Where each source goes on, of those that know; where a new job begins, too: "latest" is settled then."""
        # As they come back from a store, and apart from what the readers go on with.
        offsets: dict[str, Json] = json.loads(json.dumps({uid: r.offset for uid, r in self._readers.items()}))
        return {uid: offset for uid, offset in offsets.items() if offset is not None}

    def make(self, watermarks: Mapping[str, int], *, wrote: bool) -> int | None:
        """Make a checkpoint: gives its number; None where there is nothing new to keep.

        :param wrote: whether anything went to a sink since the last one.
        :raises BergError: of a sink or of the store. Nothing is lost; the job must begin again from its store.
        """
        offsets = self.offsets()
        if not (wrote or self._store.changed or offsets != self.last.offsets):
            if self._unkept is not None:
                self.keep_note()
            return None
        number = self.last.number + 1
        committables = {uid: writer.prepare(number) for uid, writer in self._writers.items()}
        made = Checkpoint(number, offsets, committables, dict(watermarks), round(time.time() * 1000))
        self._store.put_meta(CHECKPOINT, made._asdict())
        self._store.commit()
        self.last, self._unkept = made, None
        commit(self._writers, made)
        self._note_committed()
        for uid, reader in self._readers.items():
            reader.checkpointed(offsets.get(uid))
        return number

    def begin(self, last: Checkpoint) -> None:
        """Go on behind a checkpoint that is committed."""
        self.last = last
        self._note_committed()

    def keep_note(self) -> None:
        """Make it durable, where no checkpoint follows soon, that the sinks have the last one.

        They may forget it: a job that was idle or stopped for a week would write it to Kafka again.
        """
        if self._unkept is not None:
            self._store.put_meta(COMMITTED, self._unkept)
        self._store.commit()
        self._unkept = None

    def _note_committed(self) -> None:
        # Not worth a transaction of its own while others follow.
        if self.last.number:
            self._unkept = self.last.number
            self._store.put_meta(COMMITTED, self._unkept)
        self._store.changed = False


def commit(writers: Mapping[str, Writer], checkpoint: Checkpoint) -> None:
    """Let each sink make its part of a durable checkpoint visible."""
    for uid, writer in writers.items():
        committable = checkpoint.committables.get(uid)
        if committable is not None:
            writer.commit(checkpoint.number, committable)
