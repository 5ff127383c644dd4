"""A table schema: its columns, and the ways to find them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bergsql.catalog.metadata.field_ids import assign_field_ids
from bergsql.catalog.metadata.json_fields import JsonObject, integers, object_list, optional, others
from bergsql.catalog.metadata.type_json import field_to_json, parse_field
from bergsql.catalog.metadata.types import (
    ListType,
    MapType,
    NestedField,
    StructType,
    children,
    walk,
)

_KEYS = frozenset({"type", "schema-id", "identifier-field-ids", "fields"})


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. ``identifier_field_ids`` are those of its key."""

    schema_id: int
    fields: tuple[NestedField, ...]
    identifier_field_ids: tuple[int, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f.name for f in self.fields)

    @cached_property
    def highest_field_id(self) -> int:
        """The greatest field id, nested fields included; 0 without any."""
        return max(self._by_id, default=0)

    @cached_property
    def _by_id(self) -> dict[int, NestedField]:
        return {f.field_id: f for f in walk(self.fields)}

    @cached_property
    def _names_by_id(self) -> dict[int, str]:
        return dict(_full_names(self.fields, ""))

    @cached_property
    def _parents(self) -> dict[int, int]:
        return {child.field_id: f.field_id for f in walk(self.fields) for child in children(f.type)}

    @cached_property
    def _ids_by_full_name(self) -> dict[str, int]:
        return {name: i for i, name in self._names_by_id.items()}

    @cached_property
    def _ids_by_name(self) -> dict[str, int]:
        # A struct inside a list or map is also found without the word "element" or "value" (as Java does); the full
        # names win where the two meet.
        return {**dict(_short_names(self.fields, "")), **self._ids_by_full_name}

    @cached_property
    def _ids_by_folded_name(self) -> dict[str, list[int]]:
        folded: dict[str, list[int]] = {}
        for name, field_id in self._ids_by_name.items():
            ids = folded.setdefault(name.casefold(), [])
            if field_id not in ids:
                ids.append(field_id)
        return folded

    def field(self, field_id: int) -> NestedField | None:
        """The field with this id, at any depth."""
        return self._by_id.get(field_id)

    def find(self, name: str, case_sensitive: bool = True) -> NestedField | None:
        """The field with this dotted name (``a``, ``a.b``, ``list.element.x``), or None.

        Without ``case_sensitive`` an exact match still wins, and a name that fits several columns fits none.
        """
        exact = self._ids_by_name.get(name)
        if exact is not None:
            return self._by_id[exact]
        ids = [] if case_sensitive else self._ids_by_folded_name.get(name.casefold(), [])
        return self._by_id[ids[0]] if len(ids) == 1 else None

    def name_of(self, field_id: int) -> str | None:
        """The dotted name of the field with this id."""
        return self._names_by_id.get(field_id)

    def parent_of(self, field_id: int) -> NestedField | None:
        """The field that directly holds this one; None for a column."""
        parent = self._parents.get(field_id)
        return None if parent is None else self._by_id[parent]

    @property
    def identifier_names(self) -> tuple[str, ...]:
        """The dotted names of the key's fields, in the schema's order."""
        wanted = set(self.identifier_field_ids)
        return tuple(name for i, name in self._names_by_id.items() if i in wanted)

    def same_columns(self, other: Schema) -> bool:
        """Whether the two differ at most in their schema id."""
        mine, theirs = set(self.identifier_field_ids), set(other.identifier_field_ids)
        return self.fields == other.fields and mine == theirs and self.extra == other.extra

    def with_id(self, schema_id: int) -> Schema:
        return replace(self, schema_id=schema_id)

    @staticmethod
    def from_json(obj: JsonObject) -> Schema:
        return Schema(
            optional(obj, "schema-id", int) or 0,
            object_list(obj, "fields", parse_field),
            integers(obj, "identifier-field-ids"),
            others(obj, _KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"type": "struct", "schema-id": self.schema_id}
        if self.identifier_field_ids:
            out["identifier-field-ids"] = list(self.identifier_field_ids)
        out["fields"] = [field_to_json(f) for f in self.fields]
        return {**out, **self.extra} if self.extra else out


def assign_fresh_ids(schema: Schema, start: int = 1) -> tuple[Schema, int]:
    """The schema with ids from ``start`` on in Java's order and schema id 0, and the last id given."""
    return _renumber(schema, None, start - 1)


def assign_ids_like(schema: Schema, base: Schema, last_column_id: int) -> tuple[Schema, int]:
    """The schema with the ids that ``base`` has for the same dotted names, and new ones after ``last_column_id``.

    A replaced table keeps its column ids this way. Also gives the last id in use.
    """
    return _renumber(schema, base, last_column_id)


def _renumber(schema: Schema, base: Schema | None, last_id: int) -> tuple[Schema, int]:
    last = last_id
    chosen: dict[str, int] = {}

    def id_for(name: str) -> int:
        nonlocal last
        known = base._ids_by_full_name.get(name) if base is not None else None
        if known is None:
            last += 1
            known = last
        chosen[name] = known
        return known

    fields = assign_field_ids(schema.fields, id_for)
    keys = tuple(chosen[schema._names_by_id[i]] for i in schema.identifier_field_ids)
    return Schema(0, fields, keys, schema.extra), last


def _full_names(fields: tuple[NestedField, ...], prefix: str) -> Iterator[tuple[int, str]]:
    for f in fields:
        name = prefix + f.name
        yield f.field_id, name
        yield from _full_names(children(f.type), f"{name}.")


def _short_names(fields: tuple[NestedField, ...], prefix: str) -> Iterator[tuple[str, int]]:
    for f in fields:
        name = prefix + f.name
        yield name, f.field_id
        match f.type:
            case ListType(element=StructType() as inner) | MapType(value=StructType() as inner):
                yield from _short_names(inner.fields, f"{name}.")
            case t:
                yield from _short_names(children(t), f"{name}.")
