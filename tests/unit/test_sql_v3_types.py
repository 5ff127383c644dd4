"""What SQL says of variants, geometries and columns that are unknown, in files that another writer made."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bergsql.catalog.metadata.changes import AddSchema, SetCurrentSchema
from bergsql.engine.table.append import Append
from bergsql.engine.table.datafile import DataFile
from tests.support.berg import Berg
from tests.support.foreign import numbered
from tests.support.parquet_edit import VARIANT, annotate
from tests.support.tables import Tables
from tests.unit.test_table_read_types import NOTHING, NUMBER, OBJECT, PARTS, POINT, WORD

COLUMNS = {
    "id": "long",
    "v": "variant",
    "g": "geometry(srid:3857)",
    "gg": "geography",
    "u": "unknown",
    "ns": "timestamp_ns",
    "tz": "timestamptz_ns",
}
NANOS = 1_709_210_096_123_456_789


@pytest.fixture
def berg(tmp_path: Path) -> Berg:
    """A catalog ``c`` with such a table ``db.t``: rows of all values, of other variants, of NULLs."""
    warehouse = tmp_path / "warehouse"
    tables = Tables(warehouse)
    table = tables.create(COLUMNS, version=3)
    path = Path(table.metadata.location.removeprefix("file:")) / "data" / "00000-0-foreign.parquet"
    path.parent.mkdir(parents=True)
    columns = [
        numbered("id", pa.int64(), 1),
        numbered("v", PARTS, 2),
        numbered("g", pa.binary(), 3),
        numbered("gg", pa.binary(), 4),
        numbered("ns", pa.timestamp("ns"), 6),
        numbered("tz", pa.timestamp("ns", "UTC"), 7),
    ]
    rows = [
        (1, OBJECT, POINT, POINT, NANOS, NANOS),
        (2, WORD, *(None,) * 4),
        (3, NUMBER, *(None,) * 4),
        (4, *(None,) * 5),
        (5, NOTHING, *(None,) * 4),
    ]
    arrays = [pa.array([row[i] for row in rows], c.type) for i, c in enumerate(columns)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(columns)), path)
    annotate(path, "v", VARIANT)
    tables.commit(table, Append((DataFile(str(path), 5, path.stat().st_size),)))
    return Berg(tmp_path / "home", warehouse)


def asked(berg: Berg, sql: str, *options: str) -> str:
    made = (
        f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}'); USE c.db; "
    )
    done = berg.run(*options, "-e", made + sql)
    assert done.code == 0, done.err
    return done.out


def refused(berg: Berg, sql: str, *options: str) -> str:
    made = f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}'); USE c.db;\n"
    done = berg.run(*options, "-e", made + sql)
    assert (done.code, done.out) == (1, "")
    return done.err


def test_what_is_shown(berg: Berg) -> None:
    lines = asked(berg, "SELECT * FROM t ORDER BY id", "--format", "csv").splitlines()
    assert lines == [
        "id,v,g,gg,u,ns,tz",
        '1,"{""a"":1,""b"":[""x"",null]}",POINT (1 -2.5),POINT (1 -2.5),,2024-02-29 12:34:56.123456789,'
        "2024-02-29 12:34:56.123456789",
        '2,"""txt""",,,,,',
        "3,1.50,,,,,",
        "4,,,,,,",
        "5,null,,,,,",
    ]
    lines = asked(berg, "SELECT v, g, u, ns FROM t ORDER BY id", "--format", "jsonl").splitlines()
    assert json.loads(lines[0]) == {
        "v": {"a": 1, "b": ["x", None]},
        "g": "POINT (1 -2.5)",
        "u": None,
        "ns": "2024-02-29 12:34:56.123456789",
    }
    assert [json.loads(line)["v"] for line in lines[1:]] == ["txt", 1.5, None, None]
    for flavour in ("flink", "spark"):
        table = asked(berg, "SELECT v, g FROM t WHERE id = 1", "--dialect", flavour)
        assert '| {"a":1,"b":["x",null]} | POINT (1 -2.5) |' in table


def test_what_can_be_asked(berg: Berg) -> None:
    query = "SELECT id FROM t WHERE v IS NOT NULL AND g IS NULL ORDER BY id"
    assert asked(berg, query, "--format", "csv").splitlines() == ["id", "2", "3", "5"]
    query = "SELECT CAST(v AS STRING) AS v, COUNT(*) AS n FROM t WHERE id < 4 GROUP BY CAST(v AS STRING) ORDER BY v"
    expected = ["v,n", "1.50,1", "txt,1", '"{""a"":1,""b"":[""x"",null]}",1']
    assert asked(berg, query, "--format", "csv").splitlines() == expected
    query = "SELECT COALESCE(v, v) AS v, COUNT(g) OVER () AS n, ARRAY[gg] AS a FROM t WHERE id = 1"
    assert "1,[POINT (1 -2.5)]" in asked(berg, query, "--format", "csv")
    assert asked(berg, "SELECT u, COUNT(*) AS n FROM t GROUP BY u", "--format", "csv").splitlines() == ["u,n", ",5"]
    query = "SELECT v FROM t UNION ALL SELECT v FROM t"
    assert len(asked(berg, query, "--format", "csv").splitlines()) == 11
    query = "SELECT COUNT(v) AS n, COUNT(CAST(v AS STRING)) AS m FROM t"
    assert asked(berg, query, "--format", "csv").splitlines() == ["n,m", "4,3"]


REFUSED = [
    ("SELECT 1 FROM t WHERE v = v", 23, "VARIANT cannot be compared with VARIANT."),
    ("SELECT 1 FROM t WHERE g = gg", 23, "cannot be compared with GEOGRAPHY."),
    ("SELECT 1 FROM t WHERE v = 'txt'", 23, "VARIANT cannot be compared with"),
    ("SELECT 1 FROM t GROUP BY g", 26, "GROUP BY cannot take a GEOMETRY."),
    ("SELECT DISTINCT v FROM t", 17, "DISTINCT cannot take a VARIANT."),
    ("SELECT id FROM t ORDER BY v", 27, "ORDER BY cannot take a VARIANT."),
    ("SELECT MAX(gg) FROM t", 12, "MAX cannot take a GEOGRAPHY."),
    ("SELECT COUNT(DISTINCT v) FROM t", 23, "COUNT(DISTINCT …) cannot take a VARIANT."),
    ("SELECT RANK() OVER (PARTITION BY g ORDER BY id) FROM t", 34, "PARTITION BY cannot take a GEOMETRY."),
    ("SELECT g FROM t INTERSECT SELECT g FROM t", 34, "INTERSECT cannot take a GEOMETRY."),
    ("SELECT 1 FROM t a JOIN t b ON a.v = b.v", 31, "VARIANT cannot be compared with VARIANT."),
    ("SELECT id FROM t WHERE v IN (SELECT v FROM t)", 24, "compare"),
    ("SELECT 1 FROM t WHERE g BETWEEN g AND g", 23, "compare"),
    ("SELECT NULLIF(g, g) FROM t", 8, "compare"),
    ("SELECT GREATEST(v, v) FROM t", 8, "VARIANT"),
    ("SELECT 1 FROM t GROUP BY ARRAY[v]", 26, "GROUP BY cannot take a VARIANT."),
    ("SELECT v + 1 FROM t", 8, "'+' does not work on VARIANT."),
]


@pytest.mark.parametrize("flavour", ["flink", "spark"])
def test_what_is_refused(berg: Berg, flavour: str) -> None:
    made = (
        f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}'); USE c.db;"
    )
    asked_for = [f"-e{sql}" for sql, *_ in REFUSED]
    done = berg.run("--continue-on-error", "--dialect", flavour, "-e", made, *asked_for)
    told = done.err.split("[ERROR] ")[1:]
    assert "Traceback" not in done.err
    assert len(told) == len(REFUSED), done.out
    for message, (sql, column, text) in zip(told, REFUSED, strict=True):
        first, place, *_ = message.splitlines()
        assert text.upper() in first.upper(), sql
        assert place.endswith(f"column {column}"), (sql, message)


def test_how_it_is_described(berg: Berg) -> None:
    table = asked(berg, "DESCRIBE t")
    for kind in ("VARIANT", "GEOMETRY(srid:3857)", "GEOGRAPHY", "NULL", "TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"):
        assert f" {kind} |" in table
    assert "`v` VARIANT" in asked(berg, "SHOW CREATE TABLE t")
    made = (
        "CREATE TABLE g (a GEOMETRY(srid:3857), b GEOGRAPHY(OGC:CRS84, karney), c GEOMETRY(4326), d GEOGRAPHY)"
        " WITH ('format-version'='3'); CREATE TABLE h LIKE g; SHOW CREATE TABLE h"
    )
    shown = asked(berg, made)
    for column in ("`a` GEOMETRY(srid:3857)", "`b` GEOGRAPHY(OGC:CRS84, karney)", "`c` GEOMETRY(srid:4326)"):
        assert column in shown
    types = [str(f.type) for f in Tables(berg.warehouse).load("h").metadata.schema.fields]
    assert types == ["geometry(srid:3857)", "geography(OGC:CRS84, karney)", "geometry(srid:4326)", "geography"]
    error = refused(berg, "CREATE TABLE i (a GEOMETRY(nonsense)) WITH ('format-version'='3')")
    assert "'nonsense' is no reference system." in error


def test_bytes_that_are_no_geometry(berg: Berg) -> None:
    tables = Tables(berg.warehouse)
    path = Path(next(f.path for f in tables.files()))
    bad = path.with_name("00000-0-bad.parquet")
    column = numbered("g", pa.binary(), 3)
    pq.write_table(pa.table([pa.array([b"junk"], column.type)], schema=pa.schema([column])), bad)
    tables.commit(tables.load(), Append((DataFile(str(bad), 1, bad.stat().st_size),)))
    message = refused(berg, "SELECT g FROM t")
    assert "Traceback" not in message
    assert "INTERNAL" not in message
    assert asked(berg, "SELECT COUNT(id) AS n FROM t", "--format", "csv").splitlines() == ["n", "5"]


def test_unknown_becomes_a_type(berg: Berg) -> None:
    tables = Tables(berg.warehouse)
    table = tables.load()
    from dataclasses import replace

    from bergsql.catalog.metadata.types import LongType

    schema = table.metadata.schema
    fields = tuple(replace(f, type=LongType()) if f.name == "u" else f for f in schema.fields)
    tables.catalog.commit(table, [AddSchema(replace(schema, fields=fields)), SetCurrentSchema()])
    assert asked(berg, "SELECT SUM(u) AS s FROM t WHERE u IS NULL", "--format", "csv").splitlines() == ["s", ""]
