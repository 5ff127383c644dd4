"""Data files that are read alike, and the SQL that reads them.

Files whose columns DuckDB itself matches rightly by field id are one ``read_parquet``; it may push filters and
projections into that. The others (no ids, parts of structs renamed, columns that only the path's partition knows) are
grouped by their schema, with a projection of our own for each group; Avro and ORC files always, which DuckDB reads as
streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import StructType, VariantType, walk
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.delete_index import kinds
from bergsql.engine.table.file_columns import fits_by_name, identify, must_be_looked_at, name_mapping
from bergsql.engine.table.file_streams import PARQUET_BY_ARROW, FileStream, stream_columns, stream_name
from bergsql.engine.table.parquet_schema import SHREDDED, Node, read_columns
from bergsql.engine.table.projection import constant_sql, default_sql, default_text, duckdb_type, value_sql

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.planning import FileTask

PARQUET = "PARQUET"
FILE_INDEX, FILE_POS, DELETED = "file_index", "file_pos", "deleted"
"""What :meth:`FileGroup.rows` calls a file's place in the group, a row's in its file, and whether it is deleted."""

_SAMPLE = 64
"""Up to so many files are always looked into for field ids; of more, this many evenly chosen ones."""

_ICEBERG_NAME = re.compile(r"\d{5}-\d+-.*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
"""How Iceberg's own writers begin a data file's name; a file called otherwise may come from anywhere."""


def column_name(wanted: NestedField) -> str:
    """What :meth:`FileGroup.rows` calls a field: by its id, so that no two fields share a name, whatever they are."""
    return f"f{wanted.field_id}"


class DeleteSql(NamedTuple):
    """How rows that are deleted by their place are told."""

    bit: str
    """A number that is never NULL: 1 where the row is deleted, else 0."""
    join: str = ""
    """What follows the files in FROM."""


@dataclass(slots=True)
class FileGroup:
    """Files that one ``read_parquet``, or one stream, reads. ``columns`` is None where field ids alone are enough."""

    file_format: str
    columns: tuple[Node, ...] | None = None
    has_equality_deletes: bool = False
    has_position_deletes: bool = False
    """Whether such deletes apply to its files: those of a group all have some, or none. A vector is of the second."""
    tasks: list[FileTask] = field(default_factory=list)
    constants: dict[int, list[object]] = field(default_factory=dict)
    """Values by field id that only the partition knows, one a file."""
    single: tuple[int, str] | None = None
    """Of a group of one file taken out of another group: its place there, and its path."""

    def source(self, storage: Storage, fields: Sequence[NestedField], *, positions: bool = False) -> object:
        """What the group's variable holds: paths, or a stream of the columns that the fields are made of."""
        paths = [t.data_file.path for t in self.tasks]
        if self.file_format == PARQUET:
            return [exact_path(storage.readable_path(path)) for path in paths]
        for path in paths:
            storage.readable_path(path)
        wanted = {f.field_id for f in fields}
        columns = tuple(i for i, c in enumerate(self.columns or ()) if c.field_id in wanted)
        return FileStream(storage, self.file_format, tuple(paths), columns, positions)

    def plain(self, variable: str, fields: Sequence[NestedField], names: Sequence[str]) -> str:
        """A SELECT of the fields under ``names``; the fastest, where there is nothing else to look at."""
        if self.columns is None:
            return f"SELECT * FROM {self._parquet_by_id(variable, fields, names)}"
        return f"SELECT {self._selected(fields, names)} FROM {self._renamed(variable)}"

    def rows(
        self,
        variable: str,
        fields: Sequence[NestedField],
        *,
        names: Sequence[str] | None = None,
        index: bool = False,
        position: bool = False,
        deletes: DeleteSql | None = None,
        keep_deleted: bool = False,
    ) -> str:
        """A SELECT of the fields, and of ``FILE_INDEX`` and ``FILE_POS`` if asked.

        The fields are called ``names``, or as :func:`column_name` does. The others are BIGINT and begin with 0: the
        file's place among ``tasks``, the row's in the file. Rows that ``deletes`` tells are left out; with
        ``keep_deleted`` they stay, and a BOOLEAN ``DELETED`` says which.
        """
        names = names or [column_name(f) for f in fields]
        by_id = self.columns is None
        items = [*names] if by_id else [self._selected(fields, names)] if fields else []
        if index or not (fields or position or keep_deleted):
            items.append(f"{self._index_sql} AS {FILE_INDEX}")
        if position:
            items.append(f"CAST(file_row_number AS BIGINT) AS {FILE_POS}")
        if keep_deleted:
            items.append(f"{f'({deletes.bit} = 1)' if deletes else 'false'} AS {DELETED}")
        if not by_id:
            source = self._renamed(variable)
        elif fields:
            source = self._parquet_by_id(variable, fields, names)
        else:
            source = f"read_parquet({self._paths(variable)}, {self._options()})"
        if deletes is not None:
            source += deletes.join + ("" if keep_deleted else f" WHERE {deletes.bit} = 0")
        return f"SELECT {', '.join(items)} FROM {source}"

    @property
    def _index_sql(self) -> str:
        """A file's place among the tasks, as BIGINT."""
        return "CAST(file_index AS BIGINT)" if self.single is None else f"CAST({self.single[0]} AS BIGINT)"

    def files(self, storage: Storage) -> Iterator[FileGroup]:
        """Each of its Parquet files as a group whose SQL names the file itself, and needs no variable."""
        for i, task in enumerate(self.tasks):
            constants = {number: [values[i]] for number, values in self.constants.items()}
            path = exact_path(storage.readable_path(task.data_file.path))
            yield replace(self, tasks=[task], constants=constants, single=(i, path))

    def _paths(self, variable: str) -> str:
        return f"getvariable('{variable}')" if self.single is None else string_literal(self.single[1])

    def _parquet_by_id(self, variable: str, fields: Sequence[NestedField], names: Sequence[str]) -> str:
        by_id = ", ".join(f"{f.field_id}: {_column_options(f, n)}" for f, n in zip(fields, names, strict=True))
        return f"read_parquet({self._paths(variable)}, schema=MAP{{{by_id}}}, {self._options()})"

    def _renamed(self, variable: str) -> str:
        """The group's files, columns renamed by their places, so that no name in a file can be mistaken for others."""
        if self.file_format != PARQUET:
            return f"temp.main.{variable}"  # by its full name, which no name in the query can hide
        names = ", ".join(stream_name(i) for i in range(len(self.columns or ())))
        return f"read_parquet({self._paths(variable)}, {self._options()}) AS f({names})"

    def _options(self) -> str:
        rows = sum(t.data_file.record_count for t in self.tasks)
        return f"hive_partitioning=false, explicit_cardinality={rows}"

    def _selected(self, fields: Sequence[NestedField], names: Sequence[str]) -> str:
        columns = self.columns or ()
        places = {c.field_id: i for i, c in enumerate(columns) if c.field_id is not None}
        items = (self._field_sql(f, places.get(f.field_id), columns) for f in fields)
        return ", ".join(f"{item} AS {identifier(name)}" for item, name in zip(items, names, strict=True))

    def _field_sql(self, wanted: NestedField, place: int | None, columns: Sequence[Node]) -> str:
        if place is None:
            return self._missing_sql(wanted)
        within = any(f.field_id in self.constants for f in walk((wanted,)))
        return value_sql(
            wanted.type, columns[place], stream_name(place), missing=self._missing_sql if within else default_sql
        )

    def _missing_sql(self, wanted: NestedField) -> str:
        """A field, or a part of a struct, that the files lack."""
        values = self.constants.get(wanted.field_id)
        if values is None:
            return default_sql(wanted)
        kind = duckdb_type(wanted.type)
        items = ", ".join(constant_sql(wanted.type, v) for v in values)
        if len(values) == 1:
            return f"CAST({items} AS {kind})"
        return f"list_extract(CAST([{items}] AS {kind}[]), {self._index_sql} + 1)"


def exact_path(path: str) -> str:
    """The path with what DuckDB would take for a pattern made plain."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _column_options(wanted: NestedField, name: str) -> str:
    type_, value = wanted.type, wanted.initial_default
    default = "NULL" if value is None else string_literal(default_text(type_, value))
    type_name = string_literal(duckdb_type(type_))
    return f"{{name: {string_literal(name)}, type: {type_name}, default_value: {default}}}"


def _outside_lists(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    """The fields, and those of structs in them, but nothing below a list or a map."""
    for f in fields:
        yield f
        if isinstance(f.type, StructType):
            yield from _outside_lists(f.type.fields)


def _parts(columns: Iterable[Node]) -> Iterator[Node]:
    for column in columns:
        yield column
        if column.kind == "struct":
            yield from _parts(column.children)


class Grouping:
    """Sorts file tasks into groups that are read alike. ``fields`` are all that may be read of a file."""

    def __init__(
        self, metadata: TableMetadata, storage: Storage, fields: Sequence[NestedField], schema: Schema
    ) -> None:
        self._storage = storage
        self._fields = fields
        self._schema = schema
        self._mapping = name_mapping(metadata.properties)
        read = {f.field_id for f in _outside_lists(fields)}
        self._identities = {
            spec.spec_id: [
                (place, part.source_id)
                for place, part in enumerate(spec.fields)
                if part.transform.kind is TransformKind.IDENTITY and part.source_id in read
            ]
            for spec in metadata.specs
        }
        self._variants = any(isinstance(f.type, VariantType) for f in walk(tuple(fields)))
        self._failing: dict[int, tuple[Sequence[Node], bool]] = {}
        self._look_at_all = any(map(must_be_looked_at, fields))
        self._fitting: dict[int, tuple[Sequence[Node], bool]] = {}
        """By the identity of a schema, which all files that have it share; kept here, so that it stays its own."""

    def groups(self, tasks: Sequence[FileTask]) -> list[FileGroup]:
        if not tasks:
            return []
        everything = self._look_at_all or self._mapping is not None or len(tasks) <= _SAMPLE
        groups = self._sorted(tasks, everything)
        if not everything and any(g.columns is not None and g.file_format == PARQUET for g in groups):
            groups = self._sorted(tasks, everything=True)
        return groups

    def _sorted(self, tasks: Sequence[FileTask], everything: bool) -> list[FileGroup]:
        step = max(1, len(tasks) // _SAMPLE)
        groups: dict[object, FileGroup] = {}
        for i, task in enumerate(tasks):
            key: object = None
            columns: tuple[Node, ...] | None = None
            constants: dict[int, object] = {}
            file = task.data_file
            file_format = file.format
            if file_format != PARQUET or everything or i % step == 0 or self._suspicious(task):
                file_format, originals = self._columns(file)
                columns = identify(originals, file.format, self._mapping, self._schema.fields)
                constants = self._constants(task, columns)
                if file_format == PARQUET and columns is originals and not constants and self._fits(columns):
                    columns = None
                else:
                    key = (file_format, originals, tuple(constants))
            deleted = kinds(task.deletes)
            if task.gone is not None:
                deleted |= {FileContent.POSITION_DELETES}
            group = groups.get((key, deleted))
            if group is None:
                by_key, by_place = FileContent.EQUALITY_DELETES in deleted, FileContent.POSITION_DELETES in deleted
                group = groups[key, deleted] = FileGroup(file_format, columns, by_key, by_place)
            group.tasks.append(task)
            for number, value in constants.items():
                group.constants.setdefault(number, []).append(value)
        return list(groups.values())

    def _columns(self, file: DataFile) -> tuple[str, tuple[Node, ...]]:
        """How a file is read, as the format of its group, and its columns as they are read so."""
        if file.format != PARQUET:
            return file.format, stream_columns(self._storage, file.format, file.path, file.file_size)
        columns = read_columns(self._storage, file.path, file.file_size)
        if not (self._fails(columns) or (self._variants and self._may_hold_null_variants(file, columns))):
            return PARQUET, columns
        return PARQUET_BY_ARROW, stream_columns(self._storage, PARQUET_BY_ARROW, file.path, file.file_size)

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
        there = {c.field_id for c in _parts(columns)}
        return {source: task.data_file.partition[place] for place, source in identities if source not in there}

    def _fails(self, columns: Sequence[Node]) -> bool:
        """Whether DuckDB cannot read files of these columns; asked once a schema."""
        known = self._failing.get(id(columns))
        if known is None:
            known = self._failing[id(columns)] = (columns, any(c.fails_duckdb() for c in columns))
        return known[1]

    def _may_hold_null_variants(self, file: DataFile, columns: Sequence[Node]) -> bool:
        """Whether a variant of the file may be its own null, which DuckDB's reader takes for NULL.

        Only where it is not shredded: Arrow does not put shredded ones together.
        """
        found = [n for column in columns for n in column.walk() if n.kind == "variant"]
        if not found or any(n.details == SHREDDED for n in found):
            return False
        from bergsql.engine.table.arrow_parquet import may_hold_null_variants

        return may_hold_null_variants(self._storage, file.path, file.file_size)

    def _fits(self, columns: Sequence[Node]) -> bool:
        """Whether DuckDB, given the field ids of the columns, reads what the table means; asked once a schema."""
        known = self._fitting.get(id(columns))
        if known is None:
            known = self._fitting[id(columns)] = (columns, self._fits_by_id(columns))
        return known[1]

    def _fits_by_id(self, columns: Sequence[Node]) -> bool:
        by_id = {c.field_id: c for c in columns}
        if len({f.field_id for f in self._fields}) < len(self._fields):
            return False  # DuckDB takes an id once
        for wanted in self._fields:
            node = by_id.get(wanted.field_id)
            if node is None:
                if wanted.initial_default is not None and not wanted.type.is_primitive:
                    return False
            elif not fits_by_name(node, wanted.type):
                return False
        return True
