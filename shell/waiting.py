"""Waiting for jobs: what they print is shown, Ctrl-C stops them with a savepoint, and how they end is told."""

from __future__ import annotations

import codecs
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.jobs import control, registry, savepoints
from bergsql.engine.streaming.jobs.status import JobState, told
from bergsql.shell.exits import ExitCode, exit_code_of

if TYPE_CHECKING:
    from bergsql.engine.streaming.jobs.registry import Job
    from bergsql.shell.runner import Runner
    from bergsql.shell.screen import Screen

_LOOK: Final = 0.05
"""Seconds between two looks at the jobs."""
_PIECE: Final = 1 << 16


def wait_for_jobs(runner: Runner) -> ExitCode:
    """Wait at the end of the input for all jobs that it started; the code of the first that failed.

    Ctrl-C and SIGTERM stop them with a savepoint each. When the terminal is closed they go on.
    """
    jobs, runner.jobs = runner.jobs, []
    if not jobs:
        return ExitCode.OK
    try:
        with runner.interrupts.during_statement():
            return follow(runner, jobs)
    except KeyboardInterrupt:
        return _ended(runner, jobs)


def _ended(runner: Runner, jobs: Iterable[Job]) -> ExitCode:
    number = runner.interrupts.ended_by
    if number == getattr(signal, "SIGHUP", None):
        return ExitCode.HUNG_UP
    stop_jobs(runner, jobs)
    return ExitCode.INTERRUPTED if number is None else ExitCode.TERMINATED


def wait_at_statement(runner: Runner, job: Job) -> None:
    """Wait for a job where it was started, as ``table.dml-sync`` asks for.

    :raises BergError: the failure of the job.
    :raises KeyboardInterrupt: a signal; unless the terminal was closed, the job was stopped with a savepoint.
    """
    output = _Output(job.output)
    try:
        while not (now := registry.job_at(job.directory)).state.final:
            output.show(runner.screen)
            time.sleep(_LOOK)
        control.wait(now)
        output.show(runner.screen)
    except KeyboardInterrupt:
        _ended(runner, [job])
        raise
    finally:
        output.close()
    if now.state in (JobState.FAILED, JobState.LOST):
        raise failure_of(now)


def stop_jobs(runner: Runner, jobs: Iterable[Job]) -> None:
    """Stop jobs with a savepoint each; what goes wrong is told."""
    directory = savepoints.chosen(runner.session.setting(savepoints.DIRECTORY_SETTING))
    for job in jobs:
        now = registry.job_at(job.directory)
        if now.state.final:
            continue
        try:
            ended = control.stop(now, savepoint=True, directory=directory)
        except BergError as error:
            runner.tell(error, None, None)
            continue
        path = ended.status.savepoint
        runner.screen.info(f"Job {job.id} was stopped. Its savepoint: {savepoints.shown(path) if path else 'none'}")


def follow(runner: Runner, jobs: Iterable[Job]) -> ExitCode:
    """Show what jobs print until all have ended; the code of the first that failed.

    :raises KeyboardInterrupt: a signal; the jobs go on.
    """
    watched = [(job, _Output(job.output)) for job in jobs]
    failed = ExitCode.OK
    while watched:
        for job, output in tuple(watched):
            now = registry.job_at(job.directory)
            output.show(runner.screen)
            if now.state.final:
                control.wait(now)
                output.show(runner.screen)
                output.close()
                watched.remove((job, output))
                failed = failed or _told(runner, now)
        if watched:
            time.sleep(_LOOK)
    return failed


def _told(runner: Runner, job: Job) -> ExitCode:
    """Tell how a job has ended."""
    if job.state in (JobState.FAILED, JobState.LOST):
        error = failure_of(job)
        runner.tell(error, None, None)
        return exit_code_of(error)
    runner.screen.info(f"Job {job.id} is {job.state}.")
    return ExitCode.TERMINATED if job.state is JobState.SUSPENDED else ExitCode.OK


def failure_of(job: Job) -> BergError:
    """Why a job that is FAILED or LOST is not running any more."""
    if job.state is JobState.FAILED and job.status.error is not None:
        error = told(job.status.error)
        error.message, error.span = f"Job {job.id} failed: {error.message}", None
        return error
    return BergError(
        ErrorCode.EXECUTION,
        f"Job {job.id} is {job.state}: its process was killed.",
        hint=f"bergsql jobs resume {job.id} goes on with it.",
    )


class _Output:
    """What a job prints from now on, though the file be rotated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._opened()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def _opened(self) -> int | None:
        try:
            return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None

    def show(self, screen: Screen) -> None:
        """Print what has come."""
        if self._file is None and (opened := self._opened()) is not None:
            self._file = opened
        while self._file is not None:
            current = self._opened()  # before the reading: what comes later goes into this one
            while piece := os.read(self._file, _PIECE):
                screen.out.write(self._decode(piece))
            if current is None or os.path.sameopenfile(current, self._file):
                if current is not None:
                    os.close(current)
                break
            os.close(self._file)
            self._file = current
        screen.out.flush()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
