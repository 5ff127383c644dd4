"""The columns that equality deletes compare (spec, "Equality Delete Files"), as values of data and of delete files.

A key is found by its field id: in the table's current schema, or where it was dropped since, in the newest schema that
still had it. Both sides are read at that schema's type, which is the widest that any file has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import DoubleType, FloatType, NestedField, StructType
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.table.projection import duckdb_type

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A field whose values are compared.

    ``column`` is the column that holds it: the field itself, or structs that hold nothing else but the way to it.
    ``path`` names the parts of these structs down to the field.
    """

    column: NestedField
    leaf: NestedField
    path: tuple[str, ...] = ()

    @property
    def nested(self) -> bool:
        return bool(self.path)

    def values(self, access: str) -> tuple[str, ...]:
        """SQL of the values to compare, where ``access`` reads the column. A NULL struct has NULL fields.

        Float keys are compared as Java compares them: NaN equals NaN, but -0.0 is not 0.0 as it is in DuckDB, so
        that these have a second value.
        """
        for part in self.path:
            access = f"struct_extract({access}, {string_literal(part)})"
        value = f"CAST({access} AS {duckdb_type(self.leaf.type)})"
        if isinstance(self.leaf.type, FloatType | DoubleType):
            return value, f"({value} = 0 AND signbit({value}))"
        return (value,)


def key_columns(metadata: TableMetadata, equality_ids: Iterable[int]) -> tuple[KeyColumn, ...]:
    """The columns of a key, by field id. Raises CORRUPT for an id that is no primitive field outside lists and maps."""
    newest_first = sorted(metadata.schemas, key=lambda s: s.schema_id, reverse=True)
    schemas = (metadata.schema, *newest_first)
    return tuple(_key_column(schemas, number) for number in sorted(set(equality_ids)))


def _key_column(schemas: Iterable[Schema], number: int) -> KeyColumn:
    for schema in schemas:
        leaf = schema.field(number)
        if leaf is not None:
            found = _within(schema, leaf) if leaf.type.is_primitive else None
            if found is None:
                break
            return found
    raise BergError(ErrorCode.CORRUPT, f"Equality deletes cannot compare field {number}: no schema has such a column.")


def _within(schema: Schema, leaf: NestedField) -> KeyColumn | None:
    """None where a list or a map is around the field."""
    column, path = leaf, []
    parent = schema.parent_of(leaf.field_id)
    while parent is not None:
        if not isinstance(parent.type, StructType):
            return None
        path.append(column.name)
        column = replace(parent, type=StructType((column,)))
        parent = schema.parent_of(parent.field_id)
    return KeyColumn(column, leaf, tuple(reversed(path)))
