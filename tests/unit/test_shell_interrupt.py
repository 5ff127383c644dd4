"""Ctrl-C while a statement runs, with real signals."""

from __future__ import annotations

import signal
import threading

import duckdb
import pytest

from bergsql.engine.duck import Duck
from bergsql.shell.interrupt import Interrupts


class Waiting:
    """A session that tells when it is interrupted."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()

    def interrupt(self) -> None:
        self.interrupted.set()


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def clean_up(*, presses: int = 1) -> None:
    """Code that is handling an exception when Ctrl-C comes."""
    try:
        raise ValueError
    except ValueError:
        for _ in range(presses):
            press()


def test_it_raises_in_plain_code() -> None:
    interrupts = Interrupts(Waiting())
    with pytest.raises(KeyboardInterrupt), interrupts.during_statement():
        press()
    assert interrupts.pressed


def test_it_interrupts_the_session_and_lets_cleaning_up_finish() -> None:
    session = Waiting()
    interrupts = Interrupts(session)
    with interrupts.during_statement():
        clean_up()
        assert session.interrupted.wait(10)
    assert interrupts.pressed


def test_pressed_again_it_raises_everywhere() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts(Waiting()).during_statement():
        clean_up(presses=2)


def test_each_statement_begins_anew_and_leaves_no_handler_behind() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(Waiting())
    with pytest.raises(KeyboardInterrupt), interrupts.during_statement():
        press()
    with interrupts.during_statement():
        pass
    assert not interrupts.pressed
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 7 = 3",
        "SELECT i FROM range(1000000000000) t(i) WHERE i = -1",
    ],
    ids=["executing", "fetching"],
)
def test_duckdb_stops_wherever_it_is(sql: str) -> None:
    """A thread presses as soon as the main thread is inside DuckDB, which then holds no Python lock."""
    duck = Duck()
    interrupts = Interrupts(duck)
    begun = threading.Event()
    main = threading.get_ident()

    def press_when_begun() -> None:
        begun.wait(10)
        signal.pthread_kill(main, signal.SIGINT)

    def run() -> None:
        cursor = duck.cursor()
        begun.set()
        cursor.execute(sql)
        cursor.fetchmany(1)

    presser = threading.Thread(target=press_when_begun)
    presser.start()
    with pytest.raises((KeyboardInterrupt, RuntimeError, duckdb.InterruptException)), interrupts.during_statement():
        run()
    presser.join()
    assert interrupts.pressed
    assert duck.execute("SELECT 1").fetchall() == [(1,)]
    duck.close()
