"""Start-up: ``bergsql -e "SELECT 1"`` against a Python that imports duckdb and sqlglot and runs ``select 1``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, by_turns

GOAL = 1.4
FLOOR = "import duckdb, sqlglot; duckdb.connect().execute('select 1')"
RUNS = 21


def main() -> None:
    bergsql = str(Path(sys.executable).with_name("bergsql"))
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "BERGSQL_HOME": home}

        def run(*command: str) -> None:
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        ratio = by_turns(
            "start-up, SELECT 1",
            lambda: run(bergsql, "-e", "SELECT 1"),
            lambda: run(sys.executable, "-c", FLOOR),
            GOAL,
            RUNS,
        )
    print(HEADER)
    print(ratio)


if __name__ == "__main__":
    main()
