"""Named cases of evolution: defaults, names, mappings, old lists, many columns; every format, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzType,
    UUIDType,
    children,
)
from bergsql.catalog.metadata.values import to_bytes, to_internal
from bergsql.engine.duck import set_variables
from bergsql.engine.table.file_columns import NAME_MAPPING
from bergsql.engine.table.predicate import Compare, IsNull, Op
from bergsql.engine.table.scan import build_scan
from tests.support.foreign import STORAGE, Table, numbered, opt
from tests.support.parquet_edit import CONVERTED, FIELD_ID, LOGICAL, NAME, REPETITION, Struct, edit

LONG, INT, TEXT = LongType(), IntegerType(), StringType()
FORMATS = ["parquet", "avro", "orc"]


# --- defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_defaults_of_every_type(file_format: str, tmp_path: Path) -> None:
    number = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    point = StructType((opt(21, "x", INT, 1), opt(22, "y", TEXT), opt(23, "at", DateType(), "2020-02-29")))
    added = (
        opt(2, "i", INT, 42),
        opt(3, "d", DecimalType(9, 2), "14.20"),
        opt(4, "s", TEXT, 'it\'s "ü"\n'),
        opt(5, "b", BinaryType(), "00FF27"),
        opt(6, "f", FixedType(2), "0a0B"),
        opt(7, "u", UUIDType(), number),
        opt(8, "tz", TimestamptzType(), "2020-02-29T12:34:56.5+00:00"),
        opt(9, "ns", TimestampNsType(), "2020-02-29T12:34:56.123456789"),
        opt(10, "empty", point, {}),
        opt(11, "none", point),
        opt(12, "l", ListType(31, INT, False), [1, None]),
        opt(13, "m", MapType(32, TEXT, 33, DateType(), False), {"keys": ["k"], "values": ["2020-02-29"]}),
    )
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), *added)))
    table.write((opt(1, "id", LONG),), [(1,)], file_format)
    day = date(2020, 2, 29)
    row = table.rows(columns=frozenset(f.name for f in table.schema.fields if f.name not in ("tz", "ns")))[0]
    made = {"x": 1, "y": None, "at": day}
    binary = (b"\x00\xff'", b"\x0a\x0b", UUID(number))
    assert row == (1, 42, Decimal("14.20"), 'it\'s "ü"\n', *binary, made, None, [1, None], {"k": day})
    times = table.selected("SELECT CAST(tz AS VARCHAR), CAST(ns AS VARCHAR) FROM %s")
    assert times == [("2020-02-29 12:34:56.5+00", "2020-02-29 12:34:56.123456789")]


@pytest.mark.parametrize("file_format", FORMATS)
def test_defaults_inside_of_structs_lists_and_maps(file_format: str, tmp_path: Path) -> None:
    then = StructType((opt(10, "x", INT),))
    now = StructType((opt(11, "new", INT, 7), opt(10, "x", LONG)))
    fields = [(1, "id", LONG, LONG), (2, "s", then, now), (3, "l", ListType(4, then, False), ListType(4, now, False))]
    fields.append((5, "m", MapType(6, TEXT, 7, then, False), MapType(6, TEXT, 7, now, False)))
    table = Table(tmp_path, Schema(0, tuple(opt(i, n, new) for i, n, _, new in fields)))
    rows = [(1, {"x": 1}, [{"x": 2}, None], [("k", {"x": 3})]), (2, None, [], []), (3, {"x": None}, None, None)]
    table.write([opt(i, n, old) for i, n, old, _ in fields], rows, file_format)
    one, two, three, none = ({"new": 7, "x": x} for x in (1, 2, 3, None))
    found = [tuple(row.values()) for row in table.arrow_rows()]
    assert found == [(1, one, [two, None], [("k", three)]), (2, None, [], []), (3, none, None, None)]


def test_a_default_that_no_sample_meets(tmp_path: Path) -> None:
    """Of many files only some are looked into, unless a default needs each to be."""
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "l", ListType(3, INT, False), [1]))))
    for i in range(70):
        columns = [numbered("id", pa.int64(), 1), numbered("l", pa.list_(numbered("element", pa.int32(), 3)), 2)]
        table.add(columns[: 1 if i == 69 else 2], [(i, [2])])
    assert sorted(table.rows())[68:] == [(68, [2]), (69, [1])]


@pytest.mark.parametrize("file_format", FORMATS)
def test_files_without_a_column_are_kept_for_its_default(file_format: str, tmp_path: Path) -> None:
    """They say nothing of the column: no statistics may prune them."""
    c = opt(2, "c", INT, 5)
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), c)))
    table.write((opt(1, "id", LONG),), [(1,)], file_format)
    table.write((opt(1, "id", LONG), c), [(2, None)], file_format)
    for wanted in (Compare("c", Op.EQ, 5), Compare("c", Op.GT, 4), IsNull("c")):
        assert (1, 5) in table.rows(predicate=wanted)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_names_of_all_kinds(file_format: str, tmp_path: Path) -> None:
    names = [
        "a.b",
        'q"q',
        "it's",
        "new\nline",
        "北京",
        "select",
        "v0",
        "file_index",
        "c1",
        "$x",
        "a b",
        "%",
        "\\",
    ]
    inside = StructType(tuple(opt(100 + i, n, INT) for i, n in enumerate(names)))
    then = tuple(opt(i, n, inside if i == 1 else INT) for i, n in enumerate(names, 1))
    table = Table(tmp_path, Schema(0, then))
    values = (dict(zip(names, range(len(names)), strict=True)), *range(1, len(names)))
    table.write(then, [values, (None,) * len(names)], file_format)
    assert table.rows() == [values, (None,) * len(names)]
    turned = names[1:] + names[:1]
    inside = StructType(tuple(opt(100 + i, n, LONG) for i, n in enumerate(turned)))
    table.schema = Schema(0, tuple(opt(i, n, inside if i == 1 else LONG) for i, n in enumerate(turned, 1)))
    swapped = dict(zip(turned, range(len(names)), strict=True))
    assert table.rows() == [(swapped, *values[1:]), (None,) * len(names)]


def test_names_that_a_file_has_twice_but_for_their_case(tmp_path: Path) -> None:
    """Flink's writers make such files; a table that has dropped or renamed the one is read."""
    held = pa.struct([numbered("x", pa.int32(), 4), numbered("X", pa.int32(), 5)])
    columns = [numbered("a", pa.int32(), 1), numbered("A", pa.int32(), 2), numbered("s", held, 3)]
    table = Table(
        tmp_path, Schema(0, (opt(2, "a", INT), opt(3, "s", StructType((opt(5, "x", INT), opt(4, "y", INT))))))
    )
    table.add(columns, [(1, 2, {"x": 3, "X": 4})])
    assert table.rows() == [(2, {"x": 4, "y": 3})]


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_name_that_comes_again(file_format: str, tmp_path: Path) -> None:
    """Dropped and added anew, in structs, in lists, in map keys and values: the old values are gone."""
    then = StructType((opt(10, "k", INT), opt(11, "x", INT)))
    now = StructType((opt(10, "k", INT), opt(12, "x", TEXT)))

    def fields(t: StructType) -> tuple[NestedField, ...]:
        values = MapType(5, StructType(t.fields[:1]), 6, t, False)
        return (opt(1, "s", t), opt(2, "l", ListType(3, t, False)), opt(4, "m", values))

    table = Table(tmp_path, Schema(0, fields(then)))
    value = {"k": 1, "x": 2}
    table.write(fields(then), [(value, [value, None], [({"k": 1}, value)])], file_format)
    table.schema = Schema(0, fields(now))
    gone = {"k": 1, "x": None}
    assert table.arrow_rows() == [{"s": gone, "l": [gone, None], "m": [({"k": 1}, gone)]}]
    table.schema = Schema(0, (opt(1, "s", StructType((opt(12, "x", TEXT),))),))
    assert table.rows() == [({"x": None},)]


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_more_than_a_thousand_columns(file_format: str, tmp_path: Path) -> None:
    then = tuple(opt(i, f"c{i}", INT) for i in range(1, 1201))
    table = Table(tmp_path, Schema(0, then))
    table.write(then, [tuple(range(1, 1201))], file_format)
    now = tuple(opt(f.field_id, f"d{f.field_id}", LONG) for f in reversed(then))
    table.schema = Schema(0, (*now, opt(5000, "new", INT, 3)))
    assert table.rows() == [(*range(1200, 0, -1), 3)]
    assert table.rows(columns=frozenset({"d7", "d1199"})) == [(1199, 7)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_deep_types(file_format: str, tmp_path: Path) -> None:
    def nested(depth: int, name: str) -> tuple[NestedField, Any]:
        field = opt(1000, "leaf", INT if name == "x" else LONG)
        data: Any = 1
        for i in range(depth):
            if i % 2:
                field, data = opt(2000 + i, f"l{i}", ListType(3000 + i, field.type, False)), [data]
            else:
                field, data = (
                    opt(2000 + i, f"s{i}", StructType((NestedField(4000 + i, name, field.type, False),))),
                    {name: data},
                )
        return opt(1, "deep", field.type), data

    field, data = nested(24, "x")
    table = Table(tmp_path, Schema(0, (field,)))
    table.write((field,), [(data,)], file_format)
    assert table.rows() == [(data,)]
    field, data = nested(24, "y")
    table.schema = Schema(0, (field,))
    assert table.rows() == [(data,)]


# --- files without ids ------------------------------------------------------------------------------------------------

MAPPING = [
    {"field-id": 1, "names": ["id", "ID_OLD"]},
    {
        "field-id": 2,
        "names": ["s", "struct"],
        "fields": [{"field-id": 3, "names": ["x", "x_old"]}, {"field-id": 4, "names": ["y"]}, {"names": ["nobody"]}],
    },
    {
        "field-id": 5,
        "names": ["l"],
        "fields": [{"field-id": 6, "names": ["element"], "fields": [{"field-id": 7, "names": ["k", "key"]}]}],
    },
    {
        "field-id": 8,
        "names": ["m"],
        "fields": [
            {"field-id": 9, "names": ["key"]},
            {"field-id": 10, "names": ["value"], "fields": [{"field-id": 11, "names": ["q"]}]},
        ],
    },
]
MAPPED = (
    opt(1, "number", LONG),
    opt(2, "st", StructType((opt(4, "why", LONG), opt(3, "ex", LONG)))),
    opt(5, "li", ListType(6, StructType((opt(7, "kk", TEXT),)), False)),
    opt(8, "ma", MapType(9, TEXT, 10, StructType((opt(11, "qu", LONG),)), False)),
)
PLAIN = pa.schema(
    [
        pa.field("unmapped", pa.string()),
        pa.field("ID_OLD", pa.int32()),
        pa.field(
            "struct",
            pa.struct([pa.field("nobody", pa.int32()), pa.field("x_old", pa.int32()), pa.field("y", pa.int64())]),
        ),
        pa.field("l", pa.list_(pa.field("item", pa.struct([pa.field("key", pa.string())])))),
        pa.field("m", pa.map_(pa.string(), pa.struct([pa.field("q", pa.int64())]))),
    ]
)
PLAIN_ROW = ("u", 1, {"nobody": 9, "x_old": 2, "y": 3}, [{"key": "a"}], [("k", {"q": 4})])


def record(name: str, **fields: Any) -> dict[str, Any]:
    """An Avro record."""
    return {"type": "record", "name": name, "fields": [{"name": k, "type": t} for k, t in fields.items()]}


def plain_file(folder: Path, file_format: str) -> Path:
    """A file without ids, as Hive or Spark wrote it before the table was Iceberg's."""
    path = folder / f"part-00000-{uuid4()}.{file_format}"
    data = pa.Table.from_arrays([pa.array([v], f.type) for v, f in zip(PLAIN_ROW, PLAIN, strict=True)], schema=PLAIN)
    if file_format == "parquet":
        pq.write_table(data, path)
    elif file_format == "orc":
        orc.write_table(data, str(path))
    else:
        schema = record(
            "t",
            unmapped=["null", "string"],
            ID_OLD="int",
            struct=["null", record("s", nobody="int", x_old=["int", "null"], y="long")],
            l=["null", {"type": "array", "items": record("e", key="string")}],
            m={"type": "map", "values": record("v", q="long")},
        )
        row = dict(zip(PLAIN.names, PLAIN_ROW, strict=True))
        with path.open("wb") as file:
            fastavro.writer(file, schema, [{**row, "m": dict(PLAIN_ROW[4])}])
    return path


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_name_mapping_at_any_depth(file_format: str, tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, MAPPED), properties={NAME_MAPPING: json.dumps(MAPPING)})
    table.listed(plain_file(tmp_path, file_format), 1, format=file_format.upper())
    table.write(MAPPED, [(5, {"why": 6, "ex": 7}, [], None)], file_format)
    assert table.rows() == [
        (1, {"why": 3, "ex": 2}, [{"kk": "a"}], {"k": {"qu": 4}}),
        (5, {"why": 6, "ex": 7}, [], None),
    ]


def test_files_with_ids_in_some_places_only(tmp_path: Path) -> None:
    """Parquet and ORC files with any id have no use of a mapping; Avro files take from it what they lack."""
    fields = (opt(1, "a", LONG), opt(2, "s", StructType((opt(3, "x", LONG),))))
    mapping = [
        {"field-id": 1, "names": ["a"]},
        {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["x"]}]},
    ]
    table = Table(tmp_path, Schema(0, fields), properties={NAME_MAPPING: json.dumps(mapping)})
    table.add(
        [numbered("a", pa.int64(), None), numbered("s", pa.struct([pa.field("x", pa.int64())]), 2)], [(1, {"x": 2})]
    )
    assert table.rows() == [(None, {"x": None})]
    inner = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "long"}]}
    schema = {
        "type": "record",
        "name": "t",
        "fields": [{"name": "a", "type": "long"}, {"name": "z", "type": inner, "field-id": 2}],
    }
    path = tmp_path / "00000-0-x.avro"
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"a": 1, "z": {"x": 2}}])
    table.files.clear()
    table.listed(path, 1, format="AVRO")
    assert table.rows()[0][0] == 1


def test_files_without_ids_or_mapping(tmp_path: Path) -> None:
    """As Iceberg's Java: Avro and ORC by name, Parquet by the order of its columns; inside of these by name."""
    fields = (
        opt(2, "ID_OLD", LONG),
        opt(1, "unmapped", TEXT),
        opt(3, "renamed", StructType((opt(30, "y", LONG), opt(31, "x_old", LONG)))),
        opt(4, "l", ListType(40, StructType((opt(41, "key", TEXT),)), False)),
    )
    table = Table(tmp_path, Schema(0, fields))
    table.listed(plain_file(tmp_path, "parquet"), 1)
    assert table.rows() == [(1, "u", {"y": 3, "x_old": 2}, [{"key": "a"}])]
    for file_format in ("avro", "orc"):
        table.files.clear()
        table.listed(plain_file(tmp_path, file_format), 1, format=file_format.upper())
        assert table.rows() == [(1, "u", None, [{"key": "a"}])]


def test_hive_partitions_are_in_the_manifest_only(tmp_path: Path) -> None:
    """A migrated table: the partition columns are in no file, whose names and columns are another writer's."""
    spec = PartitionSpec(0, (PartitionField(3, 1000, "p", Transform.parse("identity")),))
    mapping = [{"field-id": 1, "names": ["id"]}, {"field-id": 3, "names": ["p"]}]
    table = Table(
        tmp_path, Schema(0, (opt(1, "id", LONG), opt(3, "p", TEXT))), spec, {NAME_MAPPING: json.dumps(mapping)}
    )
    for i, value in enumerate(["x", None, "it's", ""]):
        table.add([pa.field("id", pa.int32())], [(i,)], name=f"p={i}/part-{i}.parquet", partition=(value,))
    assert sorted(table.rows()) == [(0, "x"), (1, None), (2, "it's"), (3, "")]
    assert table.rows(predicate=Compare("p", Op.EQ, "it's")) == [(2, "it's")]


# --- old lists of Parquet ---------------------------------------------------------------------------------------------


def two_levels(elements: list[Struct], list_name: str, element_name: str) -> list[Struct]:
    """Takes the middle level out of a list whose elements are required: the element itself repeats."""
    at = next(i for i, e in enumerate(elements) if e[NAME][1] == list_name.encode())
    made = [dict(e) for e in elements]
    element = made[at + 2]
    element[NAME] = (8, element_name.encode())
    element[REPETITION] = (5, 2)
    del made[at + 1]
    return made


@pytest.mark.parametrize("element_name", ["array", "l_tuple", "element", "bag"])
@pytest.mark.parametrize("width", [0, 1, 2])
def test_lists_of_two_levels(element_name: str, width: int, tmp_path: Path) -> None:
    """Parquet's backward-compatibility rules, for lists of numbers (0) and of structs of one or more fields."""
    parts = [numbered(n, pa.int64(), 10 + i).with_nullable(False) for i, n in enumerate(("x", "y")[:width])]
    kind = pa.struct(parts) if width else pa.int64()
    column = numbered("l", pa.list_(pa.field("element", kind, False, metadata={"PARQUET:field_id": "2"})), 1)
    value: Any = {"x": 1, "y": 2} if width == 2 else {"x": 1} if width else 1
    inside = StructType(tuple(opt(10 + i, n, LONG) for i, n in enumerate(("z", "y")[:width]))) if width else LONG
    table = Table(tmp_path, Schema(0, (opt(1, "l", ListType(2, inside, False)),)))
    path = table.add([column], [([value, value],), ([],), (None,)])
    edit(path, lambda elements: two_levels(elements, "l", element_name))
    table.refresh(path, renamed=True)
    wanted: Any = {"z": 1, "y": 2} if width == 2 else {"z": 1} if width else 1
    if width == 1 and element_name in ("element", "bag"):
        # By the rules it is a list of what the one field holds.
        table.schema = Schema(0, (opt(1, "l", ListType(10, LONG, False)),))
        wanted = 1
    assert table.rows() == [([wanted, wanted],), ([],), (None,)]


def test_lists_and_maps_under_other_names(tmp_path: Path) -> None:
    """Hive's ``bag`` and ``array_element``, Avro's ``map``: only the nesting counts."""
    part = StructType((opt(4, "b", LONG),))
    fields = (opt(1, "l", ListType(2, part, False)), opt(5, "m", MapType(6, TEXT, 7, LONG, False)))
    table = Table(tmp_path, Schema(0, fields))
    element = numbered("element", pa.struct([numbered("a", pa.int64(), 4)]), 2)
    pairs = pa.map_(numbered("key", pa.string(), 6).with_nullable(False), numbered("value", pa.int64(), 7))
    path = table.add([numbered("l", pa.list_(element), 1), numbered("m", pairs, 5)], [([{"a": 1}, None], [("k", 2)])])
    others = {b"list": b"bag", b"element": b"array_element", b"key_value": b"map", b"key": b"k", b"value": b"v"}

    def renamed(elements: list[Struct]) -> list[Struct]:
        for e in elements:
            e[NAME] = (8, others.get(e[NAME][1], e[NAME][1]))
        return elements

    edit(path, renamed)
    table.refresh(path, renamed=True)
    assert table.rows() == [([{"b": 1}, None], {"k": 2})]


def key_value(elements: list[Struct]) -> list[Struct]:
    """Calls each map, that is its outer group, MAP_KEY_VALUE."""
    for e in elements:
        if e.get(CONVERTED) == (5, 1):
            e[CONVERTED] = (5, 2)
            e.pop(LOGICAL, None)
    return elements


@pytest.mark.parametrize("with_ids", [True, False])
def test_maps_that_are_called_key_and_value(with_ids: bool, tmp_path: Path) -> None:
    """Parquet's backward-compatibility rules; DuckDB fails on such files, whatever is asked of them."""
    given = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    kinds = [
        ("m", MapType(20, TEXT, 21, StructType((opt(22, "x", LONG),)), False), [("k", {"x": 1}), ("n", None)]),
        ("u", UUIDType(), given.bytes),
        ("d", DecimalType(9, 2), Decimal("1.25")),
        ("ts", TimestamptzType(), datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("ns", TimestampNsType(), 1_709_210_096_123_456_789),
        ("f", FixedType(2), b"ab"),
        ("l", ListType(23, LONG, False), [1, None]),
        ("b", BinaryType(), b"x"),
        ("s", StructType((opt(24, "y", MapType(25, INT, 26, INT, False)),)), {"y": [(1, 2)]}),
    ]
    fields = tuple(opt(i, name, kind) for i, (name, kind, _) in enumerate(kinds, 1))
    table = Table(tmp_path, Schema(0, fields))
    path = table.write(fields, [tuple(v for *_, v in kinds), (None,) * len(kinds)], "parquet")
    plain = table.rows()
    edit(path, key_value)
    if not with_ids:
        table.properties = {NAME_MAPPING: json.dumps(mapping_of(fields))}
        edit(path, without_ids)
    table.refresh(path, renamed=True)
    assert table.rows() == plain
    assert table.rows(columns=frozenset({"d", "_pos"})) == [(Decimal("1.25"), 0), (None, 1)]
    assert table.selected("SELECT COUNT(*) FROM %s", columns=frozenset({"_deleted"})) == [(2,)]
    table.schema = Schema(0, (opt(1, "m", MapType(20, TEXT, 21, StructType((opt(22, "z", LONG),)), False)),))
    assert table.rows() == [({"k": {"z": 1}, "n": None},), (None,)]
    table.write(table.schema.fields, [([("now", None)],)], "parquet")
    assert sorted(table.rows(), key=str) == [(None,), ({"k": {"z": 1}, "n": None},), ({"now": None},)]
    data = Path(table.files[0].path.removeprefix("file:"))
    data.write_bytes(data.read_bytes()[:4] + b"\xff" * 64 + data.read_bytes()[68:])
    with pytest.raises(duckdb.Error, match="is damaged or not a Parquet file"):
        table.rows()


def mapping_of(fields: Sequence[NestedField]) -> list[dict[str, Any]]:
    """The name mapping of fields' own names."""
    return [{"field-id": f.field_id, "names": [f.name], "fields": mapping_of(children(f.type))} for f in fields]


def without_ids(elements: list[Struct]) -> list[Struct]:
    for e in elements:
        e.pop(FIELD_ID, None)
    return elements


# --- partition values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_partition_values_of_fields_that_files_lack(file_format: str, tmp_path: Path) -> None:
    """Inside of structs too (spec, "Column Projection"); a struct that is NULL, or not there at all, stays so."""
    inner = StructType((opt(4, "b", TEXT), opt(5, "c", LONG, 7)))
    fields = (opt(1, "id", LONG), opt(2, "s", StructType((opt(3, "a", LONG), opt(6, "n", inner)))))
    by = [PartitionField(n, 1000 + n, f"p{n}", Transform.parse("identity")) for n in (3, 4, 5)]
    table = Table(tmp_path, Schema(0, fields), PartitionSpec(0, tuple(by)))
    held = (
        opt(1, "id", LONG),
        opt(2, "s", StructType((opt(9, "gone", LONG), opt(6, "n", StructType((opt(5, "c", LONG),)))))),
    )
    rows = [(1, {"gone": 0, "n": {"c": 2}}), (2, {"gone": 0, "n": None}), (3, None)]
    table.write(held, rows, file_format)
    table.write(held, [(4, {"gone": 0, "n": {"c": 3}})], file_format)
    table.write(held[:1], [(5,)], file_format)
    values = [(10, "x", 99), (11, None, 99), (12, "y", 99)]
    table.files = [replace(f, partition=v) for f, v in zip(table.files, values, strict=True)]
    assert sorted(table.rows()) == [
        (1, {"a": 10, "n": {"b": "x", "c": 2}}),
        (2, {"a": 10, "n": None}),
        (3, None),
        (4, {"a": 11, "n": {"b": None, "c": 3}}),
        (5, None),
    ]


# --- promotions ------------------------------------------------------------------------------------------------------


PROMOTIONS: list[tuple[IcebergType, IcebergType, list[Any], list[Any]]] = [
    (INT, LONG, [-(2**31), 2**31 - 1], [-(2**31), 2**31 - 1, 2**31, -(2**31) - 1, 0]),
    (FloatType(), DoubleType(), [0.5, 1.25], [0.5, 1.25, 0.4999999, 1.2500001, 0]),
    (
        DecimalType(4, 2),
        DecimalType(38, 2),
        [Decimal("-1.50"), Decimal("99.99")],
        [Decimal("-1.50"), Decimal("99.99"), Decimal("-1.51"), Decimal("100.00"), Decimal(10**30)],
    ),
    (
        DateType(),
        TimestampType(),
        [date(1969, 12, 31), date(2024, 2, 29)],
        [datetime(1969, 12, 31), datetime(2024, 2, 29), datetime(2024, 2, 29, 0, 0, 1), datetime(1969, 12, 30, 23)],
    ),
    (
        DateType(),
        TimestampNsType(),
        [date(1969, 12, 31), date(2024, 2, 29)],
        [datetime(1969, 12, 31), datetime(2024, 2, 29), datetime(2024, 2, 29, 0, 0, 1), datetime(1969, 12, 30, 23)],
    ),
]


PROMOTED = [(*case, False) for case in PROMOTIONS] + [
    # The values of a partition by date would change: the specification has no such promotion.
    (*case, True)
    for case in PROMOTIONS
    if not isinstance(case[0], DateType)
]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(("old", "new", "values", "asked", "partitioned"), PROMOTED, ids=str)
def test_bounds_from_before_a_promotion_prune_rightly(
    old: IcebergType,
    new: IcebergType,
    values: list[Any],
    asked: list[Any],
    partitioned: bool,
    file_format: str,
    tmp_path: Path,
) -> None:
    """A file keeps the bounds, and its manifest the partition values, of the type that its column had."""
    then, now = (opt(1, "c", old), opt(2, "n", INT)), (opt(1, "c", new), opt(2, "n", INT))
    by = (PartitionField(1, 1000, "c", Transform.parse("identity")),) if partitioned else ()
    table = Table(tmp_path, Schema(0, then), PartitionSpec(0, by), version=3)
    low, high = values
    for i, row in enumerate([[low], [high]] if partitioned else [[low, high]]):
        table.write(then, [(v, i) for v in row], file_format)
        figures: dict[str, Any] = {
            "value_counts": {1: len(row), 2: len(row)},
            "null_counts": {1: 0, 2: 0},
            "nan_counts": {1: 0},
            "lower_bounds": {1: to_bytes(old, row[0]), 2: to_bytes(INT, i)},
            "upper_bounds": {1: to_bytes(old, row[-1]), 2: to_bytes(INT, i)},
        }
        if partitioned:
            figures["partition"] = (to_internal(old, row[0]),)
        table.files[-1] = replace(table.files[-1], **figures)
    written = table.loaded()
    loaded = replace(written, metadata=replace(written.metadata, schemas=(Schema(0, now),)))
    connection = duckdb.connect()
    for value in asked:
        for op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE):
            pruned = build_scan(loaded, STORAGE, predicate=Compare("c", op, value))
            whole = build_scan(loaded, STORAGE)
            condition = f"c {op.value} {literal(value)}"
            found = []
            for scan in (pruned, whole):
                set_variables(connection, scan.variables)
                found.append(connection.execute(f"SELECT n FROM ({scan.sql}) WHERE {condition} ORDER BY n").fetchall())
            assert found[0] == found[1], (op, value)
            if not found[1] and value != 0:
                assert pruned.plan.files_kept == 0, (op, value)


def literal(value: Any) -> str:
    return f"TIMESTAMP '{value}'" if isinstance(value, datetime) else f"{value}"


# --- side by side -----------------------------------------------------------------------------------------------------


def test_formats_and_schemas_of_all_times_in_one_scan(tmp_path: Path) -> None:
    table = Table(
        tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "s", StructType((opt(3, "a", LONG), opt(4, "b", TEXT))))))
    )
    old = (opt(1, "n", INT), opt(2, "t", StructType((opt(3, "b", INT),))))
    new = table.schema.fields
    for turn, file_format in enumerate(FORMATS * 2):
        fields, value = (old, {"b": turn}) if turn < 3 else (new, {"a": turn, "b": "x"})
        table.write(fields, [(turn * 10 + i, value) for i in range(3)], file_format)
    expected = [(turn * 10 + i, {"a": turn, "b": None if turn < 3 else "x"}) for turn in range(6) for i in range(3)]
    assert sorted(table.rows(), key=lambda row: int(row[0])) == expected
    assert sorted(table.rows(columns=frozenset({"id"}))) == [(row[0],) for row in expected]
    assert table.selected("SELECT id FROM %s WHERE s.a = 4 ORDER BY 1") == [(40,), (41,), (42,)]
