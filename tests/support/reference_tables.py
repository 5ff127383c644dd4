"""The reference tables that Spark and Flink wrote, laid out where their own metadata says they lie."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

from tests.support.archives import unpack
from tests.support.shared import shared

PLACE = Path("/tmp/iceberg-fixtures")
CATALOG = (
    "--conf=spark.sql.catalog.hadoop_prod=org.apache.iceberg.spark.SparkCatalog",
    "--conf=spark.sql.catalog.hadoop_prod.type=hadoop",
    f"--conf=spark.sql.catalog.hadoop_prod.warehouse={PLACE}",
    "--format=jsonl",
)
"""What makes the tables known to bergsql."""


def descriptions() -> dict[str, Path]:
    """The JSON that describes each table, by the table's name."""
    folders = [shared("oracle", engine, "tables") for engine in ("spark", "flink")]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.json"))}


def description(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def laid_out(*names: str) -> None:
    """Lay tables out (none named: all), each once, even with several workers; they are only read."""
    known = descriptions()
    PLACE.mkdir(exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in names or known:
            _lay_out(known[name].with_suffix(".tar.xz"))


def _lay_out(archive: Path) -> None:
    """A stamp tells the archive whose tables lie there."""
    told = archive.stat()
    wanted = f"{archive.name} {told.st_size} {told.st_mtime_ns}"
    stamp = PLACE / f".{archive.name}.stamp"
    there = any((PLACE / engine / archive.name.removesuffix(".tar.xz")).is_dir() for engine in ("fx", "flk"))
    if there and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    stamp.unlink(missing_ok=True)
    unpack(archive, PLACE)
    stamp.write_text(wanted, encoding="utf-8")
