"""Tables whose columns, or fields of structs, differ only in case (Flink writes such): read in both flavours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.metadata.transforms import Transform
from bergsql.engine.table.append import Append
from tests.support.berg import Berg
from tests.support.foreign import Table
from tests.support.tables import Tables


def struct(first: int, **fields: Any) -> dict[str, Any]:
    """The JSON of a struct type."""
    parts = [{"id": i, "name": n, "required": False, "type": t} for i, (n, t) in enumerate(fields.items(), first)]
    return {"type": "struct", "fields": parts}


COLUMNS = {
    "id": "int",
    "ID": "string",
    "s": struct(10, x="int", X="string", n=struct(20, k="int", K="int")),
    "l": {"type": "list", "element-id": 30, "element-required": False, "element": struct(31, e="int", E="int")},
    "Id": "int",
    "_FILE": "int",
}
ROW = (1, "one", {"x": 2, "X": "two", "n": {"k": 3, "K": 4}}, [{"e": 5, "E": 6}, None], 7, 8)
SECOND = (2, None, None, None, None, 9)


@pytest.fixture(params=["parquet", "avro", "orc", "ours"])
def berg(request: pytest.FixtureRequest, tmp_path: Path) -> Berg:
    """A catalog ``c`` with such a table ``db.t``, its file written by another writer or by the engine."""
    warehouse = tmp_path / "warehouse"
    tables = Tables(warehouse)
    loaded = tables.create(COLUMNS, [("id", Transform.parse("identity")), ("ID", Transform.parse("identity"))])
    schema = loaded.metadata.schema
    if request.param == "ours":
        sql = (
            'SELECT 1, \'one\', {x: 2, "X_1": \'two\', n: {k: 3, "K_1": 4}}, [{e: 5, "E_1": 6}, NULL], 7, 8 '
            "UNION ALL SELECT 2, NULL, NULL, NULL, NULL, 9"
        )
        tables.insert(sql)
    else:
        folder = Path(loaded.metadata.location.removeprefix("file:")) / "data"
        folder.mkdir(parents=True)
        foreign = Table(folder, schema)
        for row in (ROW, SECOND):
            foreign.write(schema.fields, [row], request.param)
        files = [replace(f, partition=row[:2]) for f, row in zip(foreign.files, (ROW, SECOND), strict=True)]
        tables.commit(loaded, Append(tuple(files)))
    return Berg(tmp_path / "home", warehouse)


def asked(berg: Berg, flavour: str, *statements: str) -> list[list[object]]:
    """The rows of each, as jsonl has them; without their columns' names."""
    made = (
        f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}'); USE c.db"
    )
    done = berg.run("--dialect", flavour, "--format", "jsonl", "-e", "; ".join((made, *statements)))
    assert done.code == 0, done.err
    return [list(json.loads(line).items()) for line in done.out.splitlines()]


def pairs(*row: object) -> list[tuple[str, object]]:
    return list(zip(COLUMNS, row, strict=True))


STRUCT = {"x": 2, "X": "two", "n": {"k": 3, "K": 4}}
LIST = [{"e": 5, "E": 6}, None]


@pytest.mark.parametrize("flavour", ["flink", "spark"])
def test_what_both_dialects_read(berg: Berg, flavour: str) -> None:
    found = asked(
        berg,
        flavour,
        "SELECT * FROM t ORDER BY _FILE",
        "SELECT COUNT(*) AS n FROM t WHERE l IS NOT NULL",
        "WITH q AS (SELECT s.n AS n FROM t) SELECT n FROM q WHERE n IS NOT NULL",
        "SELECT _partition, _FILE FROM t WHERE _spec_id = 0 AND _pos >= 0 ORDER BY _FILE",
        "SELECT a, b, c FROM t AS x(a, b, c, d, e, f) WHERE b = 'one'",
        "SELECT s.* FROM t WHERE _FILE = 8",
        "SELECT q.* FROM (SELECT s, l FROM t) q JOIN t ON q.s = t.s",
        "INSERT INTO t SELECT * FROM t WHERE _FILE = 8",
        "SELECT COUNT(*) AS n FROM t",
        "SELECT DISTINCT * FROM t WHERE _FILE = 8",
    )
    assert found == [
        pairs(*ROW),
        pairs(*SECOND),
        [("n", 1)],
        [("n", {"k": 3, "K": 4})],
        [("_partition", {"id": 1, "ID": "one"}), ("_FILE", 8)],
        [("_partition", {"id": 2, "ID": None}), ("_FILE", 9)],
        [("a", 1), ("b", "one"), ("c", STRUCT)],
        list(STRUCT.items()),
        [("s", STRUCT), ("l", LIST)],
        [("n", 3)],
        pairs(*ROW),
    ]


def test_what_flink_tells_apart(berg: Berg) -> None:
    found = asked(
        berg,
        "flink",
        "SELECT id, ID, Id, s.x, s.X, s.n.K, _FILE, _file LIKE '%00001%' OR _file LIKE '%parquet' AS f FROM t "
        "WHERE ID = 'one' AND Id = 7 AND s.X = 'two' AND s.n.k < s.n.K AND l[1].E = 6",
        "SELECT t.ID, MAX(Id) AS m FROM t GROUP BY t.ID HAVING t.ID IS NOT NULL",
        "SELECT a.id, b.Id FROM t a JOIN t b USING (ID)",
        "SELECT ID, id AS x FROM t ORDER BY ID DESC, id LIMIT 1",
        "INSERT INTO t (Id, ID, s) SELECT id, 'two', CAST(s AS ROW<a INT, b STRING, c ROW<d INT, e INT>>) FROM t "
        "WHERE Id = 7",
        "SELECT * FROM t WHERE ID = 'two'",
    )
    assert found == [
        [("id", 1), ("ID", "one"), ("Id", 7), ("x", 2), ("X", "two"), ("K", 4), ("_FILE", 8), ("f", True)],
        [("ID", "one"), ("m", 7)],
        [("id", 1), ("Id", 7)],
        [("ID", "one"), ("x", 1)],
        pairs(None, "two", STRUCT, None, 1, None),
    ]


def test_what_a_pruned_column_says(berg: Berg) -> None:
    """A condition on the one is never taken for one on the other."""
    done = asked(berg, "flink", "SELECT _FILE FROM t WHERE id = 2 AND ID IS NULL", "SELECT _FILE FROM t WHERE Id = 1")
    assert done == [[("_FILE", 9)]]


REFUSED = [
    ("SELECT ID FROM t", 8, "Column 'ID' is ambiguous"),
    ("SELECT t.id FROM t", 8, "Column 't.id' is ambiguous"),
    ("SELECT 1 FROM t WHERE iD IS NULL", 23, "Column 'iD' is ambiguous"),
    ("SELECT s.X FROM t", 10, "Field 's.X' is ambiguous: the struct has 'x' and 'X'."),
    ("SELECT l[0].e FROM t", 13, "Field 'l[0].e' is ambiguous: the struct has 'e' and 'E'."),
]


def test_what_spark_cannot_tell_apart(berg: Berg) -> None:
    made = (
        f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}'); USE c.db;"
    )
    script = "".join(f"\n{sql};" for sql, *_ in REFUSED)
    done = berg.run("--dialect", "spark", "--continue-on-error", stdin=made + script, merged=True)
    for line, (_, column, told) in enumerate(REFUSED, 2):
        assert f"{told}" in done.out
        assert f"line {line}, column {column}\n" in done.out, done.out
