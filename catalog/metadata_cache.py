"""Parsed metadata files, kept because they never change."""

from __future__ import annotations

from bergsql.catalog.lru import Lru
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.storage.base import Storage

_CAPACITY = 64


class MetadataCache:
    """The last few metadata files that were read or written, by location and by the file's identity.

    A table that is dropped and made anew has the same locations: a file counts as the same only while its inode, size
    and times are.
    """

    def __init__(self) -> None:
        self._kept: Lru[str, tuple[object, TableMetadata]] = Lru(_CAPACITY)

    def load(self, storage: Storage, location: str) -> TableMetadata:
        """The metadata in the file at ``location``, which is read unless it is known."""
        identity = storage.identity(location)
        kept = self._kept.get(location)
        if kept is not None and identity is not None and kept[0] == identity:
            return kept[1]
        metadata = TableMetadata.parse(storage.read(location), location)
        self.remember(location, identity, metadata)
        return metadata

    def remember(self, location: str, identity: object, metadata: TableMetadata) -> None:
        """Keep what was just written to ``location``."""
        if identity is not None:
            self._kept.put(location, (identity, metadata))
