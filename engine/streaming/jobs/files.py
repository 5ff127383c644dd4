"""The small files of a job: each is there whole or not at all, and only its owner reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import PRIVATE_DIRECTORY, write_private

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json


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
    try:
        write_private(path, text, durable=durable)
    except OSError as error:
        raise _failed("write", path, error) from error


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
