"""Giving fields new ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bergsql.catalog.metadata.types import IcebergType, ListType, MapType, NestedField, StructType

IdChooser = Callable[[str], int]
"""Gives the id of the field with a dotted name; asked once a field, in Java's order."""


def assign_field_ids(fields: tuple[NestedField, ...], id_for: IdChooser, prefix: str = "") -> tuple[NestedField, ...]:
    """The fields with new ids, in Java's order: all fields of a struct first, then what is inside each."""
    ids = [id_for(prefix + f.name) for f in fields]
    return tuple(
        replace(f, field_id=i, type=_assign_inside(f.type, id_for, f"{prefix}{f.name}."))
        for i, f in zip(ids, fields, strict=True)
    )


def _assign_inside(t: IcebergType, id_for: IdChooser, prefix: str) -> IcebergType:
    match t:
        case StructType():
            return replace(t, fields=assign_field_ids(t.fields, id_for, prefix))
        case ListType():
            (element,) = assign_field_ids((t.element_field,), id_for, prefix)
            return replace(t, element_id=element.field_id, element=element.type)
        case MapType():
            key, value = assign_field_ids((t.key_field, t.value_field), id_for, prefix)
            return replace(t, key_id=key.field_id, key=key.type, value_id=value.field_id, value=value.type)
        case _:
            return t
