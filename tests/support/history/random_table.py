"""Random histories of tables: a short list of steps, each with the seed of all its choices, and their playing.

A plan prints small and plays the same way every time, so a failing one is a test case as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.snapshots import BRANCH, MAIN_BRANCH, TAG
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import (
    DoubleType,
    FloatType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
)
from bergsql.engine.table.datafile import DataFile, FileContent
from tests.support.history.builder import Item, TableBuilder, internal_partition
from tests.support.history.data_files import FORMATS, Row, write_file
from tests.support.history.model import (
    LAST_UPDATED,
    ROW_ID,
    LiveFile,
    ModelRow,
    StoredDelete,
    StoredFile,
    partition_key,
)
from tests.support.history.puffin import write_puffin
from tests.support.history.random_schema import (
    evolve_columns,
    evolve_partitions,
    random_schema,
    random_spec,
    spec_values,
)
from tests.support.history.statistics import MODES, file_statistics, path_bounds
from tests.support.history.values import random_value, widened

FILE_PATH, POS, ROW = 2147483546, 2147483545, 2147483544
_LINEAGE = (
    NestedField(ROW_ID, "_row_id", LongType(), False),
    NestedField(LAST_UPDATED, "_last_updated_sequence_number", LongType(), False),
)


@dataclass(frozen=True)
class Plan:
    """A table's history: how it begins, the seed of its first append, and (step, seed) for all that follows."""

    version: int
    seed: int
    first: int
    steps: tuple[tuple[str, int], ...]


STEPS = (
    "append",
    "append",
    "evolve",
    "evolve",
    "respec",
    "overwrite",
    "compact",
    "upgrade",
    "branch",
    "tag",
    "rollback",
    "merge",
)
POSITION_STEPS = ("positions", "positions", "vectors", "vectors")
EQUALITY_STEPS = ("equality", "equality", "upsert")


def plans(steps: Sequence[str] = STEPS, longest: int = 9) -> st.SearchStrategy[Plan]:
    """Histories of up to ``longest`` steps after a first append."""
    seeds = st.integers(0, 10_000)
    later = st.lists(st.tuples(st.sampled_from(steps), seeds), max_size=longest).map(tuple)
    return st.builds(Plan, st.integers(1, 3), seeds, seeds, later)


def play(plan: Plan, folder: Path) -> TableBuilder:
    """The table after the plan's steps; a step that is not possible does nothing."""
    player = _Player(plan, folder)
    for step, seed in (("append", plan.first), *plan.steps):
        player.begin(Random(seed))
        getattr(player, step)()
    return player.table


class _Player:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self.random = random = Random(plan.seed)
        schema = random_schema(random, plan.version)
        properties = {}
        self.table = TableBuilder.create(folder, schema, random_spec(random, schema), plan.version, {})
        self.original = self.table.metadata.schema
        self.mapped = random.random() < 0.3
        if self.mapped:
            properties["schema.name-mapping.default"] = json.dumps([_mapping(f) for f in self.original.fields])
            self.table.metadata = replace(self.table.metadata, properties=properties)
        self.scheme = random.choice(("file:", "file://", ""))
        self.branches = [MAIN_BRANCH]
        self.branch_of_step = MAIN_BRANCH

    def begin(self, random: Random) -> None:
        """A step: all its choices come from ``random``."""
        self.random = random
        self.branch_of_step = random.choice((MAIN_BRANCH, *self.branches))

    # --- steps -------------------------------------------------------------------------------------------------------

    def append(self) -> None:
        items = [i for _ in range(self.random.choice((1, 1, 2))) for i in self.new_files(self.new_rows())]
        self.commit("append", data=items)

    def evolve(self) -> None:
        for _ in range(self.random.choice((1, 2, 3))):
            evolve_columns(self.table, self.random)

    def respec(self) -> None:
        evolve_partitions(self.table, self.random)

    def upgrade(self) -> None:
        if self.table.version < 3:
            self.table.upgrade(self.random.randint(self.table.version + 1, 3))

    def overwrite(self) -> None:
        live = self.live()
        gone = [f.file for f in live if self.random.random() < 0.5]
        self.commit("overwrite", data=self.new_files(self.new_rows()), gone=gone)

    def compact(self) -> None:
        """Files are written again without the rows that are deleted, which keep their identity in version 3."""
        chosen = [f for f in self.live() if self.random.random() < 0.7]
        rows: list[dict[int, Any]] = []
        for row in self.rows_of(chosen):
            if not row.deleted:
                lineage = {ROW_ID: row.row_id, LAST_UPDATED: None if row.row_id is None else row.last_updated}
                fields = self.table.metadata.schema.fields
                rows.append({f.field_id: widened(f.type, row.values[f.name]) for f in fields} | lineage)
        if chosen:
            items = self.new_files(rows, moved=True)
            gone = [f.file for f in chosen]
            self.commit("replace", data=items, gone=[*gone, *self.deletes_of(gone)])

    def branch(self) -> None:
        head = self.table.head(self.random.choice(self.branches))
        name = f"b{len(self.branches)}"
        if head is not None:
            self.table.refer(name, BRANCH, head)
            self.branches.append(name)

    def tag(self) -> None:
        snapshot = self.random.choice(self.table.metadata.snapshots)
        self.table.refer(f"t{self.random.randint(1, 3)}", TAG, snapshot.snapshot_id)

    def rollback(self) -> None:
        parent = self.table.metadata.current_snapshot()
        if parent is not None and parent.parent_id is not None:
            self.table.refer(MAIN_BRANCH, BRANCH, parent.parent_id)

    def merge(self) -> None:
        self.commit("replace", merge=True)

    def positions(self) -> None:
        """Position delete files: each over one data file, or over several of a partition."""
        if self.table.version == 2:
            self.commit("delete", deletes=self.position_deletes([f for f in self.live() if self.random.random() < 0.7]))

    def vectors(self) -> None:
        if self.table.version >= 3:
            chosen = [f for f in self.live() if self.random.random() < 0.7]
            self.commit(
                "delete",
                deletes=self.new_vectors(chosen),
                gone=self.deletes_of([f.file for f in chosen], vectors_only=True),
            )

    def equality(self) -> None:
        if self.table.version >= 2:
            items = [self.equality_delete(()) for _ in range(self.random.choice((1, 1, 2)))]
            self.commit("delete", deletes=[i for i in items if i is not None])

    def upsert(self) -> None:
        """As Flink: new rows, equality deletes of their keys, and what is deleted again in the same commit."""
        if self.table.version < 2:
            return
        rows = self.new_rows()
        data = self.new_files(rows)
        key = self.equality_delete(rows)
        fresh = [LiveFile(i.stored, 0) for i in data if isinstance(i.stored, StoredFile)]
        again = self.position_deletes(fresh) if self.table.version == 2 else self.new_vectors(fresh)
        self.commit("overwrite", data=data, deletes=[*([] if key is None else [key]), *again])

    # --- what steps are made of --------------------------------------------------------------------------------------

    def commit(self, operation: str, **what: Any) -> None:
        how = {"merge": self.random.random() < 0.15, "explicit": self.random.random() < 0.2, **what}
        self.table.commit(self.branch_of_step, operation, **how)

    def live(self) -> Sequence[LiveFile]:
        return self.table.state(self.branch_of_step).data

    def rows_of(self, files: Collection[LiveFile]) -> Iterable[ModelRow]:
        state = self.table.state(self.branch_of_step)
        return self.table.model.rows(replace(state, data=tuple(files)), self.table.metadata.schema)

    def deletes_of(self, files: Collection[StoredFile], *, vectors_only: bool = False) -> list[StoredDelete]:
        """Deletes that are of these data files alone: they go with them, now and then."""
        paths = {f.path for f in files}
        state = self.table.state(self.branch_of_step)
        own = [d.file for d in state.deletes if d.file.positions and d.file.positions.keys() <= paths]
        return [d for d in own if d.is_vector or (not vectors_only and self.random.random() < 0.5)]

    def new_rows(self) -> list[dict[int, Any]]:
        fields = self.table.metadata.schema.fields
        many = self.random.choice((0, 1, 2, 3, 5, 9))
        return [
            {f.field_id: random_value(f.type, self.random, null=0 if f.required else 0.2) for f in fields}
            for _ in range(many)
        ]

    def new_files(self, rows: Sequence[dict[int, Any]], *, moved: bool = False) -> list[Item]:
        """The rows in files by the table's partition spec. ``moved`` rows bring their lineage along."""
        table = self.table
        spec, schema = table.metadata.spec, table.metadata.schema
        by_partition: dict[object, list[dict[int, Any]]] = {}
        for row in rows:
            by_partition.setdefault(partition_key(spec_values(spec, schema, row)), []).append(row)
        out = []
        for group in by_partition.values():
            fields, ids = self.columns_of_a_file(spec)
            lineage = moved and table.version >= 3
            ids = ids or lineage
            kept = {f.field_id for f in fields} | ({ROW_ID, LAST_UPDATED} if lineage else set())
            shown = [{k: v for k, v in row.items() if k in kept} for row in group]
            out.append(self.data_file(fields, shown, spec, spec_values(spec, schema, group[0]), ids, lineage))
        return out

    def columns_of_a_file(self, spec: PartitionSpec) -> tuple[tuple[NestedField, ...], bool]:
        """Which columns a file holds, and whether it says their ids."""
        random, fields = self.random, self.table.metadata.schema.fields
        chance = random.random()
        if self.mapped and chance < 0.4 and fields == self.original.fields:
            return fields, False
        sources = {p.source_id for p in spec.fields}
        identities = {p.source_id for p in spec.fields if p.transform.kind is TransformKind.IDENTITY}
        inside = {c.field_id for f in fields for c in _leaves(f) if c.field_id in sources}
        optional = {f.field_id for f in fields if not f.required and not ({c.field_id for c in _leaves(f)} & inside)}
        if chance > 0.85:  # a writer that does not know all columns
            left_out = {number for number in sorted(optional - sources) if random.random() < 0.5}
        elif chance > 0.7:  # a file of a migrated Hive table
            only = identities - {p.source_id for p in spec.fields if p.transform.kind is not TransformKind.IDENTITY}
            left_out = only & {f.field_id for f in fields}
        else:
            left_out = set()
        kept = tuple(f for f in fields if f.field_id not in left_out and not isinstance(f.type, UnknownType))
        return (kept or fields), True

    def data_file(
        self,
        fields: tuple[NestedField, ...],
        rows: Sequence[Row],
        spec: PartitionSpec,
        partition: Mapping[int, Any],
        ids: bool,
        lineage: bool,
    ) -> Item:
        random = self.random
        file_format = random.choice(("parquet", *FORMATS))
        path = self.table.new_path("data", f".{file_format}")
        write_file(path, file_format, [*fields, *(_LINEAGE if lineage else ())], rows, ids=ids)
        stored = StoredFile(
            f"{self.scheme}{path}",
            fields,
            tuple(rows),
            spec,
            partition,
            tuple(row[ROW_ID] for row in rows) if lineage else (),
            tuple(row[LAST_UPDATED] for row in rows) if lineage else (),
        )
        described = DataFile(
            stored.path,
            len(rows),
            path.stat().st_size,
            file_format.upper(),
            partition=internal_partition(spec, self.table.metadata.schema, partition),
            spec_id=spec.spec_id,
            **file_statistics(fields, rows, random.choice(MODES), random),
        )
        return Item(stored, described)

    # --- deletes -----------------------------------------------------------------------------------------------------

    def position_deletes(self, files: Sequence[LiveFile]) -> list[Item]:
        by_partition: dict[object, list[LiveFile]] = {}
        for f in files:
            by_partition.setdefault((f.file.spec.spec_id, partition_key(f.file.partition)), []).append(f)
        groups = []
        for together in by_partition.values():
            groups += [together] if self.random.random() < 0.5 else [[f] for f in together]
        return [i for group in groups if (i := self.position_delete([f.file for f in group])) is not None]

    def position_delete(self, files: Sequence[StoredFile]) -> Item | None:
        random, spec = self.random, files[0].spec
        pairs = [(f.path, pos) for f in files for pos in range(len(f.rows)) if random.random() < 0.4]
        pairs += [p for p in pairs if random.random() < 0.2]
        if not pairs:
            return None
        if random.random() < 0.2:
            pairs.append((f"{self.scheme}{self.table.folder}/data/not-there.parquet", 3))
        pairs.sort()
        fields = [NestedField(FILE_PATH, "file_path", StringType(), True), NestedField(POS, "pos", LongType(), True)]
        rows: list[Row] = [{FILE_PATH: path, POS: pos} for path, pos in pairs]
        file_format = random.choice(FORMATS)
        if file_format == "parquet" and random.random() < 0.2:
            fields.append(NestedField(ROW, "row", StructType((NestedField(1, "id", LongType(), False),)), False))
            rows = [{**row, ROW: {1: 5}} for row in rows]
        path = self.table.new_path("data", f"-deletes.{file_format}")
        write_file(path, file_format, fields, rows)
        paths = sorted({p for p, _ in pairs})
        lower, upper = path_bounds(paths, random.choice(("exact", "exact", "cut", "none")))
        described = DataFile(
            f"{self.scheme}{path}",
            len(rows),
            path.stat().st_size,
            file_format.upper(),
            FileContent.POSITION_DELETES,
            internal_partition(spec, self.table.metadata.schema, files[0].partition),
            spec.spec_id,
            lower_bounds={} if lower is None else {FILE_PATH: lower},
            upper_bounds={} if upper is None else {FILE_PATH: upper},
            referenced_data_file=paths[0] if len(paths) == 1 and random.random() < 0.5 else None,
        )
        positions = {p: frozenset(pos for other, pos in pairs if other == p) for p in paths}
        return Item(StoredDelete(described.path, spec, files[0].partition, positions), described)

    def new_vectors(self, files: Sequence[LiveFile]) -> list[Item]:
        """Deletion vectors in one Puffin file, each with all that is deleted of its file; stale ones among them."""
        random, state = self.random, self.table.state(self.branch_of_step)
        blobs: list[tuple[str, list[int]]] = []
        owners: dict[int, tuple[LiveFile, list[int]]] = {}
        for live in files:
            before = self.table.model._deleted_positions(live, state.deletes)
            now = sorted(before | {pos for pos in range(len(live.file.rows)) if random.random() < 0.4})
            if not now:
                continue
            if random.random() < 0.3:
                blobs.append((live.file.path, [p for p in range(len(live.file.rows)) if p not in now]))
            owners[len(blobs)] = (live, now)
            blobs.append((live.file.path, now))
        if not owners:
            return []
        path = self.table.new_path("data", "-deletes.puffin")
        places = write_puffin(path, blobs)
        out = []
        for number, (live, now) in owners.items():
            file = live.file
            described = DataFile(
                f"{self.scheme}{path}",
                len(now),
                path.stat().st_size,
                "PUFFIN",
                FileContent.POSITION_DELETES,
                internal_partition(file.spec, self.table.metadata.schema, file.partition),
                file.spec.spec_id,
                referenced_data_file=file.path,
                content_offset=places[number][0],
                content_size=places[number][1],
            )
            stored = StoredDelete(described.path, file.spec, file.partition, {file.path: frozenset(now)}, True)
            out.append(Item(stored, described))
        return out

    def equality_delete(self, wanted: Sequence[Row]) -> Item | None:
        """Rows that are known by some columns: of ``wanted``, else of what is there, and some that are not."""
        random, table = self.random, self.table
        schema = table.metadata.schema
        able = [
            f
            for f in schema.fields
            if f.type.is_primitive and not isinstance(f.type, (FloatType, DoubleType, UnknownType))
        ]
        if not able:
            return None
        key = random.sample(able, min(len(able), random.choice((1, 1, 2, 3))))
        more = [
            f for f in schema.fields if f not in key and random.random() < 0.3 and not isinstance(f.type, UnknownType)
        ]
        fields = tuple(f for f in schema.fields if f in key or f in more)
        rows: list[Row] = list(wanted)
        if not wanted:
            there = [r for r in self.rows_of(self.live()) if random.random() < 0.4]
            rows = [{f.field_id: widened(f.type, r.values[f.name]) for f in fields} for r in there]
            rows += self.new_rows()[:2]
        rows = [{f.field_id: row[f.field_id] for f in fields} for row in rows]
        spec, partition = self.scope_of_a_delete()
        file_format = random.choice(FORMATS)
        path = table.new_path("data", f"-eq-deletes.{file_format}")
        write_file(path, file_format, fields, rows)
        ids = tuple(f.field_id for f in key)
        described = DataFile(
            f"{self.scheme}{path}",
            len(rows),
            path.stat().st_size,
            file_format.upper(),
            FileContent.EQUALITY_DELETES,
            internal_partition(spec, schema, partition),
            spec.spec_id,
            equality_ids=ids,
            **file_statistics(fields, rows, random.choice(MODES), random),
        )
        return Item(
            StoredDelete(described.path, spec, partition, equality_ids=ids, fields=fields, rows=tuple(rows)), described
        )

    def scope_of_a_delete(self) -> tuple[PartitionSpec, Mapping[int, Any]]:
        """The partition of some data file, or a spec without fields: then the delete file is of the whole table."""
        specs = self.table.metadata.specs
        everywhere = [(s, {f.field_id: None for f in s.fields}) for s in specs if s.is_unpartitioned]
        known = [(f.file.spec, f.file.partition) for f in self.live()]
        spec = self.table.metadata.spec
        unknown = (spec, {f.field_id: None for f in spec.fields})
        return self.random.choice([*everywhere, *known] or [unknown])


def _leaves(f: NestedField) -> Iterable[NestedField]:
    if isinstance(f.type, StructType):
        for part in f.type.fields:
            yield from _leaves(part)
    else:
        yield f


def _mapping(f: NestedField) -> dict[str, Any]:
    """A field of a name mapping."""
    made: dict[str, Any] = {"field-id": f.field_id, "names": [f.name, f"old {f.name}"]}
    match f.type:
        case StructType(fields):
            made["fields"] = [_mapping(part) for part in fields]
        case ListType():
            made["fields"] = [_mapping(f.type.element_field)]
        case MapType():
            made["fields"] = [_mapping(f.type.key_field), _mapping(f.type.value_field)]
    return made
