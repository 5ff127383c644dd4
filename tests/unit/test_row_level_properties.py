"""Copy-on-write = merge-on-read = a Python model, for random statements over tables of all format versions
and file formats.

After each statement the table holds what the model says, or both refuse and the table is as it was; at the end every
snapshot still reads as it did when it was made. A failure prints its seed, how the table keeps its changes, and the
statements up to the one that went wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bergsql.engine.session import Session
from tests.support.statements.player import Player, open_session, play_all
from tests.support.statements.story import ALL_SETUPS, story

FEW, MANY = 4, 120


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with TemporaryDirectory() as folder:
        session = open_session(Path(folder) / "home", Path(folder) / "warehouse")
        session.execute("CREATE DATABASE both.s")
        yield session
        session.close()


def check_seed(session: Session, seed: int) -> None:
    steps = story(seed)
    for number, setup in enumerate(ALL_SETUPS):
        play_all(Player(session, f"both.s.t{seed}_{number}", setup, seed), steps)


@pytest.mark.parametrize("seed", range(FEW))
def test_random_statements(session: Session, seed: int) -> None:
    check_seed(session, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_many_random_statements(session: Session, seed: int) -> None:
    check_seed(session, seed)
