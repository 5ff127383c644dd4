"""The reference tables that Spark and Flink wrote, laid out where their own metadata says they lie."""

from __future__ import annotations

import fcntl
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


@contextmanager
def laid_out() -> Iterator[None]:
    """The tables, laid out once even with several workers."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in descriptions().values():
            with tarfile.open(path.with_suffix(".tar.xz")) as tar:
                tar.extractall(PLACE, filter="data")
        yield
