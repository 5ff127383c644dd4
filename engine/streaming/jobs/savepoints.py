"""Savepoints: the state of a job in a directory that has all that is needed to start from it.

``savepoint.json`` says whose it is; ``state/`` is a copy of the job's checkpoints.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import copy_tree, sync_directory
from bergsql.engine.streaming.jobs.files import make_directory, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.streaming.sources.base import Json

SAVEPOINT_VERSION: Final = 1
DIRECTORY_SETTING: Final = "execution.checkpointing.savepoint-dir"
PATH_SETTING: Final = "execution.state-recovery.path"
_FILE: Final = "savepoint.json"


class Savepoint(NamedTuple):
    """A savepoint that was found."""

    path: Path
    identity: str
    """What its job is called by the sinks it wrote to."""
    name: str
    """Of the job that made it."""

    @property
    def state(self) -> Path:
        return self.path / "state"


def local_path(text: str) -> Path:
    """The path that a setting names: as such, or as ``file:/…``.

    :raises BergError: OPTION for another scheme.
    """
    scheme, colon, rest = text.partition(":")
    if colon and "/" not in scheme and rest.startswith("/"):
        if scheme.lower() != "file":
            raise BergError(
                ErrorCode.OPTION, f"A savepoint is in a local directory, and '{text}' is not.", hint="Name a file:/… ."
            )
        text = unquote("/" + rest.lstrip("/"))
    return Path(text).expanduser().absolute()


def chosen(setting: str | None) -> Path | None:
    """Where new savepoints go by ``execution.checkpointing.savepoint-dir``; None where it does not say."""
    return local_path(setting) if setting else None


def shown(path: str) -> str:
    """A savepoint's path as Flink prints it: ``file:/…``."""
    return f"file:{path}"


def check(directory: Path) -> None:
    """Refuse a directory in which no savepoint can be made.

    :raises BergError: IO.
    """
    make_directory(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BergError(ErrorCode.IO, f"Cannot make a savepoint in {directory}: Permission denied.")


def make(job_id: str, directory: Path, about: dict[str, Json], copy_state: Callable[[Path], object]) -> Path:
    """A new savepoint below ``directory``; it is there whole or not at all.

    :param copy_state: writes the job's state into a directory that it makes.
    :raises BergError: IO.
    """
    path = directory / f"savepoint-{job_id[:6]}-{secrets.token_hex(6)}"
    part = directory / f".{path.name}"
    try:
        make_directory(directory)
        make_directory(part)
        copy_state(part / "state")
        write_json(part / _FILE, {"version": SAVEPOINT_VERSION, **about}, durable=True)
        part.rename(path)
        sync_directory(directory)
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot make the savepoint {path}: {error.strerror}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return path


def copy_state(savepoint: Savepoint, path: Path) -> None:
    """Make the state of a savepoint that of a job, in the directory ``path``: the copy outlives a power failure.

    :raises BergError: IO; then ``path`` may hold a part.
    """
    try:
        copy_tree(savepoint.state, path)
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot copy the savepoint {savepoint.path}: {error.strerror}.") from error


def load(text: str) -> Savepoint:
    """The savepoint that a setting names.

    :raises BergError: NOT_FOUND; UNSUPPORTED where another version made it.
    """
    path = local_path(text)
    content: dict[str, Any] | None = read_json(path / _FILE)
    if content is None:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"There is no savepoint at {path}.",
            hint=f"'{PATH_SETTING}' names it; RESET '{PATH_SETTING}'; starts without one.",
        )
    if content.get("version") != SAVEPOINT_VERSION:
        raise BergError(
            ErrorCode.UNSUPPORTED,
            f"The savepoint {path} was made by another bergsql ({content.get('bergsql')}): its layout is version "
            f"{content.get('version')}, and this one reads version {SAVEPOINT_VERSION}.",
        )
    return Savepoint(path, content["identity"], content["name"])
