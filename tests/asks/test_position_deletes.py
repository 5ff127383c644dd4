"""What people reported of other tools, group F: position deletes. Numbers as in the collection."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import LongType
from bergsql.engine.table.datafile import DataFile, FileContent
from tests.support.berg import Berg
from tests.support.foreign import Table, numbered, opt

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"
COLUMNS = [numbered("file_path", pa.string(), 2147483546), numbered("pos", pa.int64(), 2147483545)]


def delete(table: Table, ids: list[int]) -> None:
    """A position delete file of rows, of which each file of the table holds ten."""
    path = table.folder / f"00000-1-{uuid4()}-00001-deletes.parquet"
    columns = [[table.files[i // 10].path for i in ids], [i % 10 for i in ids]]
    pq.write_table(pa.table(columns, schema=pa.schema(COLUMNS)), path)
    size = path.stat().st_size
    table.deletes.append(DataFile(f"file:{path}", len(ids), size, content=FileContent.POSITION_DELETES))


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_44_deletes_over_deletes_are_united(dialect: str, berg: Berg) -> None:
    field = opt(1, "id", LongType())
    table = Table(berg.warehouse / "db" / "t", Schema(0, (field,)))
    (table.folder / "metadata").mkdir(parents=True)
    for start in (0, 10):
        table.write([field], [(start + i,) for i in range(10)], "parquet")
    delete(table, list(range(0, 20, 2)))
    delete(table, [i for i in range(0, 20, 3) if i % 2])
    (table.folder / "metadata" / "v1.metadata.json").write_bytes(table.loaded().metadata.serialize())
    answers = berg.answers([CATALOG, "SELECT id FROM c.db.t ORDER BY id"], "--dialect", dialect, "--format", "jsonl")
    assert not answers[-1].errors
    assert [row["id"] for row in answers[-1].json_rows()] == [1, 5, 7, 11, 13, 17, 19]
