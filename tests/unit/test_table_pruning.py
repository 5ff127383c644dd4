"""Pruning never leaves out a file with a row that the predicate wants: random tables, partitions, statistics, predicates.

DuckDB says which rows a predicate wants; the files of those rows must be kept.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)
from bergsql.catalog.metadata.values import to_bytes
from bergsql.engine.table.binding import bind
from bergsql.engine.table.datafile import DataFile, EntryStatus, FieldSummary, ManifestEntry
from bergsql.engine.table.manifest_cache import decode, encode
from bergsql.engine.table.manifest_schemas import partition_types
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest
from bergsql.engine.table.manifests import ManifestColumns, cut_manifest
from bergsql.engine.table.predicate import (
    AlwaysFalse,
    AlwaysTrue,
    Compare,
    In,
    IsNan,
    IsNull,
    Not,
    NotNull,
    Op,
    Predicate,
    StartsWith,
    all_of,
    any_of,
)
from bergsql.engine.table.pruning import Pruner
from bergsql.engine.table.source_intervals import source_interval
from bergsql.engine.table.successor import successor

TYPES: dict[str, IcebergType] = {
    "b": BooleanType(),
    "i": IntegerType(),
    "l": LongType(),
    "f": FloatType(),
    "d": DoubleType(),
    "dec": DecimalType(9, 2),
    "dt": DateType(),
    "ts": TimestampType(),
    "tz": TimestamptzType(),
    "s": StringType(),
    "bin": BinaryType(),
    "u": UUIDType(),
}
ARROW = {
    "b": pa.bool_(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "dec": pa.decimal128(9, 2),
    "dt": pa.date32(),
    "ts": pa.timestamp("us"),
    "tz": pa.timestamp("us", tz="UTC"),
    "s": pa.string(),
    "bin": pa.binary(),
    "u": pa.string(),
}
SCHEMA = Schema(0, tuple(NestedField(i, n, t, False) for i, (n, t) in enumerate(TYPES.items(), 1)))
DAY = 86_400_000_000

floats = st.sampled_from([0.0, -0.0, 1.5, -1.5, 2.0, 16777216.0, math.nan, math.inf, -math.inf])
micros = st.one_of(
    st.integers(-3, 3).map(lambda n: n * 3_600_000_000),
    st.integers(-800, 800).map(lambda n: n * DAY - 1),
    st.integers(-800, 800).map(lambda n: n * DAY),
    st.integers(-(10**16), 10**16),
)
INTERNAL: dict[str, st.SearchStrategy[Any]] = {
    "b": st.booleans(),
    "i": st.one_of(st.integers(-12, 12), st.sampled_from([-(2**31), 2**31 - 1])),
    "l": st.one_of(st.integers(-12, 12), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])),
    "f": floats,
    "d": st.one_of(floats, st.sampled_from([0.1, 1e300])),
    "dec": st.integers(-1300, 1300).map(lambda n: Decimal(n).scaleb(-2)),
    "dt": st.one_of(st.integers(-3, 3), st.integers(-800, 800)),
    "ts": micros,
    "tz": micros,
    "s": st.text("ab\x00\u5317\ud7ff\U0010ffff", max_size=4),
    "bin": st.binary(max_size=3).map(lambda b: bytes(c | 0xF0 if c & 1 else c & 3 for c in b)),
    "u": st.integers(0, 2**128 - 1).map(lambda n: UUID(int=n)),
}
TRANSFORMS = {
    "b": ["identity"],
    "i": ["identity", "bucket[3]", "truncate[5]", "truncate[2147483647]"],
    "l": ["identity", "bucket[3]", "truncate[5]", "truncate[2147483647]"],
    "f": ["identity"],
    "d": ["identity"],
    "dec": ["identity", "bucket[3]", "truncate[50]"],
    "dt": ["identity", "bucket[3]", "year", "month", "day"],
    "ts": ["identity", "bucket[3]", "year", "month", "day", "hour"],
    "tz": ["identity", "bucket[3]", "year", "month", "day", "hour"],
    "s": ["identity", "bucket[3]", "truncate[2]"],
    "bin": ["identity", "bucket[3]", "truncate[1]"],
    "u": ["identity", "bucket[3]"],
}


def python(name: str, value: Any) -> Any:
    """An internal value as a predicate holds it."""
    if name == "dt":
        return date(1970, 1, 1) + timedelta(days=value)
    if name in ("ts", "tz"):
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    return value


def literals(name: str, rows: Sequence[dict[str, Any]]) -> st.SearchStrategy[Any]:
    """Values to compare a column with: often one that some row has."""
    there = [r[name] for r in rows if r[name] is not None]
    own = st.one_of(st.sampled_from(there) if there else INTERNAL[name], INTERNAL[name]).map(lambda v: python(name, v))
    if name in ("i", "l", "dec", "f", "d"):
        other = st.one_of(
            st.integers(-12, 12), st.sampled_from([Decimal("1.5"), Decimal("0.1"), 0.1, 1.5, 2.0**24, math.nan])
        )
        return st.one_of(own, other)
    if name == "dt":
        return st.one_of(own, micros.map(lambda v: python("ts", v)))
    if name == "ts":
        return st.one_of(own, INTERNAL["dt"].map(lambda v: python("dt", v)))
    return own


def sql_literal(name: str, value: Any) -> str:
    match value:
        case bool():
            return str(value)
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case int() | Decimal():
            return f"({value})"
        case str():
            return "CAST(decode(unhex('" + value.encode().hex() + "')) AS VARCHAR)"
        case bytes():
            return f"unhex('{value.hex()}')"
        case datetime():
            return f"TIMESTAMPTZ '{value}+00'" if name == "tz" else f"TIMESTAMP '{value}'"
        case date():
            return f"DATE '{value}'"
        case UUID():
            return f"'{value}'"
    raise AssertionError(value)


def sql(p: Predicate) -> str:
    match p:
        case AlwaysTrue():
            return "true"
        case AlwaysFalse():
            return "false"
        case Not(child):
            return f"(NOT {sql(child)})"
        case IsNull(c):
            return f"({c} IS NULL)"
        case NotNull(c):
            return f"({c} IS NOT NULL)"
        case IsNan(c):
            return f"isnan({c})"
        case Compare(c, op, v):
            return f"({c} {op} {sql_literal(str(c), v)})"
        case In(c, vs):
            return f"({c} IN ({', '.join('NULL' if v is None else sql_literal(str(c), v) for v in vs)}))"
        case StartsWith(c, prefix):
            side = f"hex({c})" if isinstance(prefix, bytes) else str(c)
            wanted = f"hex({sql_literal(str(c), prefix)})" if isinstance(prefix, bytes) else sql_literal(str(c), prefix)
            return f"starts_with({side}, {wanted})"
    return "(" + (" AND " if type(p).__name__ == "And" else " OR ").join(map(sql, p.children)) + ")"


@st.composite
def leaves(draw: st.DrawFn, rows: Sequence[dict[str, Any]]) -> Predicate:
    name = draw(st.sampled_from(list(rows[0])))
    kind = draw(st.sampled_from(["compare", "compare", "compare", "in", "null", "not null", "nan", "starts"]))
    if kind == "nan" and name in ("f", "d"):
        return IsNan(name)
    if kind == "starts" and name in ("s", "bin"):
        return StartsWith(name, draw(literals(name, rows))[:2])
    if kind == "null":
        return IsNull(name)
    if kind == "not null":
        return NotNull(name)
    if kind == "in":
        own = literals(name, rows)
        return In(name, tuple(draw(st.lists(st.one_of(own, own, own, st.none()), min_size=1, max_size=3))))
    return Compare(name, draw(st.sampled_from(list(Op))), draw(literals(name, rows)))


def predicates(rows: Sequence[dict[str, Any]]) -> st.SearchStrategy[Predicate]:
    return st.recursive(
        leaves(rows),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda c: all_of(*c)),
            st.lists(inner, min_size=2, max_size=3).map(lambda c: any_of(*c)),
            inner.map(Not),
        ),
        max_leaves=4,
    )


@st.composite
def specs(draw: st.DrawFn, spec_id: int, names: Sequence[str]) -> PartitionSpec:
    fields = []
    for i, name in enumerate(draw(st.lists(st.sampled_from(names), max_size=3))):
        transform = draw(st.sampled_from([*TRANSFORMS[name], "void", "zorder"]))
        source = list(TYPES).index(name) + 1
        fields.append(PartitionField(source, 1000 + i, f"p{i}", Transform.parse(transform)))
    return PartitionSpec(spec_id, tuple(fields))


def rows_of(names: Sequence[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    columns = {n: st.one_of(st.none(), INTERNAL[n], INTERNAL[n], INTERNAL[n]) for n in names}
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=6)


@dataclass
class Metadata:
    """As much of a table's metadata as pruning asks for."""

    specs: tuple[PartitionSpec, ...]
    schemas: tuple[Schema, ...] = ()

    def spec_by_id(self, spec_id: int) -> PartitionSpec | None:
        return next((s for s in self.specs if s.spec_id == spec_id), None)


def partition_of(spec: PartitionSpec, row: dict[str, Any]) -> tuple[object, ...]:
    found: list[object] = []
    for f in spec.fields:
        name = list(TYPES)[f.source_id - 1]
        value = f.transform.apply(row[name], TYPES[name]) if str(f.transform) != "zorder" else "?"
        found.append(value)
    return tuple(found)


@st.composite
def statistics(draw: st.DrawFn, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Statistics of a file as some writer may give them: exact or truncated, some missing."""
    stats: dict[str, dict[int, Any]] = {
        k: {} for k in ("value_counts", "null_counts", "nan_counts", "lower_bounds", "upper_bounds")
    }
    width = draw(st.integers(1, 4))
    for name in rows[0]:
        number, kind = list(TYPES).index(name) + 1, TYPES[name]
        given_ = draw(st.sampled_from(["all", "all", "all", "counts", "bounds", "none"]))
        values = [r[name] for r in rows]
        plain = [v for v in values if v is not None and v == v]
        if given_ in ("all", "counts"):
            stats["value_counts"][number] = len(values)
            stats["null_counts"][number] = values.count(None)
            if name in ("f", "d") and draw(st.booleans()):
                stats["nan_counts"][number] = sum(1 for v in values if v is not None and v != v)
        if given_ in ("all", "bounds") and plain:
            low, high = min(plain), max(plain)
            if isinstance(low, str | bytes):
                high = high if len(high) <= width else successor(high[:width])
                low = low[:width]
            stats["lower_bounds"][number] = to_bytes(kind, low)
            if high is not None:
                stats["upper_bounds"][number] = to_bytes(kind, high)
    return stats


DUCK = duckdb.connect(config={"threads": 1})
DUCK.execute("SET TimeZone='UTC'")


def wanted_files(files: Sequence[list[dict[str, Any]]], predicate: Predicate) -> set[int]:
    """The files that hold a row that DuckDB finds for the predicate."""
    flat = [(i, row) for i, rows in enumerate(files) for row in rows]
    data = {"file": pa.array([i for i, _ in flat], pa.int32())}
    for name in files[0][0]:
        kind = ARROW[name]
        values = [str(r[name]) if isinstance(r[name], UUID) else r[name] for _, r in flat]
        data[name] = pa.array(values, kind)
    DUCK.register("rows", pa.table(data))
    return {f for (f,) in DUCK.execute(f"SELECT DISTINCT file FROM rows WHERE {sql(predicate)}").fetchall()}


@settings(
    deadline=None,
    max_examples=int(os.environ.get("PRUNING_EXAMPLES", "100")),
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data(), names=st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3, unique=True))
def test_files_with_wanted_rows_are_kept(data: st.DataObject, names: list[str]) -> None:
    both = (data.draw(specs(0, names)), data.draw(specs(1, names)))
    rows_by_spec = [data.draw(rows_of(names)) for _ in both]
    predicate = data.draw(predicates([*rows_by_spec[0], *rows_by_spec[1]]))
    files: list[list[dict[str, Any]]] = []
    data_files: list[DataFile] = []
    for spec, drawn in zip(both, rows_by_spec, strict=True):
        by_partition: dict[str, list[dict[str, Any]]] = {}
        for row in drawn:
            by_partition.setdefault(repr(partition_of(spec, row)), []).append(row)
        for rows in by_partition.values():
            stats = data.draw(statistics(rows))
            file = DataFile(
                f"/f{len(files)}", len(rows), 1, partition=partition_of(spec, rows[0]), spec_id=spec.spec_id, **stats
            )
            files.append(rows)
            data_files.append(file)
    wanted = wanted_files(files, predicate)
    metadata: Any = Metadata(both)
    pruner = Pruner(metadata, SCHEMA, predicate)
    for spec in both:
        own = [i for i, file in enumerate(data_files) if file.spec_id == spec.spec_id]
        columns = columns_of([data_files[i] for i in own], metadata, SCHEMA)
        kept = {own[row] for row in pruner.files(columns, range(len(own)))} if own else set()
        assert wanted.intersection(own) <= kept, [files[i] for i in wanted]
        check_other_ways(columns, pruner, [data_files[i] for i in own], metadata)
        if wanted.intersection(own):
            assert pruner.manifests([columns.manifest]), columns.manifest
        assert len(partition_types(spec, SCHEMA)) == len(columns.manifest.partitions or ())


def check_other_ways(columns: ManifestColumns, pruner: Pruner, files: Sequence[DataFile], metadata: Any) -> None:
    """From the cache on disk, and cut by an expression, a manifest has the same files, of which the same are kept."""
    rows = range(columns.count)
    cached = decode(encode(columns.columns, b"k" * 32, ""), b"k" * 32)
    columns._cutter._compile()
    for again in (
        ManifestColumns(columns.manifest, columns.spec, cached, "it"),
        columns_of(files, metadata, SCHEMA),
    ):
        assert repr(again.entries()) == repr(columns.entries())
        assert list(pruner.files(again, rows)) == list(pruner.files(columns, rows))


def columns_of(files: Sequence[DataFile], metadata: Any, schema: Schema) -> ManifestColumns:
    """A manifest of files of one spec, as it is read back."""
    entries = [ManifestEntry(EntryStatus.ADDED, f, 1) for f in files]
    spec = metadata.spec_by_id(files[0].spec_id if files else 0)
    data = encode_manifest(entries, spec, schema, 2)
    manifest = describe_manifest("/m", data, entries, spec, schema, snapshot_id=1, sequence_number=1)
    return cut_manifest(data, manifest, metadata)


# -- what must be pruned, and what must not ----------------------------------------------------------------------------


def one_file(partition: tuple[object, ...] = (), **stats: Any) -> DataFile:
    return DataFile("/f", 10, 1, partition=partition, **stats)


def keeps(predicate: Predicate, file: DataFile, *fields: tuple[str, str]) -> bool:
    parts = [
        PartitionField(list(TYPES).index(name) + 1, 1000 + i, f"p{i}", Transform.parse(t))
        for i, (name, t) in enumerate(fields)
    ]
    return keeps_file(Metadata((PartitionSpec(0, tuple(parts)),)), SCHEMA, predicate, file)


def keeps_file(metadata: Any, schema: Schema, predicate: Predicate, file: DataFile) -> bool:
    """Whether the file is kept, alone and among others that no test asks for."""
    pruner = Pruner(metadata, schema, predicate)
    alone = pruner.files(columns_of([file], metadata, schema), (0,))
    among = pruner.files(columns_of([file, replace(file, path="/other"), file], metadata, schema), (0, 2))
    assert list(among) == ([0, 2] if alone else [])
    return bool(alone)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (Compare("i", Op.EQ, 5), True),
        (Compare("i", Op.EQ, 11), False),
        (Compare("i", Op.LT, 1), False),
        (Compare("i", Op.LE, 1), True),
        (Compare("i", Op.GT, 10), False),
        (Compare("i", Op.GE, 10), True),
        (Compare("i", Op.GT, Decimal("9.5")), True),
        (Compare("i", Op.GT, 10.5), False),
        (In("i", (-1, 11)), False),
        (In("i", (-1, 3)), True),
        (Not(In("i", (1,))), True),
        (IsNull("i"), False),
        (NotNull("i"), True),
        (Not(Compare("i", Op.LE, 10)), False),
        (any_of(Compare("i", Op.EQ, 11), Compare("s", Op.EQ, "x")), True),
        (all_of(Compare("i", Op.EQ, 11), Compare("s", Op.EQ, "x")), False),
        (Not(AlwaysTrue()), True),
        (Compare("i", Op.EQ, "5"), True),
        (AlwaysFalse(), False),
    ],
)
def test_bounds_of_a_column(predicate: Predicate, kept: bool) -> None:
    integer = IntegerType()
    entry = one_file(
        value_counts={2: 10},
        null_counts={2: 0},
        lower_bounds={2: to_bytes(integer, 1)},
        upper_bounds={2: to_bytes(integer, 10)},
    )
    assert keeps(predicate, entry) is kept


def test_nothing_known_prunes_nothing() -> None:
    for predicate in (
        Compare("i", Op.EQ, 5),
        IsNull("i"),
        NotNull("i"),
        IsNan("f"),
        StartsWith("s", "x"),
        In("s", ("a",)),
    ):
        assert keeps(predicate, one_file())
        assert keeps(Not(predicate), one_file())


def test_nan_is_above_all_numbers_and_outside_the_bounds() -> None:
    bounds: dict[str, Any] = {
        "lower_bounds": {5: to_bytes(DoubleType(), 1.0)},
        "upper_bounds": {5: to_bytes(DoubleType(), 2.0)},
    }
    unknown = one_file(**bounds)
    assert keeps(Compare("d", Op.GT, 5.0), unknown)
    assert keeps(Not(Compare("d", Op.LE, 5.0)), unknown)
    assert not keeps(Compare("d", Op.LT, 0.5), unknown)
    without = one_file(**bounds, nan_counts={5: 0})
    assert not keeps(Compare("d", Op.GT, 5.0), without)
    assert not keeps(IsNan("d"), without)


def test_a_nan_bound_tells_nothing() -> None:
    nan = to_bytes(DoubleType(), math.nan)
    assert keeps(Compare("d", Op.EQ, 5.0), one_file(lower_bounds={5: nan}, upper_bounds={5: nan}, nan_counts={5: 0}))


def test_a_column_of_nulls_holds_no_value() -> None:
    entry = one_file(value_counts={2: 10}, null_counts={2: 10})
    assert not keeps(Compare("i", Op.NE, 5), entry)
    assert not keeps(NotNull("i"), entry)
    assert keeps(IsNull("i"), entry)


def test_a_writer_that_counts_nothing_is_not_believed() -> None:
    entry = one_file(value_counts={2: 0}, null_counts={2: 0})
    assert keeps(IsNull("i"), entry)
    assert keeps(Compare("i", Op.EQ, 1), entry)


def test_bounds_from_before_a_promotion() -> None:
    entry = one_file(lower_bounds={3: b"\x01\0\0\0"}, upper_bounds={3: b"\x05\0\0\0"})
    assert keeps(Compare("l", Op.EQ, 3), entry)
    assert not keeps(Compare("l", Op.EQ, 6), entry)


def test_bounds_of_uuids_are_not_trusted() -> None:
    low, high = UUID(int=1).bytes, UUID(int=2).bytes
    entry = one_file(lower_bounds={12: low}, upper_bounds={12: high})
    assert keeps(Compare("u", Op.EQ, UUID(int=2**127)), entry)
    assert not keeps(Compare("u", Op.EQ, UUID(int=7)), one_file((UUID(int=8),)), ("u", "identity"))


@pytest.mark.parametrize(
    ("transform", "column", "value", "predicate", "kept"),
    [
        ("day", "ts", 0, Compare("ts", Op.EQ, datetime(1970, 1, 1, 12)), True),
        ("day", "ts", 0, Compare("ts", Op.EQ, datetime(1970, 1, 2)), False),
        ("day", "ts", -1, Compare("ts", Op.GE, datetime(1970, 1, 1)), False),
        ("month", "dt", -1, Compare("dt", Op.EQ, date(1969, 12, 31)), True),
        ("year", "dt", 54, Compare("dt", Op.LT, date(2024, 1, 1)), False),
        ("year", "dt", 54, Compare("dt", Op.LT, date(2024, 1, 2)), True),
        ("year", "dt", 54, Compare("dt", Op.EQ, datetime(2024, 12, 31, 23)), True),
        ("hour", "tz", -1, Compare("tz", Op.LT, datetime(1970, 1, 1)), True),
        ("hour", "tz", 1, Compare("tz", Op.LT, datetime(1970, 1, 1, 1)), False),
        ("truncate[5]", "i", -5, Compare("i", Op.EQ, -1), True),
        ("truncate[5]", "i", -5, Compare("i", Op.EQ, 0), False),
        ("truncate[5]", "i", 2**31 - 2, Compare("i", Op.EQ, -(2**31)), True),
        ("truncate[5]", "l", 2**31 - 2, Compare("l", Op.EQ, -(2**31)), True),
        ("truncate[5]", "l", 2**31 + 2, Compare("l", Op.EQ, -(2**31)), False),
        ("truncate[5]", "l", 2**63 - 2, Compare("l", Op.EQ, -(2**63)), True),
        ("truncate[2147483647]", "l", 2, Compare("l", Op.EQ, -(2**31)), True),
        ("truncate[2147483647]", "l", 2**32, Compare("l", Op.EQ, -(2**31)), False),
        ("truncate[2147483647]", "i", -(2**31) + 1, Compare("i", Op.EQ, 2**31 - 2), True),
        ("truncate[50]", "dec", Decimal("1.00"), Compare("dec", Op.EQ, Decimal("1.49")), True),
        ("truncate[50]", "dec", Decimal("1.00"), Compare("dec", Op.EQ, Decimal("1.5")), False),
        ("truncate[2]", "s", "ab", Compare("s", Op.EQ, "abzzz"), True),
        ("truncate[2]", "s", "ab", Compare("s", Op.EQ, "ac"), True),
        ("truncate[2]", "s", "ab", Compare("s", Op.EQ, "ad"), False),
        ("truncate[2]", "s", "a", Compare("s", Op.EQ, "ab"), False),
        ("truncate[2]", "s", "ab", StartsWith("s", "abc"), True),
        ("truncate[2]", "s", "ab", StartsWith("s", "b"), False),
        ("truncate[2]", "s", "ab", Not(StartsWith("s", "a")), False),
        ("identity", "s", "x", Compare("s", Op.NE, "x"), False),
        ("identity", "f", math.nan, IsNan("f"), True),
        ("identity", "f", math.nan, Compare("f", Op.LT, 5.0), False),
        ("identity", "f", -0.0, Compare("f", Op.EQ, 0.0), True),
        ("identity", "i", None, IsNull("i"), True),
        ("identity", "i", None, Compare("i", Op.NE, 1), False),
        ("bucket[16]", "l", 4, Compare("l", Op.EQ, 34), False),
        ("bucket[16]", "l", 3, Compare("l", Op.EQ, 34), True),
        ("bucket[16]", "l", 3, Compare("l", Op.EQ, Decimal(34)), True),
        ("bucket[16]", "l", 4, Compare("l", Op.GT, 34), True),
        ("bucket[16]", "l", 4, Not(Compare("l", Op.EQ, 34)), True),
        ("void", "i", None, Compare("i", Op.EQ, 1), True),
        ("zorder[3]", "i", "?", Compare("i", Op.EQ, 1), True),
    ],
)  # fmt: skip
def test_partition_values(transform: str, column: str, value: object, predicate: Predicate, kept: bool) -> None:
    assert keeps(predicate, one_file((value,)), (column, transform)) is kept


def test_days_of_old_writers_that_rounded_towards_zero() -> None:
    """1969-12-31 23:00 stood in the day 0 of a writer that divided towards zero."""
    assert keeps(Compare("ts", Op.LT, datetime(1970, 1, 1)), one_file((0,)), ("ts", "day"))


@pytest.mark.parametrize(("transform", "kept"), [("identity", True), ("bucket[64]", True), ("day", False)])
def test_a_partition_of_dates_that_became_timestamps(transform: str, kept: bool) -> None:
    """Days are not taken for microseconds. The day of a date is the day of its timestamp."""
    number = list(TYPES).index("ts") + 1
    dates = Schema(1, (NestedField(number, "ts", DateType(), False),))
    spec = PartitionSpec(0, (PartitionField(number, 1000, "p", Transform.parse(transform)),))
    predicate = Compare("ts", Op.EQ, datetime(2024, 1, 1))
    file = one_file((5,))
    assert keeps_file(Metadata((spec,), (dates, SCHEMA)), SCHEMA, predicate, file) is kept
    assert not keeps_file(Metadata((spec,), (SCHEMA,)), SCHEMA, predicate, file)
    metadata: Any = Metadata((spec,), (dates, SCHEMA))
    manifest = columns_of([file], metadata, SCHEMA).manifest
    assert bool(Pruner(metadata, SCHEMA, predicate).manifests([manifest])) is kept


def test_summaries_of_a_manifest() -> None:
    spec = PartitionSpec(0, (PartitionField(2, 1000, "i", Transform.parse("identity")),))
    metadata: Any = Metadata((spec,))
    manifest = describe_manifest("/m", b"", [], spec, SCHEMA, snapshot_id=1, sequence_number=1)
    low, high = to_bytes(IntegerType(), 3), to_bytes(IntegerType(), 7)

    def kept(predicate: Predicate, *summaries: FieldSummary) -> bool:
        return bool(Pruner(metadata, SCHEMA, predicate).manifests([replace(manifest, partitions=summaries or None)]))

    assert kept(Compare("i", Op.EQ, 99))
    assert kept(Compare("i", Op.EQ, 5), FieldSummary(False, False, low, high))
    assert not kept(Compare("i", Op.EQ, 8), FieldSummary(False, False, low, high))
    assert not kept(IsNull("i"), FieldSummary(False, False, low, high))
    assert kept(IsNull("i"), FieldSummary(True, False, low, high))
    assert not kept(Compare("i", Op.EQ, 5), FieldSummary(True, False, None, None))
    assert kept(Compare("i", Op.EQ, 5), FieldSummary(False, None, None, None))


def test_fields_of_structs_and_lists() -> None:
    inner = NestedField(2, "x", IntegerType(), False)
    schema = Schema(0, (NestedField(1, "st", StructType((inner,)), False),))
    metadata: Any = Metadata((PartitionSpec(0, ()),))
    low, high = to_bytes(IntegerType(), 3), to_bytes(IntegerType(), 7)
    entry = one_file(value_counts={2: 10}, null_counts={2: 0}, lower_bounds={2: low}, upper_bounds={2: high})
    assert not keeps_file(metadata, schema, Compare("st.x", Op.EQ, 8), entry)
    # Where the struct is NULL its field is too, though the writer did not count it.
    assert keeps_file(metadata, schema, IsNull("st.x"), entry)
    assert keeps_file(metadata, schema, IsNull("st"), entry)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(BergError, match="'decc' was not found") as caught:
        bind(IsNull("decc"), SCHEMA)
    assert caught.value.hint == "Did you mean 'dec'?"


def test_nothing_follows_the_greatest_text() -> None:
    assert successor("a\U0010ffff") == "b"
    assert successor("\U0010ffff") is None
    assert successor(b"a\xff\xff") == b"b"
    assert successor("\ud7ff") == "\ue000"
    assert source_interval(Transform.parse("truncate[1]"), StringType(), None, "\U0010ffff") == (None, None)
