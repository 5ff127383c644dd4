"""Starting, stopping and waiting for the processes of jobs."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import PRIVATE
from bergsql.engine.streaming.jobs.files import write_json
from bergsql.engine.streaming.jobs.registry import Job, job_at, jobs, spec_of, status_of
from bergsql.engine.streaming.jobs.status import JobState, is_alive, told

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json

CLAIMED: Final = 75
"""The exit code of a process whose job another one runs (EX_TEMPFAIL of sysexits.h)."""
_LOOK: Final = 0.02
"""Seconds between two looks at what a process says of itself."""
_TO_END: Final = 5.0
"""Seconds that a process is given to end, when it does not run yet."""
_MODULE: Final = "bergsql.engine.streaming.jobs.process"

_children: list[subprocess.Popen[bytes]] = []
"""The processes that were started from here, which are to be waited for when they end."""


def start(job: Job) -> Job:
    """Run a job in a process of its own, and wait until it runs, or has ended well.

    The process leads a session of its own, and has nothing of this one's terminal: it outlives this one.

    :raises BergError: what kept it from running, as its process tells it.
    :raises KeyboardInterrupt: Ctrl-C; the process has ended.
    """
    begun = _begin(job)
    try:
        return _running(job, begun)
    except KeyboardInterrupt:
        begun.send_signal(signal.SIGTERM)
        try:
            begun.wait(_TO_END)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.wait()
        raise


def _running(job: Job, begun: subprocess.Popen[bytes]) -> Job:
    while True:
        code = begun.poll()
        now = job_at(job.directory)
        if now.status.pid == begun.pid and now.status.state is not JobState.INITIALIZING:
            if now.status.state is JobState.FAILED and now.status.error is not None:
                begun.wait()
                raise told(now.status.error)
            return now
        if code is not None:
            raise _died(job, code)
        time.sleep(_LOOK)


def _begin(job: Job) -> subprocess.Popen[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        output = os.open(job.output, flags, PRIVATE)
        errors = os.open(job.errors, flags, PRIVATE)
        try:
            begun = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(job.directory)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        finally:
            os.close(output)
            os.close(errors)
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot start the process of job {job.id}: {error.strerror}.") from error
    _children[:] = [each for each in _children if each.poll() is None]
    _children.append(begun)
    return begun


def is_claimed(job: Job) -> BergError:
    """The error for a job that somebody wants to run while it, or another one of its identity, runs."""
    same = [each for each in jobs(job.directory.parent.parent) if each.identity == job.identity]
    job = next((each for each in same if each.id != job.id and not each.state.final), job)
    pid = job.status.pid
    return BergError(
        ErrorCode.CONFLICT,
        f"Job {job.identity} is run by another process{f' ({pid})' if pid else ''}: two would write everything twice.",
        hint=f"STOP JOB '{job.id}'; stops it.",
    )


def _died(job: Job, code: int) -> BergError:
    """The error for a process that ended before it could say why."""
    if code == CLAIMED:
        return is_claimed(job_at(job.directory))
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return BergError(
        ErrorCode.EXECUTION,
        f"The process of job {job.id} ended {how} before it ran.",
        hint=f"{job.errors} has what it printed.",
    )


def resume(job: Job) -> Job:
    """Go on with a job that does not run, from its last checkpoint.

    :raises BergError: CONFLICT where it runs, INVALID where it is finished; what keeps it from running.
    """
    spec_of(job.directory)  # of a version that can be read
    if not job.state.final:
        raise is_claimed(job)
    if job.state is JobState.FINISHED:
        raise BergError(
            ErrorCode.INVALID,
            f"Job {job.id} is finished: there is nothing to go on with.",
            hint="Start its statement anew.",
        )
    if job.state is JobState.FAILED and job.status.pid == 0 and job.status.error is not None:
        raise told(job.status.error)
    (job.directory / "stop.json").unlink(missing_ok=True)
    return start(job)


def needs_resume(job: Job) -> bool:
    """Whether a job ran until something ended it that was not about the job: a kill, a crash, a shutdown."""
    return job.state in (JobState.LOST, JobState.SUSPENDED)


def stop(job: Job, *, savepoint: bool = False, drain: bool = False, directory: Path | None = None) -> Job:
    """Stop a job and wait until it has ended; its last checkpoint stays.

    :param savepoint: make one first, in ``directory``; without that where the job's own settings say.
    :param drain: let all that waits for a watermark out before, as if its sources had ended.
    :raises BergError: INVALID where it does not run; what keeps it from a savepoint: then it goes on.
    """
    if job.state.final:
        if job.state is JobState.LOST and not savepoint and not drain:
            _put_down(job)
            return job_at(job.directory)
        raise BergError(
            ErrorCode.INVALID, f"Job {job.id} does not run: it is {job.state}.", hint=_resume_hint(job) or None
        )
    if not job.status.pid:
        raise BergError(ErrorCode.INVALID, f"Job {job.id} does not run yet: its process begins just now.")
    place = str(directory) if directory is not None else None
    request = secrets.token_hex(8)
    asked: dict[str, Json] = {"request": request, "savepoint": savepoint, "directory": place, "drain": drain}
    write_json(job.directory / "stop.json", {"pid": job.status.pid, **asked})
    try:
        os.kill(job.status.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it ended just now
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot stop job {job.id}: {error.strerror}.") from error
    ended = wait(job, request)
    if ended.state in (JobState.FAILED, JobState.LOST):
        if ended.status.error is not None:
            raise told(ended.status.error)
        raise BergError(ErrorCode.EXECUTION, f"Job {job.id} was lost while it stopped.", hint=_resume_hint(ended))
    if savepoint and ended.status.savepoint is None:
        raise BergError(ErrorCode.EXECUTION, f"Job {job.id} ended as {ended.state} before its savepoint was made.")
    return ended


def _put_down(job: Job) -> None:
    """Say of a job that is lost that it is stopped."""
    status = status_of(job.directory)
    status.state, status.ended = JobState.CANCELED, round(time.time() * 1000)
    write_json(job.directory / "status.json", status.to_json())


def _resume_hint(job: Job) -> str:
    return "" if job.state is JobState.FINISHED else f"bergsql jobs resume {job.id} goes on with it."


def wait(job: Job, request: str | None = None) -> Job:
    """Wait until a job has ended, and its process is gone.

    :raises BergError: why the stop ``request`` was not carried out; the job goes on.
    """
    while not (now := job_at(job.directory)).state.final or is_alive(now.status):
        refused: dict[str, Any] = now.status.refused or {}
        if request is not None and refused.get("request") == request:
            error = told(refused["error"])
            error.message = f"{error.message} Job {job.id} goes on."
            raise error
        time.sleep(_LOOK)
    for child in _children:
        child.poll()
    return now
