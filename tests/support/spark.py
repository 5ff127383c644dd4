"""The real Spark with Iceberg, as a process that answers statements."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.shared import ROOT


@dataclass(frozen=True, slots=True)
class SparkAnswer:
    """A result of Spark: values as the oracle's README writes them."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]


class SparkError(Exception):
    """Spark refused a statement."""


class Spark:
    """One Spark session; start-up takes a few seconds, a statement some tens of milliseconds."""

    def __init__(self) -> None:
        home = Path(os.environ.get("SPARK_ORACLE_HOME") or Path.home() / ".cache" / "spark-oracle")
        jar, python = home / "iceberg-spark-runtime.jar", home / "venv" / "bin" / "python"
        if not (jar.exists() and python.exists()):
            raise FileNotFoundError(f"{home}: run 'make spark' once, it installs Spark there")
        self._process = subprocess.Popen(
            [str(python), str(ROOT / "tests/interop/spark_server.py"), str(jar)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python), "TZ": "UTC"},
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Spark:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def sql(self, statement: str) -> SparkAnswer:
        """Run one statement."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"sql": statement}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SparkError(f"Spark ended with exit code {self._process.wait()} at: {statement}")
        told = json.loads(line)
        if "error" in told:
            raise SparkError(f"{statement}\n{told['error']}")
        return SparkAnswer(told["columns"], told["types"], told["rows"])

    def rows(self, statement: str) -> list[list[Any]]:
        return self.sql(statement).rows

    def add_catalog(self, name: str, warehouse: Path, metastore: str | None = None) -> None:
        """Make a Hadoop catalog known, or one of a Hive metastore."""
        kind = {".type": "hadoop"} if metastore is None else {".type": "hive", ".uri": metastore}
        for key, value in {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".warehouse": f"file://{warehouse}",
            ".cache-enabled": "false",
            **kind,
        }.items():
            self.sql(f"SET `spark.sql.catalog.{name}{key}`=`{value}`")
