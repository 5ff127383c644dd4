"""A process that inserts into the table ``db.t`` (id BIGINT) of a JDBC catalog on ``WAREHOUSE/catalog.db``.

usage: jdbc_inserter.py WAREHOUSE FIRST COUNT [DIE_AT]

Inserts the rows FIRST, FIRST + 1, …, each in a commit of its own, and prints each behind it. With DIE_AT the process
kills itself before the step of that number in its last INSERT, counting what it asks of the storage and the swaps of
the pointer, which count twice: before and behind.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from bergsql.catalog.base import TableIdent
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.writer import write_rows

IDENT = TableIdent(("db",), "t")


def catalog_at(warehouse: Path) -> JdbcCatalog:
    return JdbcCatalog("c", {"uri": f"jdbc:sqlite:{warehouse}/catalog.db", "warehouse": str(warehouse)})


class Steps:
    """Counts down to the death of the process."""

    left: int | None = None

    def step(self) -> None:
        if self.left is not None:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1


class Mortal:
    """A storage each of whose calls is a step."""

    def __init__(self, steps: Steps) -> None:
        self._storage, self._steps = LocalStorage(), steps

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if name == "local_path":
            return method

        def step(*args: Any, **options: Any) -> Any:
            self._steps.step()
            return method(*args, **options)

        return step


class MortalCatalog(JdbcCatalog):
    """A catalog whose swaps are steps too."""

    def __init__(self, warehouse: Path, steps: Steps) -> None:
        super().__init__("c", {"uri": f"jdbc:sqlite:{warehouse}/catalog.db", "warehouse": str(warehouse)})
        self._steps = steps

    def storage(self, location: str | None = None) -> Any:  # noqa: ARG002
        return Mortal(self._steps)

    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        self._steps.step()
        swapped = super().swap_pointer(ident, expected, location)
        self._steps.step()
        return swapped


def main(warehouse: Path, first: int, count: int, die_at: int | None) -> None:
    steps = Steps()
    catalog, duck = MortalCatalog(warehouse, steps), Duck()
    storage = catalog.storage()
    for i in range(first, first + count):
        if i == first + count - 1:
            steps.left = die_at
        table = catalog.load_table(IDENT)
        written = write_rows(duck, f"SELECT CAST({i} AS BIGINT)", {}, metadata=table.metadata, storage=storage)
        commit_snapshot(catalog, table, Append(written.files), storage)
        print(i, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
