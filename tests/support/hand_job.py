"""A job with one Iceberg table as its sink, and as little else as a job can be made of; run by the fault server.

arguments: FOLDER KIND MODE, the folder with the warehouse, ``hadoop`` or ``jdbc``, and ``append`` or ``changes``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bergsql.catalog.errors import BergError
from bergsql.engine.streaming.changelog import Batch, ChangelogMode
from tests.support.sinks import changes, writer_of
from tests.support.tables import Tables

CHECKPOINTS = 3


def expected(mode: str) -> list[tuple[int, int]]:
    """The rows of the table behind the last checkpoint."""
    if mode == "append":
        return [(i, i) for i in range(CHECKPOINTS * 10)]
    return sorted([(0, CHECKPOINTS), *((n, n) for n in range(1, CHECKPOINTS + 1))])


def batch(mode: str, checkpoint: int) -> Batch:
    if mode == "append":
        first = (checkpoint - 1) * 10
        return Batch(f"(SELECT i AS c0, i AS c1, 0::TINYINT AS op FROM range({first}, {first + 10}) AS r(i))")
    rows: list[tuple[object, ...]] = [("+I", checkpoint, checkpoint), ("+I", 0, 1)]
    if checkpoint > 1:
        rows[1:] = [("-U", 0, checkpoint - 1), ("+U", 0, checkpoint)]
    return changes(*rows)


def main(arguments: Sequence[str]) -> int:
    folder, kind, mode = Path(arguments[0]), arguments[1], arguments[2]
    tables = Tables(folder / "wh", jdbc=kind == "jdbc")
    state = Store(folder / "state.json")
    try:
        writer = writer_of(
            tables,
            ChangelogMode.INSERT_ONLY if mode == "append" else ChangelogMode.RETRACT,
            restored=state.checkpoint,
        )
        if state.committed < state.checkpoint:
            writer.commit(state.checkpoint, state.committable)
            state.save(state.checkpoint, state.checkpoint)
        for n in range(state.checkpoint + 1, CHECKPOINTS + 1):
            writer.write(batch(mode, n))
            committable = writer.prepare(n)
            state.save(n, n - 1, committable)
            writer.commit(n, committable)
            state.save(n, n)
        writer.close()
    except (BergError, OSError) as error:
        print(error)
        return 1
    return 0


class Store:
    """What a job knows behind a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = json.loads(path.read_text()) if path.exists() else {}
        self.checkpoint: int = found.get("checkpoint", 0)
        self.committed: int = found.get("committed", 0)
        self.committable: Any = found.get("committable")

    def save(self, checkpoint: int, committed: int, committable: Any = None) -> None:
        self.checkpoint, self.committed, self.committable = checkpoint, committed, committable
        new = self._path.with_suffix(".new")
        with new.open("w") as file:
            json.dump({"checkpoint": checkpoint, "committed": committed, "committable": committable}, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path)
