"""A process that changes the table ``db.t`` (id BIGINT, part BIGINT, partitioned by part) of a Hadoop catalog.

usage: inserter.py WAREHOUSE append FIRST COUNT [DIE_AT]
       inserter.py WAREHOUSE overwrite ID PART

``append`` inserts the rows FIRST, FIRST + 1, …, each in a commit of its own, and prints each behind it. With DIE_AT the
process kills itself before the step of that number in its last INSERT, counting what it asks of the storage.
``overwrite`` writes a row that is to replace its partition, prints ``ready``, and commits when it reads a line.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from bergsql.catalog.errors import BergError
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.table.overwrite import OverwritePartitions
from tests.support.tables import Tables


class Mortal:
    """A storage that kills its process before the step of a given number."""

    def __init__(self, storage: LocalStorage) -> None:
        self._storage = storage
        self.steps_left: int | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if name == "local_path":
            return method

        def step(*args: Any, **options: Any) -> Any:
            if self.steps_left is not None:
                if self.steps_left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.steps_left -= 1
            return method(*args, **options)

        return step


def append(tables: Tables, first: int, count: int, die_at: int | None) -> None:
    mortal = Mortal(LocalStorage())
    tables.catalog._storage = tables.storage = mortal
    for i in range(first, first + count):
        if i == first + count - 1:
            mortal.steps_left = die_at
        tables.insert(f"SELECT CAST({i} AS BIGINT), CAST({i % 3} AS BIGINT)")
        print(i, flush=True)


def overwrite(tables: Tables, row: int, part: int) -> None:
    table = tables.load()
    written = tables.write(table, f"SELECT CAST({row} AS BIGINT), CAST({part} AS BIGINT)")
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        tables.commit(table, OverwritePartitions(written.files))
    except BergError as error:
        print(error.code, error.message)
    else:
        print("done")


def main(warehouse: str, what: str, *numbers: str) -> None:
    tables = Tables(Path(warehouse))
    given = [int(n) for n in numbers]
    if what == "append":
        append(tables, given[0], given[1], given[2] if len(given) > 2 else None)
    else:
        overwrite(tables, given[0], given[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
