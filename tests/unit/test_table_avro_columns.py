"""Records cut into columns: by an expression as one by one, and damage is noticed either way."""

from __future__ import annotations

import io
import json
import tracemalloc
import zlib
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.engine.table import avro
from bergsql.engine.table.avro_columns import Columns, Cutter, Layout
from bergsql.engine.table.bound_columns import alike, encoded_bounds, numeric_bounds
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestEntry, ManifestFile
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest
from bergsql.engine.table.manifests import cut_manifest
from bergsql.engine.table.raw_maps import bounds_of
from tests.support.planned import BY_P, SCHEMA

LAYOUT = Layout(frozenset((0, 4, 5)), frozenset((2,)), frozenset((4,)), frozenset((5,)))


def pairs(value: str) -> list[Any]:
    record = {
        "type": "record",
        "name": f"m_{value}",
        "fields": [{"name": "k", "type": "int"}, {"name": "v", "type": value}],
    }
    return ["null", {"type": "array", "items": record, "logicalType": "map"}]


SCHEMA_JSON = {
    "type": "record",
    "name": "e",
    "fields": [
        {"name": "status", "type": "int", "field-id": 0},
        {"name": "text", "type": ["null", "string"], "field-id": 1},
        {
            "name": "inner",
            "field-id": 2,
            "type": {
                "type": "record",
                "name": "i",
                "fields": [
                    {"name": "flag", "type": "boolean", "field-id": 3},
                    {"name": "counts", "type": pairs("long"), "field-id": 4},
                    {"name": "bounds", "type": pairs("bytes"), "field-id": 5},
                    {"name": "list", "type": ["null", {"type": "array", "items": "long"}], "field-id": 6},
                ],
            },
        },
        {"name": "last", "type": "double", "field-id": 7},
    ],
}
KEYS = [1, 2, 70, 300]


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]] | None]:
    def of(keys: list[int]) -> st.SearchStrategy[list[dict[str, Any]]]:
        return st.tuples(*(values for _ in keys)).map(
            lambda vs: [{"k": k, "v": v} for k, v in zip(keys, vs, strict=True)]
        )

    return st.one_of(
        st.none(), of(KEYS), of(KEYS), of(KEYS[:2]), st.lists(st.sampled_from(KEYS), unique=True).flatmap(of)
    )


numbers = st.one_of(st.integers(-70, 70), st.integers(-(2**63), 2**63 - 1))
rows = st.fixed_dictionaries(
    {
        "status": st.sampled_from([0, 1, 1, 2]),
        "text": st.one_of(st.none(), st.text(max_size=90)),
        "inner": st.fixed_dictionaries(
            {
                "flag": st.booleans(),
                "counts": maps(numbers),
                "bounds": maps(st.one_of(st.binary(min_size=8, max_size=8), st.binary(max_size=90))),
                "list": st.one_of(st.none(), st.lists(numbers, max_size=5)),
            }
        ),
        "last": st.floats(allow_nan=False),
    }
)


def blocks(records: list[Any]) -> tuple[tuple[int, bytes], ...]:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA_JSON, records, codec="null")
    return avro.read_container(out.getvalue(), "it").blocks


def plain(cutter: Cutter, columns: Columns) -> list[Any]:
    """The records again, as fastavro has them."""
    fields = [f or [] for f in cutter.fields(columns, range(8)) if f is not None]
    return [
        {
            "status": status,
            "text": text,
            "inner": {
                "flag": flag,
                "counts": None if counts is None else [{"k": k, "v": v} for k, v in counts.items()],
                "bounds": None if bounds is None else [{"k": k, "v": v} for k, v in bounds.items()],
                "list": None if items is None else list(items),
            },
            "last": last,
        }
        for status, text, flag, counts, bounds, items, last in zip(*fields, strict=True)
    ]


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.lists(rows, min_size=1, max_size=12), st.lists(rows, max_size=6))
def test_an_expression_cuts_as_one_by_one(known: list[Any], new: list[Any]) -> None:
    """An expression made of some records cuts these and others, and what it cannot is stepped over."""
    cutter = Cutter(json.dumps(SCHEMA_JSON).encode(), LAYOUT)
    alone = cutter.cut(blocks(known))
    assert plain(cutter, alone) == known
    cutter._compile()
    again = cutter.cut(blocks(known))
    assert plain(cutter, again) == known
    both = [*new, *known, *new]
    assert plain(cutter, cutter.cut(blocks(both))) == both
    picked = [i for i in range(len(both)) if i % 2]
    found = cutter.fields(cutter.cut(blocks(both)), (0, 1, 4), picked)
    assert found[0] == [both[i]["status"] for i in picked]
    assert found[1] == [both[i]["text"] for i in picked]
    check_places(cutter, again, known)


def check_places(cutter: Cutter, columns: Columns, records: list[Any]) -> None:
    """Bounds found by their places in the maps are those in the maps."""
    column = columns.columns[cutter.place[5][0]]
    shape = alike(column)
    if shape is None:
        return
    for key in (*KEYS, 5):
        wanted = [next((p["v"] for p in r["inner"]["bounds"] if p["k"] == key), None) for r in records]
        assert encoded_bounds(column, shape, 1, key) in (None, wanted)
        as_numbers = numeric_bounds(column, shape, 1, key, lambda length: "q" if length == 8 else None)
        assert as_numbers in (None, [None if w is None else int.from_bytes(w, "little", signed=True) for w in wanted])


def test_places_are_found_where_maps_are_alike() -> None:
    def record(i: int, text: bytes) -> Any:
        bounds = [{"k": 1, "v": i.to_bytes(8, "little")}, {"k": 2, "v": text}, {"k": 70, "v": b"abcd"}]
        return {
            "status": 1,
            "text": "x",
            "inner": {"flag": True, "counts": None, "bounds": bounds, "list": None},
            "last": 0.5,
        }

    cutter = Cutter(json.dumps(SCHEMA_JSON).encode(), LAYOUT)
    records = [record(i, b"t" * (i % 5)) for i in range(200)]
    cutter.cut(blocks(records))
    column = cutter.cut(blocks(records)).columns[cutter.place[5][0]]
    shape = alike(column)
    assert shape == ((1, 8), (2, None), (70, 4))
    assert numeric_bounds(column, shape, 1, 1, {8: "q"}.get) == list(range(200))
    assert encoded_bounds(column, shape, 1, 2) == [b"t" * (i % 5) for i in range(200)]
    assert encoded_bounds(column, shape, 1, 70) == [b"abcd"] * 200
    assert encoded_bounds(column, shape, 1, 9) == [None] * 200


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(rows, min_size=1, max_size=8), st.booleans())
def test_maps_are_searched_where_they_are_not_alike(records: list[Any], null_last: bool) -> None:
    """Whatever the maps are like, and in whichever order a writer puts the branches of an optional field."""
    schema = json.loads(json.dumps(SCHEMA_JSON))
    if null_last:
        schema["fields"][2]["type"]["fields"][2]["type"].reverse()
    out = io.BytesIO()
    fastavro.writer(out, schema, records, codec="null")
    cutter = Cutter(json.dumps(schema).encode(), LAYOUT)
    columns = cutter.cut(avro.read_container(out.getvalue(), "it").blocks)
    assert plain(cutter, columns) == records
    tag = cutter.tag(5)
    assert (tag is None) is null_last
    if tag is not None:
        for key in (*KEYS, 5):
            wanted = [next((p["v"] for p in r["inner"]["bounds"] or () if p["k"] == key), None) for r in records]
            assert bounds_of(columns.columns[cutter.place[5][0]].values(), tag, key) == wanted


# -- made to do harm ---------------------------------------------------------------------------------------------------


def refused(payload: bytes, count: int, text: str, schema: Any = None) -> None:
    """A manifest with one block is refused in one line that names it and its snapshot, and takes little memory."""
    entry_schema = avro.read_container(encode_manifest([], BY_P, SCHEMA, 2), "m").schema.decode()
    header = bytearray(b"Obj\x01")
    fields = {"avro.schema": entry_schema if schema is None else schema, "avro.codec": "deflate"}
    avro.write_long(header, len(fields))
    for key, value in fields.items():
        avro.write_bytes(header, key.encode())
        avro.write_bytes(header, value.encode())
    header += b"\0" + b"s" * 16
    avro.write_long(header, count)
    avro.write_bytes(header, payload)
    data = bytes(header) + b"s" * 16
    manifest = ManifestFile("/t/m.avro", len(data), BY_P.spec_id, added_snapshot_id=7)
    tracemalloc.start()
    with pytest.raises(BergError, match=text) as caught:
        cut_manifest(data, manifest, TABLE).entries()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "Manifest /t/m.avro of snapshot 7" in caught.value.message
    assert "\n" not in caught.value.message
    assert peak < 600 << 20


def deflated(data: bytes) -> bytes:
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return made.compress(data) + made.flush()


TABLE: Any = type("Table", (), {"spec_by_id": staticmethod(lambda _: BY_P), "table_uuid": "u", "location": "/t"})


def test_a_billion_entries_that_are_not_there() -> None:
    refused(deflated(b"\2" * 50), 10**9, "cut off")
    refused(deflated(b"\2" * 50), 2**62, "cut off")


def test_a_block_that_unpacks_without_end() -> None:
    refused(deflated(bytes(300 << 20)), 5, "unpacks to more bytes")


def test_lengths_that_lie() -> None:
    long = bytearray()
    avro.write_long(long, 2**62)
    head = b"\2" + b"\0" * 3 + b"\0"
    refused(deflated(head + bytes(long) + b"x" * 40), 1, "cut off")
    avro.write_long(long, -(2**62))
    refused(deflated(head + b"\1" + b"x" * 40), 1, "cut off")


def test_schemas_without_sense() -> None:
    refused(deflated(b""), 0, "damaged", schema="[" * 100_000)
    record = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int", "field-id": 0}]}
    wide: Any = json.loads(json.dumps(record))
    wide["fields"][0]["type"] = {"type": "array", "items": {"type": "array", "items": "int"}}
    for _ in range(30):
        wide["fields"][0]["type"] = {"type": "array", "items": wide["fields"][0]["type"]}
    refused(deflated(b""), 0, "too deep", schema=json.dumps(wide))
    twice: Any = {"type": "record", "name": "a0", "fields": [{"name": "x", "type": "int"}]}
    for i in range(1, 15):  # each holds the one before twice
        twice = {
            "type": "record",
            "name": f"a{i}",
            "fields": [{"name": "x", "type": twice}, {"name": "y", "type": f"a{i - 1}"}],
        }
    refused(deflated(b""), 0, "too deep or too large", schema=json.dumps(twice))
    own = {"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "r"], "field-id": 0}]}
    refused(deflated(b""), 0, "too deep", schema=json.dumps(own))


def test_what_is_not_matched_takes_no_long_time() -> None:
    """Many records that the expression all but matches."""
    files = [DataFile(f"/f{i}", 1, 1, partition=("x" * (i % 60),), lower_bounds={1: b"\1" * 8}) for i in range(400)]
    odd = [DataFile("/f", 1, 1, partition=("y" * i,), lower_bounds={1: b"\1" * 8, 2: b"z" * i}) for i in range(400)]
    entries = [ManifestEntry(EntryStatus.ADDED, f, 1) for f in (*files, *odd)]
    data = encode_manifest(entries, BY_P, SCHEMA, 2)
    manifest = describe_manifest("/m", data, entries, BY_P, SCHEMA, snapshot_id=1, sequence_number=1)
    for _ in range(3):
        found = cut_manifest(data, manifest, TABLE).entries()
        assert [e.data_file.partition for e in found] == [f.partition for f in (*files, *odd)]
