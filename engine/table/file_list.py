"""A list of data files that stays small in memory, however many files a statement writes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import overload

from bergsql.engine.table.datafile import DataFile

_CHUNK = 10_000
"""Files that are kept as they are; more of them are packed in chunks of so many."""


class FileList(Sequence[DataFile]):
    """Data files in order. Chunks of them are pickled: a tenth of the memory of the objects."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._open: list[DataFile] = []

    def append(self, file: DataFile) -> None:
        self._open.append(file)
        if len(self._open) == _CHUNK:
            self._packed.append(pickle.dumps(self._open, pickle.HIGHEST_PROTOCOL))
            self._open = []

    def __len__(self) -> int:
        return len(self._packed) * _CHUNK + len(self._open)

    def __iter__(self) -> Iterator[DataFile]:
        for packed in self._packed:
            yield from _unpacked(packed)
        yield from self._open

    @overload
    def __getitem__(self, index: int) -> DataFile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DataFile]: ...
    def __getitem__(self, index: int | slice) -> DataFile | Sequence[DataFile]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        chunk, within = divmod(position, _CHUNK)
        return _unpacked(self._packed[chunk])[within] if chunk < len(self._packed) else self._open[within]


def _unpacked(packed: bytes) -> list[DataFile]:
    files: list[DataFile] = pickle.loads(packed)
    return files
