"""Files of prepared rows that are damaged: what is wrong is said, and no row is left out."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.sinks.prepared_rows import PreparedRows, read_prepared

ROWS = pa.table({"n": list(range(40)), "s": [None if n % 7 == 0 else f"text {n}" for n in range(40)]})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two batches."""
    rows = PreparedRows(tmp_path, "sink", ROWS.schema)
    rows.write(ROWS.slice(0, 25))
    rows.write(ROWS.slice(25))
    path = tmp_path / rows.close()
    assert read(path) == ROWS
    return path


def read(path: Path) -> pa.Table:
    return pa.Table.from_batches(list(read_prepared(path.parent, path.name)))


def refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(BergError, match=r"What was prepared for a sink is damaged: .*\.rows") as raised:
        read(path)
    assert raised.value.code is ErrorCode.CORRUPT


def test_a_file_that_was_cut_off(file: Path) -> None:
    whole = file.read_bytes()
    for size in range(len(whole)):
        refused(file, whole[:size])


def test_bytes_that_are_not_what_was_written(file: Path) -> None:
    whole, draw = file.read_bytes(), random.Random(5)
    for _ in range(1000):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        refused(file, bytes(damaged))


def test_a_file_that_is_gone(file: Path) -> None:
    file.unlink()
    with pytest.raises(BergError, match="is not there any more") as raised:
        read(file)
    assert raised.value.code is ErrorCode.CORRUPT
