"""The process of a job whose source's files come one by one, and which ends with a checkpoint behind the last one.

arguments: JOB FEED DIRECTORY, the job's folder, that of the files to come, and that which the job watches. A file is
moved there when nothing more comes of those before. For the fault server, whose runs must end.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from bergsql.engine.streaming.jobs import process
from bergsql.engine.streaming.runner import StopKind

QUIET = 4
"""Rounds without a row after which nothing more comes."""


class FedProcess(process.JobProcess):
    """A job that is fed."""

    feed: list[Path]
    directory: Path
    _rows = -1
    _quiet = 0

    def _stop(self) -> StopKind | None:
        assert self._runner is not None
        figures = self._runner.metrics()
        if figures["rows_in"] != self._rows:
            self._rows, self._quiet = figures["rows_in"], 0
        self._quiet += 1
        if self._quiet < QUIET:
            return super()._stop()
        if not self.feed:
            return StopKind.CHECKPOINT
        file = self.feed.pop(0)
        file.rename(self.directory / file.name)
        self._quiet = 0
        return None


def main(arguments: list[str]) -> int:
    job, feed, directory = arguments
    FedProcess.feed, FedProcess.directory = sorted(Path(feed).iterdir()), Path(directory)
    with patch.object(process, "JobProcess", FedProcess):
        return process.main([job])
