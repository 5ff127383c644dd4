"""Equality deletes delete the rows that the specification says, whatever became of their columns ("Scan Planning")."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import IDENTITY
from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    ListType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    UUIDType,
)
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.table.file_columns import NAME_MAPPING
from bergsql.engine.table.predicate import Compare, In, IsNan, IsNull, Not, NotNull, Op, Predicate, StartsWith, any_of
from bergsql.engine.table.scan import build_scan
from tests.support.equality_table import CAT, FORMATS, ID, INT, LONG, TEXT, Row, Table, V, opt, with_schemas
from tests.support.history.random_predicate import holds


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return Table(tmp_path, file_format=request.param)


# --- what is deleted --------------------------------------------------------------------------------------------------


def test_rows_of_older_files_only(table: Table) -> None:
    """Strictly older: what the delete's own commit wrote stays."""
    table.data(1, [(1, "a", 1), (2, "b", 2)])
    table.data(2, [(1, "same commit", 3)])
    table.data(3, [(1, "later", 4)])
    table.delete(2, [1], [(1,)])
    assert table.rows() == [(1, "later", 4), (1, "same commit", 3), (2, "b", 2)]


def test_each_delete_file_by_its_own_columns(table: Table) -> None:
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "d", 4), (5, "d", 5)])
    table.delete(2, [1], [(1,)])
    table.delete(3, [2], [("b",)])
    table.delete(4, [2, 1], [("d", 4), ("c", 9)], fields=[CAT, ID])
    assert table.rows() == [(3, "c", 3), (5, "d", 5)]


def test_null_deletes_null_and_nothing_else(table: Table) -> None:
    table.data(1, [(1, None, 1), (2, "a", 2), (None, None, 3), (None, "b", 4)])
    table.delete(2, [2], [(None,)])
    assert table.rows() == [(None, "b", 4), (2, "a", 2)]
    table.delete(3, [1, 2], [(None, "x"), (2, None)])
    assert table.rows() == [(None, "b", 4), (2, "a", 2)]
    table.delete(4, [1, 2], [(None, "b")])
    assert table.rows() == [(2, "a", 2)]


def test_key_neither_selected_nor_filtered(table: Table) -> None:
    table.data(1, [(1, "a", 1), (2, "b", 2)])
    table.delete(2, [1], [(1,)])
    assert table.rows("v") == [(2,)]
    assert table.rows("cat", where="cat <> 'z'") == [("b",)]


def test_delete_files_with_all_columns_compare_the_keys_alone(table: Table) -> None:
    """As Flink's retractions."""
    table.data(1, [(1, "a", 1), (2, "b", 2)])
    table.delete(2, [1], [(1, "other", 77)], fields=[ID, CAT, V])
    assert table.rows() == [(2, "b", 2)]
    assert table.rows(predicate=Compare("cat", Op.EQ, "a"), where="cat = 'a'") == []
    assert table.rows(predicate=Compare("v", Op.LT, 5), where="v < 5") == [(2, "b", 2)]


def test_key_deleted_and_written_again_many_times(table: Table) -> None:
    for n in range(1, 8):
        table.data(n, [(1, f"at {n}", n)])
        table.delete(n, [1], [(1,)])
    assert table.rows() == [(1, "at 7", 7)]


def test_formats_side_by_side(tmp_path: Path) -> None:
    table = Table(tmp_path)
    for n, (data, delete) in enumerate(zip(FORMATS, FORMATS[1:] + FORMATS[:1], strict=True)):
        table.data(1, [(n, "old", n), (n + 10, "old", n)], file_format=data)
        table.delete(2, [1], [(n,)], file_format=delete)
    assert table.rows("id") == [(10,), (11,), (12,)]


def test_duplicates_and_empty_delete_files(table: Table) -> None:
    table.data(1, [(1, "a", 1), (1, "a", 1), (2, "b", 2)])
    table.delete(2, [1], [(1,), (1,)])
    table.delete(3, [1], [(1,)])
    table.delete(4, [1], [])
    assert table.rows() == [(2, "b", 2)]


def test_deleted_rows_stay_when_their_mark_is_selected(table: Table) -> None:
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, None, 3)])
    table.data(2, [(1, "later", 4)])
    table.delete(2, [1], [(1,)])
    table.delete(2, [2], [(None,), ("b",)])
    table.delete(2, [1, 2], [(1, "a")])
    marks = {1: True, 2: True, 3: True, 4: False}
    assert table.rows("v", "_deleted") == sorted(marks.items())
    assert table.rows("_deleted", "_pos", where="NOT _deleted") in ([(0, False)], [(False, 0)])


def test_together_with_position_deletes_of_the_same_file(table: Table) -> None:
    """As Flink's upserts: by key for what was there before, by position inside of the commit."""
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, "c", 3)])
    table.data(2, [(1, "a", 4), (1, "a", 5), (4, "d", 6)])
    table.delete(2, [1], [(1,)])
    table.delete_at(2, [(1, 0)])
    table.delete_at(3, [(0, 2), (1, 2)])
    assert table.rows("v") == [(2,), (5,)]
    assert table.rows("v", "_deleted") == [(1, True), (2, False), (3, True), (4, True), (5, False), (6, True)]


def test_the_second_scan_knows_the_places(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(n, "a", n) for n in range(9)])
    table.data(1, [(n, "b", n) for n in range(70)])
    table.delete(2, [1], [(8,), (69,)])
    loaded, duck = table.loaded(), Duck()

    def scan(wanted: int) -> str:
        made = build_scan(loaded, LocalStorage(), predicate=Compare("id", Op.EQ, wanted), columns=frozenset({"id"}))
        found = duck.execute(f"SELECT id FROM ({made.sql}) WHERE id = {wanted}", made.variables).fetchall()
        assert found == ([] if wanted in (8, 69) else [(wanted,)])
        return made.sql

    assert "ANTI JOIN" in scan(69)
    assert "ANTI JOIN" not in scan(68)
    assert "ANTI JOIN" in scan(8), "the other file is new"
    assert "ANTI JOIN" not in scan(69)
    table.delete(3, [1], [(67,)])
    loaded = table.loaded()
    assert "ANTI JOIN" in scan(69), "there is a new delete"


# --- scope ------------------------------------------------------------------------------------------------------------

BY_CAT = PartitionSpec(0, (PartitionField(2, 1000, "cat", IDENTITY),))
LATER_UNPARTITIONED = PartitionSpec(1, ())


def test_partitioned_deletes_reach_their_own_partition(tmp_path: Path) -> None:
    table = Table(tmp_path, specs=[BY_CAT])
    for part in ("a", "b", None):
        table.data(1, [(1, part, 1), (2, part, 2)], partition=(part,))
    table.delete(2, [1], [(1,)], partition=("a",))
    table.delete(2, [1], [(2,)], partition=(None,))
    assert table.rows("id", "cat") == [(1, None), (1, "b"), (2, "a"), (2, "b")]


def test_deletes_of_an_unpartitioned_spec_reach_everything(tmp_path: Path) -> None:
    table = Table(tmp_path, specs=[BY_CAT, LATER_UNPARTITIONED])
    for part in ("a", "b"):
        table.data(1, [(1, part, 1), (2, part, 2)], partition=(part,))
    table.data(1, [(1, "c", 1)], spec_id=1)
    table.delete(2, [1], [(1,)], spec_id=1)
    table.delete(2, [1], [(2,)], partition=("b",))
    assert table.rows("id", "cat") == [(2, "a")]


def test_partitioned_deletes_do_not_reach_other_specs(tmp_path: Path) -> None:
    table = Table(tmp_path, specs=[BY_CAT, LATER_UNPARTITIONED])
    table.data(1, [(1, "a", 1)], partition=("a",))
    table.data(1, [(1, "a", 2)], spec_id=1)
    table.delete(2, [1], [(1,)], partition=("a",))
    assert table.rows("v") == [(2,)]


def test_sequence_numbers_guard_each_partition(tmp_path: Path) -> None:
    """A late delete in one partition must not be taken for a late one in another."""
    table = Table(tmp_path, specs=[BY_CAT])
    table.data(1, [(1, "a", 1)], partition=("a",))
    table.data(5, [(1, "b", 5)], partition=("b",))
    table.data(3, [(1, "b", 3)], partition=("b",))
    table.delete(4, [1], [(1,)], partition=("b",))
    table.delete(9, [1], [(2,)], partition=("b",))
    table.delete(9, [1], [(1,)], partition=("a",))
    assert table.rows() == [(1, "b", 5)]


@pytest.mark.parametrize("one", [math.nan, -0.0, 0.0])
def test_partitions_of_nan_and_signed_zero(one: float, tmp_path: Path) -> None:
    by = PartitionSpec(0, (PartitionField(2, 1000, "d", IDENTITY),))
    table = Table(tmp_path, [Schema(0, (ID, opt(2, "d", DoubleType())))], [by])
    for n, part in enumerate((math.nan, -0.0, 0.0)):
        table.data(1, [(n, part)], partition=(part,))
    table.delete(2, [1], [(0,), (1,), (2,)], partition=(float(str(one)),))
    names = {"nan": 0, "-0.0": 1, "0.0": 2}
    assert table.rows("id") == [(n,) for n in range(3) if n != names[str(one)]]


# --- columns that changed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_key_renamed_and_moved(file_format: str, tmp_path: Path) -> None:
    table = with_schemas(tmp_path, [ID, CAT, V], [V, opt(2, "id", TEXT), opt(1, "nr", LONG)], file_format=file_format)
    table.data(1, [(1, "a", 1), (2, "b", 2)])
    table.delete(2, [1], [(1,)])
    assert table.rows() == [(2, "b", 2)]
    assert table.rows("id") == [("b",)]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (INT, LONG, [1, 2, None], [1, 3]),
        (FloatType(), DoubleType(), [0.1, 0.5, None], [float.fromhex("0x1.99999ap-4"), 7.0]),
        (
            DecimalType(5, 2),
            DecimalType(20, 2),
            [Decimal("1.10"), Decimal("2.20"), None],
            [Decimal("1.10"), Decimal("9.00")],
        ),
    ],
)
def test_key_promoted(
    old: IcebergType, new: IcebergType, before: list[Any], after: list[Any], file_format: str, tmp_path: Path
) -> None:
    """Data and deletes of the old type and of the new, in all four ways."""
    was, now = opt(1, "k", old), opt(1, "k", new)
    table = with_schemas(tmp_path, [was, V], [now, V], file_format=file_format)
    table.data(1, [(k, n) for n, k in enumerate(before)])
    table.data(1, [(k, n + 10) for n, k in enumerate(after)], fields=[now, V])
    table.delete(2, [1], [(after[0],)], fields=[now])
    assert table.rows("v") == [(1,), (11,), (2,)]
    table.delete(3, [1], [(before[1],), (None,)], fields=[was])
    assert table.rows("v") == [(11,)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_key_dropped_since_still_deletes(file_format: str, tmp_path: Path) -> None:
    """Its values come from the data files by its id; a new column of its name is another one."""
    table = with_schemas(tmp_path, [ID, CAT, V], [ID, V], [ID, V, opt(9, "cat", TEXT)], file_format=file_format)
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, None, 3)])
    table.delete(2, [2], [("a",), (None,)])
    table.data(3, [(4, 4, "a")], fields=[ID, V, opt(9, "cat", TEXT)])
    assert table.rows() == [(2, 2, None), (4, 4, "a")]
    assert table.rows("v") == [(2,), (4,)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_key_added_after_the_data_file(file_format: str, tmp_path: Path) -> None:
    """A file without it holds its initial default, else NULL: only those delete its rows."""
    extra = opt(4, "x", TEXT)
    table = with_schemas(tmp_path, [ID], [ID, extra], file_format=file_format)
    table.data(1, [(1,), (2,)])
    table.data(2, [(3, "a"), (4, None)], fields=[ID, extra])
    table.delete(3, [4], [("a",)], fields=[extra])
    assert table.rows("id") == [(1,), (2,), (4,)]
    table.delete(4, [4], [(None,)], fields=[extra])
    assert table.rows("id") == []
    other = tmp_path / "defaults"
    other.mkdir()
    table = with_schemas(other, [ID], [ID, opt(4, "x", TEXT, "d")], file_format=file_format)
    table.data(1, [(1,)])
    table.data(2, [(2, None)], fields=[ID, extra])
    table.delete(3, [4], [(None,)], fields=[extra])
    assert table.rows("id") == [(1,)]
    table.delete(4, [4], [("d",)], fields=[extra])
    assert table.rows("id") == []


@pytest.mark.parametrize("file_format", FORMATS)
def test_keys_inside_structs(file_format: str, tmp_path: Path) -> None:
    """A struct that is NULL has NULL parts; renamed parts are known by their ids, dropped ones too."""
    inner = StructType((opt(11, "a", LONG), opt(12, "b", TEXT), opt(13, "deep", StructType((opt(14, "c", INT),)))))
    renamed = StructType((opt(13, "low", StructType((opt(14, "a", LONG),))), opt(11, "b", LONG)))
    table = with_schemas(tmp_path, [ID, opt(5, "s", inner)], [ID, opt(5, "t", renamed)], file_format=file_format)

    def row(number: int, a: int | None, b: str | None, c: int | None) -> Row:
        return number, {11: a, 12: b, 13: {14: c}}

    table.data(1, [row(1, 1, "x", 7), row(2, 2, "y", 8), (3, None), row(4, None, "z", 9), row(5, 5, "z", None)])

    def delete(sequence_number: int, part: NestedField, key: NestedField, value: Any) -> None:
        holder = opt(5, "s", StructType((part,)))
        inside = {key.field_id: value}
        table.delete(
            sequence_number,
            [key.field_id],
            [({part.field_id: inside} if part is not key else inside,)],
            fields=[holder],
        )

    def left() -> list[Any]:
        return table.rows("id")

    delete(2, inner.fields[0], inner.fields[0], 1)
    assert left() == [(2,), (3,), (4,), (5,)]
    delete(3, inner.fields[1], inner.fields[1], "y")
    assert left() == [(3,), (4,), (5,)]
    delete(4, inner.fields[2], opt(14, "c", INT), 9)
    assert left() == [(3,), (5,)]
    delete(5, inner.fields[0], inner.fields[0], None)
    assert left() == [(5,)]
    assert table.rows() == [(5, {"low": {"a": None}, "b": 5})]


KEYS: list[tuple[IcebergType, list[Any]]] = [
    (BinaryType(), [b"", b"\0", b"\0\xff", b"a"]),
    (FixedType(2), [b"\0\0", b"\0\xff", b"ab"]),
    (UUIDType(), [UUID(int=0), UUID(int=1 << 127), UUID(int=5)]),
    (DecimalType(30, 4), [Decimal("0.0001"), Decimal("-12345678901234567890.1234"), Decimal("7.0000")]),
    (TimestampNsType(), [datetime(2024, 2, 29, 1, 2, 3, 4), datetime(1960, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 5)]),
    (TimestampType(), [datetime(1700, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2024, 1, 1)]),
    (DateType(), [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    (TEXT, ["", "é", "e\u0301", "\U0001f600 long enough to be cut in the bounds of its file"]),
]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(("kind", "values"), KEYS, ids=lambda p: str(p) if isinstance(p, IcebergType) else "")
def test_keys_of_all_kinds(kind: IcebergType, values: list[Any], file_format: str, tmp_path: Path) -> None:
    if file_format == "orc" and isinstance(kind, TimestampType):
        values = [datetime(1700, 1, 1), datetime(2200, 1, 1), datetime(2024, 1, 1)]
    key = opt(1, "k", kind)
    for n, value in enumerate(values):
        folder = tmp_path / str(n)
        folder.mkdir()
        table = Table(folder, [Schema(0, (key, V))], file_format=file_format)
        table.data(1, [(v, i) for i, v in enumerate([*values, None])])
        table.delete(2, [1], [(value,)])
        assert table.rows("v") == [(i,) for i in range(len(values) + 1) if i != n]


@pytest.mark.parametrize("kind", [FloatType(), DoubleType()], ids=str)
@pytest.mark.parametrize("file_format", FORMATS)
def test_float_keys_are_compared_as_java_does(kind: IcebergType, file_format: str, tmp_path: Path) -> None:
    """NaN equals NaN; -0.0 is not 0.0."""
    key = opt(1, "k", kind)
    values = [0.0, -0.0, math.nan, math.inf, -math.inf, None, 1.5]
    for n, value in enumerate(values):
        folder = tmp_path / str(n)
        folder.mkdir()
        table = Table(folder, [Schema(0, (key, V))], file_format=file_format)
        table.data(1, [(v, i) for i, v in enumerate(values)])
        table.delete(2, [1], [(value,)])
        assert table.rows("v") == [(i,) for i in range(len(values)) if i != n]


@pytest.mark.parametrize("file_format", FORMATS)
def test_files_without_field_ids(file_format: str, tmp_path: Path) -> None:
    mapping = (
        '[{"field-id": 1, "names": ["id", "nr"]}, {"field-id": 2, "names": ["cat"]}, {"field-id": 3, "names": ["v"]}]'
    )
    now = [opt(1, "renamed", LONG), CAT, V]
    table = with_schemas(tmp_path, [ID, CAT, V], now, file_format=file_format, properties={NAME_MAPPING: mapping})
    table.data(1, [(1, "a", 1), (2, "b", 2), (3, "c", 3)], numbered=False)
    table.delete(2, [1], [(1,)], numbered=False)
    table.delete(3, [1], [(2, "zz")], fields=[opt(1, "nr", LONG), CAT], numbered=False)
    assert table.rows() == [(3, "c", 3)]


def test_key_that_only_the_partition_knows(tmp_path: Path) -> None:
    """Data files of other systems lack the columns of their directories."""
    table = Table(tmp_path, specs=[BY_CAT])
    table.data(1, [(1, 1), (2, 2)], fields=[ID, V], partition=("a",))
    table.data(1, [(1, 3)], fields=[ID, V], partition=("b",))
    table.delete(2, [1, 2], [(1, "a")], partition=("a",))
    assert table.rows("id", "cat", "v") == [(1, "b", 3), (2, "a", 2)]
    assert table.rows("v") == [(2,), (3,)]


def test_columns_called_as_what_is_read_for_the_join(tmp_path: Path) -> None:
    names = ["\u2206k0", "s", "p", "v0", "k0", "\u2206t", "\u2206s", "\u2206e0"]
    fields = tuple(opt(n, name, LONG) for n, name in enumerate(names, 1))
    table = Table(tmp_path, [Schema(0, fields)])
    table.data(1, [(1,) * len(names), (2,) * len(names)])
    table.data(5, [(1,) * len(names)])
    table.delete(2, [1], [(1,)])
    table.delete(2, [8], [(2,)])
    for name in names:
        assert table.rows(name) == [(1,)]
    assert table.rows() == [(1,) * len(names)]


# --- broken tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [[77], [20], []])
def test_keys_that_are_no_columns(ids: list[int], tmp_path: Path) -> None:
    table = Table(tmp_path, [Schema(0, (ID, opt(2, "l", ListType(20, LONG, False))))])
    table.data(1, [(1, [1])])
    table.delete(2, ids, [(1,)], fields=[ID])
    with pytest.raises(BergError, match=r"^Equality delete") as caught:
        table.rows()
    assert caught.value.code is ErrorCode.CORRUPT


def test_delete_files_of_unknown_formats_and_missing_ones_are_named(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(1, "a", 1)])
    table.delete(2, [1], [(1,)])
    number, file = table.files[1]
    table.files[1] = (number, replace(file, format="VORTEX"))
    with pytest.raises(
        BergError, match=rf"^Reading the VORTEX equality delete file {re.escape(file.path)} of snapshot \d+ is not"
    ):
        table.rows()
    table.files[1] = (number, replace(file, path=f"{file.path}.gone"))
    with pytest.raises(BergError, match=re.escape(f"{file.path.removeprefix('file:')}.gone")) as caught:
        table.rows()
    assert caught.value.code is ErrorCode.NOT_FOUND


# --- what is left out -------------------------------------------------------------------------------------------------


def test_only_files_that_a_delete_can_reach_pay(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(1, "a", 1), (9, "b", 2)])
    table.data(1, [(100, "a", 1), (109, "b", 2)])
    table.data(7, [(5, "a", 1)])
    table.delete(2, [1], [(5,)])
    table.delete(3, [1], [(50,)])
    assert table.applied() == [1, 0, 0]
    assert len(table.scan().variables) == 3
    assert table.scan().plan.equality_deletes


def test_no_delete_left_no_join(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(1, "a", 1)])
    table.delete(2, [1], [(5,)])
    assert "JOIN" not in table.scan().sql
    assert not table.scan().plan.equality_deletes


@pytest.mark.parametrize("statistics", ["none", "counts", "truncated", "full"])
def test_bounds_that_are_cut_or_missing_never_prune_wrongly(statistics: str, tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(1, "prefix b", 1), (2, "prefix c", 2), (3, None, 3)], statistics=statistics)
    table.delete(2, [2], [("prefix c",)], statistics=statistics)
    table.delete(3, [2], [(None,)], statistics=statistics)
    assert table.rows("id") == [(1,)]


def test_nulls_and_nans_meet_their_like_alone(tmp_path: Path) -> None:
    schema = Schema(0, (opt(1, "d", DoubleType()),))
    table = Table(tmp_path, [schema])
    table.data(1, [(1.0,)])
    table.data(1, [(None,), (9.0,)])
    table.data(1, [(math.nan,)])
    table.delete(2, [1], [(None,)])
    assert table.applied() == [0, 1, 0]
    table.delete(2, [1], [(math.nan,)])
    assert table.applied() == [0, 1, 1]
    assert [row[0] for row in table.rows()] == [1.0, 9.0]


def test_promoted_bounds_are_compared_as_what_they_mean(tmp_path: Path) -> None:
    table = with_schemas(tmp_path, [opt(1, "k", INT)], [opt(1, "k", LONG)])
    table.data(1, [(-1,), (5,)])
    table.delete(2, [1], [(2**40,)], fields=[opt(1, "k", LONG)])
    table.delete(2, [1], [(-1,)])
    assert table.applied() == [1]
    assert table.rows() == [(5,)]


def test_a_predicate_on_a_key_leaves_delete_files_out(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(n, "a", n) for n in range(100)])
    for n in range(100):
        table.delete(2, [1], [(n,)])
    wanted = In("id", (3, 4))
    assert table.applied(predicate=wanted) == [2]
    assert table.rows(where="id IN (3, 4)", predicate=wanted) == []
    assert table.applied(predicate=Compare("v", Op.EQ, 3)) == [100]


def test_thousands_of_delete_files_are_one_join(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(n, "a", n) for n in range(1000)])
    for n in range(300):
        table.delete(2 + n, [1], [(n,)])
    table.data(200, [(n, "b", n) for n in range(300)])
    scan = table.scan()
    assert scan.sql.count("JOIN") == 1
    assert sorted(table.rows("id", "cat", where="cat = 'b'")) == [(n, "b") for n in range(199)]
    assert len(table.rows("id", "cat", where="cat = 'a'")) == 700


@pytest.mark.parametrize("file_format", FORMATS)
def test_more_rows_than_the_manifest_says(file_format: str, tmp_path: Path) -> None:
    table = Table(tmp_path, file_format=file_format)
    table.data(1, [(n, "a", n) for n in range(300)])
    table.data(1, [(n, "b", n) for n in range(300, 600)])
    table.delete(2, [1], [(1,), (299,)])
    table.files[:2] = [(n, replace(f, record_count=3)) for n, f in table.files[:2]]
    assert len(table.rows("v")) == 598
    assert table.rows("v", "_deleted", where="_deleted") == [(1, True), (299, True)]


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        (LONG, [1, 2, None], [Compare("k", Op.EQ, 1), Compare("k", Op.LT, 1.5), Compare("k", Op.GE, 2**70)]),
        (INT, [1, -5, None], [In("k", (-5, None)), Not(In("k", (1,))), Not(Compare("k", Op.LT, Decimal("0.5")))]),
        (TEXT, ["a", "ab", None], [StartsWith("k", "a"), Compare("k", Op.GT, "a"), IsNull("k"), NotNull("k")]),
        (DateType(), [date(2024, 1, 1), date(1960, 1, 1)], [Compare("k", Op.LE, date(1960, 1, 1))]),
        (
            TimestampType(),
            [datetime(2024, 1, 1, 1, 2, 3, 4), datetime(1960, 1, 1)],
            [Compare("k", Op.GT, datetime(2024, 1, 1)), any_of(Compare("k", Op.LT, datetime(1970, 1, 1)), IsNull("v"))],
        ),
        (DoubleType(), [0.0, -0.0, math.nan], [Compare("k", Op.EQ, 0), IsNan("k")]),
    ],
    ids=str,
)
def test_a_predicate_on_keys_filters_the_deleted_keys(
    kind: IcebergType, values: list[Any], wanted: list[Predicate], tmp_path: Path
) -> None:
    """In one delete file, of which some keys are wanted: what is left after the filter stays the same."""
    table = Table(tmp_path, [Schema(0, (opt(1, "k", kind), V))])
    table.data(1, [(k, n) for n, k in enumerate(values)] + [(k, None) for k in values])
    table.delete(2, [1], [(k,) for k in values])
    assert table.rows() == []
    for predicate in wanted:
        duck, scan = Duck(), table.scan(predicate=predicate)
        left = duck.execute(scan.sql, scan.variables).fetchall()
        assert not [row for row in left if holds(predicate, dict(zip("kv", row, strict=True)))], predicate


def test_a_filter_on_a_key_is_asked_of_delete_files(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.data(1, [(n, "a", n) for n in range(9)])
    table.delete(2, [1], [(n,) for n in range(8)])
    assert "k0 BETWEEN 3 AND 3" in table.scan(predicate=Compare("id", Op.EQ, 3)).sql
    either = any_of(Compare("id", Op.EQ, 3), Compare("cat", Op.EQ, "a"))
    assert "BETWEEN" not in table.scan(predicate=either).sql
    assert table.rows("id", "cat", where="id = 3 OR cat = 'a'", predicate=either) == [(8, "a")]
