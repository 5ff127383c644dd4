"""Any history of a schema, with a file of any format at each of its turns: values go by field id, at any depth.

The model is a plain reading of the specification's "Schema Evolution", "Default values" and "Column Projection".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
)
from tests.support.foreign import Table

NAMES = [
    "a",
    "b",
    "Cc",
    "select",
    "x.y",
    'q"q',
    "n\nl",
    "日本",
    "it's",
    "element",
    "key",
    "value",
    "metadata",
    "v0",
    "file_index",
]
FORMATS = ["parquet", "avro", "orc"]
PROMOTED: dict[type[IcebergType], list[IcebergType]] = {
    IntegerType: [LongType()],
    FloatType: [DoubleType()],
    DecimalType: [DecimalType(18, 2), DecimalType(38, 2)],
    DateType: [TimestampType()],
    UnknownType: [LongType(), StringType(), DecimalType(9, 2)],
}
VALUES: dict[type[IcebergType], st.SearchStrategy[Any]] = {
    BooleanType: st.booleans(),
    IntegerType: st.integers(-(2**31), 2**31 - 1),
    LongType: st.integers(-(2**63), 2**63 - 1),
    FloatType: st.floats(width=32, allow_nan=False),
    DoubleType: st.floats(allow_nan=False),
    DecimalType: st.decimals("-9999999.99", "9999999.99", places=2),
    DateType: st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    TimeType: st.times(),
    TimestampType: st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    TimestamptzType: st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    StringType: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    BinaryType: st.binary(max_size=4),
}
DEFAULTS: dict[type[IcebergType], tuple[Any, Any]] = {
    BooleanType: (True, True),
    IntegerType: (7, 7),
    LongType: (2**40, 2**40),
    FloatType: (1.5, 1.5),
    DoubleType: (-0.25, -0.25),
    DecimalType: ("14.20", Decimal("14.20")),
    DateType: ("2020-02-29", date(2020, 2, 29)),
    TimestampType: ("2020-02-29T12:34:56.123456", datetime(2020, 2, 29, 12, 34, 56, 123456)),
    TimestamptzType: ("2020-02-29T12:34:56.5+00:00", datetime(2020, 2, 29, 12, 34, 56, 500000, UTC)),
    StringType: ("d'é\"", "d'é\""),
    BinaryType: ("00Ff27", b"\x00\xff'"),
}


# --- the model --------------------------------------------------------------------------------------------------------


def absent(f: NestedField) -> Any:
    """What a field is in rows that were written before it was added."""
    if f.initial_default is None:
        return None
    if isinstance(f.type, StructType):
        return {part.name: absent(part) for part in f.type.fields}
    found = DEFAULTS[type(f.type)][1]
    return datetime(2020, 2, 29) if isinstance(f.type, TimestampType) and len(f.initial_default) == 10 else found


def projected(value: Any, kind: IcebergType) -> Any:
    """A stored value, structs as values by field id, as the table now has it, structs as values by name."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {f.name: projected(value[f.field_id], f.type) if f.field_id in value else absent(f) for f in fields}
        case ListType():
            return [projected(v, kind.element) for v in value]
        case MapType():
            return [(projected(k, kind.key), projected(v, kind.value)) for k, v in value]
        case TimestampType() if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        case DecimalType():
            return Decimal(value)
    return value


def stored(value: Any, kind: IcebergType) -> Any:
    """A value by field ids as Arrow takes it, by names."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {f.name: stored(value[f.field_id], f.type) for f in fields}
        case ListType():
            return [stored(v, kind.element) for v in value]
        case MapType():
            return [(stored(k, kind.key), stored(v, kind.value)) for k, v in value]
    return value


def without_unknown(fields: Sequence[NestedField]) -> tuple[NestedField, ...]:
    """The fields that a data file stores: none that are unknown, and no struct without any."""
    kept = []
    for f in fields:
        kind: IcebergType | None = _stored_type(f.type)
        if kind is not None:
            kept.append(replace(f, type=kind))
    return tuple(kept)


def _stored_type(kind: IcebergType) -> IcebergType | None:
    match kind:
        case UnknownType():
            return None
        case StructType(fields):
            kept = without_unknown(fields)
            return StructType(kept) if kept else None
        case ListType():
            element = _stored_type(kind.element)
            return None if element is None else replace(kind, element=element)
        case MapType():
            key, value = _stored_type(kind.key), _stored_type(kind.value)
            return None if key is None or value is None else replace(kind, key=key, value=value)
    return kind


# --- histories --------------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[Any]], Any]
T = TypeVar("T")


class History:
    """A schema that changes; ``fields`` are its columns now."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._ids = count(2)
        self.fields: tuple[NestedField, ...] = (NestedField(1, "id", LongType(), False),)
        for _ in range(draw(st.integers(1, 3))):
            self.fields = self._added(self.fields, keyed=False)

    def _one_of(self, items: Sequence[T]) -> T:
        chosen: T = self._draw(st.sampled_from(items))
        return chosen

    def _type(self, depth: int, *, key: bool = False) -> IcebergType:
        kinds = ["primitive"] * 2 if depth == 0 else ["primitive", "struct", "struct", "list", "map"]
        if key:
            kinds = ["primitive", "primitive", "struct"] if depth else ["primitive"]
        match self._one_of(kinds):
            case "struct":
                fields: tuple[NestedField, ...] = ()
                for _ in range(self._draw(st.integers(1, 3))):
                    fields = self._added(fields, depth=depth - 1, keyed=key)
                return StructType(fields)
            case "list":
                return ListType(next(self._ids), self._type(depth - 1), False)
            case "map":
                key_type = self._type(depth - 1, key=True)
                return MapType(next(self._ids), key_type, next(self._ids), self._type(depth - 1), False)
        if key:
            return self._one_of([StringType(), IntegerType(), DateType()])
        return self._one_of([*(k() for k in VALUES if k is not DecimalType), DecimalType(9, 2), UnknownType()])

    def _name(self, fields: Sequence[NestedField]) -> str | None:
        taken = {f.name.lower() for f in fields}
        free = [n for n in NAMES if n.lower() not in taken]
        return self._one_of(free) if free else None

    def _added(
        self, fields: tuple[NestedField, ...], depth: int = 2, *, keyed: bool, later: bool = False
    ) -> tuple[NestedField, ...]:
        name = self._name(fields)
        if name is None:
            return fields
        number = next(self._ids)
        kind = self._type(max(0, depth), key=keyed)
        default = None
        if later and not keyed and self._draw(st.booleans()):
            default = {} if isinstance(kind, StructType) else DEFAULTS.get(type(kind), (None, None))[0]
        made = NestedField(number, name, kind, False, initial_default=default)
        at = self._draw(st.integers(0, len(fields)))
        return (*fields[:at], made, *fields[at:])

    def change(self) -> None:
        """One change somewhere."""
        self.fields = self._changed_struct(self.fields, keyed=False)

    def _changed_struct(self, fields: tuple[NestedField, ...], *, keyed: bool) -> tuple[NestedField, ...]:
        nested = [f for f in fields if not f.type.is_primitive]
        if nested and self._draw(st.booleans()):
            chosen = self._one_of(nested)
            return tuple(replace(f, type=self._changed_type(f.type, keyed)) if f is chosen else f for f in fields)
        others = [f for f in fields if f.field_id != 1]
        match self._one_of(
            ["rename", "reorder", "promote"] if keyed else ["add", "drop", "rename", "swap", "reorder", "promote"]
        ):
            case "add":
                return self._added(fields, keyed=False, later=True)
            case "drop" if len(fields) > 1 and others:
                dropped = self._one_of(others)
                return tuple(f for f in fields if f is not dropped)
            case "rename" if others and (name := self._name(fields)) is not None:
                renamed = self._one_of(others)
                if self._draw(st.booleans()):
                    name = renamed.name.swapcase()
                return tuple(replace(f, name=name) if f is renamed else f for f in fields)
            case "swap" if len(others) > 1:
                a, b = others[:2]
                names = {a.field_id: b.name, b.field_id: a.name}
                return tuple(replace(f, name=names.get(f.field_id, f.name)) for f in fields)
            case "reorder":
                return tuple(self._draw(st.permutations(fields)))
            case "promote":
                return tuple(replace(f, type=self._promoted(f)) for f in fields)
        return fields

    def _promoted(self, f: NestedField) -> IcebergType:
        wider = PROMOTED.get(type(f.type), [])
        if isinstance(f.type, DecimalType):
            wider = [d for d in wider if isinstance(d, DecimalType) and d.precision > f.type.precision]
        return self._one_of([f.type, *wider])

    def _changed_type(self, kind: IcebergType, keyed: bool) -> IcebergType:
        match kind:
            case StructType(fields):
                return StructType(self._changed_struct(fields, keyed=keyed))
            case ListType():
                return replace(kind, element=self._changed_type(kind.element, keyed))
            case MapType() if self._draw(st.booleans()):
                return replace(kind, key=self._changed_type(kind.key, True))
            case MapType():
                return replace(kind, value=self._changed_type(kind.value, keyed))
        return self._promoted(NestedField(0, "", kind, False)) if not keyed else kind

    def value(self, kind: IcebergType, *, required: bool = False) -> Any:
        """A value that a file holds, by field ids."""
        if not required and self._draw(st.integers(0, 3)) == 0:
            return None
        match kind:
            case StructType(fields):
                return {f.field_id: self.value(f.type, required=required) for f in fields}
            case ListType():
                return [self.value(kind.element) for _ in range(self._draw(st.integers(0, 2)))]
            case MapType():
                keys: list[Any] = []
                for _ in range(self._draw(st.integers(0, 2))):
                    key = self.value(kind.key, required=True)
                    if key not in keys:
                        keys.append(key)
                return [(key, self.value(kind.value)) for key in keys]
        return self._draw(VALUES[type(kind)])


def plain(value: Any) -> Any:
    """What DuckDB gave, texts of numbers as the numbers, comparable."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_values_go_by_field_id_through_any_history(data: st.DataObject) -> None:
    history = History(data.draw)
    ids = count()
    with TemporaryDirectory() as folder:
        table = Table(Path(folder), Schema(0, history.fields))
        rows: list[dict[int, Any]] = []
        for _ in range(data.draw(st.integers(1, 4))):
            kept = without_unknown(history.fields)
            made = [
                {f.field_id: next(ids) if f.field_id == 1 else history.value(f.type) for f in kept}
                for _ in range(data.draw(st.integers(0, 2)))
            ]
            values = [[stored(row[f.field_id], f.type) for f in kept] for row in made]
            table.write(kept, values, data.draw(st.sampled_from(FORMATS)))
            rows += made
            for _ in range(data.draw(st.integers(0, 3))):
                history.change()
        table.schema = Schema(0, history.fields)
        wanted = plain([projected(row, StructType(history.fields)) for row in rows])
        found = sorted(plain(table.arrow_rows()), key=lambda row: row["id"])
        assert found == wanted
        assert all(list(row) == [f.name for f in history.fields] for row in found)
        some = data.draw(st.sets(st.sampled_from([f.name for f in history.fields]), min_size=1))
        part = plain(table.arrow_rows(columns=frozenset(some | {"id"})))
        assert sorted(part, key=lambda row: row["id"]) == [
            {k: v for k, v in row.items() if k in some | {"id"}} for row in found
        ]
