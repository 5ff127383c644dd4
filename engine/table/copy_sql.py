"""The COPY statement that writes rows as Iceberg data files: columns, field ids, checks, partition keys and options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.sort import UNSORTED, SortOrder
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
    VariantType,
    children,
    walk,
)
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.table.column_names import WrittenColumn, leaves, written_columns
from bergsql.engine.table.partition_sql import Partitioned, PartitionKey, with_partition_keys
from bergsql.engine.table.projection import duckdb_type
from bergsql.engine.table.properties import WriteProperties

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema

NULL_MARK = "\u2205"
"""Begins the text of the error that a row raises which has NULL where the table says NOT NULL; the name follows."""

_UNWRITTEN = (VariantType, GeometryType, GeographyType)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """What rows are ordered by: SQL of a column's value or a transform of it, and the words that follow in ORDER BY."""

    value: str | Partitioned
    direction: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A query made ready to be written: something to select from that holds the columns, then the partition keys.

    ``keys`` has an entry for each partition field; None for one that is always NULL.
    """

    source: str
    columns: tuple[WrittenColumn, ...]
    keys: tuple[PartitionKey | None, ...]
    order: tuple[OrderKey, ...] = ()
    """What the rows of each file are ordered by; empty where they are in no order."""

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(key.column for key in self.keys if key is not None)


def prepare_rows(
    select_sql: str,
    schema: Schema,
    spec: PartitionSpec,
    order: SortOrder = UNSORTED,
    more: Sequence[NestedField] = (),
) -> Rows:
    """The rows of ``select_sql``, which gives the schema's columns in order, checked and with partition keys.

    Behind them it gives the columns ``more``. The rows of each file will be in ``order``.

    :raises BergError: UNSUPPORTED for column types that cannot be written.
    """
    for f in walk(schema.fields):
        _check_type(f, schema)
    fields = (*schema.fields, *more)
    columns = written_columns(fields)
    if not columns:
        raise BergError(ErrorCode.INVALID, "The table has no columns that a file could hold.")
    names = {c.field.field_id: c.name for c in columns}
    # The casts do nothing to rows of the right types; others would make a file that no reader understands.
    given = [f"c{i}" for i in range(len(fields))]
    items = [
        f"{_checked(f'CAST({c} AS {duckdb_type(f.type)})', f)} AS {identifier(names[f.field_id])}"
        for c, f in zip(given, fields, strict=True)
        if f.field_id in names
    ]
    rows = f"(SELECT {', '.join(items)} FROM ({select_sql}) AS q({', '.join(given)}))"
    rows, keys = _with_keys(rows, columns, spec)
    return Rows(rows, columns, keys, _order_keys(columns, order))


def _check_type(f: NestedField, schema: Schema) -> None:
    nested = isinstance(f.type, UnknownType) and schema.parent_of(f.field_id) is not None
    if isinstance(f.type, _UNWRITTEN) or nested:
        raise not_supported(f"Writing a column of type {f.type} ('{schema.name_of(f.field_id) or f.name}')")


def _with_keys(
    rows: str, columns: Sequence[WrittenColumn], spec: PartitionSpec
) -> tuple[str, tuple[PartitionKey | None, ...]]:
    kept = [f for f in spec.fields if f.transform.kind is not TransformKind.VOID]
    if not kept:
        return rows, (None,) * len(spec.fields)
    sources = {leaf.field_id: leaf for leaf in leaves(columns)}
    partitioned = []
    for f in kept:
        leaf = sources.get(f.source_id)
        if leaf is None or leaf.sql is None:
            raise BergError(ErrorCode.INVALID, f"The column that the partition field '{f.name}' is made from is gone.")
        partitioned.append(Partitioned(f.transform, leaf.sql, leaf.type))
    rows, made = with_partition_keys(rows, partitioned, _prefix("p", columns))
    keys = iter(made)
    return rows, tuple(None if f.transform.kind is TransformKind.VOID else next(keys) for f in spec.fields)


def _prefix(letter: str, columns: Sequence[WrittenColumn]) -> str:
    """What begins the names of helper columns, and the name of no column."""
    prefix = letter
    while any(c.name.casefold().startswith(prefix) for c in columns):
        prefix += letter
    return prefix


def _order_keys(columns: Sequence[WrittenColumn], order: SortOrder) -> tuple[OrderKey, ...]:
    """None at all where one of the order's transforms is not known here: the rows are in no order then."""
    sources = {leaf.field_id: leaf for leaf in leaves(columns)}
    keys = []
    for key in order.fields:
        leaf = sources.get(key.source_id)
        if leaf is None or leaf.sql is None or key.transform.kind is TransformKind.UNKNOWN:
            return ()
        identity = key.transform.kind is TransformKind.IDENTITY
        value = leaf.sql if identity else Partitioned(key.transform, leaf.sql, leaf.type)
        keys.append(OrderKey(value, f"{key.direction} {key.null_order.replace('-', ' ')}".upper()))
    return tuple(keys)


# --- NOT NULL ---------------------------------------------------------------------------------------------------------


def _checked(value: str, f: NestedField) -> str:
    """SQL of a column's value that raises an error where NULL is not allowed."""
    return refusing_nulls(value, _nulls(value, f, f.name, 0))


def refusing_nulls(value: str, nulls: Iterable[tuple[str, str]]) -> str:
    """SQL of ``value`` that raises an error where a condition of ``nulls`` holds, of the column that goes with it.

    ``null_error`` (writer.py) tells that error.
    """
    wrong = " ".join(f"WHEN {condition} THEN error({string_literal(NULL_MARK + name)})" for condition, name in nulls)
    return f"CASE {wrong} ELSE {value} END" if wrong else value


def _nulls(value: str, f: NestedField, name: str, depth: int) -> list[tuple[str, str]]:
    """Conditions under which a value has a forbidden NULL, each with the name of the field that has it."""
    found = [(f"{value} IS NULL", name)] if f.required else []
    match f.type:
        case StructType(fields=inner):
            for unique, child in zip(distinct_names(f.name for f in inner), inner, strict=True):
                part = f"struct_extract({value}, {string_literal(unique)})"
                below = _nulls(part, child, f"{name}.{child.name}", depth)
                found += [(f"{value} IS NOT NULL AND {condition}", path) for condition, path in below]
        case ListType() as t:
            found += _nulls_among(value, t.element_field, f"{name}.element", depth)
        case MapType() as t:
            key = replace(t.key_field, required=False)  # DuckDB itself refuses NULL keys
            found += _nulls_among(f"map_keys({value})", key, f"{name}.key", depth)
            found += _nulls_among(f"map_values({value})", t.value_field, f"{name}.value", depth)
    return found


def _nulls_among(values: str, element: NestedField, name: str, depth: int) -> list[tuple[str, str]]:
    item = f"e{depth}"
    return [
        (f"len(list_filter({values}, lambda {item}: {condition})) > 0", path)
        for condition, path in _nulls(item, element, name, depth + 1)
    ]


# --- COPY -------------------------------------------------------------------------------------------------------------


def copy_statement(
    rows: Rows, source: str, target: str, properties: WriteProperties, codec: str, *, interim: bool = False
) -> str:
    """The statement that writes ``source`` (something to select from, with the columns of ``rows``) to a directory.

    ``interim``: not the files that are wanted, but what those are made of, as large as those will be or larger.
    """
    items = ", ".join((*(c.sql for c in rows.columns), *rows.key_columns))
    options = [
        "FORMAT parquet",
        "RETURN_STATS",
        f"FIELD_IDS {_field_ids(rows.columns)}",
        f"COMPRESSION {codec}",
        f"FILE_SIZE_BYTES {properties.target_file_size}",
        f"ROW_GROUP_SIZE_BYTES {min(properties.row_group_size, properties.target_file_size)}",
    ]
    if interim:
        options.append("DICTIONARY_SIZE_LIMIT 1")
    if properties.level is not None and codec == "zstd":
        options.append(f"COMPRESSION_LEVEL {properties.level}")
    if rows.key_columns:
        options.append(f"PARTITION_BY ({', '.join(rows.key_columns)})")
        options.append("HIVE_FILE_PATTERN false")
    given = _in_order(source, rows) if rows.order else source
    return f"COPY (SELECT {items} FROM {given}) TO {string_literal(target)} ({', '.join(options)})"


def _in_order(source: str, rows: Rows) -> str:
    """``source`` in the order of ``rows``, in such a way that COPY keeps it.

    DuckDB keeps the order of rows in a COPY without partitions, whose batches it counts. Threads that spread rows over
    partitions mix them, however they come. Numbering the rows is for one thread alone, and so is all that follows, up
    to the files; what comes before, the sort too, is done by all. A condition that is always true, but not to be
    foretold, keeps the numbers from being optimised away. Partitions come one after the other.
    """
    helpers = [key.value for key in rows.order if isinstance(key.value, Partitioned)]
    source, made = with_partition_keys(source, helpers, _prefix("o", rows.columns))
    names = (key.column for key in made)
    terms = [f"{k.value if isinstance(k.value, str) else next(names)} {k.direction}" for k in rows.order]
    ordered = f"(SELECT * FROM {source} ORDER BY {', '.join((*rows.key_columns, *terms))})"
    if not rows.key_columns:
        return ordered
    return f"(SELECT * FROM {ordered} QUALIFY row_number() OVER () > random())"


def _field_ids(columns: Sequence[WrittenColumn]) -> str:
    return (
        "{" + ", ".join(f"{string_literal(c.name)}: {_ids_of(c.field.field_id, c.field.type)}" for c in columns) + "}"
    )


def _ids_of(field_id: int, t: IcebergType) -> str:
    parts = children(t)
    inner = "".join(
        f", {string_literal(name)}: {_ids_of(f.field_id, f.type)}"
        for name, f in zip(distinct_names(f.name for f in parts), parts, strict=True)
    )
    return f"{{'__duckdb_field_id': {field_id}{inner}}}" if inner else str(field_id)
