"""One table of types: what each is called in Flink, Spark, Iceberg and DuckDB, and the ways between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.quoting import (
    distinct_names,
    flink_identifier,
    flink_text,
    identifier,
    spark_identifier,
    spark_text,
)
from bergsql.engine.sql.types import STAMPS, DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import IcebergType


class Names(NamedTuple):
    """A type's names; ``{p}`` and ``{s}`` are precision and scale. iceberg None: a table cannot hold it."""

    flink: str
    spark: str
    iceberg: str | None
    duckdb: str


TYPES: dict[Kind, Names] = {
    Kind.BOOLEAN: Names("BOOLEAN", "boolean", "boolean", "BOOLEAN"),
    Kind.TINYINT: Names("TINYINT", "tinyint", "int", "TINYINT"),
    Kind.SMALLINT: Names("SMALLINT", "smallint", "int", "SMALLINT"),
    Kind.INT: Names("INT", "int", "int", "INTEGER"),
    Kind.BIGINT: Names("BIGINT", "bigint", "long", "BIGINT"),
    Kind.HUGEINT: Names("DECIMAL(38, 0)", "decimal(38,0)", "decimal(38, 0)", "HUGEINT"),
    Kind.FLOAT: Names("FLOAT", "float", "float", "FLOAT"),
    Kind.DOUBLE: Names("DOUBLE", "double", "double", "DOUBLE"),
    Kind.DECIMAL: Names("DECIMAL({p}, {s})", "decimal({p},{s})", "decimal({p}, {s})", "DECIMAL({p},{s})"),
    Kind.CHAR: Names("CHAR({p})", "char({p})", "string", "VARCHAR"),
    Kind.VARCHAR: Names("VARCHAR({p})", "varchar({p})", "string", "VARCHAR"),
    Kind.STRING: Names("STRING", "string", "string", "VARCHAR"),
    Kind.BINARY: Names("BINARY({p})", "binary", "fixed[{p}]", "BLOB"),
    Kind.BYTES: Names("BYTES", "binary", "binary", "BLOB"),
    Kind.DATE: Names("DATE", "date", "date", "DATE"),
    Kind.TIME: Names("TIME({p})", "time({p})", "time", "TIME"),
    Kind.TIMESTAMP: Names("TIMESTAMP({p})", "timestamp_ntz", "timestamp", "TIMESTAMP"),
    Kind.TIMESTAMP_LTZ: Names("TIMESTAMP_LTZ({p})", "timestamp", "timestamptz", "TIMESTAMP WITH TIME ZONE"),
    Kind.INTERVAL_YEAR_MONTH: Names("INTERVAL YEAR TO MONTH", "interval year to month", None, "INTERVAL"),
    Kind.INTERVAL_DAY_TIME: Names("INTERVAL DAY TO SECOND", "interval day to second", None, "INTERVAL"),
    Kind.UUID: Names("UUID", "uuid", "uuid", "UUID"),
    Kind.ARRAY: Names("ARRAY<{e}>", "array<{e}>", "list", "{e}[]"),
    Kind.MAP: Names("MAP<{k}, {v}>", "map<{k},{v}>", "map", "MAP({k}, {v})"),
    Kind.ROW: Names("ROW<{f}>", "struct<{f}>", "struct", "STRUCT({f})"),
    Kind.MULTISET: Names("MULTISET<{e}>", "multiset<{e}>", None, "MAP({e}, INTEGER)"),
    Kind.VARIANT: Names("VARIANT", "variant", "variant", "VARIANT"),
    Kind.GEOMETRY: Names("GEOMETRY", "geometry", "geometry", "GEOMETRY"),
    Kind.GEOGRAPHY: Names("GEOGRAPHY", "geography", "geography", "GEOMETRY"),
    Kind.NULL: Names("NULL", "void", "unknown", '"NULL"'),
}

_DEFAULT_PRECISION = {Kind.DECIMAL: 10, Kind.CHAR: 1, Kind.BINARY: 1, Kind.TIME: 0, Kind.VARCHAR: 2_147_483_647}
_MICROS = 6
_NANOS = 9


def _filled(name: str, type_: DataType) -> str:
    if "{" not in name:
        return name if type_.system is None else f"{name}({type_.system})"
    precision = type_.precision
    if precision is None:
        precision = _DEFAULT_PRECISION.get(type_.kind, _MICROS)
    return name.replace("{p}", str(precision)).replace("{s}", str(type_.scale or 0))


# --- Flink's and Spark's names ---------------------------------------------------------------------------------------


def flink_name(type_: DataType) -> str:
    """As Flink's DESCRIBE prints it: ``ROW<`a` INT, `b` STRING>``, ``MAP<STRING NOT NULL, INT>``."""
    return _flink(type_, comments=False)


def flink_create_name(type_: DataType) -> str:
    """As a CREATE TABLE declares it: :func:`flink_name` with the comments of fields. The parser reads it back."""
    return _flink(type_, comments=True)


def _flink(type_: DataType, *, comments: bool) -> str:
    def part(field: Field) -> str:
        return _flink(field.type, comments=comments) + ("" if field.nullable else " NOT NULL")

    def member(field: Field) -> str:
        comment = f" {flink_text(field.comment)}" if comments and field.comment is not None else ""
        return f"{flink_identifier(field.name)} {part(field)}{comment}"

    if type_.kind is Kind.BYTES and type_.precision is not None:
        return f"VARBINARY({type_.precision})"
    return _composed(TYPES[type_.kind].flink, type_, part, member)


def spark_name(type_: DataType) -> str:
    """As Spark's DESCRIBE prints it: ``struct<a:int,b:string>``, ``timestamp``."""

    def member(field: Field) -> str:
        return f"{field.name}:{spark_name(field.type)}"

    return _composed(TYPES[type_.kind].spark, type_, lambda f: spark_name(f.type), member, ",")


def spark_create_name(type_: DataType) -> str:
    """As Spark's CREATE TABLE declares it: ``STRUCT<a: INT NOT NULL COMMENT 'x', b: STRING>``."""

    def member(field: Field) -> str:
        comment = f" COMMENT {spark_text(field.comment)}" if field.comment is not None else ""
        required = "" if field.nullable else " NOT NULL"
        return f"{spark_identifier(field.name)}: {spark_create_name(field.type)}{required}{comment}"

    name = TYPES[type_.kind].spark.upper().replace("{E}", "{e}").replace("{K}", "{k}").replace("{V}", "{v}")
    name = name.replace("{F}", "{f}").replace("{P}", "{p}").replace("{S}", "{s}").replace("<{k},", "<{k}, ")
    return _composed(name, type_, lambda f: spark_create_name(f.type), member)


def _composed(
    name: str,
    type_: DataType,
    part: Callable[[Field], str],
    member: Callable[[Field], str],
    separator: str = ", ",
) -> str:
    """``name`` with the parts of a nested type filled in."""
    children = type_.children
    if type_.kind in (Kind.ARRAY, Kind.MULTISET):
        return name.replace("{e}", part(children[0]))
    if type_.kind is Kind.MAP:
        key, value = part(children[0]), part(children[1])
        return name.replace("{k}", key, 1).replace("{v}", value)
    if type_.kind is Kind.ROW:
        return name.replace("{f}", separator.join(map(member, children)))
    return _filled(name, type_)


# --- DuckDB ----------------------------------------------------------------------------------------------------------


def duckdb_name(type_: DataType) -> str:
    """The DuckDB type that holds it, as SQL."""
    if type_.kind is Kind.ROW and not type_.children:
        raise BergError(ErrorCode.TYPE, "A ROW needs at least one field.")
    if type_.holds_nanoseconds and type_.kind in _NANO_DUCKDB:
        return _NANO_DUCKDB[type_.kind]
    if type_.system is not None:
        return TYPES[type_.kind].duckdb

    names = iter(distinct_names(f.name for f in type_.children) if type_.kind is Kind.ROW else ())

    def member(field: Field) -> str:
        return f"{identifier(next(names))} {duckdb_name(field.type)}"

    return _composed(TYPES[type_.kind].duckdb, type_, lambda f: duckdb_name(f.type), member)


_NANO_DUCKDB = {Kind.TIME: "TIME_NS", Kind.TIMESTAMP: "TIMESTAMP_NS", Kind.TIMESTAMP_LTZ: "TIMESTAMPTZ_NS"}


# --- Iceberg ---------------------------------------------------------------------------------------------------------


def to_iceberg(type_: DataType, ids: Iterator[int], format_version: int = 2) -> IcebergType:
    """The Iceberg type that holds it; ``ids`` gives the ids of nested fields, a level at a time.

    Raises TYPE for what a table (or a table of that format version) cannot hold, saying why.
    """
    from bergsql.catalog.metadata import types as iceberg

    kind, children = type_.kind, type_.children
    if kind is Kind.ROW:
        if not children:
            raise BergError(ErrorCode.TYPE, "A ROW needs at least one field.")
        numbered = [next(ids) for _ in children]
        return iceberg.StructType(
            tuple(
                iceberg.NestedField(n, f.name, to_iceberg(f.type, ids, format_version), not f.nullable, f.comment)
                for n, f in zip(numbered, children, strict=True)
            )
        )
    if kind is Kind.ARRAY:
        element_id, element = next(ids), children[0]
        return iceberg.ListType(element_id, to_iceberg(element.type, ids, format_version), not element.nullable)
    if kind is Kind.MAP:
        key_id, value_id, value = next(ids), next(ids), children[1]
        key = to_iceberg(children[0].type, ids, format_version)
        return iceberg.MapType(key_id, key, value_id, to_iceberg(value.type, ids, format_version), not value.nullable)
    if kind is Kind.MULTISET:
        raise BergError(
            ErrorCode.TYPE,
            "An Iceberg table cannot hold a MULTISET.",
            hint=f"MAP<{flink_name(children[0].type)}, INT> holds each element and how often it is there.",
        )
    if kind is Kind.DECIMAL:
        return iceberg.DecimalType(type_.precision or 10, type_.scale or 0)
    if kind is Kind.BINARY:
        return iceberg.FixedType(type_.precision or 1)
    if kind is Kind.HUGEINT:
        return iceberg.DecimalType(38, 0)
    return _primitive_to_iceberg(type_, format_version)


_V3_ONLY = (Kind.VARIANT, Kind.GEOMETRY, Kind.GEOGRAPHY, Kind.NULL)


def _primitive_to_iceberg(type_: DataType, format_version: int) -> IcebergType:
    from bergsql.catalog.metadata import types as iceberg

    kind = type_.kind
    name = TYPES[kind].iceberg
    if name is None:
        raise BergError(ErrorCode.TYPE, "A table cannot hold an INTERVAL.")
    if kind in STAMPS and type_.holds_nanoseconds:
        name += "_ns"
        if format_version < 3:
            raise _needs_version_3(flink_name(type_), "Use a precision of at most 6, or 'format-version'='3'.")
    if kind in _V3_ONLY and format_version < 3:
        what = "A column that holds only NULL" if kind is Kind.NULL else f"The type {TYPES[kind].flink}"
        raise _needs_version_3(what, "Give it another type, or the table 'format-version'='3'.")
    if kind is Kind.GEOMETRY:
        return iceberg.GeometryType(type_.system)
    if kind is Kind.GEOGRAPHY:
        system, _, algorithm = (type_.system or "").partition(",")
        return iceberg.GeographyType(system or None, algorithm.strip() or None)
    return iceberg.PRIMITIVES[name]


def _needs_version_3(what: str, hint: str) -> BergError:
    return BergError(ErrorCode.TYPE, f"{what} needs a table of format version 3.", hint=hint)


def from_iceberg(type_: IcebergType) -> DataType:
    """What SQL sees of an Iceberg type."""
    from bergsql.catalog.metadata import types as iceberg

    if isinstance(type_, iceberg.StructType):
        return DataType(
            Kind.ROW,
            children=tuple(Field(f.name, from_iceberg(f.type), not f.required, f.doc) for f in type_.fields),
        )
    if isinstance(type_, iceberg.ListType):
        element = Field("element", from_iceberg(type_.element), not type_.element_required)
        return DataType(Kind.ARRAY, children=(element,))
    if isinstance(type_, iceberg.MapType):
        key = Field("key", from_iceberg(type_.key), False)
        return DataType(Kind.MAP, children=(key, Field("value", from_iceberg(type_.value), not type_.value_required)))
    if isinstance(type_, iceberg.DecimalType):
        return DataType(Kind.DECIMAL, type_.precision, type_.scale)
    if isinstance(type_, iceberg.FixedType):
        return DataType(Kind.BINARY, type_.length)
    if isinstance(type_, iceberg.GeometryType):
        return DataType(Kind.GEOMETRY, system=type_.crs)
    if isinstance(type_, iceberg.GeographyType):
        system = type_.crs or (type_.algorithm and "OGC:CRS84")
        return DataType(Kind.GEOGRAPHY, system=f"{system}, {type_.algorithm}" if type_.algorithm else system)
    return _FROM_ICEBERG[str(type_)]


_FROM_ICEBERG: dict[str, DataType] = {
    **{
        str(TYPES[kind].iceberg): DataType(kind)
        for kind in (
            *(Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.DATE),
            *(Kind.UUID, Kind.VARIANT, Kind.NULL),
        )
    },
    "time": DataType(Kind.TIME),  # TIME(0) by name, as Flink has it; shown with the digits that a value has
    "timestamp": DataType(Kind.TIMESTAMP, _MICROS),
    "timestamptz": DataType(Kind.TIMESTAMP_LTZ, _MICROS),
    "timestamp_ns": DataType(Kind.TIMESTAMP, _NANOS),
    "timestamptz_ns": DataType(Kind.TIMESTAMP_LTZ, _NANOS),
}
