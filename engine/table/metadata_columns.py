"""Columns that no file holds for itself: where a row lies, and since when it is there.

Names and ids are the specification's ("Reserved Field IDs", "Row Lineage"), the types Iceberg's own readers'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import BooleanType, IntegerType, LongType, NestedField, StringType, StructType

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata

FILE, POS, DELETED = "_file", "_pos", "_deleted"
SPEC_ID, PARTITION = "_spec_id", "_partition"
ROW_ID, LAST_UPDATED = "_row_id", "_last_updated_sequence_number"

METADATA_COLUMNS: dict[str, NestedField] = {
    f.name: f
    for f in (
        NestedField(2147483646, FILE, StringType(), True),
        NestedField(2147483645, POS, LongType(), True),
        NestedField(2147483644, DELETED, BooleanType(), True),
        NestedField(2147483643, SPEC_ID, IntegerType(), True),
        NestedField(2147483642, PARTITION, StructType(()), False),
        NestedField(2147483540, ROW_ID, LongType(), False),
        NestedField(2147483539, LAST_UPDATED, LongType(), False),
    )
}
"""By name. ``_partition`` has the fields that the table's specs give it, none here."""

LINEAGE = (METADATA_COLUMNS[ROW_ID], METADATA_COLUMNS[LAST_UPDATED])
"""What data files of tables with row lineage may hold behind the table's columns."""

PLACE_FILE, PLACE_POSITION = "\ue000file", "\ue000position"
PLACE_ROW_ID, PLACE_UPDATED = "\ue000row_id", "\ue000updated"

PLACE_COLUMNS: dict[str, NestedField] = {
    f.name: f
    for f in (
        NestedField(-1, PLACE_FILE, LongType(), True),
        NestedField(-2, PLACE_POSITION, LongType(), True),
        replace(METADATA_COLUMNS[ROW_ID], name=PLACE_ROW_ID),
        replace(METADATA_COLUMNS[LAST_UPDATED], name=PLACE_UPDATED),
    )
}
"""By name, what row-level statements know a row by; no SQL can name them, and no column hides them.

The file is its index in ``TableScan.plan.tasks``, the position counts from 0; the others are ``_row_id`` and
``_last_updated_sequence_number``, NULL in tables without row lineage.
"""


def metadata_fields(metadata: TableMetadata) -> dict[str, NestedField]:
    """The metadata columns of a table, by name: those of row lineage only from format version 3 on."""
    found = dict(METADATA_COLUMNS)
    partition = found[PARTITION]
    found[PARTITION] = NestedField(partition.field_id, PARTITION, partition_type(metadata), partition.required)
    if metadata.format_version < 3:
        del found[ROW_ID], found[LAST_UPDATED]
    return found


def partition_type(metadata: TableMetadata) -> StructType:
    """The struct of all partition fields that specs of the table ever had, by field id, but those of dropped columns.

    A field's name and type are the newest spec's; a field that a v1 table dropped has the type from before. Files of
    other specs have NULL in it. (Iceberg's ``Partitioning.partitionType``.)
    """
    fields: dict[int, NestedField] = {}
    void: set[int] = set()
    for spec in sorted(metadata.specs, key=lambda s: s.spec_id, reverse=True):
        for part, typed in zip(spec.fields, spec.partition_type(metadata.schema).fields, strict=True):
            number, is_void = part.field_id, part.transform.kind is TransformKind.VOID
            if metadata.schema.field(part.source_id) is None:
                continue
            if number not in fields:
                fields[number] = typed
                if is_void:
                    void.add(number)
            elif number in void and not is_void:
                fields[number] = NestedField(number, fields[number].name, typed.type, False)
                void.discard(number)
    return StructType(tuple(fields[number] for number in sorted(fields)))
