"""How a job is: what its process writes into ``status.json``, and whether that process is still there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bergsql.catalog.errors import BergError
    from bergsql.engine.streaming.sources.base import Json

STATUS_VERSION: Final = 1
_SAME_START: Final = 2.0
"""Seconds by which the start of one process may differ when it is asked twice: the clock may have been set."""


class JobState(StrEnum):
    """The states of a job, in the words of Flink's ``JobStatus`` where it has one."""

    INITIALIZING = "INITIALIZING"  # its process opens what it reads and writes
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"  # it failed, and begins again from its last checkpoint
    FINISHED = "FINISHED"  # all its sources have ended, or it was stopped WITH DRAIN
    FAILED = "FAILED"
    CANCELED = "CANCELED"  # by STOP JOB
    STOPPED = "STOPPED"  # by STOP JOB … WITH SAVEPOINT
    SUSPENDED = "SUSPENDED"  # its process was told to end (SIGTERM), as at the shutdown of a machine
    LOST = "LOST"  # its process is gone and did not say why: it was killed

    @property
    def final(self) -> bool:
        """Whether a process that is in this state has come to its end."""
        return self not in (JobState.INITIALIZING, JobState.RUNNING, JobState.RESTARTING)


@dataclass(slots=True)
class Status:
    """The state of a job and its figures. Times are milliseconds since 1970; ``created`` is psutil's, in seconds."""

    state: JobState
    pid: int = 0
    created: float = 0.0
    """When the process began, which tells it from another of the same number."""
    started: int = 0
    ended: int | None = None
    updated: int = 0
    restarts: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What the runner counts."""
    error: dict[str, Json] | None = None
    """The last failure: ``code``, ``message``, ``hint`` and, in the statement, ``span``."""
    savepoint: str | None = None
    """The savepoint that the stop made."""
    refused: dict[str, Json] | None = None
    """Why the last stop was not carried out: its ``request`` and ``error``. The job goes on."""

    def to_json(self) -> dict[str, Json]:
        return {
            "version": STATUS_VERSION,
            "state": self.state.value,
            "pid": self.pid,
            "created": self.created,
            "started": self.started,
            "ended": self.ended,
            "updated": self.updated,
            "restarts": self.restarts,
            "metrics": dict(self.metrics),
            "error": self.error,
            "savepoint": self.savepoint,
            "refused": self.refused,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Status:
        """Of whatever version: a field that is not there has its default."""
        known = {name: content[name] for name in cls.__slots__ if name in content}
        return cls(**{**known, "state": JobState(content.get("state", JobState.LOST))})


def failure(error: BergError) -> dict[str, Json]:
    """A failure as it is kept: without secrets."""
    from bergsql.catalog.secrets import mask_text

    return {
        "code": error.code.value,
        "message": mask_text(error.message),
        "hint": mask_text(error.hint) if error.hint else None,
        "span": list(error.span) if error.span is not None else None,
    }


def told(content: Mapping[str, Any]) -> BergError:
    """The error that :func:`failure` kept."""
    from bergsql.catalog.errors import BergError, ErrorCode, Span

    span = content.get("span")
    return BergError(
        ErrorCode(content["code"]), content["message"], span=Span(*span) if span else None, hint=content.get("hint")
    )


def is_alive(status: Status) -> bool:
    """Whether the process that wrote ``status`` runs: the one of its number, and no other that got the number since."""
    import psutil

    try:
        process = psutil.Process(status.pid)
        same = abs(float(process.create_time()) - status.created) < _SAME_START
        # A child that ended and was not waited for has its number still.
        return same and str(process.status()) != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, ValueError):
        return False
