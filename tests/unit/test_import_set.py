"""What start-up does not pay for."""

from __future__ import annotations

import subprocess
import sys

from tests.support.berg import Berg

FORBIDDEN = ("pyiceberg", "pyarrow.dataset", "pyarrow.parquet", "prompt_toolkit", "rich", "fastavro", "pygments")
PROBE = """
import sys
from bergsql.shell.cli import main
try:
    code = main(sys.argv[1:])
finally:
    print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def test_a_simple_query_imports_only_what_it_needs(berg: Berg) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "--format", "csv", "-e", "SELECT 1"],
        env=berg.env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1"
    imported = set(done.stderr.splitlines())
    assert "bergsql.shell.cli" in imported
    assert sorted(m for m in imported if m in FORBIDDEN or m.startswith(tuple(f"{f}." for f in FORBIDDEN))) == []
