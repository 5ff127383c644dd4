"""The place columns of a scan: which of the plan's files a row is in, where, and its number in the row lineage."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.table.metadata_columns import (
    PLACE_FILE,
    PLACE_POSITION,
    PLACE_ROW_ID,
    PLACE_UPDATED,
    metadata_fields,
)
from bergsql.engine.table.planning import FilePlan, plan_files
from bergsql.engine.table.predicate import Compare, Op
from bergsql.engine.table.read_point import current
from bergsql.engine.table.scan import TableScan, build_scan
from tests.support.equality_table import Table
from tests.support.reference_tables import PLACE, laid_out

PLACES = frozenset({PLACE_FILE, PLACE_POSITION, PLACE_ROW_ID, PLACE_UPDATED})


def rows(duck: Duck, scan: TableScan) -> list[tuple[object, ...]]:
    cursor = duck.execute(scan.sql, scan.variables)
    try:
        return cursor.fetchall()
    finally:
        duck.done(cursor)


@pytest.mark.parametrize("name", ["v1_partitioned", "v2_mor_update_merge", "v2_avro_pos_deletes", "eq_deletes_avro"])
def test_places_are_those_of_the_metadata_columns(name: str) -> None:
    laid_out(name)
    catalog = HadoopCatalog("c", str(PLACE))
    _agrees(catalog.load_table(TableIdent(("fx",), name)), catalog)


@pytest.mark.parametrize("name", ["v3_deletion_vectors", "v3_defaults"])
def test_rows_of_version_3_are_known_by_their_number(name: str) -> None:
    laid_out(name)
    catalog = HadoopCatalog("c", str(PLACE))
    numbers = _agrees(catalog.load_table(TableIdent(("fx",), name)), catalog)
    assert None not in numbers
    assert len(set(numbers)) == len(numbers)


def _agrees(table: LoadedTable, catalog: HadoopCatalog) -> list[object]:
    """The place columns tell what the metadata columns tell; the rows' numbers are given back."""
    known = metadata_fields(table.metadata).keys() & {"_file", "_pos", "_row_id", "_last_updated_sequence_number"}
    scan = build_scan(table, catalog.storage(), columns=PLACES | known)
    assert [f.name for f in scan.fields][-4:] == [PLACE_FILE, PLACE_POSITION, PLACE_ROW_ID, PLACE_UPDATED]
    found = rows(Duck(), scan)
    assert found
    for file, position, *lineage in found:
        index, place, *numbers = lineage[-4:]
        assert isinstance(index, int)
        assert (scan.plan.tasks[index].data_file.path, position) == (file, place)
        assert lineage[:-4] == (numbers if len(known) == 4 else [])
    return [row[-2] for row in found]


def test_files_of_several_groups_keep_all_their_deletes(tmp_path: Path) -> None:
    """Deletes that meet no wanted row are not read for it, but a rewrite of its file must not bring others back."""
    table = Table(tmp_path)
    for n in range(6):
        table.data(1, [(10 * n + i, "a", i) for i in range(10)], file_format="avro" if n % 2 else "parquet")
    for gone in (3, 31, 35):
        table.delete(2, [1], [(gone,)])
    table.delete_at(2, [(1, 5), (3, 0)])
    loaded = table.loaded()
    wanted = Compare("id", Op.GE, 15)
    scan = build_scan(loaded, LocalStorage(), columns=PLACES | {"id"}, predicate=wanted)
    whole = plan_files(loaded.metadata, current(loaded.metadata), wanted, LocalStorage())
    assert _deletes(scan.plan) == _deletes(whole)
    assert [len(d) for d in _deletes(whole).values()] == [4] * 5
    assert [t.data_file.path for t in scan.plan.tasks] != [*_deletes(whole)]
    found = rows(Duck(), scan)
    assert {row[0] for row in found} == {*range(10, 60)} - {15, 30, 31, 35}
    for number, file, position, *_ in found:
        assert isinstance(number, int)
        assert isinstance(file, int)
        assert scan.plan.tasks[file].data_file.path == table.files[number // 10][1].path
        assert position == number % 10


def _deletes(plan: FilePlan) -> dict[str, list[str]]:
    return {t.data_file.path: [d.data_file.path for d in t.deletes] for t in plan.tasks}
