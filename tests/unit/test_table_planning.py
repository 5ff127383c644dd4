"""Plans: which manifests are opened, which files are read and in what order, which delete files apply to which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestContent
from bergsql.engine.table.delete_index import DELETE_FILE_PATH_ID
from bergsql.engine.table.planning import FilePlan, plan_files
from bergsql.engine.table.predicate import Compare, Op, Predicate
from bergsql.engine.table.read_point import ReadPoint, current
from tests.support.planned import BY_P, PLAIN, VOID, Manifest, data, entry, metadata


def plan(table: TableMetadata, predicate: Predicate | None = None) -> FilePlan:
    return plan_files(table, current(table), predicate, LocalStorage())


def paths(found: FilePlan) -> list[str]:
    return [t.data_file.path for t in found.tasks]


def applied(found: FilePlan) -> dict[str, list[str]]:
    return {t.data_file.path: [d.data_file.path for d in t.deletes] for t in found.tasks}


def test_no_snapshot(tmp_path: Path) -> None:
    table = metadata(tmp_path)
    assert plan_files(table, ReadPoint(None, table.schema), Compare("p", Op.EQ, "y"), LocalStorage()) == FilePlan()
    assert plan(table) == FilePlan()


def test_oldest_first_and_counts(tmp_path: Path) -> None:
    late = Manifest(BY_P, [entry(data("/c", "x"), 5), entry(data("/d", "y"), 5)])
    early = Manifest(
        BY_P, [entry(data("/a", "x"), 2), entry(data("/gone", "x"), 2, EntryStatus.DELETED), entry(data("/b", "y"), 3)]
    )
    table = metadata(tmp_path, late, early)
    assert paths(plan(table)) == ["/a", "/b", "/c", "/d"]
    found = plan(table, Compare("p", Op.EQ, "y"))
    assert paths(found) == ["/b", "/d"]
    assert replace(found, tasks=()) == FilePlan((), 2, 2, 4, 2, 200, pruned_by=(("partition p", 2),))


def test_pruned_and_dead_manifests_are_not_opened(tmp_path: Path) -> None:
    other = Manifest(BY_P, [entry(data("/a", "x"), 2)])
    dead = Manifest(BY_P, [entry(data("/b", "y"), 2, EntryStatus.DELETED)])
    deletes = Manifest(BY_P, [entry(data("/c", "y"), 2)], ManifestContent.DELETES)
    table = metadata(tmp_path, other, dead, deletes, missing=[0, 1, 2])
    found = plan(table, Compare("p", Op.EQ, "y"))
    assert replace(found, tasks=()) == FilePlan((), 1, 0, 1, pruned_by=(("partition p", 1),))
    with pytest.raises(BergError, match="is missing") as caught:
        plan(table)
    assert caught.value.code is ErrorCode.NOT_FOUND


def test_manifests_are_decoded_once(tmp_path: Path) -> None:
    table = metadata(tmp_path, Manifest(BY_P, [entry(data("/a", "x"), 2)]))
    first = plan(table)
    for file in tmp_path.iterdir():
        file.unlink()
    assert plan(table) == first


def position(path: str, p: str | None, spec: PartitionSpec = BY_P, low: str = "", high: str = "") -> DataFile:
    lower = {DELETE_FILE_PATH_ID: low.encode()} if low else {}
    upper = {DELETE_FILE_PATH_ID: high.encode()} if high else {}
    content = FileContent.POSITION_DELETES
    return replace(data(path, p, spec), content=content, lower_bounds=lower, upper_bounds=upper)


def equality(path: str, p: str | None, spec: PartitionSpec = BY_P) -> DataFile:
    return replace(data(path, p, spec), content=FileContent.EQUALITY_DELETES, equality_ids=(1,))


def test_position_deletes_reach_their_own_commit_and_partition(tmp_path: Path) -> None:
    files = [
        entry(data("/x3", "x"), 3),
        entry(data("/x4", "x"), 4),
        entry(data("/x5", "x"), 5),
        entry(data("/y", "y"), 3),
    ]
    deletes = [entry(position("/d4", "x"), 4)]
    table = metadata(tmp_path, Manifest(BY_P, files), Manifest(BY_P, deletes, ManifestContent.DELETES))
    found = plan(table)
    assert applied(found) == {"/x3": ["/d4"], "/y": [], "/x4": ["/d4"], "/x5": []}
    assert found.delete_files == 1


def test_equality_deletes_reach_older_files_only(tmp_path: Path) -> None:
    files = [entry(data("/x3", "x"), 3), entry(data("/x4", "x"), 4), entry(data("/y", "y"), 3)]
    deletes = [entry(equality("/e4", "x"), 4)]
    table = metadata(tmp_path, Manifest(BY_P, files), Manifest(BY_P, deletes, ManifestContent.DELETES))
    assert applied(plan(table)) == {"/x3": ["/e4"], "/y": [], "/x4": []}


@pytest.mark.parametrize("spec", [PLAIN, VOID], ids=["no fields", "void fields"])
def test_equality_deletes_without_partition_reach_everything(spec: PartitionSpec, tmp_path: Path) -> None:
    files = [entry(data("/x", "x"), 3), entry(data("/null", None), 3)]
    global_ = entry(equality("/e", None, spec), 4)
    table = metadata(
        tmp_path,
        Manifest(BY_P, files),
        Manifest(PLAIN, [entry(data("/plain", spec=PLAIN), 3)]),
        Manifest(spec, [global_], ManifestContent.DELETES),
    )
    assert applied(plan(table)) == {"/x": ["/e"], "/null": ["/e"], "/plain": ["/e"]}


def test_position_deletes_of_one_spec_do_not_reach_another(tmp_path: Path) -> None:
    table = metadata(
        tmp_path,
        Manifest(BY_P, [entry(data("/null", None), 3)]),
        Manifest(PLAIN, [entry(data("/plain", spec=PLAIN), 3)]),
        Manifest(PLAIN, [entry(position("/d", None, PLAIN), 4)], ManifestContent.DELETES),
    )
    assert applied(plan(table)) == {"/null": [], "/plain": ["/d"]}


def test_the_file_that_deletes_name(tmp_path: Path) -> None:
    """By reference, by equal bounds, by bounds that leave it out."""
    files = [entry(data(f"/x{i}", "x"), 3) for i in range(5)]
    vector = replace(position("/dv", "x"), referenced_data_file="/x1", format="PUFFIN")
    deletes = [
        entry(vector, 4),
        entry(position("/one", "x", low="/x2", high="/x2"), 4),
        entry(position("/some", "x", low="/x3", high="/x4"), 4),
        entry(position("/from", "x", low="/x4"), 4),
    ]
    table = metadata(tmp_path, Manifest(BY_P, files), Manifest(BY_P, deletes, ManifestContent.DELETES))
    assert applied(plan(table)) == {
        "/x0": [],
        "/x1": ["/dv"],
        "/x2": ["/one"],
        "/x3": ["/some"],
        "/x4": ["/some", "/from"],
    }
