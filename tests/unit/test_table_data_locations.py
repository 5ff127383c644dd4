"""Where data files go, as PyIceberg and Java say."""

from __future__ import annotations

import pytest
from pyiceberg.table.locations import ObjectStoreLocationProvider

from bergsql.engine.table.data_locations import data_file_location
from bergsql.engine.table.properties import WriteProperties

NAMES = ["a", "00000-0-2b6d3b6e-9d43-4b6a-9a7a-000000000000-00001.parquet", "", "grün.parquet", *map(str, range(200))]
HASHED = {"write.object-storage.enabled": "true"}
FLAT = {**HASHED, "write.object-storage.partitioned-paths": "false"}


def location(properties: dict[str, str], partition: str, name: str, table: str = "/wh/db/t") -> str:
    return data_file_location(WriteProperties.of(properties, table), partition, name)


@pytest.mark.parametrize("properties", [HASHED, FLAT, {**HASHED, "write.data.path": "/wh/db/t/d"}])
def test_hashed_as_pyiceberg_hashes(properties: dict[str, str]) -> None:
    provider = ObjectStoreLocationProvider("/wh/db/t", properties)
    for name in NAMES:
        assert location(properties, "", name) == provider.new_data_location(name)


def test_the_partition_is_hashed_with_the_name_or_left_out() -> None:
    assert location(HASHED, "a=1/b=2", "f") == ObjectStoreLocationProvider("/wh/db/t", {}).new_data_location(
        "a=1/b=2/f"
    )
    assert location(FLAT, "a=1/b=2", "f") == location(FLAT, "", "f")


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"write.data.path": "/o"}, "/o/a=1/f"),
        ({"write.folder-storage.path": "/o"}, "/o/a=1/f"),
        ({"write.object-storage.path": "/o"}, "/wh/db/t/data/a=1/f"),
        # Database and table name themselves where the hash is not below them.
        ({**HASHED, "write.object-storage.path": "/o"}, "/o/1111/0111/0011/01011000/db/t/a=1/f"),
        (
            {**HASHED, "write.object-storage.path": "/o", "write.data.path": "/p"},
            "/p/1111/0111/0011/01011000/db/t/a=1/f",
        ),
        ({**FLAT, "write.data.path": "/p"}, "/p/0100/1000/1000/00111011-f"),
        ({}, "/wh/db/t/data/a=1/f"),
    ],
)
def test_the_directory(properties: dict[str, str], expected: str) -> None:
    assert location(properties, "a=1", "f") == expected
