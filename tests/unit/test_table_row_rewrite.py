"""Changes of rows become files, in both modes: what the table then holds, and what goes with it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    UpgradeFormatVersion,
)
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import DESC, NULLS_LAST, SortBy, build_order
from bergsql.catalog.metadata.transforms import IDENTITY, Transform, TransformKind, bucket
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StringType
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.row_delta import RowDelta
from bergsql.engine.table.row_level_properties import Mode, RowLevelProperties
from tests.support.changer import Changer
from tests.support.foreign import numbered
from tests.support.tables import Columns, Tables

COW, MOR = Mode.COPY_ON_WRITE, Mode.MERGE_ON_READ
CASES = [(1, COW), (2, COW), (2, MOR), (3, COW), (3, MOR)]
ID_NAME: Columns = {"id": "long", "name": "string"}
ROWS = "SELECT i, 'n' || i FROM range({}, {}) AS r(i)"


def filled(tables: Tables, version: int, files: int = 3, **how: Any) -> None:
    """A table of ten rows a file, ids counted through."""
    tables.create(ID_NAME, version=version, **how)
    for i in range(files):
        tables.insert(ROWS.format(10 * i, 10 * i + 10))


@pytest.fixture(params=CASES, ids=[f"v{v}-{m}" for v, m in CASES])
def case(request: pytest.FixtureRequest, tables: Tables) -> tuple[int, Changer]:
    version, mode = request.param
    return version, Changer(tables, mode)


# --- what the table holds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_rows_go_change_and_come(case: tuple[int, Changer], file_format: str, tables: Tables) -> None:
    version, changer = case
    filled(tables, version, properties={"write.format.default": file_format})
    model: dict[int, str | None] = {i: f"n{i}" for i in range(30)}
    for where, updated, inserted in (
        (lambda i: i % 4 == 1, False, 0),
        (lambda i: i % 5 == 2, True, 1),
        (lambda i: i in (3, 100), True, 1),
        (lambda i: i < 10, False, 0),
        (lambda i: i == 1000, True, 0),
        (lambda i: i >= 0, True, 1),
    ):
        fresh = 100 + len(model)
        taken = [i for i in model if where(i)]
        changer.change(
            f"id IN ({', '.join(map(str, [*taken, -1]))})",
            {"name": "name || '!'"} if updated else None,
            f"SELECT CAST({fresh} AS BIGINT), NULL" if inserted else "",
        )
        for i in taken:
            if updated:
                model[i] = None if (name := model[i]) is None else f"{name}!"
            else:
                del model[i]
        if inserted:
            model[fresh] = None
        assert changer.read() == sorted(model.items())


def test_nested_columns(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    deep = {
        "type": "struct",
        "fields": [
            {"id": 90, "name": "x", "type": "int", "required": False},
            {
                "id": 91,
                "name": "l",
                "required": False,
                "type": {"type": "list", "element-id": 92, "element": "string", "element-required": False},
            },
        ],
    }
    words = {"type": "map", "key-id": 93, "key": "string", "value-id": 94, "value": "int", "value-required": False}
    tables.create({"id": "long", "s": deep, "m": words}, version=version)
    tables.insert("SELECT i, {'x': i::INT, 'l': ['a', NULL]}, MAP {'k': i::INT} FROM range(4) r(i)")
    changer.change("id = 1", {"s": "{'x': NULL::INT, 'l': NULL::VARCHAR[]}", "m": "NULL"})
    changer.change("id = 3")
    one = {"k": 0}
    two = {"k": 2}
    assert changer.read() == [
        (0, {"x": 0, "l": ["a", None]}, one),
        (1, {"x": None, "l": None}, None),
        (2, {"x": 2, "l": ["a", None]}, two),
    ]


def test_partitions_of_nan_zero_and_null(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    tables.create({"id": "long", "p": "double"}, [("p", IDENTITY)], version=version)
    values = ["'nan'::DOUBLE", "-0.0::DOUBLE", "0.0::DOUBLE", "NULL::DOUBLE", "1.5"]
    for n in (0, 10):
        tables.insert(" UNION ALL ".join(f"SELECT {i + n}::BIGINT, {v}" for i, v in enumerate(values)))
    changer.change("id IN (0, 1, 2, 3)", {"id": "id + 100"})
    changer.change("id >= 10 AND id < 100")
    found = changer.read()
    assert [i for i, _ in found] == [4, 100, 101, 102, 103]
    by_id = dict(found)
    assert math.isnan(by_id[100])
    assert math.copysign(1, by_id[101]) == -1
    assert math.copysign(1, by_id[102]) == 1
    assert by_id[103] is None


def test_a_file_all_of_whose_rows_go_is_only_dropped(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    filled(tables, version)
    files = changer.change("id < 10 OR id = 15")
    assert len(files.removed) == (2 if changer.mode is COW else 1)
    assert len(files.deletes) == (0 if changer.mode is COW else 1)
    assert files.rows_deleted == 11
    assert files.rows_written == (9 if changer.mode is COW else 0)
    # What was deleted before counts too; and nothing stays that is about a file that is gone.
    files = changer.change("id BETWEEN 10 AND 19")
    assert [f.record_count for f in files.removed] == [9 if changer.mode is COW else 10]
    assert not files.added
    assert not files.deletes
    assert len(files.removed_deletes) == (0 if changer.mode is COW else 1)
    assert all(f.content == FileContent.DATA for f in tables.files())
    assert [i for i, _ in changer.read()] == list(range(20, 30))


def test_a_file_is_not_dropped_on_the_word_of_its_manifest(tables: Tables) -> None:
    """Of a file that some writer counted wrong, the other rows stay."""
    filled(tables, 2, files=0)
    table = tables.load()
    written = tables.write(table, ROWS.format(0, 10))
    wrong = [replace(f, record_count=3) for f in written.files]
    tables.commit(table, RowDelta(wrong))
    for mode in (MOR, COW):
        changer = Changer(tables, mode)
        files = changer.change(f"id < {3 if mode is MOR else 5}")
        assert len(files.removed) == (mode is COW)
        assert len(changer.read()) == (7 if mode is MOR else 5)


def test_whole_files_go_beside_the_rows(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    filled(tables, version)
    if changer.mode is MOR:
        changer.change("id = 3")
    table = tables.load()
    with changer.collect("id = 13") as changes:
        first = next(t for t in changes.tasks if t.data_file.record_count == 10 and _holds(changer, t.data_file, 0))
        files = changer.write(changes, whole=[first])
    changer.commit(table, files)
    assert len(files.removed_deletes) == (changer.mode is MOR)
    assert [i for i, _ in changer.read()] == [i for i in range(10, 30) if i != 13]


def _holds(changer: Changer, file: DataFile, number: int) -> bool:
    path = changer.tables.storage.local_path(file.path)
    return number in pq.read_table(path, columns=["id"])["id"].to_pylist()


def test_nothing_to_do_writes_nothing(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    filled(tables, version)
    before = tables.on_disk()
    with changer.collect("false", {"name": "name"}) as changes:
        files = changer.write(changes)
    assert files.nothing
    assert tables.on_disk() == before


# --- evolved tables ---------------------------------------------------------------------------------------------------


def test_rows_of_older_schemas_and_specs(case: tuple[int, Changer], tables: Tables) -> None:
    """Files that lack columns, and lie in partitions of an older spec, are rewritten under the newest."""
    version, changer = case
    filled(tables, version, by=[("name", bucket(2))])
    if changer.mode is MOR:
        changer.change("id = 1")
    table = tables.load()
    default = 7 if version >= 3 else None
    wider = Schema(
        1,
        (
            NestedField(3, "added", IntegerType(), False, initial_default=default),
            NestedField(2, "called", StringType(), False),
            NestedField(1, "id", LongType(), False),
        ),
    )
    old_field = PartitionField(2, 1000, "name_bucket", Transform(TransformKind.VOID))
    spec = PartitionSpec(0, (old_field, PartitionField(1, 1001, "id_bucket", bucket(3))))
    changes = [AddSchema(wider), SetCurrentSchema(), AddPartitionSpec(spec), SetDefaultSpec()]
    tables.catalog.commit(table, changes)
    old = {f.path for f in tables.files()}
    files = changer.change("id IN (5, 6, 25)", {"called": "'new'"}, "SELECT 1::INT, 'x', 200::BIGINT")
    assert {f.spec_id for f in files.added} == {1}
    assert {f.spec_id for f in files.deletes} <= {0}
    assert {f.path for f in files.removed} <= old
    expected = [(default, "new" if i in (5, 6, 25) else f"n{i}", i) for i in range(30)]
    if changer.mode is MOR:
        del expected[1]
    assert changer.read(order="id") == [*expected, (1, "x", 200)]
    changer.change("id < 28")
    assert changer.read(order="id") == [*expected[-2:], (1, "x", 200)]


def test_rows_are_written_with_the_schema_that_is_to_come(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    filled(tables, version)
    table = tables.load()
    schema = Schema(1, (*table.metadata.schema.fields, NestedField(3, "more", LongType(), False)))
    with changer.collect("id = 5", {"id": "id", "name": "name || '!', 50::BIGINT"}) as changes:
        files = changer.write(changes, schema=schema)
    delta = RowDelta(files.added, files.deletes, files.removed, files.removed_deletes)
    tables.catalog.commit(table, [AddSchema(schema), SetCurrentSchema()])
    tables.commit(tables.load(), delta)
    expected: list[tuple[object, ...]] = [(i, f"n{i}", None) for i in range(30)]
    expected[5] = (5, "n5!", 50)
    assert changer.read() == expected


def test_sort_order_and_target_size(tables: Tables) -> None:
    properties = {"write.target-file-size-bytes": "60000", "write.parquet.row-group-size-bytes": "20000"}
    table = tables.create({"id": "long", "name": "string"}, properties=properties)
    order = build_order(table.metadata.schema, [SortBy("id", IDENTITY, DESC, NULLS_LAST)])
    tables.insert("SELECT hash(i) % 1000000, md5(i::VARCHAR) FROM range(20000) r(i)")
    tables.catalog.commit(tables.load(), [AddSortOrder(order), SetDefaultSortOrder()])
    files = Changer(tables, COW).change("id % 10 = 0", {"name": "'x' || name"})
    assert len(files.added) > 3
    for f in files.added:
        ids = pq.read_table(tables.storage.local_path(f.path), columns=["id"])["id"].to_pylist()
        assert ids == sorted(ids, reverse=True)
        assert f.sort_order_id == 1
    assert len(Changer(tables, COW).read()) == 20000


# --- deletes that are there already -----------------------------------------------------------------------------------


def equality_delete(tables: Tables, ids: list[int]) -> None:
    """Commit an equality delete file by hand."""
    folder = tables.warehouse / "db" / "t" / "data"
    path = folder / f"eq-{'-'.join(map(str, ids))}.parquet"
    schema = pa.schema([numbered("id", pa.int64(), 1)])
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}, schema=schema), path)
    content = FileContent.EQUALITY_DELETES
    described = DataFile(f"file:{path}", len(ids), path.stat().st_size, content=content, equality_ids=(1,))
    tables.commit(tables.load(), RowDelta((), [described]))


@pytest.mark.parametrize("first", [COW, MOR])
@pytest.mark.parametrize("second", [COW, MOR])
@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_and_deletes_by_place_together(
    first: Mode, second: Mode, version: int, tables: Tables
) -> None:
    filled(tables, version)
    equality_delete(tables, [0, 10, 11])
    changer = Changer(tables, first)
    changer.change("id IN (1, 12, 20)")
    equality_delete(tables, [2, 21])
    gone = {0, 1, 2, 10, 11, 12, 20, 21}
    assert [i for i, _ in changer.read()] == [i for i in range(30) if i not in gone]
    changer.mode = second
    changer.change("id IN (3, 22)", {"name": "'kept'"})
    changer.change("id BETWEEN 13 AND 19")
    gone |= set(range(13, 20))
    assert [i for i, _ in changer.read()] == [i for i in range(30) if i not in gone]


def test_deletes_of_whole_partitions_stay_and_those_of_one_file_go(tables: Tables) -> None:
    filled(tables, 2, files=2)
    by_partition = {"write.delete.granularity": "partition"}
    changer = Changer(tables, MOR)
    files = changer.change("id % 10 = 1", properties=by_partition)
    assert len(files.deletes) == 1
    assert files.deletes[0].referenced_data_file is None
    files = changer.change("id = 2")
    (of_one,) = files.deletes
    assert not files.removed_deletes
    files = changer.change("id = 3")
    assert [f.path for f in files.removed_deletes] == [of_one.path]
    assert files.deletes[0].record_count == 2
    changer.mode = COW
    files = changer.change("id = 4")
    assert len(files.removed_deletes) == 1
    assert [i for i, _ in changer.read()] == [i for i in range(20) if i not in (1, 2, 3, 4, 11)]


def test_old_position_deletes_are_folded_into_vectors(tables: Tables) -> None:
    """A table of version 2 with deletes of both kinds becomes one of version 3: beside a vector, they do not count."""
    filled(tables, 2, files=2)
    changer = Changer(tables, MOR)
    changer.change("id IN (1, 11)", properties={"write.delete.granularity": "partition"})
    changer.change("id = 2")
    tables.catalog.commit(tables.load(), [UpgradeFormatVersion(3)])
    files = changer.change("id = 3")
    assert [(f.format, f.record_count) for f in files.deletes] == [("PUFFIN", 3)]
    assert [f.record_count for f in files.removed_deletes] == [1]
    assert [i for i, _ in changer.read()] == [i for i in range(20) if i not in (1, 2, 3, 11)]
    files = changer.change("id = 4")
    assert [(f.format, f.record_count) for f in files.deletes] == [("PUFFIN", 4)]
    assert [f.format for f in files.removed_deletes] == ["PUFFIN"]
    changer.mode = COW
    files = changer.change("id = 5")
    assert [f.format for f in files.removed_deletes] == ["PUFFIN"]
    assert [i for i, _ in changer.read()] == [i for i in range(20) if i not in (1, 2, 3, 4, 5, 11)]


# --- row lineage ------------------------------------------------------------------------------------------------------

LINEAGE = ["id", "_row_id", "_last_updated_sequence_number"]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_rows_keep_their_numbers(mode: Mode, file_format: str, tables: Tables) -> None:
    filled(tables, 3, files=2, properties={"write.format.default": file_format})
    changer = Changer(tables, mode)
    changer.change("id IN (3, 13)", {"name": "'x'"}, "SELECT 100::BIGINT, 'new'")
    lineage = {i: (number, updated) for i, number, updated in changer.read(LINEAGE)}
    new = lineage.pop(100)
    updated = {3: 3, 13: 3}
    assert lineage == {i: (i, updated.get(i, 1 + i // 10)) for i in range(20)}
    assert new[0] >= 20
    assert new[1] == 3
    changer.change("id IN (5, 13)", {"name": "'y'"})
    updated |= {5: 4, 13: 4}
    lineage = {i: (number, seen) for i, number, seen in changer.read(LINEAGE)}
    assert lineage.pop(100) == new
    assert lineage == {i: (i, updated.get(i, 1 + i // 10)) for i in range(20)}
    numbers = [r[1] for r in changer.read(LINEAGE)]
    assert len(set(numbers)) == len(numbers)


def test_new_rows_alone_are_written_without_numbers(tables: Tables) -> None:
    filled(tables, 3, files=1)
    changer = Changer(tables, MOR)
    files = changer.change("false", inserted="SELECT 100::BIGINT, 'new'")
    assert pq.read_schema(tables.storage.local_path(files.added[0].path)).names == ["id", "name"]
    files = changer.change("id = 1", {"name": "'x'"})
    names = pq.read_schema(tables.storage.local_path(files.added[0].path)).names
    assert names == ["id", "name", "_row_id", "_last_updated_sequence_number"]


def test_a_column_may_be_called_as_the_number_is(tables: Tables) -> None:
    tables.create({"id": "long", "_row_id": "string"}, version=3)
    tables.insert("SELECT i, 'own' || i FROM range(3) r(i)")
    changer = Changer(tables, COW)
    changer.change("id = 0")
    assert changer.read() == [(1, "own1"), (2, "own2")]


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_leaves_no_file(case: tuple[int, Changer], tables: Tables) -> None:
    version, changer = case
    tables.create({"id!": "long", "name": "string"}, version=version)
    for i in range(3):
        tables.insert(ROWS.format(10 * i, 10 * i + 10))
    before = tables.on_disk()
    with changer.collect("id % 7 = 1", {"id": "NULL"}) as changes, pytest.raises(BergError, match="NOT NULL"):
        changer.write(changes)
    assert tables.on_disk() == before
    with changer.collect("id % 7 = 1", {"name": "name"}) as changes:
        os.truncate(tables.storage.local_path(changes.tasks[0].data_file.path), 100)
        if changer.mode is COW:
            with pytest.raises((BergError, duckdb.Error)):
                changer.write(changes)
            assert tables.on_disk() == before


@pytest.mark.parametrize("mode", list(Mode))
def test_an_interruption_leaves_no_file(mode: Mode, tables: Tables) -> None:
    filled(tables, 2)
    before = tables.on_disk()
    changer = Changer(tables, mode)
    storage = tables.storage
    for step in range(1, 40):
        calls = _interrupted_at(step, tables, storage)
        next(calls)
        with changer.collect("id % 7 = 1", {"name": "name"}) as changes:
            try:
                changer.write(changes)
            except KeyboardInterrupt:
                next(calls)
                assert tables.on_disk() == before
                continue
        next(calls)
        break
    assert step >= 5


def _interrupted_at(step: int, tables: Tables, storage: Any) -> Iterator[None]:
    """What the storage is asked to change for the ``step``-th time, Ctrl-C answers."""

    class Interrupted:
        left = step

        def __getattr__(self, name: str) -> Any:
            method = getattr(storage, name)
            if name not in ("rename", "mkdir", "write_new", "delete_tree"):
                return method

            def called(*args: Any, **how: Any) -> Any:
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt
                return method(*args, **how)

            return called

    tables.storage = Interrupted()
    yield
    tables.storage = storage
    yield


# --- properties -------------------------------------------------------------------------------------------------------


def test_version_1_has_no_delete_files(tables: Tables) -> None:
    with pytest.raises(BergError, match=r"'write\.update\.mode' is 'merge-on-read'") as raised:
        RowLevelProperties.of({"write.update.mode": "merge-on-read"}, "update", 1)
    assert raised.value.code is ErrorCode.OPTION
    assert raised.value.hint == "Set 'write.update.mode' to 'copy-on-write', or 'format-version' to '2'."
    assert RowLevelProperties.of({"write.update.mode": "merge-on-read"}, "delete", 1).mode is COW
    filled(tables, 1)
    changer = Changer(tables, MOR)
    with changer.collect("id = 1") as changes, pytest.raises(BergError, match="version 1"):
        changer.write(changes)


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("write.delete.mode", "merge-on-write", "copy-on-write, merge-on-read"),
        ("write.delete.isolation-level", "none", "serializable, snapshot"),
        ("write.distribution-mode", "hashed", "none, hash, range"),
        ("write.merge.distribution-mode", "sort", "none, hash, range"),
    ],
)
def test_wrong_values_are_refused_by_name(key: str, value: str, takes: str) -> None:
    with pytest.raises(BergError) as raised:
        RowLevelProperties.of({key: value}, "delete", 2)
    assert raised.value.message == f"The table property '{key}' is '{value}': it takes {takes}."


def test_defaults() -> None:
    found = RowLevelProperties.of({"write.merge.mode": "MERGE-ON-READ"}, "merge", 2)
    assert (found.mode, found.isolation) == (MOR, "serializable")
    assert RowLevelProperties.of({}, "merge", 2).mode is COW


def test_a_partition_column_that_is_gone(case: tuple[int, Changer], tables: Tables) -> None:
    """Delete files lie in the partitions of their data files, also where the column that made these was dropped."""
    version, changer = case
    filled(tables, version, by=[("name", bucket(2))])
    void = PartitionSpec(0, (PartitionField(2, 1000, "name_bucket", Transform(TransformKind.VOID)),))
    tables.catalog.commit(tables.load(), [AddPartitionSpec(void), SetDefaultSpec()])
    narrow = Schema(1, (NestedField(1, "id", LongType(), False),))
    tables.catalog.commit(tables.load(), [AddSchema(narrow), SetCurrentSchema()])
    changer.change("id % 10 = 1")
    changer.change("id % 10 = 2", {"id": "id + 100"}, "SELECT 200::BIGINT")
    left = [i for i in range(30) if i % 10 not in (1, 2)]
    assert [i for (i,) in changer.read()] == [*left, 102, 112, 122, 200]
    changer.change("id < 200")
    assert changer.read() == [(200,)]


@pytest.mark.parametrize("mode", list(Mode))
def test_more_files_than_have_a_branch_of_their_own(mode: Mode, tables: Tables) -> None:
    tables.create({"id": "long", "p": "int"}, [("p", IDENTITY)])
    tables.insert("SELECT i, (i % 150)::INT FROM range(1500) r(i)")
    changer = Changer(tables, mode)
    changer.change("id % 7 = 1")
    changer.change("id % 7 = 2", {"p": "p + 1"})
    expected = sorted((i, i % 150 + (i % 7 == 2)) for i in range(1500) if i % 7 != 1)
    assert changer.read() == expected
