"""Scenario 3 as it is, with a real MariaDB and a Hive Metastore; and with a Hadoop catalog for Hive's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bergsql.engine.streaming.jobs.status import JobState
from tests.scenarios.place import METADATA_FILES, one_way, running, until
from tests.scenarios.real_place import CATALOGS, PASSWORD, RealPlace, place_of
from tests.support.jobs import DEADLINE, process

SINK = "SELECT * FROM c.stock_db.stock_basic_sink"


def follows(place: RealPlace) -> None:
    """The sink becomes equal to MySQL's table, and no more than six files of metadata are left behind a commit."""
    place.becomes(SINK, place.mariadb.run("SELECT * FROM stock.stock_basic"))
    until(lambda: place.files_of("stock_db", "stock_basic_sink"), lambda n: n <= METADATA_FILES)


def stock(place: RealPlace) -> None:
    place.mariadb.run_many(
        "INSERT INTO stock.stock_basic VALUES (%s, %s, %s, '平安银行', '深圳', '银行', '19910403', NULL)",
        [(n, f"{n:06}.SZ", f"{n:06}") for n in range(21)],
    )


@pytest.mark.parametrize("catalog", CATALOGS)
@pytest.mark.parametrize("way", one_way(0))
def test_changes_of_a_table_arrive(place_of: Callable[[str, str], RealPlace], way: str, catalog: str) -> None:
    place = place_of("3", catalog)
    stock(place)
    place.run(way)
    running(place, "stock_basic_sink")
    follows(place)
    assert len(place.rows(SINK)) == 21
    for statement in (
        "DELETE FROM stock.stock_basic",
        "INSERT INTO stock.stock_basic VALUES (1, '000002.SZ', '000002', '万科A', '深圳', '全国地产', '19910129', NULL)",
        "UPDATE stock.stock_basic SET actural_controller='星星之火' WHERE i='1'",
        "UPDATE stock.stock_basic SET actural_controller='可以燎原' WHERE i='1'",
    ):
        place.mariadb.run(statement)
        follows(place)
    assert [row[-1] for row in place.rows(SINK)] == ["可以燎原"]
    if catalog == "hive":
        killed(place)
    place.check_secrets()


def killed(place: RealPlace) -> None:
    """Killed while changes come, and started again."""
    for number in range(2):
        run = process(place.job("stock_basic_sink"))
        run.kill()
        run.wait(DEADLINE)
        place.jobs.until_state(place.job("stock_basic_sink").id, JobState.LOST)
        place.mariadb.run(
            f"UPDATE stock.stock_basic SET actural_controller = '{number}' WHERE i = 1",
            f"INSERT INTO stock.stock_basic VALUES ({100 + number}, 'a', 'b', 'c', 'd', 'e', 'f', NULL)",
        )
        assert place.jobs.command("resume", "--all").code == 0
        follows(place)
    assert len(place.rows(SINK)) == 1 + 2


def test_a_table_of_version_1_takes_no_changes(place_of: Callable[[str, str], RealPlace]) -> None:
    place = place_of("3", "hive")
    stock(place)
    text = place.script.read_text(encoding="utf-8")
    place.script.write_text(text.replace("'format-version'='2'", "'format-version'='1'"), encoding="utf-8")
    done = place.berg.run("-f", str(place.script), *place.arguments)
    assert done.code == 1
    assert "format version 1" in done.err
    assert place.jobs.all() == []


def test_the_definition_of_a_table_shows_no_password(place_of: Callable[[str, str], RealPlace]) -> None:
    place = place_of("3", "hadoop")
    create = place.steps[0].sql
    done = place.berg.run("-e", create, "-e", "SHOW CREATE TABLE stock_basic_source", *place.arguments)
    assert done.code == 0
    assert PASSWORD not in done.out + done.err
    assert "'password' = '******'" in done.out


__all__ = ["place_of"]  # a fixture
