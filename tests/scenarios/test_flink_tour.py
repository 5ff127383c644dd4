"""Scenario 1, unedited, in all three ways: every ``--=`` and ``--!`` line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.scenarios.script import Step, read_steps
from tests.scenarios.ways import WAYS, Outcome, check_errors, run_scenario
from tests.support.berg import Berg
from tests.support.shared import shared

SCRIPT = shared("scenarios", "1_flink_tour.sql")
TOGETHER = ("user_id", "user_name", "birthday", "country")


@dataclass(frozen=True, slots=True)
class World:
    """What a fact is checked against."""

    warehouse: Path
    outcome: Outcome

    def table(self, name: str) -> Path:
        return self.warehouse / "iceberg_db" / name

    def metadata(self, name: str) -> dict[str, Any]:
        """The table's current metadata."""
        folder = self.table(name) / "metadata"
        version = int((folder / "version-hint.text").read_text())
        loaded: dict[str, Any] = json.loads((folder / f"v{version}.metadata.json").read_text(encoding="utf-8"))
        return loaded

    def drawn(self, number: int) -> list[tuple[str, ...]]:
        """The rows of the n-th table that was drawn, sorted."""
        tables: list[list[tuple[str, ...]]] = []
        borders = 0
        for line in self.outcome.data:
            if line.startswith("+-"):
                if borders % 3 == 0:
                    tables.append([])
                borders += 1
            elif line.startswith("|"):
                tables[-1].append(tuple(cell.strip() for cell in line.strip("|").split("|")))
        header, *rows = tables[number]
        assert header == TOGETHER
        return sorted(rows)


def database_exists(world: World) -> None:
    assert (world.warehouse / "iceberg_db").is_dir()


def table_is_new(world: World) -> None:
    folder = world.table("my_user") / "metadata"
    assert sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) == [
        "v1.metadata.json",
        "version-hint.text",
    ]
    assert (folder / "version-hint.text").read_text() == "1"
    metadata = world.metadata("my_user")
    assert metadata.get("current-snapshot-id", -1) == -1
    assert metadata["snapshots"] == []


def copy_is_alike(world: World) -> None:
    original, copy = world.metadata("my_user"), world.metadata("my_user_copy")
    for part in ("schemas", "partition-specs", "sort-orders", "properties", "format-version"):
        assert copy[part] == original[part], part
    assert copy["table-uuid"] != original["table-uuid"]
    assert copy["properties"]["write.parquet.compression-codec"] == "gzip"
    (schema,) = copy["schemas"]
    assert schema["fields"][0]["doc"] == "用户ID"
    assert [f["name"] for f in copy["partition-specs"][0]["fields"]] == ["birthday", "country"]


def copy_is_gone(world: World) -> None:
    assert not world.table("my_user_copy").exists()


def four_gzip_files(world: World) -> None:
    data = world.table("my_user") / "data"
    files = [p for p in data.rglob("*.parquet") if not p.name.startswith(".")]
    folders = sorted(str(p.parent.relative_to(data)) for p in files)
    assert folders == ["birthday=2022-02-01/country=china"] * 2 + ["birthday=2022-02-02/country=japan"] * 2
    for path in files:
        group = pq.ParquetFile(path).metadata.row_group(0)
        assert {group.column(i).compression for i in range(group.num_columns)} == {"GZIP"}


CHINA = [("1", "zhang_san", "2022-02-01", "china"), ("2", "zhang_san", "2022-02-01", "china")]


def japan_was_replaced(world: World) -> None:
    assert world.drawn(0) == [*CHINA, ("4", "wang_wu", "2022-02-02", "japan")]


def static_partition_was_replaced(world: World) -> None:
    assert world.drawn(1) == [*CHINA, ("5", "zhao_liu", "2022-02-02", "japan")]


def history_is_told(world: World) -> None:
    assert (world.table("my_user") / "metadata" / "version-hint.text").read_text() == "5"
    snapshots = world.metadata("my_user")["snapshots"]
    summaries = [s["summary"] for s in sorted(snapshots, key=lambda s: s["sequence-number"])]
    assert [s["operation"] for s in summaries] == ["append", "append", "overwrite", "overwrite"]
    wanted = {
        "replace-partitions": "true",
        "added-data-files": "1",
        "deleted-data-files": "1",
        "added-records": "1",
        "deleted-records": "1",
        "changed-partition-count": "1",
        "total-records": "3",
        "total-data-files": "3",
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }
    assert {k: summaries[-1].get(k) for k in wanted} == wanted
    assert summaries[-1]["engine-name"] == "bergsql"
    assert summaries[-1]["engine-version"]


FACTS: dict[str, Callable[[World], None]] = {
    "the directory ${WAREHOUSE}/iceberg_db exists": database_exists,
    "metadata/ holds v1.metadata.json and version-hint.text, which reads 1": table_is_new,
    "same columns, comments, partitioning and properties": copy_is_alike,
    "the directory my_user_copy is gone": copy_is_gone,
    "four gzip parquet files below": four_gzip_files,
    "(1,zhang_san,2022-02-01,china) (2,zhang_san,2022-02-01,china) (4,wang_wu,2022-02-02,japan)": japan_was_replaced,
    "(1,zhang_san,2022-02-01,china) (2,zhang_san,2022-02-01,china) (5,zhao_liu,2022-02-02,japan)": static_partition_was_replaced,
    "version-hint.text reads 5": history_is_told,
}
"""A check for each ``--=`` fact, by how the fact begins."""

PASSING = (table_is_new, copy_is_alike, four_gzip_files)
"""Facts that later statements undo: they are checked behind their statement, at the prompt."""

STREAMING = "'streaming'='true'"
"""The last SELECT has no end: its facts are checked by a test of their own."""


def three_rows(printed: str) -> bool:
    """Whether the streaming SELECT has shown the three rows of the table."""
    return printed.count("| +I |") >= 3


def fact_check(fact: str) -> Callable[[World], None]:
    (check,) = [check for beginning, check in FACTS.items() if fact.startswith(beginning)]
    return check


@pytest.mark.parametrize("way", WAYS)
def test_flink_tour(way: str, berg: Berg) -> None:
    steps = read_steps(SCRIPT)
    checked: list[Callable[[World], None]] = []

    def after_step(step: Step, outcome: Outcome) -> None:
        for fact in step.facts if STREAMING not in step.sql else ():
            fact_check(fact)(World(berg.warehouse, outcome))
            checked.append(fact_check(fact))

    outcome = run_scenario(way, SCRIPT, steps, berg, after_step=after_step, until=three_rows)
    check_errors(steps, outcome, unsupported=lambda _: False)
    if way == "prompt":
        assert checked == list(FACTS.values())
    for check in FACTS.values():
        if check not in PASSING:
            check(World(berg.warehouse, outcome))


def test_the_streaming_select(berg: Berg) -> None:
    steps = read_steps(SCRIPT)
    run_scenario("file", SCRIPT, steps, berg, until=three_rows)
    (catalog,) = [step.sql for step in steps if step.sql.startswith("CREATE CATALOG")]
    select, table = steps[-1].sql, "hadoop_catalog.iceberg_db.my_user"
    assert STREAMING in select

    def inserted(printed: str) -> bool:
        if not three_rows(printed):
            return False
        berg.answers([catalog, f"INSERT INTO {table} VALUES (6, 'sun_qi', DATE '2022-02-03', 'china')"])
        began.append(time.monotonic())
        return True

    def shown(printed: str) -> bool:
        late.append(time.monotonic() - began[0])
        return "sun_qi" in printed

    began: list[float] = []
    late: list[float] = []
    done = berg.followed("-e", f"{catalog} {select}", until=(inserted, shown))
    header = next(line for line in done.out.splitlines() if line.startswith("| op |"))
    assert [cell.strip() for cell in header.strip("|").split("|")] == ["op", *TOGETHER]
    rows = sorted(line.strip("|").split("|")[1].strip() for line in done.out.splitlines() if line.startswith("| +I |"))
    assert rows == ["1", "2", "5", "6"]
    assert done.code == 130
    assert "Query terminated, received a total of 4 rows" in done.out
    assert late[-1] < 1 + 5  # the monitor interval, on a busy machine

    snapshots = World(berg.warehouse, Outcome()).metadata("my_user")["snapshots"]
    before, last = (s["snapshot-id"] for s in snapshots[-3:-1])
    ended = select.replace(STREAMING, f"{STREAMING}, 'limit'='1', 'start-snapshot-id'='{{}}'")
    assert ended != select
    _, behind, crossing, alive = berg.answers(
        [catalog, ended.format(last), ended.format(before), "SELECT 1 AS one"], "--format", "csv"
    )
    assert [line.split(",")[:2] for line in behind.data[1:]] == [["+I", "6"]]
    assert f"Snapshot {last} of table {table} is of 'overwrite'" in crossing.errors[0].message
    assert alive.data == ["one", "1"]
