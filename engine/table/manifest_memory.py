"""What is kept of manifests and of their lists, which are immutable: in memory, and on disk where there is a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.engine.spill import Place, current_place

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.manifest_cache import ManifestCache

CACHE_BYTES = 96 << 20
"""How many bytes of manifests, cut into columns, and of their lists are kept in memory."""

memory: Lru[tuple[object, ...], object] = Lru(CACHE_BYTES)
"""By path, length and table."""
_stores: dict[Place, ManifestCache] = {}


def store() -> ManifestCache | None:
    """The cache on disk, if there is to be one."""
    place = current_place()
    if place is None or not place.limit:
        return None
    if _stores.get(place) is None:
        from bergsql.engine.table.manifest_cache import ManifestCache

        _stores.clear()
        _stores[place] = ManifestCache(place.directory / "manifests", place.limit)
    return _stores[place]


def forget_memory() -> None:
    """Forget what is kept in memory."""
    memory.clear()


def forget_table(metadata: TableMetadata) -> None:
    """Drop what is kept on disk of a table that was dropped."""
    kept = store()
    if kept is not None:
        kept.forget(metadata.table_uuid, metadata.location)


def load(storage: Storage, path: str, what: str) -> bytes:
    """The file at ``path``, which errors call ``what``. Raises NOT_FOUND where it is missing."""
    try:
        return storage.read(path)
    except BergError as e:
        if e.code is ErrorCode.NOT_FOUND:
            raise BergError(ErrorCode.NOT_FOUND, f"{what} is missing.") from e
        called = what if e.message.startswith(path) else what[:1].lower() + what[1:]
        e.message = e.message.replace(path, called, 1)
        e.args = (e.message,)
        raise
