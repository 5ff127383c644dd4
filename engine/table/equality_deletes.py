"""Equality deletes as joins: rows of data files less those whose keys later delete files hold (spec, "Scan Planning").

All delete files of one key are read at once, as data files are, and folded to the latest sequence number of each key
value; a data file's own sequence number then guards its rows. So a thousand delete files cost one join, which DuckDB
may spill. NULL equals NULL only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.table.datafile import partition_key
from bergsql.engine.table.delete_index import distinct, is_equality
from bergsql.engine.table.equality_filter import wanted_keys
from bergsql.engine.table.equality_keys import KeyColumn, key_columns
from bergsql.engine.table.equality_positions import Lookup, deleted_places
from bergsql.engine.table.file_columns import NAME_MAPPING
from bergsql.engine.table.file_groups import DELETED, FILE_INDEX, FILE_POS, PARQUET, Grouping, column_name
from bergsql.engine.table.file_streams import FORMATS
from bergsql.engine.table.planning import FileTask

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.binding import Bound
    from bergsql.engine.table.datafile import ManifestEntry

Ids = tuple[int, ...]


@dataclass(slots=True)
class _DeleteSet:
    """Delete files of one key: those that reach the whole table, or those that each reach their own partition."""

    ids: Ids
    everywhere: bool
    files: dict[str, FileTask] = field(default_factory=dict)


class EqualityDeletes:
    """The equality deletes of a scan. What they read by name is put into ``variables``.

    Raises CORRUPT for deletes by what is no column.
    """

    def __init__(
        self,
        metadata: TableMetadata,
        storage: Storage,
        schema: Schema,
        tasks: Iterable[FileTask],
        whole: Iterable[FileTask],
        variables: dict[str, object],
        wanted: Bound = True,
    ) -> None:
        """``tasks`` hold the deletes that can delete a ``wanted`` row, ``whole`` all deletes of the same data files."""
        self._metadata, self._storage, self._schema = metadata, storage, schema
        self._variables, self._wanted = variables, wanted
        self._unpartitioned = {s.spec_id for s in metadata.specs if s.is_unpartitioned}
        found = {_ids(d) for d in filter(is_equality, distinct(t.deletes for t in tasks))}
        self._whole = {t.data_file.path: t for t in whole} if found else {}
        self._keys = {ids: key_columns(metadata, ids) for ids in sorted(found)}

    def columns(self, fields: Sequence[NestedField]) -> dict[str, NestedField]:
        """What must be read of data files beside ``fields``, by what it is to be called."""
        there = {f.field_id for f in fields}
        keys = (k for keys in self._keys.values() for k in keys)
        return {_key_name(k): k.column for k in keys if k.nested or k.leaf.field_id not in there}

    def without(
        self, rows: str, tasks: Sequence[FileTask], fields: Sequence[NestedField], name: str, mark: bool
    ) -> str:
        """``rows`` of ``tasks`` less those deleted; with ``mark`` they stay, and the column DELETED becomes true.

        ``rows`` has ``fields``, the columns beside them, FILE_INDEX, and with ``mark`` DELETED. Variables are called
        ``<name>_…``.
        """
        there = {f.field_id for f in fields}
        joins, deleted = [], []
        for n, found in enumerate(self._sets(tasks)):
            access = [
                f"d.{_key_name(k) if k.nested or k.leaf.field_id not in there else column_name(k.leaf)}"
                for k in self._keys[found.ids]
            ]
            join = self._join(found, tasks, access, f"e{n}", f"{name}_e{n}")
            joins.append(f" {'LEFT' if mark else 'ANTI'} JOIN {join}")
            deleted.append(f"e{n}.s IS NOT NULL")
        chosen = f"d.* REPLACE (d.{DELETED} OR {' OR '.join(deleted)} AS {DELETED})" if mark else "d.*"
        return f"SELECT {chosen} FROM ({rows}) AS d{''.join(joins)}"

    def places(self, tasks: Sequence[FileTask], name: str) -> bool:
        """Whether the variable ``<name>_dead`` gives the deleted rows of the tasks, so that no key need be read."""
        metadata = self._metadata
        whole = [self._whole[t.data_file.path] for t in tasks]
        found = deleted_places(
            self._storage, whole, f"{metadata.table_uuid}\0{metadata.properties.get(NAME_MAPPING, '')}"
        )
        if found is None:
            return False
        if found.unknown:
            found.lookups = self._lookups({id(whole[i]): i for i in found.unknown}, whole, name)
        self._variables[f"{name}_dead"] = found
        return True

    def _lookups(self, unknown: Mapping[int, int], whole: Sequence[FileTask], name: str) -> list[Lookup]:
        """How the deleted rows of tasks are found; ``unknown`` gives their places by identity."""
        tasks = [t for t in whole if id(t) in unknown]
        lookups = []
        variables: dict[str, object] = {}
        deletes = EqualityDeletes(self._metadata, self._storage, self._schema, tasks, tasks, variables)
        columns = deletes.columns(())
        fields = tuple(columns.values())
        for n, group in enumerate(Grouping(self._metadata, self._storage, fields, self._schema).groups(tasks)):
            source = f"{name}_r{n}"
            variables[source] = group.source(self._storage, fields, positions=True)
            rows = group.rows(source, fields, names=tuple(columns), index=True, position=True)
            sql = deletes._found(rows, group.tasks, source)
            lookups.append(Lookup(sql, variables, tuple(unknown[id(t)] for t in group.tasks)))
        return lookups

    def _found(self, rows: str, tasks: Sequence[FileTask], name: str) -> str:
        """The places of the deleted ones of ``rows``, which hold all keys."""
        selects = []
        for n, found in enumerate(self._sets(tasks)):
            access = [f"d.{_key_name(k)}" for k in self._keys[found.ids]]
            join = self._join(found, tasks, access, "e", f"{name}_e{n}")
            selects.append(f"SELECT d.{FILE_INDEX}, d.{FILE_POS} FROM ({rows}) AS d SEMI JOIN {join}")
        return " UNION ALL ".join(selects)

    def _sets(self, tasks: Iterable[FileTask]) -> list[_DeleteSet]:
        sets: dict[tuple[Ids, bool], _DeleteSet] = {}
        for entry in filter(is_equality, distinct(t.deletes for t in tasks)):
            file = entry.data_file
            if file.format != PARQUET and file.format not in FORMATS:
                raise not_supported(f"Reading the {file.format} equality delete file {file.path}")
            key = (_ids(entry), file.spec_id in self._unpartitioned)
            found = sets.get(key)
            if found is None:
                found = sets[key] = _DeleteSet(*key)
            found.files[file.path] = FileTask(file, entry.sequence_number or 0)
        return list(sets.values())

    def _join(self, found: _DeleteSet, tasks: Sequence[FileTask], access: Sequence[str], alias: str, name: str) -> str:
        """What follows JOIN: the deleted keys, and how rows of the tasks are compared with them."""
        deletes = tuple(found.files.values())
        keys = self._keys[found.ids]
        scopes: dict[object, int] = {}

        def scope(task: FileTask) -> int:
            file = task.data_file
            return scopes.setdefault(partition_key(file.spec_id, file.partition), len(scopes))

        values = [v for k, a in zip(keys, access, strict=True) for v in k.values(a)]
        terms = [f"{v} IS NOT DISTINCT FROM {alias}.v{i}" for i, v in enumerate(values)]
        partitioned = not found.everywhere and len({scope(t) for t in (*tasks, *deletes)}) > 1
        if partitioned:
            terms.append(f"{self._number(tasks, scope, f'{name}_p', 'd')} = {alias}.p")
        if max(t.sequence_number for t in tasks) >= min(t.sequence_number for t in deletes):
            terms.append(f"{self._number(tasks, _sequence_number, f'{name}_s', 'd')} < {alias}.s")
        rows = self._deleted(keys, deletes, scope if partitioned else None, name)
        return f"({rows}) AS {alias} ON {' AND '.join(terms)}"

    def _deleted(
        self, keys: Sequence[KeyColumn], deletes: Sequence[FileTask], scope: Callable[[FileTask], int] | None, name: str
    ) -> str:
        """The deleted key values ``v0…``, each once (in a scope ``p``), with their latest sequence number ``s``."""
        columns = {f"k{i}": k.column for i, k in enumerate(keys)}
        fields = tuple(columns.values())
        plain = {k.leaf.field_id: (c, k.leaf) for k, c in zip(keys, columns, strict=True) if not k.nested}
        asked = wanted_keys(self._wanted, plain)
        where = "" if asked is None else f" WHERE {asked}"
        selects = []
        for n, group in enumerate(Grouping(self._metadata, self._storage, fields, self._schema).groups(deletes)):
            source = f"{name}_{n}"
            self._variables[source] = group.source(self._storage, fields)
            items = [*columns, f"{self._number(group.tasks, _sequence_number, f'{source}_s', 'g')} AS s"]
            if scope is not None:
                items.append(f"{self._number(group.tasks, scope, f'{source}_p', 'g')} AS p")
            rows = group.rows(source, fields, names=tuple(columns), index=True)
            selects.append(f"SELECT {', '.join(items)} FROM ({rows}) AS g{where}")
        values = [v for k, column in zip(keys, columns, strict=True) for v in k.values(column)]
        items = [f"{v} AS v{i}" for i, v in enumerate(values)] + (["p"] if scope is not None else [])
        places = ", ".join(str(i + 1) for i in range(len(items)))
        return f"SELECT {', '.join(items)}, max(s) AS s FROM ({' UNION ALL '.join(selects)}) GROUP BY {places}"

    def _number(self, tasks: Sequence[FileTask], value: Callable[[FileTask], int], name: str, rows: str) -> str:
        """A number of the file that a row of ``rows`` is from."""
        values = [value(t) for t in tasks]
        if len(set(values)) == 1:
            return f"CAST({values[0]} AS BIGINT)"
        self._variables[name] = values
        return f"list_extract(getvariable('{name}'), {rows}.{FILE_INDEX} + 1)"


def _ids(entry: ManifestEntry) -> Ids:
    ids = tuple(sorted(set(entry.data_file.equality_ids or ())))
    if not ids:
        path = entry.data_file.path
        raise BergError(ErrorCode.CORRUPT, f"Equality delete file {path} does not say which columns it compares.")
    return ids


def _sequence_number(task: FileTask) -> int:
    return task.sequence_number


def _key_name(key: KeyColumn) -> str:
    """What a key that no field gives is called: no name of a column that is read otherwise."""
    return f"key{key.leaf.field_id}"
