"""The semantics oracle's groups ``meta …`` and ``tt``, each on the state that it had: Spark makes it here too.

Compared are all 16 metadata tables of a table with deletes, updates and two specs [216–231: columns, types, and the row
that was recorded], what is not one [232], the metadata columns [233], time travel and references [299–308], a branch
and a tag of a table with compactions, WAP and expired snapshots [253, 301, 304, 305, 307], and beside these every query
of the same tables that semantics_exempt.json says to follow what Spark runs here [93, 101, 109, 113, 195, 262].

What stays owed by the issues that bring the statements: CALL, branches, tags, and INSERT into a branch [253]
themselves, which Spark runs here; create_changelog_view [241], whose view only Spark's session has; and
add_files [290, 295] of a table that is not Iceberg's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from bergsql.catalog.errors import BergError
from tests.interop.conftest import Both
from tests.interop.replay import Recorded, Replay, utc
from tests.support.shared import ROOT, shared

pytestmark = pytest.mark.interop

STATEMENTS: list[Recorded] = json.loads(shared("oracle", "spark", "semantics_oracle.json").read_text(encoding="utf-8"))
OF_THEM = re.compile(r"\bdb\.(?:t|nn|m|p)\b")
SETTINGS = re.compile(r"(?:re)?set spark\.wap")
METADATA = range(216, 232)
FOLLOWING = (93, 101, 109, 113, 195, 262)
TIME_TRAVEL = [n for n, told in enumerate(STATEMENTS) if told.get("group") == "tt"]
TAG_WRITE = 305
BRANCH_WRITE = 253
BRANCH = "SELECT * FROM hadoop_prod.db.p.branch_fb WHERE id = 77"
"""What was written to the branch [253]."""
ANCESTORS = 239
"""Its rows are the snapshots of ``p`` and their times, the last first."""
OWED = (241, 290, 295)
READ = [*METADATA, 232, 233, *FOLLOWING, BRANCH_WRITE, *TIME_TRAVEL]

Answer = list[list[object]] | BergError


def is_read(n: int) -> bool:
    return n in READ and n != BRANCH_WRITE


@pytest.fixture(scope="module")
def replayed(both: Both) -> Iterator[tuple[Replay, dict[int, Answer], dict[int, list[tuple[str, str]]]]]:
    """What bergsql answers to each statement that is read, and the columns of the metadata tables."""
    replay = Replay.start(both.spark, both.berg.home, both.berg.warehouse / "semantics", "semantics_prod")
    replay.seed("CREATE NAMESPACE hadoop_prod.db")
    found: dict[int, Answer] = {}
    types: dict[int, list[tuple[str, str]]] = {}
    for n, told in enumerate(STATEMENTS[: TIME_TRAVEL[-1] + 1]):
        sql = told.get("sql", "")
        if is_read(n):
            found[n] = replay.read(re.sub(r"from t$", "from hadoop_prod.db.t", sql).removesuffix(" limit 1"))
            if n in METADATA:
                types[n] = replay.types(sql)
        elif "rows" in told and (OF_THEM.search(sql) or SETTINGS.match(sql)) and writes(sql):
            replay.seed(sql)
            if n == ANCESTORS:
                replay.map_commits("db.p", [(i, utc(ms)) for i, ms in reversed(told["rows"])])
            if n == BRANCH_WRITE:
                found[n] = replay.read(BRANCH)
    yield replay, found, types
    replay.session.close()


def writes(sql: str) -> bool:
    """Whether a state may follow from a statement."""
    return not sql.startswith(("select", "show", "describe", "explain"))


@pytest.mark.parametrize("n", [*FOLLOWING, 233, *TIME_TRAVEL])
def test_answers_are_the_recorded_ones(n: int, replayed: tuple[Replay, dict[int, Answer], object]) -> None:
    replay, found, _ = replayed
    answer, told = found[n], STATEMENTS[n]
    if "rows" not in told:
        assert isinstance(answer, BergError)
        assert "not supported yet" not in str(answer)
        return
    assert not isinstance(answer, BergError), answer
    assert replay.without_chance(answer) == replay.without_chance(told["rows"])


def test_what_cannot_be_written_is_a_tag(replayed: tuple[Replay, dict[int, Answer], object]) -> None:
    answer = replayed[1][TAG_WRITE]
    assert isinstance(answer, BergError)
    assert "'tag_tg' is a state of" in str(answer)


def test_a_branch_shows_what_was_written_to_it(replayed: tuple[Replay, dict[int, Answer], object]) -> None:
    assert replayed[1][BRANCH_WRITE] == [[77, "z"]]


def test_what_is_no_metadata_table_is_not_found(replayed: tuple[Replay, dict[int, Answer], object]) -> None:
    answer = replayed[1][232]
    assert isinstance(answer, BergError)
    assert "was not found" in str(answer)


@pytest.mark.parametrize("n", METADATA)
def test_metadata_tables_are_the_recorded_ones(
    n: int, replayed: tuple[Replay, dict[int, Answer], dict[int, list[tuple[str, str]]]]
) -> None:
    """The recorded row, whichever of them LIMIT 1 gave, is one of ours."""
    replay, found, types = replayed
    answer, told = found[n], STATEMENTS[n]
    assert types[n] == list(zip(told["columns"], told["types"], strict=True))
    assert not isinstance(answer, BergError), answer
    by_chance = 2 if "manifests " in told["sql"] else None  # the length of a file that holds names
    mine, recorded = (
        replay.without_chance([[cell for at, cell in enumerate(row) if at != by_chance] for row in rows])
        for rows in (answer, told["rows"])
    )
    assert set(recorded) <= set(mine)
    assert bool(mine) == bool(recorded)


def test_what_other_tests_leave_out_is_compared() -> None:
    exempt = json.loads((ROOT / "tests/scenarios/semantics_exempt.json").read_text(encoding="utf-8"))
    assert {int(n) for n in (*exempt["follows"], *exempt["shape"])} - set(OWED) <= {*READ}
