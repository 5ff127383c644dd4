"""From a table to DuckDB SQL that reads it: files in groups (file_groups.py), without what was deleted, and a SELECT.

A group without deletes, of which no metadata column is asked, is read as it lies. Of the others come, one around the
other: the rows with their places, the deletes by place, the deletes by key, and the columns under the table's names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.column_names import scanned_names
from bergsql.engine.table.delete_index import distinct, is_equality, is_vector
from bergsql.engine.table.deleted_rows import PositionDeletes
from bergsql.engine.table.equality_deletes import EqualityDeletes
from bergsql.engine.table.equality_positions import without_places
from bergsql.engine.table.file_groups import PARQUET, FileGroup, Grouping, column_name
from bergsql.engine.table.file_origins import origins_named
from bergsql.engine.table.file_streams import FORMATS
from bergsql.engine.table.metadata_columns import METADATA_COLUMNS, PLACE_COLUMNS, PLACE_FILE, metadata_fields
from bergsql.engine.table.planning import FilePlan, plan_files
from bergsql.engine.table.projection import literal_sql
from bergsql.engine.table.read_point import current
from bergsql.engine.table.row_places import RowPlaces

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.binding import Bound
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.read_point import ReadPoint


@dataclass(frozen=True, slots=True)
class TableScan:
    """SQL that reads a table once ``variables`` are set. ``fields`` are its columns: of ``schema``, then metadata's."""

    sql: str
    variables: dict[str, object]
    plan: FilePlan
    schema: Schema
    fields: tuple[NestedField, ...]
    whole: tuple[FileTask, ...] = ()
    """Files of the predicate that are not read, because all their rows are taken."""


def build_scan(
    table: LoadedTable,
    storage: Storage,
    *,
    point: ReadPoint | None = None,
    predicate: Predicate | None = None,
    columns: frozenset[str] | None = None,
    others: Predicate | None = None,
    name_prefix: str = "s0",
) -> TableScan:
    """The scan of a table at ``point`` (by default: as it is now).

    The SQL gives ``columns`` (all by default; at least one) in the schema's order, under ``scanned_names`` and with
    DuckDB's types for theirs; behind them the metadata columns among ``columns``, those that no column of the table
    hides, and the ``PLACE_COLUMNS``. ``predicate`` only leaves files out: the rows are still to be filtered. Variables
    are named ``<name_prefix>_files…``. Files without rows of ``others`` are not read either (whole_files.py).

    :raises BergError: UNSUPPORTED, naming what, where rows could not be read rightly yet.
    """
    metadata = table.metadata
    point = point or current(metadata)
    schema = point.schema
    fields, places = _chosen(schema, columns, metadata)
    plan = plan_files(metadata, point, predicate, storage, others)
    whole = plan.whole
    plan = _without(plan, whole)
    with origins_named(metadata, point.snapshot, storage):
        scan = _scan_of(plan, table, storage, schema, (fields, places), predicate, name_prefix)
    return replace(scan, whole=whole) if whole else scan


def _without(plan: FilePlan, whole: Sequence[FileTask]) -> FilePlan:
    if not whole:
        return plan
    left = {id(t) for t in whole}
    tasks = tuple(t for t in plan.tasks if id(t) not in left)
    return replace(
        plan,
        tasks=tasks,
        files_kept=len(tasks),
        bytes_kept=sum(t.data_file.file_size for t in tasks),
        delete_files=len(distinct(t.deletes for t in tasks if t.deletes)),
    )


def scan_of_tasks(
    table: LoadedTable,
    storage: Storage,
    schema: Schema,
    tasks: Sequence[FileTask],
    places: frozenset[str] = frozenset(),
    name_prefix: str = "s0",
    columns: frozenset[str] | None = None,
) -> TableScan:
    """As :func:`build_scan`, of some files, in ``columns`` of ``schema`` (all by default) and the metadata and place
    columns ``places``, of which only ``columns`` may hide one. At least one column is to be read."""
    metadata = table.metadata
    plan = FilePlan(tuple(tasks), delete_files=len(distinct(t.deletes for t in tasks if t.deletes)))
    fields = schema.fields if columns is None else tuple(f for f in schema.fields if f.name in columns)
    chosen = fields, _metadata_columns(replace(schema, fields=fields), places, metadata)
    with origins_named(metadata, metadata.current_snapshot(), storage):
        return _scan_of(plan, table, storage, schema, chosen, None, name_prefix)


def _scan_of(
    plan: FilePlan,
    table: LoadedTable,
    storage: Storage,
    schema: Schema,
    chosen: tuple[tuple[NestedField, ...], tuple[NestedField, ...]],
    predicate: Predicate | None,
    name_prefix: str,
) -> TableScan:
    metadata = table.metadata
    fields, places = chosen
    _refuse(plan, table)
    whole = plan.tasks
    wanted = _wanted(plan, schema, predicate)
    plan = _less_deletes(plan, metadata, wanted)
    variables: dict[str, object] = {}
    names = scanned_names(schema)
    deletes = EqualityDeletes(metadata, storage, schema, plan.tasks, whole, variables, wanted)
    by_place = PositionDeletes(storage, metadata, few=predicate is not None)
    assembly = _Assembly(storage, fields, names, deletes, RowPlaces(metadata, places), by_place, variables)
    groups = Grouping(metadata, storage, assembly.may_read, schema).groups(plan.tasks)
    selects, before = [], 0
    for i, group in enumerate(groups):
        selects.append(assembly.select(group, f"{name_prefix}_files{i or ''}", before))
        before += len(group.tasks)
    if any(f.name == PLACE_FILE for f in places):
        plan = _in_order_of(groups, plan, whole)
    sql = " UNION ALL ".join(selects) or _empty((*fields, *places), names)
    return TableScan(sql, variables, plan, schema, (*fields, *places))


def _in_order_of(groups: Sequence[FileGroup], plan: FilePlan, whole: Sequence[FileTask]) -> FilePlan:
    """The plan with its files in the order of the groups, with all deletes that apply: its files may be rewritten."""
    if len(groups) == 1 and plan.tasks == whole:
        return plan
    number = {id(task): i for i, task in enumerate(plan.tasks)}
    tasks = tuple(whole[number[id(task)]] for group in groups for task in group.tasks)
    return replace(plan, tasks=tasks, delete_files=len(distinct(t.deletes for t in tasks if t.deletes)))


def empty_scan(schema: Schema, columns: frozenset[str], plan: FilePlan, variables: dict[str, object]) -> TableScan:
    """A scan whose rows nobody reads: without any, with ``columns`` of the table."""
    fields = tuple(f for f in schema.fields if f.name in columns) or schema.fields[:1]
    return TableScan(_empty(fields, scanned_names(schema)), variables, plan, schema, fields)


def _chosen(
    schema: Schema, columns: frozenset[str] | None, metadata: TableMetadata
) -> tuple[tuple[NestedField, ...], tuple[NestedField, ...]]:
    """The table's own columns that are read, and the metadata columns."""
    places: tuple[NestedField, ...] = ()
    if columns is None:
        fields = schema.fields
    else:
        fields = tuple(f for f in schema.fields if f.name in columns)
        places = _metadata_columns(schema, columns, metadata)
        if not fields and not places:
            fields = schema.fields[:1]
    return fields, places


def _metadata_columns(schema: Schema, columns: frozenset[str], metadata: TableMetadata) -> tuple[NestedField, ...]:
    found = tuple(f for n, f in PLACE_COLUMNS.items() if n in columns)
    if columns.isdisjoint(METADATA_COLUMNS):
        return found
    hidden = {f.name for f in schema.fields}
    return (*(f for n, f in metadata_fields(metadata).items() if n in columns and n not in hidden), *found)


def _wanted(plan: FilePlan, schema: Schema, predicate: Predicate | None) -> Bound:
    """What equality deletes need to know of the rows that are wanted."""
    if predicate is None or not plan.equality_deletes:
        return True
    from bergsql.engine.table.binding import bind

    return bind(predicate, schema)


def _less_deletes(plan: FilePlan, metadata: TableMetadata, wanted: Bound) -> FilePlan:
    """The plan without the equality deletes that can delete no wanted row."""
    if not plan.equality_deletes:
        return plan
    from bergsql.engine.table.equality_pruning import EqualityPruner

    tasks = EqualityPruner(metadata, wanted).pruned(plan.tasks)
    return replace(plan, tasks=tasks, delete_files=len(distinct(t.deletes for t in tasks)))


def _refuse(plan: FilePlan, table: LoadedTable) -> None:
    for task in plan.tasks:
        file = task.data_file
        if file.format != PARQUET and file.format not in FORMATS:
            raise not_supported(f"Reading the {file.format} data file {file.path} of table {table.full_name}")
        if file.key_metadata is not None:
            raise not_supported(f"Reading the encrypted data files of table {table.full_name}")
    for delete in distinct(t.deletes for t in plan.tasks if t.deletes):
        file = delete.data_file
        if file.format not in (PARQUET, *FORMATS) and not is_equality(delete) and not is_vector(delete):
            raise not_supported(
                f"Reading the {file.format} position delete file {file.path} of table {table.full_name}"
            )
        if file.key_metadata is not None:
            raise not_supported(f"Reading the encrypted delete files of table {table.full_name}")


def _empty(fields: Sequence[NestedField], names: Mapping[str, str]) -> str:
    columns = ", ".join(f"{literal_sql(f.type, None)} AS {identifier(names[f.name])}" for f in fields)
    return f"SELECT {columns} WHERE false"


class _Assembly:
    """Puts each group's SELECT together, and gathers in ``variables`` what they read by name."""

    def __init__(
        self,
        storage: Storage,
        fields: Sequence[NestedField],
        names: Mapping[str, str],
        deletes: EqualityDeletes,
        places: RowPlaces,
        by_place: PositionDeletes,
        variables: dict[str, object],
    ) -> None:
        self._storage = storage
        self._fields, self._names, self._places = fields, names, places
        self._own = {column_name(f): f for f in (*fields, *places.stored)}
        self._deletes, self._by_place = deletes, by_place
        self._keys = deletes.columns(tuple(self._own.values()))
        self.variables = variables

    @property
    def may_read(self) -> tuple[NestedField, ...]:
        """The fields that some data file may be asked for."""
        return (*self._own.values(), *self._keys.values())

    def select(self, group: FileGroup, name: str, before: int) -> str:
        """The group's rows. What it reads by name is called ``name`` or begins so; ``before`` files are in groups
        before it.

        ``rows`` hold ``column_name`` of each field of ``read``, ``FILE_INDEX`` (the place in ``group.tasks``, which
        know their sequence numbers, partitions and deletes), ``FILE_POS`` and, where deleted rows stay, ``DELETED``.
        """
        fields, places = self._fields, self._places
        if not (places or group.has_equality_deletes or group.has_position_deletes):
            self.variables[name] = group.source(self._storage, fields)
            return group.plain(name, fields, [self._names[f.name] for f in fields])
        by_place = group.has_equality_deletes and self._deletes.places(group.tasks, name)
        by_key = group.has_equality_deletes and not by_place
        read = {**self._own, **self._keys} if by_key else self._own
        columns = tuple(read.values())
        position, keep = places.need_position or by_place, places.keep_deleted
        index = places.need_index or places.need_facts or group.has_equality_deletes
        if group.has_position_deletes:
            rows = self._by_place.rows_left(
                group, name, read, self.variables, index=index, position=position, keep_deleted=keep
            )
        else:
            self.variables[name] = group.source(self._storage, columns, positions=position)
            rows = group.rows(name, columns, names=tuple(read), index=index, position=position, keep_deleted=keep)
        if by_place:
            rows = without_places(rows, f"{name}_dead", keep)
        if by_key:
            there = tuple(self._own.values())
            rows = self._deletes.without(rows, group.tasks, there, name, places.keep_deleted)
        own = [f"r.{column_name(f)} AS {identifier(self._names[f.name])}" for f in fields]
        source = places.joined(rows, group, name, self.variables)
        return f"SELECT {', '.join(own + places.selected(self._names, before))} FROM {source}"
