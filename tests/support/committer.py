"""A process that commits to a table of a Hadoop catalog, as often as told, trying again after each conflict.

usage: committer.py WAREHOUSE NAME COMMITS [DIE_AT]

Every commit adds one snapshot and one property ``NAME-<i>``. With DIE_AT (``write_new``, ``publish``, ``unlink`` or
``replace``: steps of storage) the process kills itself in its last commit, before that step.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import CommitConflict
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import AddSnapshot, SetProperties, SetSnapshotRef
from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
from bergsql.catalog.storage.local import LocalStorage

IDENT = TableIdent(("db",), "t")


class Mortal(LocalStorage):
    """A storage whose process can be told to die before one of its steps."""

    die_at: str | None = None

    def _step(self, name: str) -> None:
        if self.die_at == name:
            os.kill(os.getpid(), signal.SIGKILL)

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        self._step("write_new")
        super().write_new(path, data, fsync=fsync, make_dirs=make_dirs)

    def publish(self, staged: str, path: str) -> None:
        self._step("publish")
        if self.die_at == "unlink":
            # The name is given, the staged one not yet taken away.
            os.link(staged, path)
            self._step("unlink")
        super().publish(staged, path)

    def replace(self, path: str, data: bytes) -> None:
        self._step("replace")
        super().replace(path, data)


def main(warehouse: str, name: str, commits: int, die_at: str | None) -> None:
    catalog = HadoopCatalog("h", warehouse)
    storage = Mortal()
    catalog._storage = storage
    for i in range(commits):
        if i == commits - 1:
            storage.die_at = die_at
        while True:
            base = catalog.load_table(IDENT)
            metadata = base.metadata
            snapshot = Snapshot(
                random.getrandbits(62) + 1,
                metadata.current_snapshot_id,
                metadata.last_sequence_number + 1,
                metadata.last_updated_ms + 1,
                "none.avro",
                {"operation": "append", "writer": f"{name}-{i}"},
                metadata.current_schema_id,
            )
            updates = [
                AddSnapshot(snapshot),
                SetSnapshotRef("main", SnapshotRef(snapshot.snapshot_id)),
                SetProperties({f"{name}-{i}": str(os.getpid())}),
            ]
            try:
                catalog.commit(base, updates)
            except CommitConflict:
                continue
            break


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
