"""Random columns, partition specs, and changes of both as people make them over a table's life."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.partition import PartitionBy, PartitionSpec, build_spec
from bergsql.catalog.metadata.partition_evolve import AddField, DropField, SpecChange, evolve_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import DAY, HOUR, IDENTITY, MONTH, YEAR, Transform, bucket, truncate
from bergsql.catalog.metadata.types import (
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
    TimestampNsType,
    TimestampType,
    UnknownType,
)
from bergsql.catalog.metadata.value_json import value_to_json
from bergsql.catalog.metadata.values import to_internal, to_python
from tests.support.history.builder import TableBuilder
from tests.support.history.values import NANOSECONDS, leaf_types, random_value

NAMES = ("a", "b", "c", "d", "e", "数 量", 'q"t', "it's")
_TRANSFORMS = (IDENTITY, IDENTITY, bucket(4), bucket(2), truncate(2), truncate(10), YEAR, MONTH, DAY, HOUR)
Path = tuple[str, ...]


class _Ids:
    """Placeholder ids: a new table numbers its columns itself."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


def random_type(random: Random, version: int, ids: _Ids, depth: int = 0) -> IcebergType:
    """A type, nested at most twice."""
    if depth < 2 and random.random() < (0.3 if depth == 0 else 0.4):
        match random.choice(("struct", "list", "map")):
            case "struct":
                return StructType(_inner_fields(random, version, ids, depth + 1))
            case "list":
                return ListType(ids.next(), random_type(random, version, ids, depth + 1), random.random() < 0.2)
            case _:
                key = random.choice((StringType(), IntegerType()))
                return MapType(ids.next(), key, ids.next(), random_type(random, version, ids, depth + 1), False)
    kinds = leaf_types(version)
    if depth:
        # DuckDB hands out nanoseconds as such only in columns; what is only NULL makes structs that some formats lack.
        kinds = [k for k in kinds if not isinstance(k, (*NANOSECONDS, UnknownType))]
    return random.choice(kinds)


def _inner_fields(random: Random, version: int, ids: _Ids, depth: int) -> tuple[NestedField, ...]:
    names = random.sample(NAMES[:5], random.choice((1, 2, 2, 3)))
    return tuple(NestedField(ids.next(), n, random_type(random, version, ids, depth), False) for n in names)


def random_schema(random: Random, version: int) -> Schema:
    """A column ``id`` and some others."""
    ids = _Ids()
    fields = [NestedField(ids.next(), "id", random.choice((IntegerType(), LongType())), random.random() < 0.2)]
    for name in random.sample(NAMES, random.choice((1, 2, 3, 4, 5))):
        fields.append(NestedField(ids.next(), name, random_type(random, version, ids), False))
    return Schema(0, tuple(fields))


def random_spec(random: Random, schema: Schema) -> PartitionSpec:
    """A spec of up to two fields."""
    items: list[PartitionBy] = []
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        source = random.choice(list(_sources(schema.fields, ())))
        wanted = PartitionBy(".".join(source[0]), random.choice(_suiting(source[1])))
        try:
            build_spec(schema, [*items, wanted])
        except BergError:  # such as a second transform of the kind
            continue
        items.append(wanted)
    return build_spec(schema, items)


def _sources(fields: tuple[NestedField, ...], parent: Path) -> Iterator[tuple[Path, IcebergType]]:
    """Columns that a table may be partitioned by, those in structs too."""
    for f in fields:
        path = (*parent, f.name)
        if isinstance(f.type, StructType):
            yield from _sources(f.type.fields, path)
        elif f.type.is_primitive and _suiting(f.type):
            yield path, f.type


def _suiting(kind: IcebergType) -> list[Transform]:
    return [t for t in _TRANSFORMS if t.can_apply(kind)]


def evolve_partitions(table: TableBuilder, random: Random) -> None:
    """Add, drop or replace a partition field."""
    spec, schema = table.metadata.spec, table.metadata.schema
    changes: list[SpecChange] = []
    if spec.fields and random.random() < 0.6:
        changes.append(DropField(random.choice(spec.fields).name))
    if not changes or random.random() < 0.5:
        path, kind = random.choice(list(_sources(schema.fields, ())))
        changes.append(AddField(".".join(path), random.choice(_suiting(kind))))
    try:
        table.set_spec(evolve_spec(table.metadata, changes))
    except BergError:  # the field is there, or gone, already
        return


# --- columns ----------------------------------------------------------------------------------------------------------


def evolve_columns(table: TableBuilder, random: Random) -> None:
    """One change of the schema, at any depth."""
    change = random.choice((_add, _add, _drop, _rename, _rename, _move, _promote, _promote, _promote, _nullable))
    try:
        change(table, random)
    except BergError:  # a name that is taken, a column that the partitions need
        return


def _paths(kind: IcebergType | Schema, parent: Path = ()) -> Iterator[tuple[Path, NestedField]]:
    """Every field with its full path, but for the keys of maps."""
    match kind:
        case Schema() | StructType():
            for f in kind.fields:
                yield (*parent, f.name), f
                yield from _paths(f.type, (*parent, f.name))
        case ListType():
            yield (*parent, "element"), kind.element_field
            yield from _paths(kind.element, (*parent, "element"))
        case MapType():
            yield (*parent, "value"), kind.value_field
            yield from _paths(kind.value, (*parent, "value"))


def _any_named(table: TableBuilder, random: Random) -> Path:
    paths = [p for p, _ in _paths(table.metadata.schema) if p[-1] not in ("element", "value") and p != ("id",)]
    return random.choice(paths) if paths else ("id",)


def _add(table: TableBuilder, random: Random) -> None:
    metadata = table.metadata
    parents: list[Path] = [(), ()]
    parents += [p for p, f in _paths(metadata.schema) if isinstance(f.type, StructType)]
    parent = random.choice(parents)
    ids = _Ids()
    ids.last = 9_000
    kind = random_type(random, table.version, ids, len(parent))
    default, written = None, None
    if table.version >= 3 and kind.is_primitive and not isinstance(kind, UnknownType) and random.random() < 0.6:
        default = random_value(kind, random, null=0)
        if isinstance(default, float) and not math.isfinite(default):
            default = 2.5
        written = value_to_json(kind, to_internal(kind, default))
    column = NestedField(ids.next(), random.choice(NAMES), kind, False, None, written, written)
    before = {f.field_id for _, f in _paths(metadata.schema)}
    places = [None, evolve.FIRST]
    table.set_schema(
        evolve.add_column(metadata.schema, column, metadata.last_column_id, parent=parent, after=random.choice(places))
    )
    if default is not None:
        (number,) = {f.field_id for _, f in _paths(table.metadata.schema)} - before
        table.model.defaults[number] = default


def _drop(table: TableBuilder, random: Random) -> None:
    table.set_schema(evolve.drop_column(table.metadata.schema, _any_named(table, random)))


def _rename(table: TableBuilder, random: Random) -> None:
    path = _any_named(table, random)
    table.set_schema(evolve.rename_column(table.metadata.schema, path, random.choice((*NAMES, "renamed"))))


def _move(table: TableBuilder, random: Random) -> None:
    path = _any_named(table, random)
    siblings = [p[-1] for p, _ in _paths(table.metadata.schema) if p[:-1] == path[:-1] and p != path]
    after = random.choice([evolve.FIRST, *siblings])
    table.set_schema(evolve.move_column(table.metadata.schema, path, after))


def _promote(table: TableBuilder, random: Random) -> None:
    schema = table.metadata.schema
    sources = {p.source_id for spec in table.metadata.specs for p in spec.fields}
    able = []
    for path, f in _paths(schema):
        wider = _wider(f.type, table.version, nested=len(path) > 1)
        # Values of a partition keep the type that they were written with, which only a change of width hides.
        if wider is not None and not (isinstance(f.type, DateType) and f.field_id in sources):
            able.append((path, f, wider))
    if not able:
        return
    path, f, wider = random.choice(able)
    table.set_schema(evolve.change_type(schema, path, wider, table.version))


def _wider(kind: IcebergType, version: int, *, nested: bool) -> IcebergType | None:
    match kind:
        case IntegerType():
            return LongType()
        case FloatType():
            return DoubleType()
        case DecimalType(precision, scale):
            return DecimalType(min(precision + 6, 38), scale)
        case DateType() if version >= 3:
            return TimestampType() if nested else TimestampNsType()
        case UnknownType():
            return StringType()
    return None


def _nullable(table: TableBuilder, random: Random) -> None:
    required = [p for p, f in _paths(table.metadata.schema) if f.required and len(p) == 1]
    if required:
        table.set_schema(evolve.set_nullable(table.metadata.schema, random.choice(required)))


def spec_values(spec: PartitionSpec, schema: Schema, row: dict[int, Any]) -> dict[int, Any]:
    """The partition of a row, by partition field id, as Python values."""
    out: dict[int, Any] = {}
    for part in spec.fields:
        source = schema.field(part.source_id)
        value = _at(schema.fields, row, part.source_id)
        if source is None or value is None:
            out[part.field_id] = None
        elif part.transform == IDENTITY:
            out[part.field_id] = value
        else:
            made = part.transform.apply(to_internal(source.type, value), source.type)
            result = part.transform.result_type(source.type)
            out[part.field_id] = made if isinstance(result, NANOSECONDS) else to_python(result, made)
    return out


def _at(fields: tuple[NestedField, ...], row: dict[int, Any] | None, number: int) -> Any:
    """The value of the field ``number`` in a row, inside structs too."""
    for f in fields:
        if row is None:
            return None
        if f.field_id == number:
            return row.get(number)
        if isinstance(f.type, StructType):
            found = _at(f.type.fields, row.get(f.field_id), number)
            if found is not None:
                return found
    return None
