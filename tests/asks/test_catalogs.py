"""What people reported of other tools, group H: file-system catalogs. Numbers as in the collection."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.berg import Berg
from tests.support.reference_tables import PLACE, laid_out

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"
JSON = ("--format", "jsonl", "--dialect", "spark")


def rows(berg: Berg, query: str) -> list[dict[str, object]]:
    return berg.answers([CATALOG, query], *JSON)[-1].json_rows()


def run(berg: Berg, *statements: str) -> None:
    for answer in berg.answers([CATALOG, *statements], *JSON):
        assert not answer.errors, answer.errors


@pytest.fixture
def metadata(berg: Berg) -> Path:
    """The metadata folder of the table c.db.t at version 4, with the ids 1, 2 and 3."""
    inserts = [f"INSERT INTO c.db.t VALUES ({n})" for n in (1, 2, 3)]
    run(berg, "CREATE DATABASE c.db", "CREATE TABLE c.db.t (id INT)", *inserts)
    return berg.warehouse / "db" / "t" / "metadata"


@pytest.mark.parametrize("hint", ["1", "", None, "3", "no number"])
def test_57_the_hint_is_only_where_a_reader_starts(hint: str | None, berg: Berg, metadata: Path) -> None:
    """Stale, empty, missing, left behind by a crash, garbage: the newest is read, and the writer mends it."""
    file = metadata / "version-hint.text"
    assert file.read_text() == "4"
    file.unlink()
    if hint is not None:
        file.write_text(hint)
    assert rows(berg, "SELECT id FROM c.db.t ORDER BY id") == [{"id": 1}, {"id": 2}, {"id": 3}]
    run(berg, "INSERT INTO c.db.t VALUES (4)")
    assert rows(berg, "SELECT count(*) AS n, max(id) AS m FROM c.db.t") == [{"n": 4, "m": 4}]
    assert file.read_text() == "5"
    assert sorted(p.name for p in metadata.glob("v*.json")) == [f"v{n}.metadata.json" for n in range(1, 6)]


def test_59_tables_that_java_made(berg: Berg) -> None:
    """Spark's Hadoop tables load as they are, with a hint or without, gzipped or not, whatever the catalog's name."""
    wanted = {"v1_plain": "v1_plain", "gzip_metadata": "gzip_metadata", "v2_cow_update_merge": "v2_cow_update_merge"}
    (berg.warehouse / "db").mkdir()
    laid_out(*wanted)
    for name in wanted:
        (berg.warehouse / "db" / name).symlink_to(PLACE / "fx" / name)
    found = {name: rows(berg, f"SELECT count(*) AS n FROM c.db.{name}") for name in wanted}
    assert all(answer[0]["n"] for answer in found.values())
    assert [row["tableName"] for row in rows(berg, "SHOW TABLES IN c.db")] == sorted(wanted)


@pytest.mark.parametrize("hint", [True, False])
def test_59_metadata_named_by_uuid(hint: bool, berg: Berg, metadata: Path) -> None:
    """As Hive, Glue and REST catalogs leave it: read, and never written, for another catalog points to it."""
    for number in range(1, 5):
        (metadata / f"v{number}.metadata.json").rename(
            metadata / f"{number - 1:05}-0000000{number}-aaaa-4bbb-8ccc-dddddddddddd.metadata.json"
        )
    (metadata / "version-hint.text").unlink()
    if hint:
        (metadata / "version-hint.text").write_text("00003-00000004-aaaa-4bbb-8ccc-dddddddddddd")
    before = sorted(p.name for p in metadata.parent.rglob("*"))
    assert rows(berg, "SELECT id FROM c.db.t ORDER BY id") == [{"id": 1}, {"id": 2}, {"id": 3}]
    (failure,) = berg.answers([CATALOG, "INSERT INTO c.db.t VALUES (4)"], *JSON)[-1].errors
    assert re.search("its metadata files are another catalog's", failure.message)
    assert sorted(p.name for p in metadata.parent.rglob("*")) == before
