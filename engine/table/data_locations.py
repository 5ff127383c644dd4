"""Where a data file goes below a table's data directory.

As Iceberg's own ``LocationProviders`` have it: below the directories of its partition, or, with
``write.object-storage.enabled``, below directories made of a hash of its name, so that an object store spreads them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.engine.table.properties import WriteProperties

_LONGEST_NAME = 255
"""Bytes that a name in a path may have on the usual file systems."""
_HASH_BITS = 20
_HASH_DIRECTORIES = (0, 4, 8, 12, _HASH_BITS)


def data_file_location(settings: WriteProperties, partition_path: str, name: str) -> str:
    """The location of the data file ``name`` of a partition (``a=1/b=2``, empty in an unpartitioned table)."""
    parts = [_shortened(p) for p in partition_path.split("/")] if partition_path else []
    if not settings.object_storage:
        return "/".join((settings.location, *parts, name))
    if not settings.partitioned_paths:
        return f"{settings.location}/{_hashed(name)}-{name}"
    below = "/".join((*parts, name))
    context = (settings.context,) if settings.context else ()
    return "/".join((settings.location, _hashed(below), *context, below))


def _hashed(name: str) -> str:
    """The low 20 bits of the name's Murmur3 hash, in directories of 4, 4, 4 and 8 of them."""
    from mmh3 import hash as murmur3

    bits = format(murmur3(name) & ((1 << _HASH_BITS) - 1), f"0{_HASH_BITS}b")
    return "/".join(bits[a:b] for a, b in pairwise(_HASH_DIRECTORIES))


def _shortened(name: str) -> str:
    """A directory's name for a partition, cut if no file system would take it. Readers never look at it."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    from hashlib import sha256

    return f"{name[:150]}~{sha256(name.encode()).hexdigest()[:32]}"
