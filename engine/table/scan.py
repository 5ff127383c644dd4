"""From a table to DuckDB SQL that reads it: each field by its id, whatever the files call it and however they hold it.

Files whose columns DuckDB itself matches rightly by field id are one ``read_parquet``; it may push filters and
projections into that. The others (no ids, parts of structs renamed, columns that only the path's partition knows) are
grouped by their schema, with a projection of our own for each group; Avro and ORC files always, which DuckDB reads as
streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.table.file_columns import fits_by_name, identify, must_be_looked_at, name_mapping
from bergsql.engine.table.file_streams import FORMATS, FileStream, stream_columns, stream_name
from bergsql.engine.table.parquet_schema import Node, read_columns
from bergsql.engine.table.planning import FilePlan, FileTask, plan_files
from bergsql.engine.table.projection import constant_sql, default_text, duckdb_type, field_sql
from bergsql.engine.table.read_point import current

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.read_point import ReadPoint

_PARQUET = "PARQUET"
_SAMPLE = 64
"""Up to so many files are always looked into for field ids; of more, this many evenly chosen ones."""

_ICEBERG_NAME = re.compile(r"\d{5}-\d+-.*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
"""How Iceberg's own writers begin a data file's name; a file called otherwise may come from anywhere."""


@dataclass(frozen=True, slots=True)
class TableScan:
    """SQL that reads a table once ``variables`` are set. ``fields`` are its columns, of ``schema``."""

    sql: str
    variables: dict[str, object]
    plan: FilePlan
    schema: Schema
    fields: tuple[NestedField, ...]


def build_scan(
    table: LoadedTable,
    storage: Storage,
    *,
    point: ReadPoint | None = None,
    predicate: Predicate | None = None,
    columns: frozenset[str] | None = None,
    name_prefix: str = "s0",
) -> TableScan:
    """The scan of a table at ``point`` (by default: as it is now).

    The SQL gives ``columns`` (all by default; at least one) in the schema's order, under the table's names and with
    DuckDB's types for theirs. ``predicate`` only leaves files out: the rows are still to be filtered. Variables are
    named ``<name_prefix>_files…``. Raises UNSUPPORTED, naming what, where rows could not be read rightly yet.
    """
    metadata = table.metadata
    point = point or current(metadata)
    schema = point.schema
    fields = _chosen(schema, columns, table)
    plan = plan_files(metadata, point, predicate, storage)
    _refuse(plan, table)
    groups = _Grouping(metadata, storage, fields, schema).groups(plan.tasks)
    variables: dict[str, object] = {}
    selects = []
    for i, group in enumerate(groups):
        name = f"{name_prefix}_files{i or ''}"
        variables[name] = group.source(storage, fields)
        selects.append(group.sql(name, fields))
    return TableScan(" UNION ALL ".join(selects) or _empty(fields), variables, plan, schema, fields)


def _chosen(schema: Schema, columns: frozenset[str] | None, table: LoadedTable) -> tuple[NestedField, ...]:
    if columns is None:
        fields = schema.fields
    else:
        fields = tuple(f for f in schema.fields if f.name in columns) or schema.fields[:1]
    _check_distinct([f.name for f in fields], f"table {table.full_name}")
    return fields


def _check_distinct(names: Iterable[str], where: str) -> None:
    """Refuse names that DuckDB cannot tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise not_supported(f"Reading {where}, where columns '{other}' and '{name}' differ only in case,")


def _refuse(plan: FilePlan, table: LoadedTable) -> None:
    for task in plan.tasks:
        file = task.data_file
        if file.format != _PARQUET and file.format not in FORMATS:
            raise not_supported(f"Reading the {file.format} data files of table {table.full_name}")
        if task.deletes:
            raise not_supported(f"Reading table {table.full_name} with delete files")
        if file.key_metadata is not None:
            raise not_supported(f"Reading the encrypted data files of table {table.full_name}")


def _exact_path(path: str) -> str:
    """The path with what DuckDB would take for a pattern made plain."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _empty(fields: Sequence[NestedField]) -> str:
    columns = ", ".join(f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}" for f in fields)
    return f"SELECT {columns} WHERE false"


@dataclass(slots=True)
class _Group:
    """Files that one ``read_parquet``, or one stream, reads. ``columns`` is None where field ids alone are enough."""

    file_format: str
    columns: tuple[Node, ...] | None = None
    tasks: list[FileTask] = field(default_factory=list)
    constants: dict[int, list[object]] = field(default_factory=dict)
    """Values by field id that only the partition knows, one a file."""

    def source(self, storage: Storage, fields: Sequence[NestedField]) -> object:
        """What the group's variable holds: paths, or a stream of the columns that the fields are made of."""
        paths = [t.data_file.path for t in self.tasks]
        if self.file_format == _PARQUET:
            return [_exact_path(storage.readable_path(path)) for path in paths]
        for path in paths:
            storage.readable_path(path)
        wanted = {f.field_id for f in fields}
        columns = tuple(i for i, c in enumerate(self.columns or ()) if c.field_id in wanted)
        return FileStream(storage, self.file_format, tuple(paths), columns)

    def sql(self, variable: str, fields: Sequence[NestedField]) -> str:
        if self.columns is not None:
            # Renamed by their places, so that no name in a file can be mistaken for anything else.
            named = [replace(c, name=stream_name(i)) for i, c in enumerate(self.columns)]
            # A stream by its full name, which no name in the query can hide.
            source = f"temp.main.{variable}" if self.file_format != _PARQUET else self._parquet(variable, named)
            return f"SELECT {self._selected(fields, named)} FROM {source}"
        by_id = ", ".join(f"{f.field_id}: {_column_options(f)}" for f in fields)
        return f"SELECT * FROM read_parquet(getvariable('{variable}'), schema=MAP{{{by_id}}}, {self._options()})"

    def _parquet(self, variable: str, named: Sequence[Node]) -> str:
        names = ", ".join(c.name for c in named)
        return f"read_parquet(getvariable('{variable}'), {self._options()}) AS f({names})"

    def _options(self) -> str:
        rows = sum(t.data_file.record_count for t in self.tasks)
        return f"hive_partitioning=false, explicit_cardinality={rows}"

    def _selected(self, fields: Sequence[NestedField], columns: Iterable[Node]) -> str:
        by_field = {c.field_id: c for c in columns if c.field_id is not None}
        return ", ".join(f"{self._field_sql(f, by_field.get(f.field_id))} AS {identifier(f.name)}" for f in fields)

    def _field_sql(self, wanted: NestedField, node: Node | None) -> str:
        values = self.constants.get(wanted.field_id)
        if values is None:
            return field_sql(wanted, node, "" if node is None else identifier(node.name))
        kind = duckdb_type(wanted.type)
        items = ", ".join(constant_sql(wanted.type, v) for v in values)
        return f"list_extract(CAST([{items}] AS {kind}[]), CAST(file_index AS BIGINT) + 1)"


def _column_options(wanted: NestedField) -> str:
    name, type_, value = wanted.name, wanted.type, wanted.initial_default
    default = "NULL" if value is None else string_literal(default_text(type_, value))
    type_name = string_literal(duckdb_type(type_))
    return f"{{name: {string_literal(name)}, type: {type_name}, default_value: {default}}}"


class _Grouping:
    """Sorts file tasks into groups that are read alike."""

    def __init__(
        self, metadata: TableMetadata, storage: Storage, fields: Sequence[NestedField], schema: Schema
    ) -> None:
        self._storage = storage
        self._fields = fields
        self._schema = schema
        self._mapping = name_mapping(metadata.properties)
        self._identities = {
            spec.spec_id: [
                (place, part.source_id)
                for place, part in enumerate(spec.fields)
                if part.transform.kind is TransformKind.IDENTITY and any(f.field_id == part.source_id for f in fields)
            ]
            for spec in metadata.specs
        }
        self._look_at_all = any(map(must_be_looked_at, fields))

    def groups(self, tasks: Sequence[FileTask]) -> list[_Group]:
        if not tasks:
            return []
        everything = self._look_at_all or self._mapping is not None or len(tasks) <= _SAMPLE
        groups = self._sorted(tasks, everything)
        if not everything and any(g.columns is not None and g.file_format == _PARQUET for g in groups):
            groups = self._sorted(tasks, everything=True)
        return groups

    def _sorted(self, tasks: Sequence[FileTask], everything: bool) -> list[_Group]:
        step = max(1, len(tasks) // _SAMPLE)
        groups: dict[object, _Group] = {}
        for i, task in enumerate(tasks):
            key: object = None
            columns: tuple[Node, ...] | None = None
            constants: dict[int, object] = {}
            file = task.data_file
            if file.format != _PARQUET:
                originals = stream_columns(self._storage, file.format, file.path, file.file_size)
                columns = identify(originals, file.format, self._mapping, self._schema.fields)
                constants = self._constants(task, columns)
                key = (file.format, originals, tuple(constants))
            elif everything or i % step == 0 or self._suspicious(task):
                originals = read_columns(self._storage, file.path, file.file_size)
                columns = identify(originals, file.format, self._mapping, self._schema.fields)
                constants = self._constants(task, columns)
                if columns is originals and not constants and self._fits(columns):
                    columns = None
                else:
                    key = (originals, tuple(constants))
            group = groups.setdefault(key, _Group(file.format, columns))
            group.tasks.append(task)
            for number, value in constants.items():
                group.constants.setdefault(number, []).append(value)
        return list(groups.values())

    def _suspicious(self, task: FileTask) -> bool:
        """Whether the file may lack field ids, or a column that its partition knows."""
        file = task.data_file
        if not _ICEBERG_NAME.match(file.path.rpartition("/")[2]):
            return True
        return any(
            source not in file.column_sizes and source not in file.value_counts
            for _, source in self._identities.get(file.spec_id, ())
        )

    def _constants(self, task: FileTask, columns: Sequence[Node]) -> dict[int, object]:
        """Values of identity partition columns that the file lacks (spec, "Column Projection")."""
        identities = self._identities.get(task.data_file.spec_id)
        if not identities:
            return {}
        there = {c.field_id for c in columns}
        return {source: task.data_file.partition[place] for place, source in identities if source not in there}

    def _fits(self, columns: Sequence[Node]) -> bool:
        """Whether DuckDB, given the field ids of the columns, reads what the table means."""
        by_id = {c.field_id: c for c in columns}
        for wanted in self._fields:
            node = by_id.get(wanted.field_id)
            if node is None:
                if wanted.initial_default is not None and not wanted.type.is_primitive:
                    return False
            elif not fits_by_name(node, wanted.type):
                return False
        return True
