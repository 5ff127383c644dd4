"""Types: both flavours' names, and the ways between Flink, Spark, Iceberg and DuckDB."""

from __future__ import annotations

from itertools import count

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import (
    TYPES,
    duckdb_name,
    flink_create_name,
    flink_name,
    from_iceberg,
    spark_create_name,
    spark_name,
    to_iceberg,
)
from bergsql.engine.sql.type_parser import parse_type
from bergsql.engine.sql.types import DataType, Field, Kind

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


@pytest.mark.parametrize(
    ("written", "flink", "spark"),
    [
        ("BOOLEAN", "BOOLEAN", "boolean"),
        ("tinyint", "TINYINT", "tinyint"),
        ("byte", "TINYINT", "tinyint"),
        ("SMALLINT", "SMALLINT", "smallint"),
        ("integer", "INT", "int"),
        ("long", "BIGINT", "bigint"),
        ("real", "FLOAT", "float"),
        ("DOUBLE PRECISION", "DOUBLE", "double"),
        ("DECIMAL", "DECIMAL(10, 0)", "decimal(10,0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)", "decimal(5,0)"),
        ("DEC(10, 2)", "DECIMAL(10, 2)", "decimal(10,2)"),
        ("CHAR(3)", "CHAR(3)", "char(3)"),
        ("CHARACTER VARYING(5)", "VARCHAR(5)", "varchar(5)"),
        ("VARCHAR", "STRING", "string"),
        ("VARCHAR(2147483647)", "STRING", "string"),
        ("STRING", "STRING", "string"),
        ("BINARY(2)", "BINARY(2)", "binary"),
        ("VARBINARY(10)", "VARBINARY(10)", "binary"),
        ("VARBINARY", "BYTES", "binary"),
        ("BYTES", "BYTES", "binary"),
        ("DATE", "DATE", "date"),
        ("TIME", "TIME(0)", "time(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)", "time(3)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)", "timestamp_ntz"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)", "timestamp"),
        ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ(6)", "timestamp"),
        ("timestamp_ntz", "TIMESTAMP(6)", "timestamp_ntz"),
        ("INTERVAL YEAR(4) TO MONTH", "INTERVAL YEAR TO MONTH", "interval year to month"),
        ("INTERVAL DAY", "INTERVAL DAY TO SECOND", "interval day to second"),
        ("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>", "array<int>"),
        ("INT ARRAY", "ARRAY<INT>", "array<int>"),
        ("MAP<STRING, ARRAY<MAP<INT,DATE>>>", "MAP<STRING, ARRAY<MAP<INT, DATE>>>", "map<string,array<map<int,date>>>"),
        ("MULTISET<INT>", "MULTISET<INT>", "multiset<int>"),
        ("FIXED(16)", "BINARY(16)", "binary"),
        ("fixed[16]", "BINARY(16)", "binary"),
        ("uuid", "UUID", "uuid"),
        ("ROW<a INT, `b c` STRING NOT NULL>", "ROW<`a` INT, `b c` STRING NOT NULL>", "struct<a:int,b c:string>"),
        ("ROW(a INT)", "ROW<`a` INT>", "struct<a:int>"),
        (
            "struct<a: int not null comment 'x', b: string>",
            "ROW<`a` INT NOT NULL, `b` STRING>",
            "struct<a:int,b:string>",
        ),
        ("UUID", "UUID", "uuid"),
        ("variant", "VARIANT", "variant"),
    ],
)
def test_names(written: str, flink: str, spark: str) -> None:
    for flavour in Flavour:
        declared = parse_type(written, flavour)
        assert flink_name(declared) == flink
        assert spark_name(declared) == spark


@pytest.mark.parametrize(
    ("written", "flink", "spark"),
    [
        ("TIMESTAMP", DataType(Kind.TIMESTAMP, 6), DataType(Kind.TIMESTAMP_LTZ, 6)),
        ("TIMESTAMP(3)", DataType(Kind.TIMESTAMP, 3), DataType(Kind.TIMESTAMP_LTZ, 3)),
        ("BINARY", DataType(Kind.BINARY, 1), DataType(Kind.BYTES)),
    ],
)
def test_what_differs_by_flavour(written: str, flink: DataType, spark: DataType) -> None:
    assert parse_type(written, FLINK) == flink
    assert parse_type(written, SPARK) == spark


@pytest.mark.parametrize(
    ("written", "word", "hint"),
    [
        ("INTT", "INTT", "Did you mean 'INT'?"),
        ("strng", "strng", "Did you mean 'string'?"),
        ("DECIMAL(39, 0)", "(39, 0)", None),
        ("DECIMAL(5, 6)", "(5, 6)", None),
        ("DECIMAL(1, 2, 3)", "(1, 2, 3)", None),
        ("TIMESTAMP(10)", "(10)", None),
        ("VARCHAR(0)", "(0)", None),
        (
            "TIMESTAMP WITH TIME ZONE",
            "TIMESTAMP WITH TIME ZONE",
            "TIMESTAMP_LTZ (WITH LOCAL TIME ZONE) holds an instant.",
        ),
        ("RAW('x', 'y')", "RAW", None),
        ("ROW<a INT, a STRING>", "<a INT, a STRING>", None),
        ("ARRAY<INT", " ", None),
        ("ARRAY<>", "<>", None),
        ("MAP<INT>", ">", None),
        ("ARRAY<FOO>", "FOO", None),
        ("INT INT", "INT", None),
        ("INTERVAL FOO", "FOO", None),
        ("'INT'", "'INT'", None),
    ],
)
def test_what_is_no_type(written: str, word: str, hint: str | None) -> None:
    with pytest.raises(BergError) as told:
        parse_type(written, FLINK)
    assert told.value.code in (ErrorCode.TYPE, ErrorCode.SYNTAX)
    assert told.value.span is not None
    assert (written + " ")[told.value.span.start : told.value.span.end] == word
    if hint is not None:
        assert told.value.hint == hint


def test_char_needs_a_length_in_spark() -> None:
    assert parse_type("CHAR", FLINK) == DataType(Kind.CHAR, 1)
    with pytest.raises(BergError):
        parse_type("char", SPARK)


# --- all types, by hypothesis ----------------------------------------------------------------------------------------

_NAMES = st.text(alphabet="ab_C 1`\"'é中\\", min_size=1, max_size=6).filter(lambda s: s.strip())
_PLAIN = st.sampled_from(
    [
        *(DataType(k) for k in (Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT)),
        *(DataType(k) for k in (Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.DATE, Kind.UUID, Kind.VARIANT)),
        DataType(Kind.DECIMAL, 38, 10),
        DataType(Kind.DECIMAL, 5, 5),
        DataType(Kind.CHAR, 3),
        DataType(Kind.VARCHAR, 7),
        DataType(Kind.BINARY, 16),
        DataType(Kind.TIME, 0),
        DataType(Kind.TIME, 6),
        *(DataType(k, p) for k in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) for p in (0, 3, 6, 9)),
    ]
)


def _nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    flag = st.booleans()
    comment = st.none() | st.text(alphabet="a'\\中", max_size=3)
    field = st.builds(Field, _NAMES, inner, flag, comment)
    return st.one_of(
        st.builds(lambda t, n: DataType(Kind.ARRAY, children=(Field("element", t, n),)), inner, flag),
        st.builds(
            lambda k, v, a, b: DataType(Kind.MAP, children=(Field("key", k, a), Field("value", v, b))),
            *(inner, inner, flag, flag),
        ),
        st.lists(field, min_size=1, max_size=3, unique_by=lambda f: f.name).map(
            lambda fields: DataType(Kind.ROW, children=tuple(fields))
        ),
    )


ALL_TYPES = st.recursive(_PLAIN, _nested, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(ALL_TYPES)
def test_flink_reads_back_what_it_is_called(declared: DataType) -> None:
    assert parse_type(flink_create_name(declared), FLINK) == declared


def _as_spark_says(declared: DataType) -> DataType:
    """What is left of a type in Spark's words: no precision of times, no fixed length, no NOT NULL of elements."""
    kind, precision = declared.kind, declared.precision
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        precision = 6
    if kind in (Kind.BINARY, Kind.BYTES):
        kind, precision = Kind.BYTES, None
    children = tuple(
        Field(f.name, _as_spark_says(f.type), f.nullable or kind is not Kind.ROW, f.comment) for f in declared.children
    )
    return DataType(kind, precision, declared.scale, children)


@settings(max_examples=150, deadline=None)
@given(ALL_TYPES)
def test_spark_reads_back_what_it_is_called(declared: DataType) -> None:
    assert parse_type(spark_create_name(declared), SPARK) == _as_spark_says(declared)


def _as_iceberg_keeps(declared: DataType) -> DataType:
    """What an Iceberg table keeps of a type: int for the small ones, string for CHAR, micro- or nanoseconds."""
    kind, precision = declared.kind, declared.precision
    if kind in (Kind.TINYINT, Kind.SMALLINT):
        kind = Kind.INT
    elif kind in (Kind.CHAR, Kind.VARCHAR):
        kind, precision = Kind.STRING, None
    elif kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        precision = 9 if (precision or 0) > 6 else 6
    elif kind is Kind.TIME:
        precision = None
    children = tuple(
        Field(
            f.name,
            _as_iceberg_keeps(f.type),
            f.nullable and not (kind is Kind.MAP and f.name == "key"),
            f.comment,
        )
        for f in declared.children
    )
    return DataType(kind, precision, declared.scale, children)


@settings(max_examples=150, deadline=None)
@given(ALL_TYPES)
def test_iceberg_and_back(declared: DataType) -> None:
    assert from_iceberg(to_iceberg(declared, count(1), 3)) == _as_iceberg_keeps(declared)


def test_duckdb_knows_every_name() -> None:
    connection = duckdb.connect()
    kinds = [
        DataType(kind, 10 if kind is Kind.DECIMAL else None, 2 if kind is Kind.DECIMAL else None)
        for kind in TYPES
        if kind not in (Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.MULTISET)
    ]
    kinds += [DataType(k, 9) for k in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)]
    kinds.append(DataType(Kind.ROW, children=(Field('a "b', DataType(Kind.INT)), Field("d e", DataType(Kind.STRING)))))
    kinds.append(DataType(Kind.MULTISET, children=(Field("element", DataType(Kind.INT)),)))
    for kind in kinds:
        name = duckdb_name(kind)
        assert connection.execute(f"SELECT typeof(CAST(NULL AS {name}))").fetchone() == (name,)


@settings(max_examples=60, deadline=None)
@given(ALL_TYPES)
def test_duckdb_takes_every_type(declared: DataType) -> None:
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT CAST(NULL AS {duckdb_name(declared)})").fetchone() == (None,)


@pytest.mark.parametrize(
    ("declared", "version", "said"),
    [
        ("TIMESTAMP(9)", 2, "TIMESTAMP(9)"),
        ("TIMESTAMP_LTZ(7)", 1, "TIMESTAMP_LTZ(7)"),
        ("VARIANT", 2, "VARIANT"),
        ("NULL", 2, "only NULL"),
        ("INTERVAL DAY", 3, "INTERVAL"),
        ("ARRAY<INTERVAL DAY>", 3, "INTERVAL"),
    ],
)
def test_what_a_table_cannot_hold(declared: str, version: int, said: str) -> None:
    with pytest.raises(BergError) as error:
        to_iceberg(parse_type(declared, FLINK), count(1), version)
    assert error.value.code is ErrorCode.TYPE
    assert said in error.value.message


def test_a_time_of_a_table_is_named_as_flink_does_but_keeps_its_digits() -> None:
    time = from_iceberg(to_iceberg(parse_type("TIME(3)", FLINK), count(1)))
    assert flink_name(time) == "TIME(0)"
    assert time.precision is None


def test_ids_of_nested_fields_go_level_by_level() -> None:
    made = to_iceberg(parse_type("ROW<a ROW<x INT, y INT>, b ARRAY<INT>>", FLINK), count(10))
    assert (
        str(made)
        == "struct<10: a: optional struct<12: x: optional int, 13: y: optional int>, 11: b: optional list<int>>"
    )
