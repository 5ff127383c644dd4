"""Keys and rows as bytes: nothing is lost, what is equal stays equal, what is less stays less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bergsql.catalog.errors import BergError
from bergsql.engine.streaming.state.base import MAX_KEY
from bergsql.engine.streaming.state.codec import decode_rows, encode_keys, encode_ordered, encode_rows

INT64 = some.integers(-(2**63), 2**63 - 1)
DAYS = some.integers(-100_000, 100_000)
FLOATS = some.floats(width=64) | some.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])

SIMPLE: list[tuple[pa.DataType, some.SearchStrategy[Any]]] = [
    (pa.bool_(), some.booleans()),
    (pa.int8(), some.integers(-128, 127)),
    (pa.int32(), some.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), INT64),
    (pa.uint64(), some.integers(0, 2**64 - 1)),
    (pa.float32(), some.floats(width=32)),
    (pa.float64(), FLOATS),
    (pa.decimal128(38, 3), some.decimals(-(10**30), 10**30, places=3)),
    (pa.decimal128(5, 2), some.decimals(-999, 999, places=2)),
    (pa.string(), some.text(max_size=12) | some.text(min_size=300, max_size=700)),
    (pa.large_string(), some.text(max_size=12)),
    (pa.binary(), some.binary(max_size=20)),
    (pa.binary(3), some.binary(min_size=3, max_size=3)),
    (pa.date32(), DAYS),
    (pa.time64("us"), some.integers(0, 86_399_999_999)),
    (pa.timestamp("us"), INT64),
    (pa.timestamp("ns"), INT64),
    (pa.timestamp("us", tz="Asia/Shanghai"), INT64),
    (pa.null(), some.none()),
]


def nested(inner: tuple[pa.DataType, some.SearchStrategy[Any]]) -> list[tuple[pa.DataType, some.SearchStrategy[Any]]]:
    type, values = inner
    values = values | some.none()
    return [
        (pa.list_(type), some.lists(values, max_size=4)),
        (pa.large_list(type), some.lists(values, max_size=4)),
        (pa.list_(type, 2), some.lists(values, min_size=2, max_size=2)),
        (
            pa.struct([("a", type), ("b", pa.string())]),
            some.fixed_dictionaries({"a": values, "b": some.text(max_size=3)}),
        ),
        (
            pa.map_(pa.string(), type),
            some.dictionaries(some.text(max_size=3), values, max_size=3).map(lambda d: list(d.items())),
        ),
    ]


ONCE = [made for each in SIMPLE for made in nested(each)]
TYPES = SIMPLE + ONCE + [made for each in ONCE[::7] for made in nested(each)]


@some.composite
def tables(draw: some.DrawFn) -> pa.Table:
    """Columns of any types, in chunks, and slices of longer ones."""
    columns = draw(some.lists(some.sampled_from(TYPES), min_size=1, max_size=4))
    count = draw(some.integers(0, 8))
    arrays = [
        pa.array(draw(some.lists(values | some.none(), min_size=count, max_size=count)), type)
        for type, values in columns
    ]
    table = pa.table(arrays, [f"c{i}" for i in range(len(arrays))])
    first = draw(some.integers(0, count))
    return pa.concat_tables([table.slice(first), table.slice(0, first)])


def bits(table: pa.Table) -> list[str]:
    """The values as text, by which NaN equals NaN and -0.0 is not 0.0."""
    return [repr(each) for each in plain(table)]


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*[[value(each) for each in column] for column in table.columns], strict=True))


def value(scalar: pa.Scalar) -> Any:
    """What Python makes of it, but times as numbers: Python's end at the microsecond."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.ExtensionScalar):
        return value(scalar.value)
    if isinstance(scalar, pa.MapScalar | pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
        return [value(each) for each in scalar.values]
    if isinstance(scalar, pa.StructScalar):
        return {name: value(each) for name, each in scalar.items()}
    if isinstance(scalar, pa.TimestampScalar | pa.Time64Scalar):
        return scalar.value
    return scalar.as_py()


@settings(max_examples=400, deadline=None)
@given(tables())
def test_rows_come_back_as_they_were(table: pa.Table) -> None:
    encoded = encode_rows(table, table.column_names)
    assert all(isinstance(value, bytes) for value in encoded)
    back = decode_rows(encoded, table.schema)
    back.validate(full=True)
    assert back.schema == table.schema
    assert bits(back) == bits(table)
    assert encode_rows(back, table.column_names) == encoded


@settings(max_examples=400, deadline=None)
@given(tables())
def test_keys_are_equal_where_the_values_are(table: pa.Table) -> None:
    keys = encode_keys(table, table.column_names)
    assert all(len(key) <= MAX_KEY for key in keys)
    rows = [repr(tuple(equal(each) for each in row)) for row in plain(table)]
    for key, row in zip(keys, rows, strict=True):
        for other_key, other in zip(keys, rows, strict=True):
            assert (key == other_key) == (row == other)
            assert key == other_key or not other_key.startswith(key)


def equal(value: Any) -> Any:
    if isinstance(value, list):
        return [equal(each) for each in value]
    if isinstance(value, dict):
        return {name: equal(each) for name, each in value.items()}
    return 0.0 if isinstance(value, float) and value == 0 else value


ORDERED = [each for each in SIMPLE if each[0] not in (pa.string(), pa.null())] + [(pa.string(), some.text(max_size=20))]


@settings(max_examples=400, deadline=None)
@given(some.data(), some.sampled_from(ORDERED), some.booleans(), some.booleans())
def test_ordered_keys_are_in_the_order_of_values(
    data: some.DataObject, kind: tuple[pa.DataType, some.SearchStrategy[Any]], descending: bool, nulls_first: bool
) -> None:
    values = data.draw(some.lists(kind[1] | some.none(), max_size=12))
    table = pa.table({"v": pa.array(values, kind[0])})
    keys = encode_ordered(table, "v", descending=descending, nulls_first=nulls_first)
    ranks = [rank(value(each), descending, nulls_first) for each in table.column("v")]
    for key, one in zip(keys, ranks, strict=True):
        for other_key, other in zip(keys, ranks, strict=True):
            assert (key < other_key) == (one < other)
            assert key == other_key or not other_key.startswith(key)


def rank(found: Any, descending: bool, nulls_first: bool) -> Any:
    if found is None:
        return (0 if nulls_first else 2, Least())
    if isinstance(found, str):
        found = found.encode()
    if isinstance(found, float):
        found = (1, 0.0) if math.isnan(found) else (0, found + 0.0)
    return (1, Turned(found) if descending else found)


class Least:
    def __lt__(self, other: object) -> bool:
        return False


class Turned:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Turned) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turned) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def test_long_keys_are_cut_and_stay_apart() -> None:
    table = pa.table({"v": ["a" * 1000, "a" * 1000 + "b", "a" * 1000, "b" * 1000, "a"]})
    for keys in (encode_keys(table, ["v"], limit=100), encode_ordered(table, "v", limit=100)):
        assert max(map(len, keys)) <= 100
        assert keys[0] == keys[2]
        assert len(set(keys)) == 4
    ordered = encode_ordered(table, "v", limit=100)
    assert ordered[4] < ordered[0] < ordered[3]


DUCKDB = """
SELECT * FROM (VALUES
  (170141183460469231731687303715884105727::HUGEINT, uuid(), INTERVAL 14 MONTH + INTERVAL 3 DAY, 'b'::ENUM('a','b'),
   '101'::BIT, '{"a": 1}'::JSON, TIMESTAMP_S '2020-01-01 00:00:00', union_value(x := 1), MAP {'k': [1.50::DECIMAL(5,2)]},
   {'a': {'b': [NULL, DATE '2020-01-01']}}, TIME '01:02:03.000004', '\\x00\\xFF'::BLOB, [1, 2]::INT[2]),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
)"""


def test_all_of_duckdbs_types() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET arrow_lossless_conversion = true")
        table = connection.sql(DUCKDB).to_arrow_table()
        back = decode_rows(encode_rows(table, table.column_names), table.schema)
        assert back.schema == table.schema
        assert plain(back) == plain(table)


def test_intervals_are_equal_and_ordered_as_duckdb_has_them() -> None:
    with duckdb.connect() as connection:
        table = connection.sql(
            "SELECT unnest([INTERVAL 1 MONTH, INTERVAL 30 DAY, INTERVAL 29 DAY, INTERVAL 721 HOUR]) AS v"
        ).to_arrow_table()
    keys, ordered = encode_keys(table, ["v"]), encode_ordered(table, "v")
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert ordered[2] < ordered[0] == ordered[1] < ordered[3]


def test_a_null_struct_beside_one_as_long_as_two() -> None:
    type = pa.list_(pa.struct([("a", pa.binary(3)), ("b", pa.string())]), 2)
    for text in ("", "four", "x" * 8, "x" * 16):
        table = pa.table({"v": pa.array([[{"a": None, "b": text}, None]], type)})
        assert bits(decode_rows(encode_rows(table, ["v"]), table.schema)) == bits(table)


def test_no_columns_are_one_key() -> None:
    table = pa.table({"v": [1, 2]})
    assert len(set(encode_keys(table, []))) == 1
    assert encode_keys(table, [])[0] != b""
    assert decode_rows(encode_rows(table, []), pa.schema([])).num_rows == 2


def test_an_order_that_is_not_known_is_refused() -> None:
    with pytest.raises(BergError, match="not supported yet"):
        encode_ordered(pa.table({"v": [[1]]}), "v")


def test_keys_of_big_decimals_are_exact() -> None:
    values: Sequence[Decimal] = [Decimal("1" + "0" * 37), Decimal("1" + "0" * 36 + "1")]
    assert len(set(encode_keys(pa.table({"v": pa.array(values, pa.decimal128(38, 0))}), ["v"]))) == 2
