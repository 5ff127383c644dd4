"""The metadata of the tables that Spark and Flink wrote, unpacked without their data."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.support.archives import unpack
from tests.support.shared import shared

TABLES = 41


def unpack_metadata(folder: Path) -> Path:
    """Lay the metadata files and hints out below ``folder`` as a warehouse with the namespaces fx and flk."""
    for engine in ("spark", "flink"):
        for archive in sorted(shared("oracle", engine, "tables").glob("*.tar.xz")):
            unpack(archive, folder, lambda name: name.endswith((".metadata.json", "version-hint.text")))
    return folder


def json_bytes(path: Path) -> bytes:
    """The JSON of a metadata file, gzipped or not."""
    data = path.read_bytes()
    return gzip.decompress(data) if ".gz." in path.name else data
