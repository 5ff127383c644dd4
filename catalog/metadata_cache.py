"""Parsed metadata files, kept because they never change."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.storage.base import Storage

_CAPACITY = 64


class MetadataCache:
    """The last few metadata files that were read or written, by location and by the file's identity.

    A table that is dropped and made anew has the same locations: a file counts as the same only while its inode, size
    and times are.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[object, TableMetadata]] = OrderedDict()
        self._lock = Lock()

    def load(self, storage: Storage, location: str) -> TableMetadata:
        """The metadata in the file at ``location``, which is read unless it is known."""
        identity = storage.identity(location)
        with self._lock:
            kept = self._kept.get(location)
        if kept is not None and identity is not None and kept[0] == identity:
            return kept[1]
        metadata = TableMetadata.parse(storage.read(location), location)
        self.remember(location, identity, metadata)
        return metadata

    def remember(self, location: str, identity: object, metadata: TableMetadata) -> None:
        """Keep what was just written to ``location``."""
        if identity is None:
            return
        with self._lock:
            self._kept[location] = (identity, metadata)
            self._kept.move_to_end(location)
            while len(self._kept) > _CAPACITY:
                self._kept.popitem(last=False)
