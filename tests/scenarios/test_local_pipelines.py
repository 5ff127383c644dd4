"""Scenarios 3 to 5 with nothing but this machine: a Hadoop catalog for Hive's, and local tables for Kafka's and MySQL's.

Only the options of those tables and the kind of the catalog are replaced. A message of Kafka is a file that comes into a
directory, a table of MySQL is one of Iceberg that somebody changes by ordinary statements, and what goes to MySQL is
printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.status import JobState
from tests.scenarios.place import METADATA_FILES, Place, one_way, running, until
from tests.scenarios.script import read_steps
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, jobs_of, process
from tests.support.shared import shared

_WITH = re.compile(r"\) WITH \(\n  'connector' = '(kafka|jdbc|mysql-cdc)',\n[^;]*?\n\);")
_KEPT = re.compile(r"^  '(?:format|csv\.[a-z-]+)' = '[^']*'", re.MULTILINE)
"""Options of a Kafka table that a directory has too."""
LOCAL = {
    "kafka": "'connector' = 'filesystem', 'path' = '${INBOX}', 'source.monitor-interval' = '100 ms'",
    "jdbc": "'connector' = 'print'",
    "mysql-cdc": "'connector' = 'iceberg', 'catalog-name' = 'mysql', 'catalog-type' = 'hadoop', 'warehouse' = '${MYSQL}', "
    "'catalog-database' = 'stock', 'catalog-table' = 'stock_basic', 'streaming' = 'true', 'read.changelog' = 'true', "
    "'monitor-interval' = '100 ms'",
}


def localised(script: str) -> str:
    """The scenario with local tables and a Hadoop catalog; everything else is as it is."""

    def options(found: re.Match[str]) -> str:
        kept = _KEPT.findall(found[0]) if found[1] == "kafka" else []
        return ") WITH (\n" + ",\n".join([LOCAL[found[1]], *kept]) + "\n);"

    made, swapped = _WITH.subn(options, script)
    assert swapped == len(re.findall("'connector' = ", script))
    assert "'catalog-type'='hive'" in made
    return made.replace("'catalog-type'='hive'", "'catalog-type'='hadoop'")


@dataclass
class LocalPlace(Place):
    """Where a scenario runs, and the hands that do what the scenario says that others do."""

    numbers: Iterator[int] = field(default_factory=count)

    @property
    def inbox(self) -> Path:
        return self.folder / "inbox"

    @property
    def arguments(self) -> list[str]:
        given = {"INBOX": self.inbox, "MYSQL": self.folder / "mysql", "HMS_URI": "thrift://127.0.0.1:9083"}
        return [word for key, value in given.items() for word in ("-D", f"{key}={value}")]

    def messages(self, *lines: str) -> None:
        """Messages of Kafka, as one file."""
        number = next(self.numbers)
        written = self.folder / f"{number}.csv"
        written.write_text("".join(f"{line}\n" for line in lines))
        written.rename(self.inbox / written.name)


@pytest.fixture
def place_of(berg: Berg, tmp_path: Path) -> Iterator[Callable[[str], LocalPlace]]:
    """Makes the place of a scenario by the beginning of its name."""
    session = Session(SessionConfig(home=tmp_path / "home"))

    def made(name: str) -> LocalPlace:
        (given,) = shared("scenarios").glob(f"{name}*.sql")
        script = tmp_path / given.name
        script.write_text(localised(given.read_text(encoding="utf-8")), encoding="utf-8")
        (tmp_path / "inbox").mkdir()
        for catalog, warehouse in (("mysql", tmp_path / "mysql"), ("c", berg.warehouse)):
            options = f"'type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{warehouse}'"
            session.execute(f"CREATE CATALOG {catalog} WITH ({options})").close()
        return LocalPlace(berg, jobs, tmp_path, session, script, read_steps(script))

    with jobs_of(berg) as jobs:
        yield made
    session.close()


# --- 3: changes of MySQL into an upsert table -----------------------------------------------------------------------------

STOCKS = "mysql.stock.stock_basic"
SINK = "SELECT * FROM c.stock_db.stock_basic_sink"
MADE = "(`i` INT NOT NULL, {} actural_controller CHAR(100), PRIMARY KEY (i) NOT ENFORCED) WITH ('format-version'='2')"
TEXTS = ("ts_code", "symbol", "name", "area", "industry", "list_date")


def stock(place: LocalPlace) -> None:
    """MySQL's table with its 21 rows."""
    columns = " ".join(f"{name} CHAR({20 if name in ('area', 'industry') else 10}) NOT NULL," for name in TEXTS)
    rows = ", ".join(f"({n}, '{n:06}.SZ', '{n:06}', '平安银行', '深圳', '银行', '19910403', NULL)" for n in range(21))
    place.do(
        "CREATE DATABASE mysql.stock",
        f"CREATE TABLE {STOCKS} {MADE.format(columns)}",
        f"INSERT INTO {STOCKS} VALUES {rows}",
    )


def follows(place: LocalPlace) -> None:
    """The sink becomes equal to MySQL's table, and no more than six files of metadata are left behind a commit."""
    place.becomes(SINK, place.rows(f"SELECT * FROM {STOCKS}"))
    until(lambda: place.metadata_files("stock_db/stock_basic_sink"), lambda n: n <= METADATA_FILES)


@pytest.mark.parametrize("way", one_way(0))
def test_changes_of_a_table_arrive(place_of: Callable[[str], LocalPlace], way: str) -> None:
    place = place_of("3")
    stock(place)
    place.run(way)
    running(place, "stock_basic_sink")
    follows(place)
    assert len(place.rows(SINK)) == 21
    one = "(1, '000002.SZ', '000002', '万科A', '深圳', '全国地产', '19910129', NULL)"
    for statement in (
        f"DELETE FROM {STOCKS}",
        f"INSERT INTO {STOCKS} VALUES {one}",
        f"UPDATE {STOCKS} SET actural_controller='星星之火' WHERE i='1'",
        f"UPDATE {STOCKS} SET actural_controller='可以燎原' WHERE i='1'",
    ):
        place.do(statement)
        follows(place)
    assert [row[-1] for row in place.rows(SINK)] == ["可以燎原"]
    if way == "file":
        killed(place)


def killed(place: LocalPlace) -> None:
    """Killed while changes come, and started again; by now there were more commits than files of metadata are kept."""
    for number in range(3):
        if number == 1:
            run = process(place.job("stock_basic_sink"))
            run.kill()
            run.wait(DEADLINE)
            place.jobs.until_state(place.job("stock_basic_sink").id, JobState.LOST)
        place.do(f"UPDATE {STOCKS} SET actural_controller = '{number}' WHERE i = 1")
        place.do(f"INSERT INTO {STOCKS} VALUES ({100 + number}, 'a', 'b', 'c', 'd', 'e', 'f', NULL)")
        if number == 1:
            assert place.jobs.command("resume", "--all").code == 0
        follows(place)
    assert len(place.rows(SINK)) == 1 + 3


def test_a_table_of_version_1_takes_no_changes(place_of: Callable[[str], LocalPlace]) -> None:
    place = place_of("3")
    stock(place)
    text = place.script.read_text(encoding="utf-8")
    assert text.count("'format-version'='2'") == 1
    place.script.write_text(text.replace("'format-version'='2'", "'format-version'='1'"), encoding="utf-8")
    done = place.berg.run("-f", str(place.script), *place.arguments)
    assert done.code == 1
    assert "format version 1" in done.err
    assert "Job ID" not in done.err
    assert place.jobs.all() == []


# --- 4: a running count ---------------------------------------------------------------------------------------------------


def as_many(told: list[str], lines: list[str]) -> bool:
    return len(lines) >= len(told)


@pytest.mark.parametrize("way", one_way(1))
def test_only_keys_that_changed_come_out_of_a_count(place_of: Callable[[str], LocalPlace], way: str) -> None:
    place = place_of("4")
    place.run(way)
    running(place, "IcebergSink", "mysql_pv")
    output = place.job("mysql_pv").output

    def printed() -> list[str]:
        return output.read_text().splitlines() if output.exists() else []

    told: list[str] = []
    for message, changes in (
        ("a,20220616", ["+I[20220616, 1]"]),
        ("a,20220617", ["+I[20220617, 1]"]),
        ("b,20220617", ["-U[20220617, 1]", "+U[20220617, 2]"]),
        ("broken", []),
        ("c,20220616", ["-U[20220616, 1]", "+U[20220616, 2]"]),
    ):
        place.messages(message)
        told += changes
        until(printed, partial(as_many, told))
        if not changes:
            place.jobs.until(place.job("IcebergSink").id, lambda job: job.status.metrics.get("rows_skipped") == 1)
    assert printed() == told
    described = place.berg.rows(f"DESCRIBE JOB '{place.job('IcebergSink').id}'")
    assert {str(row["key"]): row["value"] for row in described}["rows skipped"] == "1"
    running(place, "IcebergSink", "mysql_pv")
    wanted = [("a", 20220616), ("a", 20220617), ("b", 20220617), ("c", 20220616)]
    assert place.rows("SELECT * FROM c.ods_base.`IcebergSink`") == wanted
    assert place.metadata_files("ods_base/IcebergSink") <= METADATA_FILES


# --- 5: primary keys ------------------------------------------------------------------------------------------------------

MESSAGES = "1,abc 2,bb 3,cc 4,dd 5,ee 3,cccc 6,666 4,ddddd".split()
ROWS = [(int(number), text) for number, _, text in (each.partition(",") for each in MESSAGES)]


@pytest.mark.parametrize("way", one_way(2))
def test_a_key_updates_where_it_is_asked_to(place_of: Callable[[str], LocalPlace], way: str) -> None:
    place = place_of("5")
    outcome = place.run(way)
    (refused,) = outcome.errors.values()
    assert "does not own the data" in f"{refused}"
    assert "NOT ENFORCED" in f"{refused}"
    running(place, "append_table", "upsert_table")
    # At once, and by twos: what one checkpoint has, and what several have.
    step = len(MESSAGES) if way == "stdin" else 2
    for first in range(0, len(MESSAGES), step):
        place.messages(*MESSAGES[first : first + step])
        come = ROWS[: first + step]
        place.becomes("SELECT * FROM c.ods_base.append_table", come)
        place.becomes("SELECT * FROM c.ods_base.upsert_table", list(dict(come).items()))
    assert len(place.rows("SELECT * FROM c.ods_base.append_table")) == 8
    assert len(place.rows("SELECT * FROM c.ods_base.upsert_table")) == 6
    assert place.metadata_files("ods_base/append_table") <= METADATA_FILES
    kinds = place.rows("SELECT DISTINCT content FROM c.ods_base.upsert_table.delete_files")
    assert kinds == [(2,)]  # equality deletes
