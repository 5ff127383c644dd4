"""Tables whose files were lost, moved or made up: what bergsql says, and what it leaves alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.berg import Berg


def warehouse(berg: Berg) -> Path:
    """Where ``default_catalog`` keeps its tables."""
    return berg.home / "warehouse"


def table_of(berg: Berg, name: str = "t") -> Path:
    return warehouse(berg) / "default_database" / name


def filled(berg: Berg, inserts: int = 3) -> Path:
    """The table t (id INT) with rows 1, 2, …, each inserted by itself; its directory."""
    statements = ["CREATE TABLE t (id INT)", *(f"INSERT INTO t VALUES ({n + 1})" for n in range(inserts))]
    done = berg.run(*(part for s in statements for part in ("-e", s)))
    assert done.code == 0, done.err
    return table_of(berg)


def newest(table: Path) -> Path:
    return table / "metadata" / f"v{(table / 'metadata' / 'version-hint.text').read_text()}.metadata.json"


def edit(table: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the table's newest metadata by hand."""
    metadata = json.loads(newest(table).read_text())
    change(metadata)
    newest(table).write_text(json.dumps(metadata))


def refused(berg: Berg, statement: str, *told: str) -> None:
    """The statement fails with one error that says all of ``told``."""
    done = berg.run("-e", statement)
    assert done.code == 1, done.out
    assert done.err.startswith("[ERROR] ")
    for text in told:
        assert text in done.err
    assert "Traceback" not in done.err
    assert "Internal error" not in done.err


def files_below(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_a_lost_newest_version_is_not_written_over(berg: Berg) -> None:
    table = filled(berg)
    newest(table).unlink()
    left = files_below(table)
    for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (9)", "DESCRIBE t", "ALTER TABLE t SET ('a' = 'b')"):
        refused(berg, statement, "v4.metadata.json", "write 3 into version-hint.text")
    assert files_below(table) == left
    (table / "metadata" / "version-hint.text").write_text("3")
    assert berg.rows("SELECT COUNT(*) AS n FROM t") == [{"n": 2}]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (9)",
        "INSERT OVERWRITE t VALUES (9)",
        "ALTER TABLE t SET ('a' = 'b')",
        "CREATE OR REPLACE TABLE t (id INT)",
        "CREATE OR REPLACE TABLE t AS SELECT 9 AS id",
    ],
)
def test_nothing_is_written_where_only_the_metadata_says_so(berg: Berg, statement: str) -> None:
    table = filled(berg)
    elsewhere = berg.warehouse / "elsewhere"
    elsewhere.mkdir()
    edit(table, lambda m: m.update(location=str(elsewhere)))
    left = files_below(table)
    refused(berg, statement, str(table), str(elsewhere))
    assert list(elsewhere.iterdir()) == []
    assert files_below(table) == left
    assert berg.rows("SELECT COUNT(*) AS n FROM t") == [{"n": 3}]


def test_a_new_table_is_not_filled_elsewhere(berg: Berg) -> None:
    elsewhere = berg.warehouse / "elsewhere"
    elsewhere.mkdir()
    before = elsewhere.stat().st_mtime_ns
    refused(berg, f"CREATE TABLE u WITH ('location' = '{elsewhere}') AS SELECT 1 AS id", "must be at", str(elsewhere))
    assert elsewhere.stat().st_mtime_ns == before


def test_a_copied_warehouse_leaves_the_original_alone(berg: Berg) -> None:
    table = filled(berg)
    copy = berg.warehouse / "copy"
    shutil.copytree(warehouse(berg), copy)
    left = files_below(warehouse(berg)), files_below(copy)
    copied = Berg(berg.home, berg.warehouse, ("--warehouse", str(copy)))
    assert copied.rows("SELECT COUNT(*) AS n FROM t") == [{"n": 3}]
    refused(copied, "INSERT INTO t VALUES (9)", f"its metadata says {table}")
    assert (files_below(warehouse(berg)), files_below(copy)) == left


def test_a_warehouse_behind_a_link_is_the_same_one(berg: Berg) -> None:
    filled(berg)
    link = berg.warehouse / "link"
    link.symlink_to(warehouse(berg))
    for place in (str(link), f"{link}/.", f"{berg.warehouse}/../{berg.warehouse.name}/link"):
        linked = Berg(berg.home, berg.warehouse, ("--warehouse", place))
        done = linked.run("-e", "INSERT INTO t VALUES (9)")
        assert done.code == 0, done.err
    assert berg.rows("SELECT COUNT(*) AS n FROM t") == [{"n": 6}]


def test_properties_that_put_metadata_elsewhere_are_named_before_anything_is_written(berg: Berg) -> None:
    table = filled(berg)
    edit(table, lambda m: m["properties"].update({"write.metadata.path": str(berg.warehouse)}))
    left = files_below(table)
    refused(berg, "INSERT INTO t VALUES (9)", "'write.metadata.path'")
    assert files_below(table) == left
    assert list(berg.warehouse.iterdir()) == []


@pytest.mark.parametrize("kind", ["device", "pipe"])
@pytest.mark.parametrize("what", ["manifest-list", "hint", "metadata", "data"])
def test_what_never_ends_is_not_read(berg: Berg, what: str, kind: str) -> None:
    table = filled(berg, 1)
    endless = table / "endless"
    os.mkfifo(endless) if kind == "pipe" else endless.symlink_to("/dev/zero")
    if what == "manifest-list":
        edit(table, lambda m: m["snapshots"][-1].update({"manifest-list": str(endless)}))
    else:
        (file,) = (table / "data").iterdir() if what == "data" else [newest(table)]
        file = table / "metadata" / "version-hint.text" if what == "hint" else file
        file.unlink()
        endless.rename(file)
    if what == "hint":  # only a hint
        assert berg.rows("SELECT * FROM t") == [{"id": 1}]
        return
    for statement in ("SELECT * FROM t", "SELECT * FROM t WHERE id > 0"):
        refused(berg, statement, "Cannot read ", "it is a device or a pipe")


def test_of_many_files_each_must_be_one(berg: Berg) -> None:
    digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
    query = f"SELECT a.d * 10 + b.d FROM {digits} AS a(d), {digits} AS b(d)"
    done = berg.run("-e", "CREATE TABLE t (id INT) PARTITIONED BY (id)", "-e", f"INSERT INTO t {query}")
    assert done.code == 0, done.err
    for directory in sorted((table_of(berg) / "data").iterdir()):
        (file,) = directory.iterdir()
        content = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        refused(berg, "SELECT * FROM t", f"Cannot read {file} of snapshot ", "it is a device or a pipe")
        file.unlink()
        file.write_bytes(content)
        if directory.name.endswith("7"):
            break


@pytest.mark.parametrize(
    "statement", ["SHOW TABLES", "SHOW DATABASES", "SELECT * FROM t", "CREATE TABLE t (id INT)", "CREATE DATABASE d"]
)
def test_a_warehouse_that_is_a_file(berg: Berg, statement: str) -> None:
    file = berg.warehouse / "file"
    file.write_text("x")
    told = f"The warehouse of catalog default_catalog is not a directory: {file}."
    refused(Berg(berg.home, berg.warehouse, ("--warehouse", str(file))), statement, told)
    assert file.read_text() == "x"


MANY = "SELECT x FROM (VALUES (RAND())) AS r(x), " + ", ".join(
    f"(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS {name}(d)" for name in "abcdef"
)
"""A million different numbers."""


@pytest.mark.parametrize(
    ("statement", "codec"), [("INSERT INTO t", "zstd"), ("INSERT INTO t", "brotli"), ("CREATE TABLE u AS", "zstd")]
)
def test_a_file_that_cannot_be_written_is_told_in_one_sentence(berg: Berg, statement: str, codec: str) -> None:
    berg.run("-e", f"CREATE TABLE t (x DOUBLE) WITH ('write.parquet.compression-codec' = '{codec}')")
    left = files_below(warehouse(berg))
    query = MANY.replace("SELECT x", "SELECT RAND() + x AS x")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *berg.command("-e", f"{statement} {query}")],
        env=berg.env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.match(r"\[ERROR\] Cannot write /\S+\.parquet(\.again)?: File too large\.\n", done.stderr), done.stderr
    assert "Async" not in done.stderr
    assert files_below(warehouse(berg)) == left


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "garbage": lambda _: bytes(range(256)) * 4,
    "cut": lambda data: data[: len(data) // 2],
    "another kind": lambda _: b"PAR1 [1, {}, null] Obj\x01 PAR1",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("what", ["metadata", "manifest-list", "manifest", "data"])
def test_garbage_is_told_in_one_line(berg: Berg, what: str, damage: str) -> None:
    table = filled(berg, 1)
    metadata = json.loads(newest(table).read_text())
    files = {
        "metadata": newest(table),
        "manifest-list": Path(metadata["snapshots"][-1]["manifest-list"].removeprefix("file://")),
        "manifest": next(p for p in (table / "metadata").glob("*.avro") if not p.name.startswith("snap-")),
        "data": next((table / "data").iterdir()),
    }
    path = files[what]
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    left = files_below(table)
    statements = ["SELECT * FROM t", "SELECT SUM(id) FROM t WHERE id > 0", "INSERT OVERWRITE t VALUES (2)"]
    if what == "metadata":
        statements += ["DESCRIBE t", "SHOW CREATE TABLE t", "ALTER TABLE t SET ('a' = 'b')", "INSERT INTO t VALUES (2)"]
    for statement in statements[:2] if what == "data" else statements:
        refused(berg, statement, path.name)
        assert files_below(table) == left
    assert berg.run("-e", "SHOW TABLES").code == 0
