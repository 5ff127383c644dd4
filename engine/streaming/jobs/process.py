"""The process of a job: ``python -m bergsql.engine.streaming.jobs.process DIRECTORY``.

It makes the job's session again, plans its statement anew and runs the plan, until its sources end, it is told to stop,
or it fails and its restart strategy gives up. What is to be known of it is in its folder, see ``registry.py``.

SIGTERM stops it: as ``stop.json`` says if that is there, else with its last checkpoint kept. SIGHUP and SIGINT mean
nothing to it.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.jobs import figures, savepoints
from bergsql.engine.streaming.jobs.control import CLAIMED
from bergsql.engine.streaming.jobs.files import read_json, write_json, write_text
from bergsql.engine.streaming.jobs.hidden import put_together
from bergsql.engine.streaming.jobs.registry import Job, job_at, spec_of
from bergsql.engine.streaming.jobs.restarts import RestartStrategy, can_be_mended, strategy
from bergsql.engine.streaming.jobs.rotation import rotate_output
from bergsql.engine.streaming.jobs.signals import Request, Stops
from bergsql.engine.streaming.jobs.status import JobState, Status, failure
from bergsql.engine.streaming.runner import Runner, StopKind
from bergsql.engine.streaming.state.store import Store
from bergsql.engine.version import version

if TYPE_CHECKING:
    import logging

    from bergsql.engine.session import Session
    from bergsql.engine.streaming.sources.base import Json

BEAT: Final = 1.0
"""Seconds between two writings of the status while things happen."""
IDLE_BEAT: Final = 10.0
"""The same while nothing does."""
_GARBAGE: Final = (200_000, 50, 100)
"""Python's collector looks seldom: keys and rows of a batch are many small values without cycles, and looking at them
over and over costs as much as a Top-N."""
_NESTING: Final = 10_000
"""Python's calls within calls, as in the shell."""


def main(arguments: list[str]) -> int:
    """Run the job in the folder that is named; gives the exit code."""
    sys.setrecursionlimit(_NESTING)
    gc.set_threshold(*_GARBAGE)
    directory = Path(arguments[0])
    from filelock import FileLock, Timeout

    job = job_at(directory)
    lock = FileLock(job.lock, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return CLAIMED
    with lock, Stops(directory) as stops:
        try:
            return JobProcess(job, stops).run()
        except BergError as error:  # what it is doing cannot be written, so nothing was begun
            sys.stderr.write(f"{error.message}\n")
            return 1


class JobProcess:
    """One run of a job."""

    def __init__(self, job: Job, stops: Stops) -> None:
        import psutil

        from bergsql.engine.streaming.jobs.log import open_log

        self._job = job
        self._stops = stops
        self._log: logging.Logger = open_log(job.log)
        self._status = Status(
            JobState.INITIALIZING,
            pid=os.getpid(),
            created=float(psutil.Process().create_time()),
            started=_now(),
            restarts=job.status.restarts,
        )
        self._runner: Runner | None = None
        self._shown: Mapping[str, Any] = {}
        self._savepoints = self._job.directory
        """Where savepoints go by the job's own settings."""
        self._beat = 0.0
        """When it was last looked at the figures."""
        self._told = 0.0
        """When the status was last written."""
        self._has_run = job.status.started > 0
        """Whether it has run before, be it in another process: what fails now is not about its statement."""

    def run(self) -> int:
        """Run to the end; gives the exit code."""
        self._tell()
        self._log.info("Job %s (%s) begins in process %d.", self._job.id, self._job.name, self._status.pid)
        try:
            state = self._attempts()
        except BergError as error:
            state = JobState.FAILED
            self._failed(error)
        self._status.state, self._status.ended = state, _now()
        self._tell()
        self._log.info("Job %s is %s.", self._job.id, state)
        return int(state is JobState.FAILED)

    def _attempts(self) -> JobState:
        """Run, and after a failure begin again as long as the restart strategy says so."""
        spec = self._spec()
        restarts: RestartStrategy | None = None
        while True:
            try:
                state = self._attempt(spec)
                if state is not None:
                    return state
                continue
            except BergError as error:
                if not self._has_run or not can_be_mended(error):
                    raise
                restarts = restarts or self._strategy(spec)
                pause = restarts.delay(_now())
                if pause is None:
                    raise
                self._failed(error)
            self._status.state = JobState.RESTARTING
            self._status.restarts += 1
            self._tell()
            self._log.info("It begins again in %.3f s, for the %d. time.", pause / 1000, self._status.restarts)
            if self._stops.wait(pause / 1000):
                return self._state_of(self._stops.asked or Request())

    def _spec(self) -> dict[str, Any]:
        spec = spec_of(self._job.directory)
        hidden = read_json(self._job.directory / "secrets.json") or {}
        return cast("dict[str, Any]", put_together(spec, hidden))

    @staticmethod
    def _strategy(spec: Mapping[str, Any]) -> RestartStrategy:
        from bergsql.engine.settings import Settings

        settings = Settings()
        for key, value in spec["session"]["settings"].items():
            settings.set(key, value)
        return strategy(settings.get)

    def _attempt(self, spec: Mapping[str, Any]) -> JobState | None:
        """Make the session and run the plan, once; None to do it again.

        :raises BergError: whatever fails; faults of ours as INTERNAL, with their traceback in the log.
        """
        from bergsql.engine.execute.session_spec import enter, session_from

        session: Session | None = None
        try:
            self._stops.opening = True
            enter(spec["session"])
            session = session_from(spec["session"])
            return self._run(session, spec)
        except KeyboardInterrupt:
            return self._state_of(self._stops.asked or Request())
        except BergError:
            raise
        except Exception as error:
            self._log.exception("A fault:")
            message = f"Internal error: {type(error).__name__}: {error}"
            raise BergError(ErrorCode.INTERNAL, message, hint=f"{self._job.log} has more.") from error
        finally:
            self._runner = None
            self._stops.opening = False
            if session is not None:
                session.close()

    def _run(self, session: Session, spec: Mapping[str, Any]) -> JobState | None:
        from bergsql.engine.execute.submit_job import planned

        chosen = savepoints.chosen(session.setting(savepoints.DIRECTORY_SETTING))
        self._savepoints = chosen or session.home / "savepoints"
        plan = planned(session, spec["statement"], spec.get("schemas", ()))
        store = Store.open(self._job.directory / "state")
        try:
            runner = Runner(
                plan,
                session.duck,
                store,
                job_id=self._job.identity,
                setting=session.setting,
                time_zone=session.time_zone,
                note=self._log.info,
            )
            try:
                self._stops.runner = runner
                self._stops.opening = False
                runner.open()
                self._runner, self._has_run = runner, True
                self._status.state = JobState.RUNNING
                self._tell()
                self._log.info("It runs.")
                runner.run(self._stop)
                self._shown = runner.metrics()
                return self._ended(runner, store)
            finally:
                self._stops.runner = None
                runner.close()
        finally:
            store.close()

    def _stop(self) -> StopKind | None:
        """Called by the runner between two rounds: tells how the job is, and whether it is to stop."""
        now = time.monotonic()
        if now - self._beat >= BEAT and self._runner is not None:
            self._beat = now
            metrics = self._runner.metrics()
            if metrics != self._shown or now - self._told >= IDLE_BEAT:
                self._shown = metrics
                self._tell()
            rotate_output(self._job.output)
        asked = self._stops.asked
        if asked is None:
            return None
        if asked.savepoint:
            try:
                savepoints.check(self._place(asked))
            except BergError as error:
                self._refuse(asked, error)
                return None
        if asked.drain:
            return StopKind.DRAIN
        return StopKind.CHECKPOINT if asked.savepoint else StopKind.CANCEL

    def _ended(self, runner: Runner, store: Store) -> JobState | None:
        """The state behind a run that ended well; the savepoint is made that was asked for.

        None where it cannot be made: whoever asked is told, and the job goes on.
        """
        asked = self._stops.asked
        if asked is None or asked.at_once:
            return JobState.FINISHED if runner.finished else self._state_of(asked or Request())
        if asked.savepoint:
            try:
                self._status.savepoint = str(self._make_savepoint(asked, store))
            except BergError as error:
                if not runner.finished:
                    self._refuse(asked, error)
                    return None
                self._failed(error)
                return JobState.FINISHED
            self._log.info("Its savepoint is %s.", self._status.savepoint)
        return JobState.FINISHED if asked.drain or runner.finished else JobState.STOPPED

    def _refuse(self, asked: Request, error: BergError) -> None:
        """Tell whoever asked that no savepoint can be made, and go on."""
        self._log.error("%s The job goes on.", error.message)
        self._status.refused = {"request": asked.id, "error": failure(error)}
        self._stops.forget()
        self._tell()

    def _place(self, asked: Request) -> Path:
        """Where a savepoint is made."""
        return asked.directory or self._savepoints

    def _make_savepoint(self, asked: Request, store: Store) -> Path:
        about: dict[str, Json] = {
            "bergsql": version(),
            "identity": self._job.identity,
            "job": self._job.id,
            "name": self._job.name,
            "made": _now(),
        }
        return savepoints.make(self._job.id, self._place(asked), about, store.copy_to)

    @staticmethod
    def _state_of(request: Request) -> JobState:
        return JobState.CANCELED if request.canceled else JobState.SUSPENDED

    def _failed(self, error: BergError) -> None:
        self._status.error = failure(error)
        self._log.error("%s%s", error.message, f" ({error.hint})" if error.hint else "")

    def _tell(self) -> None:
        """Write how the job is. That it cannot be written, as where the disk is full, harms no job that runs."""
        status = self._status
        status.updated, status.metrics = _now(), self._shown
        self._told = time.monotonic()
        try:
            write_json(self._job.directory / "status.json", status.to_json())
            text = figures.prometheus(self._job._replace(status=status), status.state)
            write_text(self._job.directory / "metrics.prom", text)
        except BergError as error:
            if status.state is JobState.INITIALIZING:
                raise
            self._log.warning("%s", error.message)


def _now() -> int:
    return round(time.time() * 1000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
