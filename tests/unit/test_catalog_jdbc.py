"""The JDBC catalog on SQLite: its rows, its commits under competition and death, and what goes wrong with a database.

Mirrors, in our own words, of the situations that Iceberg's TestJdbcTableConcurrency tests: several writers append at
once, and each commit is there; as many as there are connections at the same time, with retries; and further ones: one
of many creators wins, a swap whose answer is lost, a writer killed at each step.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any

import pytest

from bergsql.catalog import sqlite
from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.catalog.metadata.changes import SetProperties
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.registry import build_catalog
from bergsql.catalog.sqlite import sqlite_path
from bergsql.engine.duck import Duck
from bergsql.engine.table.scan import build_scan
from tests.support.jdbc_inserter import IDENT, catalog_at
from tests.support.shared import ROOT

SCHEMA = Schema(0, (NestedField(1, "id", parse_type("long"), required=False),))
INSERTER = ROOT / "tests" / "support" / "jdbc_inserter.py"
V0 = """CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL,table_namespace VARCHAR(255) NOT NULL,
table_name VARCHAR(255) NOT NULL,metadata_location VARCHAR(1000),previous_metadata_location VARCHAR(1000),
PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL,namespace VARCHAR(255) NOT NULL,
property_key VARCHAR(255),property_value VARCHAR(1000),PRIMARY KEY (catalog_name, namespace, property_key));"""


def create(
    catalog: JdbcCatalog, ident: TableIdent = IDENT, properties: Mapping[str, str] = MappingProxyType({})
) -> LoadedTable:
    location = catalog.default_table_location(ident)
    return catalog.create_table(ident, new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, location, dict(properties)))


def sql(warehouse: Path, statement: str, *given: Any) -> list[Any]:
    with closing(sqlite3.connect(warehouse / "catalog.db")) as db, db:
        db.executescript(statement) if ";" in statement else None
        return [] if ";" in statement else db.execute(statement, given).fetchall()


def metadata_files(warehouse: Path) -> list[str]:
    return sorted(p.name for p in (warehouse / "db" / "t" / "metadata").glob("*.json"))


def start(warehouse: Path, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(INSERTER), str(warehouse), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rows(catalog: JdbcCatalog) -> list[int]:
    table = catalog.load_table(IDENT)
    scan = build_scan(table, catalog.storage(table.metadata_location))
    return sorted(row[0] for row in Duck().execute(scan.sql, scan.variables).fetchall())


# --- rows -------------------------------------------------------------------------------------------------------------


def test_the_layout_is_javas(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    catalog.create_namespace(("a", "b"), {"owner": "zs"})
    first = create(catalog)
    second = catalog.commit(first, [SetProperties({"k": "v"})])
    columns = "catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type"
    assert sql(tmp_path, f"SELECT {columns} FROM iceberg_tables") == [
        ("c", "db", "t", second.metadata_location, first.metadata_location, "TABLE")
    ]
    assert sorted(sql(tmp_path, "SELECT * FROM iceberg_namespace_properties")) == [
        ("c", "a.b", "exists", "true"),
        ("c", "a.b", "owner", "zs"),
    ]
    assert [name.partition("-")[0] for name in metadata_files(tmp_path)] == ["00000", "00001"]
    raw = json.loads(Path(second.metadata_location).read_bytes())
    assert [e["metadata-file"] for e in raw["metadata-log"]] == [first.metadata_location]
    assert catalog_at(tmp_path).load_table(IDENT).metadata.to_json() == raw


def test_databases(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    for namespace in (("a",), ("a", "b"), ("ab",), ("a_", "c%"), ("x", "y", "z")):
        catalog.create_namespace(namespace)
    create(catalog, TableIdent(("implied", "deep"), "t"))
    assert catalog.list_namespaces() == [("a",), ("a_",), ("ab",), ("implied",), ("x",)]
    assert catalog.list_namespaces(("a",)) == [("a", "b")]
    assert catalog.list_namespaces(("implied",)) == [("implied", "deep")]
    assert catalog.namespace_exists(("x", "y"))
    assert not catalog.namespace_exists(("A",))
    with pytest.raises(BergError, match=r"Database c.ab already exists"):
        catalog.create_namespace(("ab",))
    with pytest.raises(BergError, match=r"'a.b' cannot be the name of a database"):
        catalog.create_namespace(("a.b",))
    with pytest.raises(BergError, match=r"is not empty: it holds 1 database"):
        catalog.drop_namespace(("x",))
    catalog.drop_namespace(("x",), cascade=True)
    assert not catalog.namespace_exists(("x",))
    with pytest.raises(BergError, match=r"is not empty: it holds 1 table"):
        catalog.drop_namespace(("implied", "deep"))
    catalog.drop_namespace(("a", "b"))
    assert catalog.list_namespaces() == [("a",), ("a_",), ("ab",), ("implied",)]
    with pytest.raises(BergError) as missing:
        catalog.list_tables(("nowhere",))
    assert missing.value.code is ErrorCode.NOT_FOUND


def test_properties_of_a_database(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    catalog.create_namespace(("db",), {"comment": "first", "gone": "1"})
    assert catalog.namespace_properties(("db",)) == {"location": f"{tmp_path}/db", "comment": "first", "gone": "1"}
    catalog.update_namespace_properties(("db",), {"comment": "二", "location": f"{tmp_path}/else/"}, ["gone", "never"])
    assert catalog.namespace_properties(("db",)) == {"location": f"{tmp_path}/else/", "comment": "二"}
    assert catalog.default_table_location(IDENT) == f"{tmp_path}/else/t"
    catalog.update_namespace_properties(("db",), {}, ["comment", "location"])
    assert catalog.namespace_exists(("db",))
    with pytest.raises(BergError, match="'exists' of a database"):
        catalog.update_namespace_properties(("db",), {"exists": "false"})
    with pytest.raises(BergError, match="was not found"):
        catalog.update_namespace_properties(("nowhere",), {"a": "b"})


def test_tables(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    catalog.create_namespace(("other",))
    create(catalog)
    with pytest.raises(BergError, match=r"Table c.db.t already exists"):
        create(catalog)
    assert len(metadata_files(tmp_path)) == 1
    there = TableIdent(("other",), "moved.once")
    catalog.rename_table(IDENT, there)
    assert catalog.list_tables(("other",)) == [there]
    assert catalog.load_table(there).metadata.location == f"{tmp_path}/db/t"
    with pytest.raises(BergError, match=r"Table c.db.t was not found"):
        catalog.rename_table(IDENT, there)
    create(catalog)
    with pytest.raises(BergError, match="already exists"):
        catalog.rename_table(IDENT, there)
    with pytest.raises(BergError, match=r"Database c.nowhere was not found"):
        catalog.rename_table(IDENT, TableIdent(("nowhere",), "t"))
    catalog.drop_table(there)
    assert not catalog.table_exists(there)
    with pytest.raises(BergError, match="was not found"):
        catalog.drop_table(there)
    assert len(metadata_files(tmp_path)) == 2  # the files stay


def test_only_rows_of_the_catalogs_name_are_seen(tmp_path: Path) -> None:
    create(catalog_at(tmp_path))
    other = JdbcCatalog("d", dict(catalog_at(tmp_path).options))
    assert other.list_namespaces() == []
    create(other)
    assert sql(tmp_path, "SELECT count(*) FROM iceberg_tables") == [(2,)]


def test_views_are_no_tables(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    sql(tmp_path, "INSERT INTO iceberg_tables VALUES ('c', 'db', 't', '/v.json', NULL, 'VIEW');")
    assert catalog.list_tables(("db",)) == []
    assert not catalog.table_exists(IDENT)
    with pytest.raises(BergError, match=r"View c.db.t already exists"):
        create(catalog)
    assert metadata_files(tmp_path) == []
    with pytest.raises(BergError, match="is not empty"):
        catalog.drop_namespace(("db",))


def test_a_database_of_version_0_stays_so_until_asked(tmp_path: Path) -> None:
    sql(tmp_path, V0)
    catalog = catalog_at(tmp_path)
    catalog.commit(create(catalog), [SetProperties({"k": "v"})])
    assert catalog.list_tables(("db",)) == [IDENT]
    assert len(sql(tmp_path, "SELECT * FROM iceberg_tables")[0]) == 5
    upgraded = build_catalog("c", {"type": "iceberg", "catalog-type": "jdbc", **catalog.options,
                                   "jdbc.schema-version": "V1"})  # fmt: skip
    assert sql(tmp_path, "SELECT iceberg_type FROM iceberg_tables") == [(None,)]
    assert upgraded.load_table(IDENT).metadata.properties["k"] == "v"
    create(catalog_at(tmp_path), TableIdent(("db",), "u"))
    assert sorted(sql(tmp_path, "SELECT table_name, iceberg_type FROM iceberg_tables")) == [("t", None), ("u", "TABLE")]


def test_strict_mode_and_an_unmade_database(tmp_path: Path) -> None:
    options = dict(catalog_at(tmp_path).options)
    strict = JdbcCatalog("c", {**options, "jdbc.strict-mode": "true"})
    with pytest.raises(BergError, match=r"Database c.db was not found"):
        create(strict)
    assert metadata_files(tmp_path) == []
    strict.create_namespace(("db",))
    create(strict)
    with pytest.raises(BergError, match="holds no catalog"):
        JdbcCatalog("c", {**options, "uri": f"jdbc:sqlite:{tmp_path}/new.db", "jdbc.init-catalog-tables": "false"})


def test_metadata_files(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    kept = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
    table = create(catalog, properties={**kept, "write.metadata.compression-codec": "gzip"})
    for i in range(5):
        table = catalog.commit(table, [SetProperties({"i": str(i)})])
    names = metadata_files(tmp_path)
    assert [n.partition("-")[0] for n in names] == ["00003", "00004", "00005"]
    assert all(n.endswith(".gz.metadata.json") for n in names)
    table = catalog.commit(table, [SetProperties({"write.metadata.path": f"{tmp_path}/meta"})])
    assert table.metadata_location.startswith(f"{tmp_path}/meta/00006-")
    assert catalog.commit(table, [SetProperties({"i": "4"})]) is table


# --- where the database is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("jdbc:sqlite:/a/b.db", "/a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite:///b.db", str(Path.cwd() / "b.db")),
        ("jdbc:sqlite:b.db", str(Path.cwd() / "b.db")),
        ("jdbc:sqlite:~/b.db", str(Path.home() / "b.db")),
    ],
)
def test_uris(uri: str, path: str) -> None:
    assert sqlite_path(uri) == Path(path)


@pytest.mark.parametrize(
    ("uri", "code", "says"),
    [
        ("jdbc:postgresql://h/db", "UNSUPPORTED", "A JDBC catalog on postgresql"),
        ("postgresql+psycopg2://u:p@h/db", "UNSUPPORTED", "A JDBC catalog on postgresql"),
        ("jdbc:mysql://h/db?password=geheim", "UNSUPPORTED", "A JDBC catalog on mysql"),
        ("jdbc:sqlite:/a?journal_mode=WAL", "UNSUPPORTED", "with parameters"),
        ("jdbc:sqlite::memory:", "OPTION", "in memory"),
        ("sqlite:///", "OPTION", "in memory"),
        ("/a/b.db", "OPTION", "names no SQLite database"),
        ("thrift://u:geheim@h:1", "OPTION", "names no SQLite database"),
    ],
)
def test_uris_that_are_refused(uri: str, code: str, says: str) -> None:
    with pytest.raises(BergError) as caught:
        sqlite_path(uri)
    assert caught.value.code is ErrorCode(code)
    assert says in caught.value.message
    assert "geheim" not in caught.value.message


def test_a_database_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(BergError) as caught:
            JdbcCatalog("c", {"uri": f"jdbc:sqlite:{path}", "warehouse": str(tmp_path)})
        return f"{caught.value.message} {caught.value.hint}"

    assert f"There is no directory {tmp_path}/no." in refused(tmp_path / "no" / "x.db")
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database" * 100)
    assert "damaged or not a SQLite database" in refused(garbage)
    assert "cannot be opened" in refused(tmp_path)
    catalog = catalog_at(tmp_path)
    table = create(catalog)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    with closing(sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BergError, match="is locked by another process, for more than"):
            catalog.load_table(IDENT)
        with pytest.raises(BergError, match="locked"):
            catalog.commit(table, [SetProperties({"k": "v"})])
        db.execute("ROLLBACK")
    assert len(metadata_files(tmp_path)) == 1
    (tmp_path / "db/t/metadata" / metadata_files(tmp_path)[0]).unlink()
    with pytest.raises(BergError) as lost:
        catalog_at(tmp_path).load_table(IDENT)
    assert lost.value.code is ErrorCode.CORRUPT


# --- commits ----------------------------------------------------------------------------------------------------------


def test_a_commit_on_an_old_version_conflicts(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    first = create(catalog)
    catalog.commit(first, [SetProperties({"a": "1"})])
    with pytest.raises(CommitConflict):
        catalog.commit(first, [SetProperties({"b": "1"})])
    assert len(metadata_files(tmp_path)) == 2
    catalog.drop_table(IDENT)
    with pytest.raises(CommitConflict):
        catalog.commit(first, [SetProperties({"b": "1"})])


class Failing(JdbcCatalog):
    """A catalog whose next swap fails with ``failure``, before or behind the fact; ``then`` is done after that."""

    failure: BaseException
    happens: bool
    then: Any = None
    blind = False

    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        if self.happens:
            super().swap_pointer(ident, expected, location)
        if self.then is not None:
            self.then()
        self.blind = self.blind is None
        raise self.failure

    def pointer(self, ident: TableIdent) -> Any:
        if self.blind:
            raise BergError(ErrorCode.IO, "the disk is gone")
        return super().pointer(ident)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), CommitStateUnknown("disk I/O error")], ids=repr)
@pytest.mark.parametrize("happens", [True, False])
def test_an_error_over_the_swap(tmp_path: Path, failure: BaseException, happens: bool) -> None:
    catalog = Failing("c", dict(catalog_at(tmp_path).options))
    catalog.failure, catalog.happens = failure, happens
    table = create(catalog)
    if happens:
        assert catalog.commit(table, [SetProperties({"a": "1"})]).metadata.properties["a"] == "1"
    else:
        with pytest.raises(type(failure)):
            catalog.commit(table, [SetProperties({"a": "1"})])
    assert ("a" in catalog_at(tmp_path).load_table(IDENT).metadata.properties) is happens
    assert len(metadata_files(tmp_path)) == 1 + happens


def test_an_error_over_a_swap_that_others_built_on(tmp_path: Path) -> None:
    catalog = Failing("c", dict(catalog_at(tmp_path).options))
    table = create(catalog)

    def others() -> None:
        for i in range(3):
            other = catalog_at(tmp_path)
            other.commit(other.load_table(IDENT), [SetProperties({f"o{i}": "1"})])

    catalog.failure, catalog.happens, catalog.then = KeyboardInterrupt(), True, others
    assert catalog.commit(table, [SetProperties({"a": "1"})]).metadata.properties["a"] == "1"
    table = catalog_at(tmp_path).load_table(IDENT)
    catalog.happens = False
    with pytest.raises(KeyboardInterrupt):
        catalog.commit(table, [SetProperties({"b": "1"})])
    table = catalog_at(tmp_path).load_table(IDENT)
    catalog.happens = True
    catalog.then = lambda: catalog_at(tmp_path).rename_table(IDENT, TableIdent(("db",), "u"))
    files = len(metadata_files(tmp_path))
    with pytest.raises(CommitStateUnknown):
        catalog.commit(table, [SetProperties({"c": "1"})])
    assert len(metadata_files(tmp_path)) == files + 1  # it is the renamed table's current one


def test_a_swap_whose_outcome_cannot_be_seen_keeps_the_file(tmp_path: Path) -> None:
    catalog = Failing("c", dict(catalog_at(tmp_path).options))
    table = create(catalog)
    catalog.failure, catalog.happens = CommitStateUnknown("disk I/O error"), False
    catalog.then = lambda: setattr(catalog, "blind", None)
    with pytest.raises(CommitStateUnknown, match="the disk is gone"):
        catalog.commit(table, [SetProperties({"a": "1"})])
    assert len(metadata_files(tmp_path)) == 2


def test_writers_in_several_processes_lose_no_commit(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path)
    create(catalog, properties={"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10",
                       "commit.retry.max-wait-ms": "200"})  # fmt: skip
    writers = [start(tmp_path, 100 * n, 10) for n in range(5)]
    assert [w.wait(timeout=120) for w in writers] == [0] * 5
    assert rows(catalog) == sorted(100 * n + i for n in range(5) for i in range(10))
    assert len(catalog.load_table(IDENT).metadata.snapshots) == 50
    assert len(metadata_files(tmp_path)) == 51  # the files of lost attempts are gone


def test_one_of_many_creators_wins(tmp_path: Path) -> None:
    catalog_at(tmp_path)
    outcomes: list[str] = []

    def make() -> None:
        try:
            create(catalog_at(tmp_path))
            outcomes.append("made")
        except BergError as error:
            outcomes.append(error.code)

    threads = [Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [ErrorCode.ALREADY_EXISTS] * 7 + ["made"]
    assert len(metadata_files(tmp_path)) == 1


@pytest.mark.parametrize("first", [0, 1, 2])
def test_kill_at_every_third_step_leaves_the_old_version_or_the_new(tmp_path: Path, first: int) -> None:
    catalog = catalog_at(tmp_path)
    create(catalog)
    told: list[int] = []
    for step in count(first, 3):
        writer = start(tmp_path, step, 1, step)
        died = writer.wait(timeout=60)
        found = rows(catalog)
        assert found in (told, [*told, step])
        told = found
        if died == 0:
            assert told[-1:] == [step]
            break
        assert died == -signal.SIGKILL
    assert step > 10
