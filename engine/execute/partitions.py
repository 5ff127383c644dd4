"""SHOW PARTITIONS, and what there is to tell of a table's partitions, from its manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.partition_text import partition_path, value_text
from bergsql.catalog.metadata.types import UnknownType
from bergsql.engine.names import load
from bergsql.engine.result import Column, Result, ResultKind, Row, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import BIGINT, STRING

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.session import Session
    from bergsql.engine.table.datafile import PartitionKey


@dataclass(slots=True)
class Partition:
    """A partition that holds data now. Counts are of data files, before deletes; ``size`` is bytes."""

    path: str
    """``dt=x/b=2``, escaped as in Hive's paths; empty for files without a partition."""
    values: dict[str, str | None]
    records: int = 0
    files: int = 0
    size: int = 0


def show(session: Session, statement: st.ShowPartitions) -> Result:
    """``SHOW PARTITIONS t [PARTITION (…)]``: in spark with the rows and files of each."""
    name, table = load(session, statement.name)
    if all(spec.is_unpartitioned for spec in table.metadata.specs):
        raise BergError(ErrorCode.INVALID, f"Table {name} is not partitioned.", span=statement.name.span)
    found = partitions_of(table, name.catalog.storage(table.metadata.location))
    if statement.partition is not None:
        found = matching(table, found, statement.partition)
    if session.flavour is Flavour.FLINK:
        return listing(("partition name",), [(p.path,) for p in found])
    columns = (Column("partition", STRING), Column("record_count", BIGINT), Column("file_count", BIGINT))
    rows: list[Row] = [(p.path, p.records, p.files) for p in found]
    return Result(ResultKind.LISTING, columns, [rows])


def partitions_of(table: LoadedTable, storage: Storage) -> list[Partition]:
    """The partitions of the current snapshot, by path. Those of all partition specs are there."""
    from bergsql.engine.table.datafile import partition_key
    from bergsql.engine.table.planning import plan_files
    from bergsql.engine.table.read_point import current

    metadata = table.metadata
    plan = plan_files(metadata, current(metadata), None, storage)
    by_key: dict[PartitionKey, Partition] = {}
    by_path: dict[str, Partition] = {}
    for task in plan.tasks:
        file = task.data_file
        key = partition_key(file.spec_id, file.partition)
        partition = by_key.get(key)
        if partition is None:
            made = _partition(table, file.spec_id, file.partition)
            partition = by_key[key] = by_path.setdefault(made.path, made)
        partition.records += file.record_count
        partition.files += 1
        partition.size += file.file_size
    return [by_path[path] for path in sorted(by_path)]


def _partition(table: LoadedTable, spec_id: int, values: tuple[object, ...]) -> Partition:
    metadata = table.metadata
    spec = metadata.spec_by_id(spec_id)
    if spec is None:
        raise BergError(ErrorCode.CORRUPT, f"Table {table.full_name} has no partition spec {spec_id}.")
    texts: dict[str, str | None] = {}
    for field, value in zip(spec.fields, values, strict=True):
        source = metadata.schema.field(field.source_id)
        text = value_text(field.transform, UnknownType() if source is None else source.type, value)
        texts[field.name] = None if value is None else text
    return Partition(partition_path(spec, metadata.schema, values), texts)


def matching(table: LoadedTable, found: Sequence[Partition], wanted: st.PartitionFilter) -> list[Partition]:
    """The partitions that have the values of a PARTITION clause.

    :raises BergError: NOT_FOUND when it names no partition field of the table.
    """
    known = [field.name for spec in table.metadata.specs for field in spec.fields]
    for name, _ in wanted.values:
        if name not in known:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Table {table.full_name} has no partition field '{name}'.",
                span=wanted.span,
                hint=did_you_mean(name, known) or (f"It has {', '.join(dict.fromkeys(known))}." if known else None),
            )
    return [p for p in found if all(n in p.values and p.values[n] == value for n, value in wanted.values)]
