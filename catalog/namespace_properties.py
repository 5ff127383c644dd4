"""The properties of a database whose catalog is directories: one small file in its directory.

Hadoop catalogs list directories only, so other engines do not see it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import FileMissing, Storage

FILE_NAME = ".database.json"
"""The file: a JSON object of strings."""


def read_properties(storage: Storage, place: str) -> dict[str, str]:
    """What :func:`write_properties` kept in the directory ``place``; CORRUPT if it is something else."""
    path = f"{place}/{FILE_NAME}"
    try:
        data = storage.read(path)
    except FileMissing:
        return {}
    if not data:  # the machine died between the two syncs of a write
        return {}
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise BergError(
            ErrorCode.CORRUPT, f"{path} is not a JSON object of texts.", hint="It holds the database's properties."
        )
    return found


def write_properties(storage: Storage, place: str, properties: Mapping[str, str]) -> None:
    """Keep the properties of the database at the directory ``place``, durably."""
    text = json.dumps(dict(sorted(properties.items())), indent=1)
    path = f"{place}/{FILE_NAME}"
    storage.replace(path, text.encode())
    storage.fsync_file(path)
    storage.fsync_dir(place)
