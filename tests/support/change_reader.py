"""Read a connector's changes in the test's process: as a job does, stopping and going on from what it kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.duck import Duck
from bergsql.engine.streaming.changelog import OP, RowKind, column
from bergsql.engine.streaming.sources.base import Json
from bergsql.engine.streaming.workspace import Workspace
from tests.support.streams import Change, fold

DEADLINE = 30.0


class ChangeReader:
    """A reader at work. :attr:`rows` is the table that its changes make; where it stops, what came behind the last
    :meth:`keep` is forgotten."""

    def __init__(self, source: LocalSource, settings: Mapping[str, str] | None = None) -> None:
        self.source = source
        self.kept: Json = None
        self.rows: Counter[Change] = Counter()
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self._kept_rows: Counter[Change] = Counter()
        self._settings = dict(settings or {})

    @contextmanager
    def opened(self) -> Iterator[ChangeReader]:
        """From what was kept on."""
        duck = Duck(threads=1)
        self.workspace = Workspace(
            duck,
            job_id="job",
            directory=Path(),
            setting=self._settings.get,
            time_zone="UTC",
            note=self.notes.append,
        )
        self.rows = self._kept_rows.copy()
        try:
            self.reader = self.source.reader(self.workspace, self.kept)
            try:
                if self.kept is None:
                    self.keep()
                yield self
            finally:
                self.reader.close()
        finally:
            self.workspace.close()
            duck.close()

    def poll(self) -> list[Change]:
        """A round: what came, folded into :attr:`rows`."""
        found = self.poll_unfolded()
        fold(found, self.rows)
        return found

    def poll_unfolded(self) -> list[Change]:
        """A round: what came."""
        batch = self.reader.poll()
        found: list[Change] = []
        if batch is not None:
            names = ", ".join([OP, *(column(i) for i in range(len(self.source.columns)))])
            told = self.workspace.cursor.execute(f"SELECT {names} FROM {batch.sql}").fetchall()
            found = [(RowKind(kind).symbol, *values) for kind, *values in told]
        self.workspace.end_round()
        self.changes += found
        return found

    def keep(self) -> None:
        """A checkpoint, if one may be made."""
        if not self.reader.holds:
            self.kept = json.loads(json.dumps(self.reader.offset))
            self._kept_rows = self.rows.copy()
            self.reader.checkpointed(self.kept)

    def until(self, holds: Callable[[], object]) -> None:
        """Rounds and checkpoints until something holds."""
        end = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < end, (self.reader.offset, self.changes[-5:])
            if not self.poll():
                time.sleep(0.005)
            self.keep()

    def until_rows(self, wanted: Callable[[], list[tuple[Any, ...]]]) -> None:
        """Until the rows are those of a query; and a moment longer, in which nothing may come."""
        self.until(lambda: self.rows == Counter(wanted()))
        for _ in range(5):
            self.poll()
            time.sleep(0.01)
        assert self.rows == Counter(wanted())
