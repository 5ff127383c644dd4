"""Sort orders: how the rows of a data file are meant to be ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bergsql.catalog.metadata.json_fields import JsonObject, corrupt, integers, object_list, optional, others, required
from bergsql.catalog.metadata.partition import transform_source
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform

ASC = "asc"
DESC = "desc"
NULLS_FIRST = "nulls-first"
NULLS_LAST = "nulls-last"

_FIELD_KEYS = frozenset({"transform", "source-id", "direction", "null-order"})
_ORDER_KEYS = frozenset({"order-id", "fields"})


@dataclass(frozen=True, slots=True)
class SortField:
    """One key of an order: a transform of a column, a direction and where NULLs go."""

    transform: Transform
    source_id: int
    direction: str = ASC
    null_order: str = NULLS_FIRST
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @staticmethod
    def from_json(obj: JsonObject) -> SortField:
        sources = integers(obj, "source-ids")
        source_id = optional(obj, "source-id", int)
        if source_id is None:
            if not sources:
                raise corrupt("'source-id' is missing.")
            source_id = sources[0]
        return SortField(
            Transform.parse(required(obj, "transform", str)),
            source_id,
            required(obj, "direction", str).lower(),
            required(obj, "null-order", str).lower(),
            others(obj, _FIELD_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"transform": str(self.transform)}
        if "source-ids" not in self.extra:
            out["source-id"] = self.source_id
        out |= {"direction": self.direction, "null-order": self.null_order}
        return {**out, **self.extra} if self.extra else out


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The keys in order; id 0 is the unsorted order."""

    order_id: int
    fields: tuple[SortField, ...]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def is_unsorted(self) -> bool:
        return not self.fields

    @staticmethod
    def from_json(obj: JsonObject) -> SortOrder:
        return SortOrder(
            required(obj, "order-id", int),
            object_list(obj, "fields", SortField.from_json),
            others(obj, _ORDER_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        return {"order-id": self.order_id, "fields": [f.to_json() for f in self.fields], **self.extra}


UNSORTED = SortOrder(0, ())


@dataclass(frozen=True, slots=True)
class SortBy:
    """One key of an order, as it is asked for: a transform of the column with a dotted name."""

    source: str
    transform: Transform
    direction: str = ASC
    null_order: str = NULLS_FIRST


def build_order(schema: Schema, keys: Sequence[SortBy], *, case_sensitive: bool = True) -> SortOrder:
    """The order by ``keys``, unsorted without any; its id does not matter.

    Refuses unknown columns, those inside lists and maps, and types that the transform does not take.
    """
    fields = []
    for key in keys:
        source = transform_source(schema, key.source, key.transform, "sort", case_sensitive=case_sensitive)
        fields.append(SortField(key.transform, source.field_id, key.direction, key.null_order))
    return SortOrder(1 if fields else 0, tuple(fields))
