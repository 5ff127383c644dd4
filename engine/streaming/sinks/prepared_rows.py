"""Rows that are prepared for a checkpoint and not committed yet, in files of their own beside a job's state.

A file is a stream of Arrow's IPC format with a checksum behind it: of one that was cut off behind a batch, Arrow says
nothing, and one with other bytes in it can make it do anything.

For sinks that have nowhere else to put them: what a file holds is durable when :meth:`PreparedRows.close` has returned
its name, which the checkpoint keeps as (part of) the sink's committable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from uuid import uuid4

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import sync_directory

if TYPE_CHECKING:
    import pyarrow as pa

_ENDING: Final = ".rows"
_SUM: Final = 4
"""Bytes of the checksum."""
_BLOCK: Final = 1 << 20


class PreparedRows:
    """A file of rows, for its owner alone."""

    def __init__(self, directory: Path, sink: str, schema: pa.Schema) -> None:
        """``directory``: of the job (``SinkContext.directory``); ``sink``: the name of the sink in it.

        :raises BergError: IO.
        """
        import pyarrow as pa

        self._path = directory / f"{sink}-{uuid4().hex}{_ENDING}"
        self.rows = 0
        with _told(self._path):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._file, schema, options=options)

    def write(self, rows: pa.Table) -> None:
        """Add rows."""
        with _told(self._path):
            self._writer.write_table(rows)
        self.rows += rows.num_rows

    def close(self) -> str:
        """Make it durable; gives its name."""
        with _told(self._path):
            self._writer.close()
            size = self._file.tell()
            self._file.seek(0)
            self._file.write(_checksum(self._file, size))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            sync_directory(self._path.parent)
        return self._path.name

    def discard(self) -> None:
        """Throw it away."""
        with suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)


def read_prepared(directory: Path, name: str) -> Iterator[pa.RecordBatch]:
    """The rows of a file.

    :raises BergError: CORRUPT where it is not there any more, or not as it was written; IO.
    """
    import pyarrow as pa

    path = directory / name
    try:
        with path.open("rb") as file:
            size = path.stat().st_size - _SUM
            if size < 0 or _checksum(file, size) != file.read():
                raise BergError(ErrorCode.CORRUPT, f"What was prepared for a sink is damaged: {path}.")
            file.seek(0)
            with pa.ipc.open_stream(file) as reader:
                yield from reader
    except FileNotFoundError as error:
        message = f"What was prepared for a sink is not there any more: {path}."
        raise BergError(ErrorCode.CORRUPT, message) from error
    except OSError as error:
        raise BergError(ErrorCode.IO, f"Cannot read {path}: {error.strerror or error}.") from error


def _checksum(file: BinaryIO, size: int) -> bytes:
    """Of the next bytes of a file, which are read."""
    from zlib import crc32

    found, left = 0, size
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        found, left = crc32(block, found), left - len(block)
    return found.to_bytes(_SUM, "big")


def drop_prepared(directory: Path, sink: str, but: str | None = None) -> None:
    """Remove the files of a sink: those of runs that ended before their checkpoint, and what was committed."""
    for path in directory.glob(f"{sink}-*{_ENDING}"):
        if path.name != but:
            path.unlink(missing_ok=True)


class _told:
    """An error of the file system, as it is to be told."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            message = f"Cannot write {self._path}: {error.strerror or error}."
            raise BergError(ErrorCode.IO, message) from error
