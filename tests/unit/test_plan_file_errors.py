"""What is wrong with a file is said as the storage says it, whoever met it: DuckDB, or bergsql itself."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from bergsql.catalog.errors import ErrorCode
from bergsql.engine.plan.duck_errors import from_duckdb_error


def failure(sql: str) -> tuple[ErrorCode, str, str | None]:
    with pytest.raises(duckdb.Error) as raised:
        duckdb.connect().execute(sql)
    error = from_duckdb_error(raised.value)
    return error.code, error.message, error.hint


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_full_disk(form: str) -> None:
    code, message, hint = failure(f"COPY (SELECT * FROM range(1000000)) TO '/dev/full' (FORMAT {form})")
    assert (code, message, hint) == (
        ErrorCode.IO,
        "Cannot write /dev/full: No space left on device.",
        "The disk is full.",
    )


def test_a_directory_that_cannot_be_made() -> None:
    sql = "COPY (SELECT 1 AS a, 2 AS b) TO '/dev/null/x' (FORMAT parquet, PARTITION_BY (b))"
    assert failure(sql) == (ErrorCode.IO, "Cannot make the directory /dev/null/x: Not a directory.", None)


@pytest.mark.parametrize(("reason", "hint"), [("Permission denied", "permissions"), ("Read-only file system", "perm")])
def test_what_is_not_allowed(reason: str, hint: str) -> None:
    error = from_duckdb_error(duckdb.IOException(f'IO Error: Cannot open file "/a b/c.parquet": {reason}\n\nLINE 1: x'))
    assert error.message == f"Cannot open /a b/c.parquet: {reason}."
    assert hint in (error.hint or "")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    gone = tmp_path / "a[1]*.parquet"
    pattern = str(gone).replace("[", "[[]").replace("*", "[*]")
    assert failure(f"FROM read_parquet('{pattern}')")[:2] == (ErrorCode.IO, f"The data file {gone} cannot be read.")
    bad = tmp_path / "bad.parquet"
    for content in (b"", b"x" * 100):
        bad.write_bytes(content)
        told = f"The data file {bad} is damaged: it is no Parquet file."
        assert failure(f"FROM read_parquet('{bad}')")[:2] == (ErrorCode.CORRUPT, told)
