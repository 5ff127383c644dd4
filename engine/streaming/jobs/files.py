"""The small files of a job: each is there whole or not at all, and only its owner reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json

PRIVATE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, for its owner alone.

    :raises BergError: IO.
    """
    try:
        path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    except OSError as error:
        raise _failed("make", path, error) from error


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Put ``text`` in the place of what a file has. ``durable``: it outlives a power failure.

    :raises BergError: IO.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        raise _failed("write", path, error) from error


def sync_directory(path: Path) -> None:
    """Make the names in a directory outlive a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, content: Json, *, durable: bool = False) -> None:
    """As :func:`write_text`, a document of JSON."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n", durable=durable)


def read_json(path: Path) -> dict[str, Json] | None:
    """The object in a file; None where there is no file.

    :raises BergError: IO; CORRUPT where it is no object of JSON.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed("read", path, error) from error
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    try:
        content = json.loads(text)
    except ValueError as error:
        raise _damaged(path) from error
    if not isinstance(content, dict):
        raise _damaged(path)
    return content


def _damaged(path: Path) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"{path} is damaged: it is no JSON.")


def _failed(verb: str, path: Path, error: OSError) -> BergError:
    return BergError(ErrorCode.IO, f"Cannot {verb} {path}: {error.strerror}.")
