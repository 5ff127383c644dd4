"""Iceberg's types and their names."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.type_json import parse_type, type_to_json
from bergsql.catalog.metadata.types import (
    PRIMITIVES,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)


@pytest.mark.parametrize("name", [*PRIMITIVES, "decimal(10, 2)", "fixed[16]", "geometry", "geometry(srid:4326)"])
def test_a_name_is_its_own_json(name: str) -> None:
    parsed = parse_type(name)
    assert str(parsed) == name
    assert type_to_json(parsed) == name
    assert parse_type(name) == parsed
    assert hash(parse_type(name)) == hash(parsed)
    assert pickle.loads(pickle.dumps(parsed)) == parsed


def test_types_of_different_classes_differ() -> None:
    assert IntegerType() != LongType()
    assert len({IntegerType(), IntegerType(), LongType()}) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decimal(9,2)", DecimalType(9, 2)),
        ("decimal( 38 , 38 )", DecimalType(38, 38)),
        ("fixed[ 3 ]", FixedType(3)),
        ("geometry(OGC:CRS84)", GeometryType("OGC:CRS84")),
        ("geography", GeographyType()),
        ("geography(srid:4326)", GeographyType("srid:4326")),
        ("geography(srid:4326, karney)", GeographyType("srid:4326", "karney")),
    ],
)
def test_parameters(text: str, expected: object) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize("json", ["", "integer", "decimal(0, 0)", "decimal(5, 6)", "fixed[x]", 5, None, ["int"], {}])
def test_no_type(json: Any) -> None:
    with pytest.raises(BergError):
        parse_type(json)


def test_nested_types_keep_ids_defaults_and_docs() -> None:
    json: dict[str, Any] = {
        "type": "struct",
        "fields": [
            {
                "id": 1,
                "name": "m",
                "required": True,
                "type": {
                    "type": "map",
                    "key-id": 2,
                    "key": "string",
                    "value-id": 3,
                    "value": {"type": "list", "element-id": 4, "element": "int", "element-required": True},
                    "value-required": False,
                },
                "doc": "数",
                "initial-default": {"keys": [], "values": []},
                "write-default": None,
            }
        ],
    }
    parsed = parse_type(json)
    assert parsed == StructType(
        (
            NestedField(
                1,
                "m",
                MapType(2, StringType(), 3, ListType(4, IntegerType(), True), False),
                required=True,
                doc="数",
                initial_default={"keys": [], "values": []},
            ),
        )
    )
    del json["fields"][0]["write-default"]
    assert type_to_json(parsed) == json
    assert not parsed.is_primitive
    assert str(parsed) == "struct<1: m: required map<string, list<int>>>"
