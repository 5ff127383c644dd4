"""Statistics of written files: as exact as the values themselves, bounds that still bound after they were cut."""

from __future__ import annotations

import struct
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.table.statistics import bound_readers, clock, days, ticks, upper_bytes, upper_string
from tests.support.tables import Tables

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(TEXT, st.integers(1, 20), TEXT)
def test_upper_bound_of_text_is_above_all_with_its_beginning(text: str, length: int, rest: str) -> None:
    bound = upper_string(text, length)
    if bound is None:
        assert set(text[:length]) == {"\U0010ffff"}
        return
    assert len(bound.decode()) <= length
    assert bound >= text.encode()
    if len(text) > length:
        assert bound > (text[:length] + rest).encode()


@given(st.binary(max_size=40), st.integers(1, 20), st.binary(max_size=5))
def test_upper_bound_of_bytes_is_above_all_with_their_beginning(data: bytes, length: int, rest: bytes) -> None:
    bound = upper_bytes(data, length)
    if bound is None:
        assert set(data[:length]) == {255}
        return
    assert len(bound) <= length
    assert bound >= data
    if len(data) > length:
        assert bound > data[:length] + rest


def test_upper_bound_steps_over_surrogates() -> None:
    assert upper_string("\ud7ff" * 2, 1) == "\ue000".encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("0001-01-01", -719162),
        ("9999-12-31", 2932896),
        ("0044-03-15 (BC)", -735160),
        ("infinity", 2**31 - 1),
        ("-infinity", -(2**31 - 1)),
    ],
)
def test_dates(text: str, expected: int) -> None:
    assert days(text) == expected


def test_times() -> None:
    assert clock("23:59:59.000001", 6) == 86_399_000_001
    assert clock("24:00:00", 6) == 86_400_000_000
    assert ticks("1969-12-31 23:59:59.999999+00", 6) == -1
    assert ticks("1970-01-01 00:00:00.1", 9) == 100_000_000
    assert ticks("infinity", 6) == 2**63 - 1


def test_zero_bounds_cover_both_zeros() -> None:
    lower, upper = bound_readers(parse_type("double"), 16)
    assert lower is not None
    assert upper is not None
    assert lower("0.0") == lower("-0.0") == struct.pack("<d", -0.0)
    assert upper("0.0") == upper("-0.0") == struct.pack("<d", 0.0)


# --- what stands in manifests, against the values -----------------------------------------------------------------------

COLUMNS = {"i": "int", "d": "double", "f": "float", "s": "string", "b": "binary", "dt": "date", "ts": "timestamp"}
ROW = st.tuples(
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(),
    st.none() | st.floats(width=32),
    st.none() | TEXT,
    st.none() | st.binary(max_size=30),
    st.none() | st.dates(),
    st.none() | st.datetimes(),
)
COLUMN_TYPES = "i INTEGER, d DOUBLE, f FLOAT, s VARCHAR, b BLOB, dt DATE, ts TIMESTAMP"


def below(a: Any, b: Any) -> bool:
    """a <= b in Iceberg's order, in which -0.0 is below 0.0."""
    return bool(a < b) or (
        a == b and (not isinstance(a, float) or struct.pack(">d", a) == struct.pack(">d", b) or str(a)[0] == "-")
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=30))
def test_statistics_say_what_the_rows_are(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    tables = Tables(tmp_path_factory.mktemp("w"))
    table = tables.create(COLUMNS)
    cursor = tables.duck.cursor()
    cursor.execute(f"CREATE OR REPLACE TABLE src ({COLUMN_TYPES})")
    cursor.executemany("INSERT INTO src VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    (file,) = tables.write(table, "SELECT * FROM src").files
    assert file.record_count == len(rows)
    assert file.file_size == Path(file.path).stat().st_size
    assert sum(file.column_sizes.values()) < file.file_size
    for i, (name, type_name) in enumerate(COLUMNS.items()):
        key, t = i + 1, parse_type(type_name)
        values = [r[i] for r in rows if r[i] is not None]
        numbers = [v for v in values if v == v]
        assert file.value_counts[key] == len(rows), name
        assert file.null_counts[key] == len(rows) - len(values), name
        assert file.nan_counts.get(key, 0) == len(values) - len(numbers), name
        if not numbers:
            assert key not in file.lower_bounds
            assert key not in file.upper_bounds
            continue
        plain = [internal(v) for v in numbers]
        lower = from_bytes(t, file.lower_bounds[key])
        assert all(below(lower, v) for v in plain), (name, lower, plain)
        least, most = min(plain), max(plain)
        assert lower == (least[:16] if isinstance(least, str | bytes) else least), name
        if key in file.upper_bounds:
            upper = from_bytes(t, file.upper_bounds[key])
            assert all(below(v, upper) for v in plain), (name, upper, plain)
            if not isinstance(most, str | bytes) or len(most) <= 16:
                assert upper == most, name
        else:
            assert isinstance(most, str | bytes)
            assert set(most[:16]) <= {"\U0010ffff", 255}


def internal(value: Any) -> Any:
    match value:
        case datetime():
            return (value - datetime(1970, 1, 1)) // (datetime(1970, 1, 1, 0, 0, 0, 1) - datetime(1970, 1, 1))
        case date():
            return value.toordinal() - date(1970, 1, 1).toordinal()
        case _:
            return value


def test_bounds_of_long_wide_text_are_exact(tmp_path: Path) -> None:
    """DuckDB gives none, or short ones, for what is longer than 256 bytes."""
    tables = Tables(tmp_path)
    tables.create({"s": "string", "b": "binary", "n": "double"})
    tables.insert(
        "SELECT repeat('上', 200) || i, unhex(repeat('ff', 300)), CASE WHEN i < 200000 THEN CAST('nan' AS DOUBLE) ELSE i END "
        "FROM range(250000) t(i)"
    )
    (file,) = tables.files()
    assert file.lower_bounds[1] == ("上" * 16).encode()
    assert file.upper_bounds[1] == ("上" * 15 + "下").encode()
    assert file.lower_bounds[2] == b"\xff" * 16
    assert 2 not in file.upper_bounds
    assert file.nan_counts[3] == 200_000
    assert struct.unpack("<dd", file.lower_bounds[3] + file.upper_bounds[3]) == (200_000.0, 249_999.0)
    assert file.split_offsets is not None
    assert len(file.split_offsets) == 3
    assert file.split_offsets[0] == 4


def test_nested_fields_have_statistics_lists_have_sizes(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    struct_type = {
        "type": "struct",
        "fields": [
            {"id": 10, "name": "x", "type": "int", "required": False},
            {"id": 11, "name": "y", "type": "string", "required": False},
        ],
    }
    list_type = {"type": "list", "element-id": 12, "element": "int", "element-required": False}
    tables.create({"st": struct_type, "l": list_type})
    tables.insert(
        "SELECT {'x': 5, 'y': 'a'}, [1, 2] UNION ALL SELECT NULL, NULL UNION ALL SELECT {'x': 7, 'y': NULL}, []"
    )
    (file,) = tables.files()
    ids = {"x": 3, "y": 4, "element": 5}
    assert set(file.column_sizes) == set(ids.values())
    assert file.value_counts == {3: 3, 4: 3}
    assert file.null_counts == {3: 1, 4: 2}
    assert (
        from_bytes(parse_type("int"), file.lower_bounds[3]),
        from_bytes(parse_type("int"), file.upper_bounds[3]),
    ) == (5, 7)
    assert file.lower_bounds[4] == b"a"


@pytest.mark.parametrize(
    ("mode", "counts", "bound"),
    [("none", False, None), ("counts", True, None), ("truncate(3)", True, b"abc"), ("full", True, b"abc" * 10)],
)
def test_metrics_modes(tmp_path: Path, mode: str, counts: bool, bound: bytes | None) -> None:
    tables = Tables(tmp_path)
    tables.create({"s": "string", "o": "string"}, (), {"write.metadata.metrics.column.s": mode})
    tables.insert("SELECT repeat('abc', 10), repeat('abc', 10)")
    (file,) = tables.files()
    assert (1 in file.value_counts) == counts
    assert file.lower_bounds.get(1) == bound
    assert file.lower_bounds[2] == b"abcabcabcabcabca"
    assert 1 in file.column_sizes


def test_columns_beyond_the_inferred_ones_have_no_metrics(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    tables.create({f"c{i}": "int" for i in range(4)}, (), {"write.metadata.metrics.max-inferred-column-defaults": "2"})
    tables.insert("SELECT 1, 2, 3, 4")
    (file,) = tables.files()
    assert set(file.value_counts) == {1, 2}
    assert set(file.column_sizes) == {1, 2, 3, 4}
