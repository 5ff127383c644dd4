"""Connectors by themselves: options as data, made-up rows, rows as text, which files were read."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connector_names import CONNECTORS
from bergsql.engine.connectors.directory import Directory, DoneFiles, partition_path, partition_values
from bergsql.engine.connectors.registry import connector_named, connector_names
from bergsql.engine.connectors.row_text import row_text
from bergsql.engine.duck import Duck
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_parser import parse_type
from bergsql.engine.streaming.changelog import StreamColumn
from tests.support.connector_tables import source


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    made = Duck(threads=1)
    yield made
    made.close()


def made_up(duck: Duck, columns: str, options: str = "", rows: int = 500) -> list[tuple[Any, ...]]:
    made = source(f"CREATE TABLE t ({columns}) WITH ('connector'='datagen', 'number-of-rows'='{rows}'{options})")
    whole = made.whole("r")
    return duck.execute(f"SELECT * FROM {whole.sql}", whole.variables).fetchall()


def test_every_connector_has_a_name_that_is_known() -> None:
    assert set(connector_names()) <= {*CONNECTORS}
    for name in connector_names():
        connector = connector_named(name)
        assert connector is not None
        assert connector.name == name
        assert connector.source or connector.sink
    assert connector_named("nothing") is None


def test_numbers_are_made_up_within_their_bounds(duck: Duck) -> None:
    columns = "a TINYINT, b SMALLINT, c INT, d BIGINT, e DOUBLE, f DECIMAL(12, 3), g FLOAT, h DECIMAL(38, 10)"
    bounds = ", ".join(f"'fields.{c}.min'='-2', 'fields.{c}.max'='3'" for c in "abcdefgh")
    rows = made_up(duck, columns, f", {bounds}")
    assert all(-2 <= value <= 3 for row in rows for value in row)
    assert {row[0] for row in rows} == set(range(-2, 4))
    assert all(-f.as_tuple().exponent == 3 for f in (row[5] for row in rows))
    whole = made_up(duck, columns)
    assert len({row[3] for row in whole}) == 500
    assert all(isinstance(row[7], Decimal) for row in whole)


def test_texts_and_nested_values_are_made_up(duck: Duck) -> None:
    options = (
        ", 'fields.a.length'='7', 'fields.b.length'='9', 'fields.b.var-len'='true', 'fields.d.length'='2',"
        " 'fields.d.element.max'='0', 'fields.d.element.min'='0', 'fields.r.x.min'='5', 'fields.r.x.max'='5',"
        " 'fields.n.null-rate'='1'"
    )
    columns = "a STRING, b STRING, c VARCHAR(4), d ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y BYTES>, n INT"
    rows = made_up(duck, columns, options)
    assert {len(row[0]) for row in rows} == {7}
    assert {len(row[1]) for row in rows} == set(range(1, 10))
    assert {len(row[2]) for row in rows} == {4}
    assert all(row[3] == [0, 0] and row[5]["x"] == 5 and len(row[5]["y"]) == 100 for row in rows)
    assert all(len(row[4]) == 3 and row[6] is None for row in rows)


def test_a_sequence_ends_the_table() -> None:
    made = source(
        "CREATE TABLE t (a INT, b INT) WITH ('connector'='datagen', 'number-of-rows'='50', 'fields.a.kind'='sequence', "
        "'fields.a.start'='1', 'fields.a.end'='30', 'fields.b.kind'='sequence', 'fields.b.start'='-3', 'fields.b.end'='6')"
    )
    assert made.bounded
    assert "10 rows" in made.explain()
    assert not source("CREATE TABLE t (a INT) WITH ('connector'='datagen')").bounded


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("'fields.a.min'='x'", "it takes a number"),
        ("'fields.a.max'='3000000000'", "it takes a number that INT holds"),
        ("'fields.a.min'='1.5'", "it takes a number that INT holds"),
        ("'fields.a.min'='5', 'fields.a.max'='4'", "is greater than"),
        ("'fields.a.null-rate'='2'", "it takes 0 to 1"),
        ("'fields.a.kind'='sequence', 'fields.a.start'='2', 'fields.a.end'='1'", "ends before it starts"),
        ("'fields.a.kind'='sequence', 'fields.a.start'='1', 'fields.a.end'='3000000000'", "INT cannot hold"),
        ("'fields.a.kind'='row'", "it takes 'sequence' or 'random'"),
        ("'fields.s.length'='-1'", "it takes 0 to"),
        ("'fields.s.max-past'='1 h'", "means nothing to a column of type STRING"),
    ],
)
def test_wrong_options_of_fields(options: str, told: str) -> None:
    with pytest.raises(BergError, match=re.escape(told)):
        source(f"CREATE TABLE t (a INT, s STRING) WITH ('connector'='datagen', {options})")


@pytest.mark.parametrize(
    ("type_", "sql", "text"),
    [
        ("INT", "NULL", "null"),
        ("STRING", "'a, ]'", "a, ]"),
        ("BOOLEAN", "true", "true"),
        ("DOUBLE", "1e10", "1.0E10"),
        ("DECIMAL(10, 2)", "1.5::DECIMAL(10, 2)", "1.50"),
        ("BYTES", "'\\x01\\xFF'::BLOB", "[1, -1]"),
        ("DATE", "DATE '2024-01-02'", "2024-01-02"),
        ("TIME", "TIME '10:00:00'", "10:00"),
        ("TIMESTAMP(3)", "TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01T00:00"),
        ("TIMESTAMP(3)", "TIMESTAMP '2024-01-01 00:00:01.5'", "2024-01-01T00:00:01.500"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMPTZ '2024-01-01 00:00:00Z'", "2024-01-01T00:00:00Z"),
        ("ARRAY<STRING>", "['a', NULL]", "[a, null]"),
        ("MAP<STRING, INT>", "MAP {'k': 1}", "{k=1}"),
        ("ROW<a INT, b ROW<c STRING>>", "{'a': 1, 'b': {'c': NULL}}", "+I[1, +I[null]]"),
    ],
)
def test_rows_are_printed_as_java_does(duck: Duck, type_: str, sql: str, text: str) -> None:
    """``Row.toString`` of Flink 2.1."""
    column = StreamColumn("x", parse_type(type_, Flavour.FLINK))
    printed = duck.execute(f"SELECT {row_text([column, column])} FROM (SELECT {sql} AS c0, {sql} AS c1, 3 AS op) AS i")
    assert printed.fetchall() == [(f"-D[{text}, {text}]",)]


def test_which_files_were_read_is_told_shortly() -> None:
    chance = random.Random(1)
    names = [f"dt={chance.randrange(100)}/part-{n}.csv" for n in range(5000)]
    done = DoneFiles()
    for at in range(0, 5000, 1000):
        done.add(names[at : at + 1000])
    text = done.text
    assert len(text) < 5000 * 11
    chance.shuffle(names)
    other = DoneFiles()
    other.add(names)
    assert other.text == text  # however they came
    again = DoneFiles(text)
    assert len(again) == 5000
    assert all(name in again for name in names)
    assert "dt=1/new.csv" not in again
    assert "x" not in DoneFiles()


def test_names_that_no_reader_looks_at(tmp_path: Path) -> None:
    for name in ("a.csv", ".b.csv", "_c.csv", "d/e.csv", "_temporary/f.csv", ".g/h.csv", "d/_i/j.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = {Directory(str(tmp_path)).relative(f.path) for f in Directory(str(tmp_path)).files()}
    assert found == {"a.csv", "d/e.csv"}
    only = Directory(str(tmp_path), ".*/d/.*").files()
    assert [f.path for f in only] == [f"{tmp_path}/d/e.csv"]
    assert [f.path for f in Directory(f"file://{tmp_path}/a.csv").files()] == [f"{tmp_path}/a.csv"]


def test_partitions_and_their_directories() -> None:
    values = {"dt": "2024/01=02 %", "k": None}
    path = partition_path(values, "none")
    assert path == "dt=2024%2F01%3D02 %25/k=none"
    assert partition_values(f"{path}/part.csv", ["dt", "k"], "none") == values
    with pytest.raises(BergError, match="lies in no directory 'x=…'"):
        partition_values("a/part.csv", ["x"], "none")
