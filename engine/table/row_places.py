"""SQL of the metadata columns: what is known of a row from its file and from its place in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.types import StructType
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.table.datafile import partition_key
from bergsql.engine.table.file_groups import DELETED, FILE_INDEX, FILE_POS, column_name
from bergsql.engine.table.metadata_columns import DELETED as IS_DELETED
from bergsql.engine.table.metadata_columns import (
    FILE,
    LAST_UPDATED,
    PARTITION,
    PLACE_FILE,
    PLACE_POSITION,
    PLACE_ROW_ID,
    PLACE_UPDATED,
    POS,
    ROW_ID,
    SPEC_ID,
)
from bergsql.engine.table.projection import constant_sql, duckdb_type

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.table.file_groups import FileGroup

_Partition = tuple[int, tuple[object, ...]]

_ROW_IDS, _UPDATES = {ROW_ID, PLACE_ROW_ID}, {LAST_UPDATED, PLACE_UPDATED}


class RowPlaces:
    """The metadata columns that a scan is asked for: what they need to be read, and their SQL."""

    def __init__(self, metadata: TableMetadata, fields: Sequence[NestedField]) -> None:
        self._specs = {spec.spec_id: [f.field_id for f in spec.fields] for spec in metadata.specs}
        self._fields = fields
        names = {f.name for f in fields}
        self.stored = tuple(f for f in fields if f.name in _ROW_IDS | _UPDATES)
        """Those that a data file may hold itself."""
        self.need_index = PLACE_FILE in names
        self.need_facts = bool(names & {FILE, SPEC_ID, PARTITION, *_ROW_IDS, *_UPDATES})
        self.need_position = bool(names & {POS, PLACE_POSITION, *_ROW_IDS})
        self.keep_deleted = IS_DELETED in names
        """Whether deleted rows stay, told by a column ``DELETED`` of the rows."""

    def __bool__(self) -> bool:
        return bool(self._fields)

    def joined(self, rows: str, group: FileGroup, name: str, variables: dict[str, object]) -> str:
        """What follows FROM: the ``rows`` of a group as ``r`` and, if needed, what is known of their files as ``m``."""
        if not self.need_facts:
            return f"({rows}) AS r"
        facts = f"{name}_facts"
        partitions = _partitions(group)
        variables[facts] = _facts(group, partitions)
        source = f"temp.main.{facts}"
        asked = next((f for f in self._fields if f.name == PARTITION), None)
        if asked is not None:
            source = f"(SELECT *, {self._partition_sql(asked, partitions)} AS partition FROM {source})"
        return f"({rows}) AS r JOIN {source} AS m ON m.{FILE_INDEX} = r.{FILE_INDEX}"

    def selected(self, names: Mapping[str, str], before: int) -> list[str]:
        """The columns, from ``r`` and ``m``, under ``names``; ``before`` files lie before the group's in the plan."""
        return [f"{self._sql(f, before)} AS {identifier(names[f.name])}" for f in self._fields]

    def _sql(self, asked: NestedField, before: int) -> str:
        if asked.name == PLACE_FILE:
            return f"r.{FILE_INDEX} + {before}" if before else f"r.{FILE_INDEX}"
        if asked.name == PLACE_POSITION:
            return f"r.{FILE_POS}"
        match asked.name:
            case "_file":
                return "m.path"
            case "_pos":
                return f"r.{FILE_POS}"
            case "_deleted":
                return f"r.{DELETED}"
            case "_spec_id":
                return "m.spec_id"
            case "_partition":
                return "m.partition"
        # A row keeps the number that it was written with; one without is numbered by its place. Files from before the
        # table had row lineage have none.
        given = f"m.first_row_id + r.{FILE_POS}" if asked.name in _ROW_IDS else "m.sequence_number"
        stored = f"coalesce(r.{column_name(asked)}, {given})"
        return f"CASE WHEN m.first_row_id IS NOT NULL THEN {stored} END"

    def _partition_sql(self, asked: NestedField, partitions: dict[_Partition, _Partition]) -> str:
        """The struct of all specs' fields that a file's ``partition_index`` stands for."""
        kind = asked.type
        assert isinstance(kind, StructType)
        if not kind.fields:  # as in Spark
            return "NULL"
        items, names = [], distinct_names(f.name for f in kind.fields)
        for spec_id, values in partitions.values():
            known = dict(zip(self._specs.get(spec_id, ()), values, strict=False))
            parts = (
                f"{identifier(name)} := {constant_sql(f.type, known.get(f.field_id))}"
                for name, f in zip(names, kind.fields, strict=True)
            )
            items.append(f"struct_pack({', '.join(parts)})")
        return f"list_extract(CAST([{', '.join(items)}] AS {duckdb_type(kind)}[]), partition_index + 1)"


def _partitions(group: FileGroup) -> dict[_Partition, _Partition]:
    """The partitions of a group's files, by what tells them apart: spec and values, 0.0 from -0.0 too."""
    found: dict[_Partition, _Partition] = {}
    for task in group.tasks:
        own = task.data_file.spec_id, task.data_file.partition
        found.setdefault(partition_key(*own), own)
    return found


def _facts(group: FileGroup, partitions: dict[_Partition, _Partition]) -> object:
    """An Arrow table of one row a file."""
    import pyarrow as pa

    files = [t.data_file for t in group.tasks]
    number = {key: i for i, key in enumerate(partitions)}
    return pa.table(
        {
            FILE_INDEX: pa.array(range(len(files)), pa.int64()),
            "path": pa.array([f.path for f in files], pa.string()),
            "spec_id": pa.array([f.spec_id for f in files], pa.int32()),
            "partition_index": pa.array([number[partition_key(f.spec_id, f.partition)] for f in files], pa.int64()),
            "first_row_id": pa.array([f.first_row_id for f in files], pa.int64()),
            "sequence_number": pa.array([t.sequence_number for t in group.tasks], pa.int64()),
        }
    )
