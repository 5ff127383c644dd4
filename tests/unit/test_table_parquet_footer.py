"""Footers without annotations of plain integers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from bergsql.engine.table.parquet_footer import PlainIntegers

SELECT = """
SELECT i::INT AS a, (i * 10)::BIGINT AS b, 's' || i AS s, i::DECIMAL(9, 2) AS d, i::DECIMAL(18, 2) AS e, DATE '2024-01-01' AS day,
  TIMESTAMP '2024-01-01 00:00:00' AS ts, TIME '01:02:03' AS t, {'x': i::INT, 'y': [i::BIGINT]} AS r, MAP {i::INT: i::BIGINT} AS m,
  uuid() AS u, i::TINYINT AS tiny
FROM range(100) AS r(i)
"""


def write(path: Path, select: str = SELECT) -> int:
    connection = duckdb.connect()
    connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path.stat().st_size


def logical_types(path: Path) -> dict[str, str]:
    schema = pq.ParquetFile(path).schema
    return {schema.column(i).path: str(schema.column(i).logical_type) for i in range(len(schema.names))}


def test_integers_become_plain_and_all_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    size = write(path)
    before, rows = logical_types(path), duckdb.read_parquet(str(path)).fetchall()
    new_size = PlainIntegers().restore(str(path), size)
    assert new_size == path.stat().st_size < size
    after = logical_types(path)
    plain = [
        name
        for name in before
        if before[name].startswith("Int(bitWidth=32") or before[name].startswith("Int(bitWidth=64")
    ]
    assert set(plain) >= {"a", "b", "r.x"}
    assert {name: after[name] for name in plain} == dict.fromkeys(plain, "None")
    assert {n: t for n, t in after.items() if n not in plain} == {n: t for n, t in before.items() if n not in plain}
    assert duckdb.read_parquet(str(path)).fetchall() == rows
    assert pq.read_table(path).num_rows == 100


def test_a_file_without_integers_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    size = write(path, "SELECT 'x' AS s, 1.5::DOUBLE AS d")
    before = path.read_bytes()
    assert PlainIntegers().restore(str(path), size) == size
    assert path.read_bytes() == before


def test_a_wide_schema(tmp_path: Path) -> None:
    """More elements than a short list header counts, footers longer than a page."""
    path = tmp_path / "x.parquet"
    size = write(path, "SELECT " + ", ".join(f"{i} AS column_number_{i}" for i in range(2000)))
    assert PlainIntegers().restore(str(path), size) < size
    assert duckdb.read_parquet(str(path)).fetchall() == [tuple(range(2000))]
    assert set(logical_types(path).values()) == {"None"}


def test_files_of_one_schema_and_then_of_another(tmp_path: Path) -> None:
    """The second file's footer is cut as the first one's was; a schema that only begins alike is read again."""
    one, other = (
        "SELECT i::INT AS a, 'x' AS b FROM range({}) AS r(i)",
        "SELECT i::INT AS a, i AS b FROM range({}) AS r(i)",
    )
    integers = PlainIntegers()
    for n, select in enumerate((one.format(1), one.format(3), other.format(4), other.format(5), one.format(6))):
        path = tmp_path / f"{n}.parquet"
        size = write(path, select)
        rows = duckdb.read_parquet(str(path)).fetchall()
        assert integers.restore(str(path), size) == path.stat().st_size < size
        assert duckdb.read_parquet(str(path)).fetchall() == rows
        assert logical_types(path)["a"] == "None"
