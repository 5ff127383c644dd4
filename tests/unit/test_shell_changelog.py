"""A changelog as the shell draws it: as its rows come, with a footer for the way it ended."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from bergsql.engine.result import Column, Result, ResultKind, Row
from bergsql.engine.sql.types import INT, STRING, DataType, Kind
from bergsql.shell.live_view import CurrentRows, LastChanges
from bergsql.shell.render.formats import layout
from bergsql.shell.render.layout import Ended, View

COLUMNS = (Column("op", STRING), Column("id", INT), Column("t", DataType(Kind.TIME, 3)), Column("名", STRING))
VIEW = View(max_width=10, show_time=False)


class Screen(io.StringIO):
    """What was on it whenever it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def flush(self) -> None:
        self.seen.append(self.getvalue())


def drawn(chunks: Iterator[list[Row]], screen: Screen) -> str:
    layout("tableau")(Result(ResultKind.ROWS, COLUMNS, chunks, changelog=True), screen, VIEW)  # type: ignore[arg-type]
    return screen.getvalue()


def test_a_chunk_is_seen_before_the_next_is_asked_for() -> None:
    screen = Screen()

    def chunks() -> Iterator[list[Row]]:
        assert screen.seen[-1].count("\n") == 3
        yield [("+I", 1, None, "abcdefghijklmn")]
        assert "| +I |           1 |       <NULL> | abcdefg... |\n" in screen.seen[-1]
        yield [("-U", 1, None, "x"), ("+U", 1, None, "中文")]

    text = drawn(chunks(), screen)
    assert text.splitlines() == [
        "+----+-------------+--------------+------------+",
        "| op |          id |            t |         名 |",
        "+----+-------------+--------------+------------+",
        "| +I |           1 |       <NULL> | abcdefg... |",
        "| -U |           1 |       <NULL> |          x |",
        "| +U |           1 |       <NULL> |       中文 |",
        "+----+-------------+--------------+------------+",
        "Received a total of 3 rows",
    ]


def test_ctrl_c_ends_it_with_the_count() -> None:
    screen = Screen()

    def chunks() -> Iterator[list[Row]]:
        yield [("+I", 1, None, "a")]
        raise KeyboardInterrupt

    with pytest.raises(Ended):
        drawn(chunks(), screen)
    assert screen.seen[-1].splitlines()[-1] == "Query terminated, received a total of 1 row"


def test_the_rows_of_the_moment() -> None:
    rows = CurrentRows(3)
    for op, row in (("+I", "a"), ("+I", "b"), ("+I", "a"), ("-U", "a"), ("+U", "c"), ("-D", "b"), ("-D", "unknown")):
        rows.take(op, (row,))
    assert rows.rows() == [("a",), ("c",)]
    rows.take("+I", ("d",))
    rows.take("+I", ("e",))
    assert rows.more
    assert rows.rows() == [("a",), ("c",), ("d",)]


def test_the_last_changes() -> None:
    changes = LastChanges(10)
    for number in range(25):
        changes.take("+I", (str(number),))
    assert changes.more
    assert changes.rows()[-1] == ("+I", "24")
    assert len(changes.rows()) <= 10
