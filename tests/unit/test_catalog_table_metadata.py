"""Table metadata: every file that Spark and Flink wrote comes back byte for byte, and damage is named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.table_metadata import MOST_UNPACKED, TableMetadata
from tests.support.relics import TABLES, json_bytes, unpack_metadata


@pytest.fixture(scope="module")
def relics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_metadata(tmp_path_factory.mktemp("relics"))


def test_every_file_of_spark_and_flink_survives_byte_for_byte(relics: Path) -> None:
    files = sorted(relics.rglob("*.metadata.json"))
    assert len({f.parent for f in files}) == TABLES
    versions = set()
    for file in files:
        metadata = TableMetadata.parse(file.read_bytes(), file.name)
        assert metadata.serialize() == json_bytes(file), file
        assert TableMetadata.parse(metadata.serialize(), file.name) == metadata
        versions.add(metadata.format_version)
    assert versions == {1, 2, 3}


def example(version: int = 2) -> dict[str, Any]:
    """The JSON of a table with two snapshots."""
    out: dict[str, Any] = {
        "format-version": version,
        "table-uuid": "7e3fc0f7-6c8c-4b6b-9d8b-5a0a3f4f6b1e",
        "location": "/wh/db/t",
        "last-sequence-number": 2,
        "last-updated-ms": 2000,
        "last-column-id": 2,
        "current-schema-id": 1,
        "schemas": [
            {"type": "struct", "schema-id": 0, "fields": [field(1, "id", "long")]},
            {
                "type": "struct",
                "schema-id": 1,
                "identifier-field-ids": [1],
                "fields": [field(1, "id", "long", required=True), field(2, "day", "date")],
            },
        ],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"k": "v"},
        "current-snapshot-id": 20,
        "refs": {
            "main": {"snapshot-id": 20, "type": "branch"},
            "old": {"snapshot-id": 10, "type": "tag", "max-ref-age-ms": 5},
        },
        "snapshots": [snapshot(10, 1, schema_id=0), snapshot(20, 2, schema_id=1)],
        "statistics": [{"snapshot-id": 10, "statistics-path": "s.puffin", "blob-metadata": []}],
        "partition-statistics": [],
        "snapshot-log": [{"timestamp-ms": 1000, "snapshot-id": 10}, {"timestamp-ms": 2000, "snapshot-id": 20}],
        "metadata-log": [{"timestamp-ms": 1000, "metadata-file": "/wh/db/t/metadata/v1.metadata.json"}],
    }
    if version == 3:
        out["next-row-id"] = 7
    return out


def field(field_id: int, name: str, type_: Any, *, required: bool = False) -> dict[str, Any]:
    return {"id": field_id, "name": name, "required": required, "type": type_}


def snapshot(snapshot_id: int, sequence: int, schema_id: int) -> dict[str, Any]:
    return {
        "sequence-number": sequence,
        "snapshot-id": snapshot_id,
        "timestamp-ms": sequence * 1000,
        "summary": {"operation": "append"},
        "manifest-list": f"/wh/db/t/metadata/snap-{snapshot_id}.avro",
        "schema-id": schema_id,
    }


def test_what_a_table_says_of_itself() -> None:
    metadata = TableMetadata.from_json(example())
    assert metadata.schema.names == ("id", "day")
    assert metadata.schema.identifier_names == ("id",)
    assert metadata.spec.is_unpartitioned
    assert metadata.sort_order.is_unsorted
    current = metadata.current_snapshot()
    assert current is not None
    assert (current.snapshot_id, current.operation) == (20, "append")
    tagged = metadata.snapshot(metadata.refs["old"].snapshot_id)
    assert tagged is not None
    assert tagged.snapshot_id == 10
    assert metadata.schema_for(tagged).names == ("id",)


@pytest.mark.parametrize("version", [2, 3])
def test_members_of_the_future_survive_at_every_level(version: int) -> None:
    told = example(version)
    told["new-thing"] = {"a": [1, None]}
    told["encryption-keys"] = [{"key-id": "k"}]
    told["schemas"][1]["new"] = 1
    told["schemas"][1]["fields"][1]["new"] = {"x": 1}
    told["schemas"][1]["fields"].append(
        field(
            3,
            "nested",
            {
                "type": "list",
                "element-id": 4,
                "element": {
                    "type": "map",
                    "key-id": 5,
                    "key": "string",
                    "value-id": 6,
                    "value": {"type": "struct", "fields": [field(7, "x", "int")], "new": 1},
                    "value-required": False,
                    "new": 2,
                },
                "element-required": True,
                "new": 3,
            },
        )
    )
    told["partition-specs"].append(
        {
            "spec-id": 1,
            "fields": [
                {"name": "b", "transform": "zorder[3]", "source-ids": [1, 2], "field-id": 1000, "new": 1},
                {"name": "c", "transform": "later", "source-id": 2, "field-id": 1001},
            ],
            "new": 1,
        }
    )
    told["last-partition-id"] = 1001
    told["sort-orders"].append(
        {
            "order-id": 1,
            "fields": [
                {"transform": "bucket[4]", "source-id": 1, "direction": "desc", "null-order": "nulls-last", "new": 1}
            ],
            "new": 1,
        }
    )
    told["refs"]["main"]["new"] = 1
    told["snapshots"][0]["new"] = 1
    told["snapshots"][1]["key-id"] = "k"
    told["snapshot-log"][0]["new"] = 1
    told["metadata-log"][0]["new"] = 1
    assert TableMetadata.from_json(told).to_json() == told


def test_gzip_is_told_by_the_content_not_by_the_name() -> None:
    data = gzip.compress(json.dumps(example()).encode())
    assert TableMetadata.parse(data, "v1.metadata.json") == TableMetadata.from_json(example())


def test_an_early_v1_file_without_lists() -> None:
    told = {
        "format-version": 1,
        "location": "/wh/t",
        "last-updated-ms": 5,
        "last-column-id": 2,
        "schema": {"type": "struct", "fields": [field(1, "id", "int"), field(2, "d", "date")]},
        "partition-spec": [{"name": "d", "transform": "identity", "source-id": 2}],
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 7, "timestamp-ms": 5, "manifests": ["/wh/t/m0.avro"]}],
    }
    metadata = TableMetadata.from_json(told)
    assert metadata.table_uuid is None
    assert metadata.schema.names == ("id", "d")
    assert [f.field_id for f in metadata.spec.fields] == [1000]
    assert metadata.last_partition_id == 1000
    assert metadata.refs["main"].snapshot_id == 7
    current = metadata.current_snapshot()
    assert current is not None
    assert current.manifests == ("/wh/t/m0.avro",)
    assert current.manifest_list is None
    assert current.operation is None
    written = metadata.to_json()
    assert written["partition-specs"] == [{"spec-id": 0, "fields": written["partition-spec"]}]
    assert written["schemas"] == [written["schema"]]
    assert TableMetadata.from_json(written) == metadata


@pytest.mark.parametrize("version", [1, 2, 3])
def test_no_current_snapshot_is_written_as_java_does(version: int) -> None:
    told = {**example(version), "current-snapshot-id": None, "refs": {}}
    told["schema"], told["partition-spec"] = told["schemas"][1], []
    metadata = TableMetadata.from_json(told)
    assert metadata.current_snapshot() is None
    assert metadata.to_json()["current-snapshot-id"] == (None if version == 3 else -1)
    assert TableMetadata.from_json({**told, "current-snapshot-id": -1}) == metadata


Damage = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda j: j.pop("location"), "'location' is missing"),
        (lambda j: j.update(location=5), "'location' is not a string"),
        (lambda j: j.update(schemas={}), "'schemas' is not a list"),
        (lambda j: j.update(schemas=[]), "'schema' is missing"),
        (lambda j: j["schemas"][0].update(fields=["x"]), "'fields' is not an object"),
        (lambda j: j["schemas"][0]["fields"][0].update(type="strnig"), "column 'id': there is no type 'strnig'"),
        (lambda j: j["schemas"][0]["fields"][0].update(type="decimal(39, 2)"), "at most 38 digits"),
        (lambda j: j["schemas"][0]["fields"][0].update(type={"type": "set"}), "no nested type 'set'"),
        (lambda j: j["schemas"][0]["fields"][0].update(id=True), "'id' is not a whole number"),
        (lambda j: j.update({"current-schema-id": 9}), "the current schema 9 is missing"),
        (lambda j: j.update({"default-spec-id": 9}), "the default partition spec 9 is missing"),
        (lambda j: j.update({"default-sort-order-id": 9}), "the default sort order 9 is missing"),
        (lambda j: j.update({"current-snapshot-id": 9}), "the current snapshot 9 is missing"),
        (lambda j: j["refs"]["main"].update({"snapshot-id": 10}), "the branch main is at 10"),
        (lambda j: j["refs"]["old"].update(type="bookmark"), "no kind of reference 'bookmark'"),
        (lambda j: j.update(properties={"k": 1}), "'k' in 'properties' is not a string"),
        (lambda j: j["snapshots"][0].pop("timestamp-ms"), "'timestamp-ms' is missing"),
        (lambda j: j["snapshots"][0].update({"timestamp-ms": 10**16}), f"'timestamp-ms' is no time: {10**16}."),
        (lambda j: j["snapshot-log"][0].update({"timestamp-ms": 2**63}), "'timestamp-ms' is no time"),
        (lambda j: j.update({"last-updated-ms": -(10**30)}), "'last-updated-ms' is no time"),
        (lambda j: j.pop("format-version"), "'format-version' is missing"),
    ],
)
def test_damage_is_told_with_the_file(damage: Damage, says: str) -> None:
    told = example()
    damage(told)
    with pytest.raises(BergError) as caught:
        TableMetadata.parse(json.dumps(told).encode(), "/wh/db/t/metadata/v3.metadata.json")
    assert caught.value.code is ErrorCode.CORRUPT
    assert "/wh/db/t/metadata/v3.metadata.json" in caught.value.message
    assert says in caught.value.message


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff\xfe", b"\x1f\x8bnothing", gzip.compress(b"{}")[:-6], b'{"a":' * 100_000],
    ids=["empty", "cut", "list", "binary", "no gzip", "cut gzip", "too deep"],
)
def test_a_file_that_is_no_json_is_corrupt(data: bytes) -> None:
    with pytest.raises(BergError) as caught:
        TableMetadata.parse(data, "v1.metadata.json")
    assert caught.value.code is ErrorCode.CORRUPT
    assert "v1.metadata.json" in caught.value.message


def test_a_later_format_version_is_refused_by_name() -> None:
    with pytest.raises(BergError, match=r"v9\.metadata\.json: Iceberg format version 4 is not supported") as caught:
        TableMetadata.parse(json.dumps({**example(), "format-version": 4}).encode(), "v9.metadata.json")
    assert caught.value.code is ErrorCode.UNSUPPORTED


def test_metadata_is_a_value() -> None:
    one, other = TableMetadata.from_json(example()), TableMetadata.from_json(example())
    assert one == other
    assert replace(one, location="/elsewhere") != other


def test_metadata_that_unpacks_to_too_much_is_named() -> None:
    import gzip

    bomb = gzip.compress(bytes(MOST_UNPACKED + 1), 1)
    with pytest.raises(BergError, match=rf"v1.gz.metadata.json is damaged: it has more than {MOST_UNPACKED} bytes"):
        TableMetadata.parse(bomb, "v1.gz.metadata.json")
