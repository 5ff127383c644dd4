"""Spark reads the warehouse of our default_catalog, which keeps a file of its own in every database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.conftest import Both
from tests.support.berg import fresh_berg

pytestmark = pytest.mark.interop


def test_spark_lists_and_reads_the_default_catalog(both: Both, tmp_path: Path) -> None:
    warehouse = tmp_path / "ours"
    with fresh_berg("--warehouse", str(warehouse), "--dialect", "spark") as berg:
        done = berg.run(
            "-e",
            "CREATE DATABASE shop COMMENT 'all of it' WITH DBPROPERTIES ('k' = 'v');"
            "CREATE TABLE shop.sold (id INT, place STRING) USING iceberg PARTITIONED BY (place);"
            "INSERT INTO shop.sold VALUES (1, 'Ulm'), (2, 'Bonn');"
            "CREATE TABLE here (id INT) USING iceberg",
        )
        assert done.code == 0, done.err
        assert (warehouse / "shop" / ".database.json").exists()
        both.spark.add_catalog("ours", warehouse)
        assert sorted(both.spark.rows("SHOW NAMESPACES IN ours")) == [["default_database"], ["shop"]]
        assert both.spark.rows("SHOW TABLES IN ours.shop") == [["shop", "sold", False]]
        assert both.spark.rows("SELECT id, place FROM ours.shop.sold ORDER BY id") == [[1, "Ulm"], [2, "Bonn"]]
        both.spark.sql("INSERT INTO ours.shop.sold VALUES (3, 'Köln')")
        read = berg.run("--format", "csv", "-e", "SELECT COUNT(*) AS n FROM shop.sold")
        assert read.out.splitlines() == ["n", "3"], read.err
