"""Random sequences of statements in bergsql and in the real Spark: the same rows after each statement, or both refuse.

Each has a table of its own. The one that bergsql wrote is then read by Spark, with its earlier snapshots; Spark makes
the next change of it, bergsql the one after that. The model of tests/support/statements is held to both. What Spark is
known to do wrong, it may do (see ``doubt`` of a statement): its table is then made the same again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bergsql.engine.session import Session
from tests.interop.conftest import Both
from tests.support.spark import SparkError
from tests.support.statements.player import Player, open_session
from tests.support.statements.story import SETUPS, Step, story
from tests.support.statements.values import as_texts

pytestmark = pytest.mark.interop

SEEDS, BOUNDED = 300, 8


@pytest.fixture(scope="module")
def session(both: Both) -> Iterator[Session]:
    session = open_session(both.berg.home, both.berg.warehouse)
    session.execute("CREATE DATABASE both.s")
    yield session
    session.close()


def in_spark(both: Both, player: Player, step: Step, table: str) -> None:
    """Run a step in Spark, on any table, and hold its outcome to the model's."""
    refused = None
    for line in step.statement.first(table):
        both.spark.sql(line)
    try:
        both.spark.sql(step.statement.sql(table, player.setup.properties))
    except SparkError as error:
        refused = str(error)
    for line in step.statement.after:
        both.spark.sql(line)
    rows = both.spark.rows(f"SELECT * FROM {table}")
    if step.doubt and as_texts(rows) != as_texts(step.rows):
        both.spark.sql(f"INSERT OVERWRITE {table} SELECT * FROM {player.table}")
        return
    if bool(refused) != bool(step.refused):
        raise player.failed(f"Spark: {refused}; the model: {step.refused}")
    player.check("rows in Spark", rows, step.rows)


def check_seed(both: Both, session: Session, seed: int) -> None:
    setup = SETUPS[seed % len(SETUPS)]
    player = Player(session, f"both.s.berg{seed}", setup, seed)
    *steps, sparks, ours = story(seed, changes=2)
    for step in steps:
        player.play(step)
        in_spark(both, player, step, f"both.s.spark{seed}")
    for snapshot_id, rows in list(player.past.items())[-4:]:
        found = both.spark.rows(f"SELECT * FROM {player.table} VERSION AS OF {snapshot_id}")
        player.check(f"snapshot {snapshot_id} in Spark", found, rows)
    player.check("the table in Spark", both.spark.rows(f"SELECT * FROM {player.table}"), steps[-1].rows)
    player.script.append(f"-- in Spark: {sparks.statement.sql(player.table)}")
    in_spark(both, player, sparks, player.table)
    player.look(sparks)
    player.play(ours)
    player.check("the table in Spark at last", both.spark.rows(f"SELECT * FROM {player.table}"), ours.rows)


@pytest.mark.parametrize("seed", range(BOUNDED))
def test_statements_mean_what_they_mean_in_spark(both: Both, session: Session, seed: int) -> None:
    check_seed(both, session, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(BOUNDED, SEEDS))
def test_many_statements_mean_what_they_mean_in_spark(both: Both, session: Session, seed: int) -> None:
    check_seed(both, session, seed)
