"""Whether an INSERT upserts, and by what key (Iceberg, "Flink Writes", "UPSERT").

In flink the table property ``write.upsert.enabled`` makes every INSERT one; Spark does not know it, so in spark rows
are only added. The hint ``upsert-enabled`` goes before it, in either flavour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.equality_delete_writing import check_partitioned_by_key, key_of, reaching_specs
from bergsql.engine.table.properties import PropertyReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bergsql.catalog.errors import Span
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.execute.destination import Target

UPSERT = "write.upsert.enabled"
_NOT_WITHOUT_KEY = "ALTER TABLE {} ADD PRIMARY KEY (…) NOT ENFORCED; declares one, of columns that are NOT NULL."


class UpsertKey(NamedTuple):
    """What rows are upserted by: the key, and the partition specs in which its delete files are written."""

    fields: Sequence[NestedField]
    specs: Sequence[PartitionSpec]

    def __str__(self) -> str:
        return ", ".join(f.name for f in self.fields)


def is_enabled(properties: Mapping[str, str], flavour: Flavour) -> bool:
    """Whether a table's properties make an INSERT an upsert; OPTION for a value that is neither true nor false."""
    return flavour is Flavour.FLINK and PropertyReader(properties).boolean(UPSERT, False)


def upsert_into(target: Target, span: Span) -> UpsertKey:
    """What an upsert into a table needs to know; ``span`` is the table's name.

    :raises BergError: INVALID without a key, or where a partition column is not in it; OPTION in format version 1.
    """
    metadata = target.table.metadata
    name = target.name
    if metadata.format_version < 2:
        raise BergError(
            ErrorCode.OPTION,
            f"Rows are upserted by delete files, which tables of format version 1 as {name} do not have.",
            span=span,
            hint=f"ALTER TABLE {name} SET ('format-version'='2'); changes it.",
        )
    try:
        key = key_of(metadata.schema)
        if not key:
            raise BergError(
                ErrorCode.INVALID,
                f"Rows are upserted by a primary key, and {name} has none.",
                hint=_NOT_WITHOUT_KEY.format(name),
            )
        check_partitioned_by_key(metadata.schema, metadata.spec)
        storage = name.catalog.storage()
        return UpsertKey(key, reaching_specs(metadata, target.to.head(metadata), storage))
    except BergError as error:
        raise error.at(span) from None


def check_definition(
    schema: Schema, spec: PartitionSpec, properties: Mapping[str, str], span: Span | None, flavour: Flavour
) -> None:
    """Refuse a new table that no row could be upserted into: ``write.upsert.enabled`` with a key that lacks a partition
    column. A table without a key may get one later.

    :raises BergError: INVALID naming the column.
    """
    if schema.identifier_field_ids and is_enabled(properties, flavour):
        try:
            check_partitioned_by_key(schema, spec)
        except BergError as error:
            raise error.at(span) from None
