"""Histories of tables that random ones seldom reach, each told step by step; the model says what their rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.partition import UNPARTITIONED, PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH
from bergsql.catalog.metadata.transforms import IDENTITY, Transform
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StringType
from bergsql.engine.table.datafile import DataFile, FileContent
from tests.support.history.builder import Item, TableBuilder, internal_partition
from tests.support.history.data_files import Row, write_file
from tests.support.history.model import LAST_UPDATED, ROW_ID, StoredDelete, StoredFile
from tests.support.history.puffin import write_puffin
from tests.support.history.random_schema import spec_values
from tests.support.history.random_table import FILE_PATH, POS
from tests.support.history.statistics import path_bounds

ID, P, K, N = 1, 2, 3, 4
"""The columns: a key, a text that partitions, a text and an int, all of which may be NULL but for the first."""
FIELDS = (
    NestedField(ID, "id", LongType(), True),
    NestedField(P, "p", StringType(), False),
    NestedField(K, "k", StringType(), False),
    NestedField(N, "n", IntegerType(), False),
)
BY_P = PartitionSpec(0, (PartitionField(P, 1000, "p", IDENTITY),))
BY_P_AND_BUCKET = PartitionSpec(
    1, (PartitionField(P, 1000, "p", IDENTITY), PartitionField(ID, 1001, "b", Transform.parse("bucket[1]")))
)
ROWS = ((1, "a", "x", 1), (2, "a", None, 2), (3, "a", "y", None), (4, "a", None, None))
_PATH_AND_POS = (
    NestedField(FILE_PATH, "file_path", StringType(), True),
    NestedField(POS, "pos", LongType(), True),
)
_LINEAGE = (
    NestedField(ROW_ID, "_row_id", LongType(), False),
    NestedField(LAST_UPDATED, "_last_updated_sequence_number", LongType(), False),
)


class Teller:
    """A table and what its writers do. Files are of any format by turns."""

    def __init__(self, folder: Path, version: int = 2, spec: PartitionSpec = BY_P) -> None:
        self.table = TableBuilder.create(folder, Schema(0, FIELDS), spec, version, {})

    def data(self, rows: Iterable[Sequence[Any]], *, lineage: Sequence[tuple[int, int | None]] = ()) -> Item:
        """A data file of the present schema and spec, of one partition; each row's values in the schema's order."""
        schema, spec = self.table.metadata.schema, self.table.metadata.spec
        fields = schema.fields
        kept: list[Row] = [{f.field_id: v for f, v in zip(fields, row, strict=True)} for row in rows]
        partition = spec_values(spec, schema, dict(kept[0]))
        stored: list[Row] = list(kept)
        if lineage:
            numbers = ({ROW_ID: i, LAST_UPDATED: n} for i, n in lineage)
            stored = [{**row, **known} for row, known in zip(kept, numbers, strict=True)]
        columns = (*fields, *(_LINEAGE if lineage else ()))
        path, described = self._written("", columns, stored, FileContent.DATA, spec, partition)
        ids, updates = tuple(i for i, _ in lineage), tuple(n for _, n in lineage)
        return Item(StoredFile(path, fields, tuple(kept), spec, partition, ids, updates), described)

    def positions(self, places: Mapping[Item, Iterable[int]], bounds: str = "exact") -> Item:
        """A position delete file over data files of one partition."""
        first = next(iter(places)).stored
        rows: list[Row] = sorted(
            ({FILE_PATH: f.stored.path, POS: pos} for f, those in places.items() for pos in those),
            key=lambda row: (row[FILE_PATH], row[POS]),
        )
        lower, upper = path_bounds([f.stored.path for f in places], bounds)
        path, described = self._written(
            "-deletes", _PATH_AND_POS, rows, FileContent.POSITION_DELETES, first.spec, first.partition,
            lower_bounds={} if lower is None else {FILE_PATH: lower},
            upper_bounds={} if upper is None else {FILE_PATH: upper},
        )  # fmt: skip
        deleted = {f.stored.path: frozenset(those) for f, those in places.items()}
        return Item(StoredDelete(path, first.spec, first.partition, deleted), described)

    def vector(self, file: Item, positions: Iterable[int], stale: Sequence[int] | None = None) -> Item:
        """A deletion vector; ``stale`` is another blob of the data file, first in the same Puffin file."""
        of, now = file.stored, sorted(positions)
        path = self.table.new_path("data", "-deletes.puffin")
        blobs = [*([] if stale is None else [(of.path, stale)]), (of.path, now)]
        offset, size = write_puffin(path, blobs)[-1]
        described = DataFile(
            f"file:{path}", len(now), path.stat().st_size, "PUFFIN", FileContent.POSITION_DELETES,
            internal_partition(of.spec, self.table.metadata.schema, of.partition), of.spec.spec_id,
            referenced_data_file=of.path, content_offset=offset, content_size=size,
        )  # fmt: skip
        return Item(StoredDelete(described.path, of.spec, of.partition, {of.path: frozenset(now)}, True), described)

    def equality(self, key: Sequence[int], values: Iterable[Sequence[Any]], of: Item | None = None) -> Item:
        """Rows of ``key`` in the partition of a data file; None: everywhere, if there is a spec for it."""
        spec = next((s for s in self.table.metadata.specs if s.is_unpartitioned), self.table.metadata.spec)
        partition = {f.field_id: None for f in spec.fields} if of is None else of.stored.partition
        spec = spec if of is None else of.stored.spec
        fields = tuple(f for number in key for f in self.table.metadata.schema.fields if f.field_id == number)
        rows: list[Row] = [dict(zip(key, those, strict=True)) for those in values]
        ids = tuple(key)
        path, described = self._written(
            "-eq", fields, rows, FileContent.EQUALITY_DELETES, spec, partition, equality_ids=ids
        )
        return Item(StoredDelete(path, spec, partition, equality_ids=ids, fields=fields, rows=tuple(rows)), described)

    def commit(self, *data: Item, deletes: Sequence[Item] = (), gone: Sequence[Item] = (), **how: bool) -> None:
        operation = "overwrite" if deletes or gone else "append"
        self.table.commit(MAIN_BRANCH, operation, data=data, deletes=deletes, gone=[i.stored for i in gone], **how)

    def _written(
        self,
        suffix: str,
        fields: Sequence[NestedField],
        rows: Sequence[Row],
        content: int,
        spec: PartitionSpec,
        partition: Mapping[int, Any],
        **more: Any,
    ) -> tuple[str, DataFile]:
        kind = ("parquet", "avro", "orc")[self.table.file_number % 3]
        path = self.table.new_path("data", f"{suffix}.{kind}")
        write_file(path, kind, fields, rows)
        values = internal_partition(spec, self.table.metadata.schema, partition)
        size = path.stat().st_size
        name = f"file:{path}"
        return name, DataFile(name, len(rows), size, kind.upper(), FileContent(content), values, spec.spec_id, **more)


def same_commit(folder: Path) -> TableBuilder:
    """Position deletes reach the files of their own commit, by name and by bounds; equality deletes do not."""
    t = Teller(folder)
    for bounds, explicit in (("exact", False), ("none", True), ("cut", False)):
        one, two = t.data(ROWS), t.data(ROWS)
        deletes = [t.positions({one: [0]}, bounds), t.positions({one: [1], two: [3]}, bounds)]
        t.commit(one, two, deletes=[*deletes, t.equality([ID], [[3]], one)], explicit=explicit)
    # A later file of the same rows: nothing from before reaches it.
    t.commit(t.data(ROWS))
    return t.table


def same_commit_in_version_3(folder: Path) -> TableBuilder:
    t = Teller(folder, 3, UNPARTITIONED)
    for merge in (False, True):
        one = t.data(ROWS)
        t.commit(one, deletes=[t.vector(one, [1], stale=[0, 2]), t.equality([ID], [[3]])], merge=merge)
    return t.table


def many_over_one(folder: Path) -> TableBuilder:
    """Delete files of a file and of a partition over the same files, before and after a file that they miss."""
    t = Teller(folder)
    one, two, other = t.data(ROWS), t.data(ROWS), t.data([(5, "b", "x", 1)])
    t.commit(one, two, other)
    t.commit(deletes=[t.positions({one: [0]}), t.positions({one: [0, 1], two: [2]}), t.positions({other: [0]})])
    three = t.data(ROWS)
    t.commit(three, deletes=[t.positions({two: [0], three: [3]}, "none"), t.positions({one: [3]}, "none")])
    t.commit(deletes=[t.equality([ID], [[3]], one), t.positions({three: [0]}, "cut")], merge=True)
    return t.table


def vector_beside_older_deletes(folder: Path) -> TableBuilder:
    """After an upgrade a vector stands for all older position deletes of its file, not for those of others."""
    t = Teller(folder)
    one, two = t.data(ROWS), t.data(ROWS)
    t.commit(one, two)
    t.commit(deletes=[t.positions({one: [0], two: [0]}), t.positions({one: [1]})])
    t.table.upgrade(3)
    first = t.vector(one, [0, 2], stale=[3])
    t.commit(deletes=[first])
    t.commit(t.data(ROWS), deletes=[t.vector(one, [0, 1, 2], stale=[0, 2])], gone=[first])
    t.commit(deletes=[t.equality([K], [[None]], two)])
    return t.table


def keys_that_changed(folder: Path) -> TableBuilder:
    """Keys that are renamed, promoted, dropped, made anew under the old name, and added after the data."""
    t = Teller(folder)
    t.commit(t.data(ROWS))
    first = t.data(ROWS)
    t.commit(first, deletes=[t.equality([K], [["y"]], first), t.equality([N], [[1]], first)])

    def change(schema: Schema) -> None:
        t.table.set_schema(schema)

    change(evolve.rename_column(t.table.metadata.schema, ("k",), "renamed"))
    change(evolve.change_type(t.table.metadata.schema, ("n",), LongType(), 2))
    t.commit(t.data(ROWS), deletes=[t.equality([N], [[2], [1 << 40]], first)])
    t.commit(deletes=[t.equality([K, N], [["x", 1], [None, None]], first)])
    change(evolve.drop_column(t.table.metadata.schema, ("renamed",)))
    last = t.table.metadata.last_column_id
    change(evolve.add_column(t.table.metadata.schema, NestedField(last + 1, "k", StringType(), False), last))
    added = t.table.metadata.schema.fields[-1].field_id
    t.commit(t.data([(1, "a", 1, "x"), (2, "a", 2, None), (3, "a", 3, "z")]))
    t.commit(deletes=[t.equality([added, ID], [["x", 1], [None, 3], ["x", 2]], first)])
    return t.table


def null_keys(folder: Path) -> TableBuilder:
    """NULL equals NULL alone, in each column of a key, and in a partition of NULL."""
    t = Teller(folder)
    null = t.data([(5, None, None, 1), (6, None, "x", None)])
    first = t.data(ROWS)
    t.commit(first, null)
    t.commit(deletes=[t.equality([K, N], [[None, 2], ["y", 3], ["x", None]], first)])
    t.commit(deletes=[t.equality([K], [[None]], null), t.equality([N], [[1]], null)])
    t.commit(deletes=[t.equality([N], [[None]], first)])
    return t.table


def scopes(folder: Path) -> TableBuilder:
    """Equality deletes of a partition reach it alone; those of an unpartitioned spec reach every older file."""
    t = Teller(folder)
    a, b = t.data(ROWS), t.data([(i, "b", k, n) for i, _, k, n in ROWS])
    t.commit(a, b)
    t.commit(t.data(ROWS), deletes=[t.equality([ID], [[1]], a), t.equality([ID], [[2]], b)])
    t.commit(deletes=[t.equality([ID], [[2]], a)])
    t.table.set_spec(UNPARTITIONED)
    t.commit(t.data(ROWS), deletes=[t.equality([ID], [[3]])])
    t.commit(t.data(ROWS), deletes=[t.equality([K], [["x"]]), t.equality([ID], [[4]], b)])
    return t.table


def other_specs(folder: Path) -> TableBuilder:
    """After partition evolution: deletes reach the files of their own spec, of the same values too."""
    t = Teller(folder)
    old = t.data(ROWS)
    t.commit(old)
    t.table.set_spec(BY_P_AND_BUCKET)
    new = t.data(ROWS)
    t.commit(new, deletes=[t.equality([ID], [[1]], old), t.positions({new: [3]}, "none")])
    t.commit(deletes=[t.equality([ID], [[2]], new), t.positions({old: [0, 2]}, "cut")])
    t.commit(deletes=[t.equality([ID], [[3]], old), t.positions({new: [0]})], merge=True)
    return t.table


def lineage(folder: Path) -> TableBuilder:
    """Rows get their numbers with the first commit of version 3, and keep them when they are moved."""
    t = Teller(folder, 1)
    old, kept = t.data(ROWS), t.data([(5, "b", "x", 1)])
    t.commit(old, kept)
    t.table.upgrade(2)
    t.commit(t.data(ROWS), deletes=[t.positions({old: [1]}), t.equality([ID], [[1]], old)])
    t.table.upgrade(3)
    new = t.data(ROWS)
    t.commit(new)
    t.commit(t.data([ROWS[2], ROWS[3], ROWS[0]], lineage=[(2, 3), (3, None), (90, 1)]), gone=[new])
    t.commit(deletes=[t.vector(old, [1, 2]), t.vector(kept, [0])])
    return t.table


def from_1_to_3(folder: Path) -> TableBuilder:
    """Files without sequence numbers are the oldest of all: whatever comes after the upgrade reaches them."""
    t = Teller(folder, 1)
    old = t.data(ROWS)
    t.commit(old)
    t.commit(t.data(ROWS))
    t.table.upgrade(3)
    t.commit(deletes=[t.equality([ID], [[1], [4]], old)])
    t.commit(t.data(ROWS), deletes=[t.vector(old, [1, 3])], merge=True)
    return t.table


SITUATIONS: tuple[Callable[[Path], TableBuilder], ...] = (
    same_commit,
    same_commit_in_version_3,
    many_over_one,
    vector_beside_older_deletes,
    keys_that_changed,
    null_keys,
    scopes,
    other_specs,
    lineage,
    from_1_to_3,
)
