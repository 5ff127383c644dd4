"""The jobs of a home directory: a folder each, ``jobs/<id>``, for its owner alone.

``spec.json``     what the job is: all that its process needs to make the session again, as text
``secrets.json``  what in it must not be shown
``status.json``   how it is, written again and again by its process
``stop.json``     how it is asked to stop
``state/``        its checkpoints
``job.log``       what it has to say; rotated
``job.out``       its standard output, where the connector 'print' writes; rotated
``job.err``       its standard error
``metrics.prom``  its figures, for Prometheus

``jobs/locks/<identity>.lock`` is held by the process that runs a job. The identity is what a job is called by its
sinks: its id, or the id of the job whose savepoint it began with.
"""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.private_files import sync_directory
from bergsql.engine.streaming.jobs.files import make_directory, read_json, write_json
from bergsql.engine.streaming.jobs.savepoints import Savepoint, copy_state
from bergsql.engine.streaming.jobs.status import JobState, Status, is_alive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.streaming.sources.base import Json

SPEC_VERSION: Final = 1
"""Of the layout of a job's folder: raised when what older versions wrote cannot be read as it is."""
_ID_DIGITS: Final = 32
_TO_BEGIN: Final = 60_000
"""Milliseconds that a process is given to say that it is there."""


class Job(NamedTuple):
    """A job as its folder tells of it, at one moment."""

    directory: Path
    id: str
    """32 hexadecimal digits."""
    identity: str
    name: str
    submitted: int
    """Milliseconds since 1970."""
    status: Status
    state: JobState
    """As it is told: LOST where the status says otherwise and there is no process."""

    @property
    def log(self) -> Path:
        return self.directory / "job.log"

    @property
    def output(self) -> Path:
        return self.directory / "job.out"

    @property
    def errors(self) -> Path:
        return self.directory / "job.err"

    @property
    def lock(self) -> Path:
        return self.directory.parent / "locks" / f"{self.identity}.lock"


def root(home: Path) -> Path:
    """Where the jobs of a home directory are."""
    return home / "jobs"


def new_id() -> str:
    """The id of a job to come."""
    return secrets.token_hex(_ID_DIGITS // 2)


def create(home: Path, spec: Mapping[str, Json], hidden: Mapping[str, Json], savepoint: Savepoint | None = None) -> Job:
    """Make the folder of a job, which does not run yet. ``hidden``: the secrets that were taken out of ``spec``.

    A folder is a job from when it has its ``spec.json``: then all else is there, the state of ``savepoint`` too.

    :raises BergError: IO; then nothing is left of it.
    """
    directory = root(home) / str(spec["id"])
    for each in (directory.parent, directory.parent / "locks", directory):
        make_directory(each)
    try:
        if savepoint is not None:
            copy_state(savepoint, directory / "state")
        write_json(directory / "secrets.json", dict(hidden), durable=True)
        write_json(directory / "status.json", Status(JobState.INITIALIZING).to_json(), durable=True)
        write_json(directory / "spec.json", {"version": SPEC_VERSION, **spec}, durable=True)
        sync_directory(directory.parent)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise BergError(ErrorCode.IO, f"Cannot write {directory}: {error.strerror}.") from error
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return job_at(directory)


def remove(job: Job) -> None:
    """Forget a job that never ran."""
    shutil.rmtree(job.directory, ignore_errors=True)


def spec_of(directory: Path) -> dict[str, Any]:
    """What a job is, as far as its file tells.

    :raises BergError: CORRUPT, or where another version of bergsql wrote it.
    """
    spec = read_json(directory / "spec.json")
    if spec is None:
        raise BergError(ErrorCode.CORRUPT, f"The job in {directory} has no spec.json.")
    version = spec.get("version")
    if version != SPEC_VERSION:
        newer = isinstance(version, int) and version > SPEC_VERSION
        raise BergError(
            ErrorCode.UNSUPPORTED,
            f"Job {directory.name} was made by {'a newer' if newer else 'another'} bergsql ({spec.get('bergsql')}): "
            f"its layout is version {version}, and this one reads version {SPEC_VERSION}.",
            hint="Resume it with the bergsql that made it, stop it WITH SAVEPOINT, and start the statement anew.",
        )
    return spec


def job_at(directory: Path) -> Job:
    """The job in a folder.

    :raises BergError: CORRUPT where a file of it is damaged.
    """
    try:
        return _job_at(directory)
    except (ValueError, TypeError) as error:
        raise BergError(ErrorCode.CORRUPT, f"The files of job {directory.name} are damaged: {error}.") from error


def _job_at(directory: Path) -> Job:
    spec = read_json(directory / "spec.json") or {}
    status = status_of(directory)
    state = status.state
    submitted = int(str(spec.get("submitted", 0)))
    begins = not status.pid and time.time() * 1000 - submitted < _TO_BEGIN
    if not state.final and not begins and not is_alive(status):
        # It may have come to its end between the two looks.
        status = status_of(directory)
        state = status.state if status.state.final else JobState.LOST
    return Job(
        directory,
        directory.name,
        str(spec.get("identity", directory.name)),
        str(spec.get("name", "?")),
        submitted,
        status,
        state,
    )


def status_of(directory: Path) -> Status:
    """What the process of a job said last; LOST where that is gone, or was cut off by a power failure: it is written
    too often to be made durable, and the job is what its other files say.

    :raises BergError: IO.
    :raises ValueError, TypeError: where another version wrote it.
    """
    try:
        content = read_json(directory / "status.json")
    except BergError as error:
        if error.code is not ErrorCode.CORRUPT:
            raise
        content = None
    return Status.from_json(content) if content is not None else Status(JobState.LOST)


def jobs(home: Path) -> list[Job]:
    """All jobs, the youngest first. A folder whose files are damaged is told as FAILED, with the reason."""
    try:
        found = [each for each in root(home).iterdir() if _is_id(each.name) and (each / "spec.json").exists()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot read {root(home)}: {error.strerror}.") from error
    return sorted((_readable(each) for each in found), key=lambda job: (-job.submitted, job.id))


def _readable(directory: Path) -> Job:
    from bergsql.engine.streaming.jobs.status import failure

    try:
        return job_at(directory)
    except BergError as error:
        status = Status(JobState.FAILED, error=failure(error))
        return Job(directory, directory.name, directory.name, "?", 0, status, JobState.FAILED)


def _is_id(name: str) -> bool:
    return len(name) == _ID_DIGITS and all(c in "0123456789abcdef" for c in name)


def job(home: Path, id_: str, span: Span | None = None) -> Job:
    """The job whose id is, or begins with, ``id_``.

    :raises BergError: NOT_FOUND; INVALID where several begin with it.
    """
    wanted = id_.strip().lower()
    known = jobs(home)
    found = [each for each in known if wanted and each.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(each.id for each in found[:3]) + (", …" if len(found) > 3 else "")
        raise BergError(
            ErrorCode.INVALID,
            f"{len(found)} jobs have an id that begins with '{id_}': {listed}.",
            span=span,
            hint="Give more of its digits.",
        )
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"Could not find the job '{id_}'.",
        span=span,
        hint=did_you_mean(wanted, [each.id for each in known]) or "SHOW JOBS; lists the jobs.",
    )
