"""A Hive Metastore."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.services.server import Server
from tests.support.shared import shared


def jars() -> Path:
    """The jars of the real Spark, which hold the metastore's."""
    home = subprocess.run(
        ["bash", str(shared("recipes", "spark_oracle.sh")), "--install-only"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return next(Path(home).glob("venv/lib/python*/site-packages/pyspark/jars"))


class Hive(Server):
    script = "hive"

    def __init__(self) -> None:
        super().__init__([str(jars())])

    @property
    def uri(self) -> str:
        return f"thrift://{self.address}"

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    def serves(self) -> bool:
        return (self.folder / "ready").exists() and super().serves()
