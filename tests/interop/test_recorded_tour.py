"""The tour's statements on metadata and on old states, each on the state that the tour had: Spark makes it here too.

Compared are all queries of the tour of some of its tables: ``my_tab``, whose partitions evolve, and its SHOW CREATE
TABLE [107–122]; the metadata tables of ``my_tb1`` [123–126, 130], what pyspark read as of a snapshot and of a time
[127, 135, 136], here in SQL, its rows and history after each rollback [133–148], time travel [149, 150]; the metadata of
compacted and expired tables [154–164], and of changed rows [176–222]. The statements [13–121] are compared in
tests/scenarios/test_spark_tour.py too, on tables that bergsql wrote.

What stays owed: CALL [131–161], which Spark runs here; MERGE [175, 179], DELETE and UPDATE [214–221] are compared in
tests/scenarios/test_spark_tour.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.interop.conftest import Both
from tests.interop.replay import Recorded, Replay, between
from tests.support.shared import ROOT, shared

pytestmark = pytest.mark.interop

TOUR: dict[str, object] = json.loads(shared("oracle", "spark", "tour_oracle.json").read_text(encoding="utf-8"))
STATEMENTS: dict[int, Recorded] = {s["n"]: s for s in TOUR["statements"]}  # type: ignore[attr-defined]
TABLES = ("my_tab", "my_tb1", "my_test", "t_a", "t_b", "t_del", "t_upd", "partition_tbl")
QUERIES = ("select ", "show ")
OF_THEM = re.compile(rf"\b(?:hadoop_prod\.)?default\.(?:{'|'.join(TABLES)})\b")
FIRST, SECOND = (str(TOUR["ids"][name]) for name in ("S1", "S2"))  # type: ignore[index]
INSERTS = (78, 128)
"""The statements that make them, in ``my_tb1``."""
MIDDLE = "2026-11-30 00:42:12.932500"
"""A recorded time between the two."""
EXPIRED = "2026-11-30 00:42:25.000"
"""A recorded time after the last snapshot of ``my_test``."""


TABLE = "hadoop_prod.default.my_tb1"
IN_SQL = {
    127: f"SELECT * FROM {TABLE} VERSION AS OF {FIRST}",
    135: f"SELECT * FROM {TABLE} TIMESTAMP AS OF '{MIDDLE}'",
    136: f"SELECT * FROM {TABLE}.at_timestamp_1659466148000",
}
"""What pyspark's reader was asked."""


def map_commits(replay: Replay) -> None:
    """What is known of ``my_tb1``: after its first and its second snapshot."""
    recorded = [(row[1], row[0]) for row in STATEMENTS[130]["rows"]]
    replay.map_commits("default.my_tb1", recorded)
    if SECOND in replay.ids:
        first, second = (replay.moments[time] for _, time in recorded)
        replay.moments[MIDDLE] = between(first, second)
    replay.moments[EXPIRED] = "2999-01-01 00:00:00"


@pytest.fixture(scope="module")
def answers(both: Both) -> Iterator[tuple[Replay, dict[int, list[list[object]] | BergError]]]:
    """What bergsql answers to each statement, and the types that it tells, on the state of the tour."""
    replay = Replay.start(both.spark, both.berg.home, both.berg.warehouse / "tour", "tour_prod")
    found: dict[int, list[list[object]] | BergError] = {}
    for n, told in STATEMENTS.items():
        if n in IN_SQL:
            found[n] = replay.read(IN_SQL[n])
        elif "rows" not in told or not OF_THEM.search(told["sql"]):
            continue
        elif told["sql"].startswith(QUERIES):
            found[n] = replay.read(told["sql"])
        else:
            replay.seed(told["sql"])
            if n in INSERTS:
                map_commits(replay)
    yield replay, found
    replay.session.close()


READ = [
    n
    for n, told in STATEMENTS.items()
    if n in IN_SQL or ("rows" in told and told["sql"].startswith(QUERIES) and OF_THEM.search(told["sql"]))
]


@pytest.mark.parametrize("n", READ)
def test_answers_are_the_recorded_ones(
    n: int, answers: tuple[Replay, dict[int, list[list[object]] | BergError]]
) -> None:
    replay, found = answers
    answer, told = found[n], STATEMENTS[n]
    if "rows" not in told:
        assert isinstance(answer, BergError)
        assert (answer.code, "no snapshot as old as 2022-08-02 18:49:08" in str(answer)) == (ErrorCode.NOT_FOUND, True)
        return
    assert not isinstance(answer, BergError), answer
    known = without_length if told["sql"].endswith(".manifests") else list
    assert replay.without_chance([known(row) for row in answer]) == replay.without_chance(
        [known(row) for row in told["rows"]]
    )


def without_length(row: list[object]) -> list[object]:
    """A row of ``manifests`` without the length of the file, which holds the names of data files."""
    return [*row[:2], *row[3:]]


def test_what_other_tests_leave_out_is_compared() -> None:
    exempt = json.loads((ROOT / "tests/scenarios/tour_exempt.json").read_text(encoding="utf-8"))
    assert {int(n) for n in (*exempt["rows_later"], *exempt["listings"])} <= set(READ)
