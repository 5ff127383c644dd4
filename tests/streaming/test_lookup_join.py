"""Joins with a table as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from bergsql.engine.streaming.changelog import Batch, ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import JoinKind, LookupJoinNode
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext, Source
from tests.support.streams import BIGINT, STRING, Driver, stream


class Table(Source):
    """A table that a test changes."""

    name = "t"
    columns = (StreamColumn("id", BIGINT), StreamColumn("name", STRING))
    bounded = True

    def __init__(self, *, tells: bool) -> None:
        self.rows: list[tuple[int, str]] = []
        self.version = 0
        self.reads = 0
        self._tells = tells

    def put(self, *rows: tuple[int, str]) -> None:
        self.rows, self.version = list(rows), self.version + 1

    @property
    def signature(self) -> Mapping[str, Json]:
        return {}

    def fingerprint(self) -> Json:
        return self.version if self._tells else None

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        assert offset is None
        self.reads += 1
        return _Reader(self, context)

    def explain(self) -> str:
        return "t"


class _Reader(Reader):
    """A row a poll."""

    def __init__(self, table: Table, context: ReaderContext) -> None:
        self._left = list(table.rows)
        self._context = context

    def poll(self) -> Batch | None:
        if not self._left:
            return None
        id_, name = self._left.pop(0)
        rows = pa.table({"c0": pa.array([id_], pa.int64()), "c1": [name], "op": pa.array([0], pa.int8())})
        return Batch(self._context.relation(rows))

    @property
    def offset(self) -> Json:
        return len(self._left)

    @property
    def finished(self) -> bool:
        return not self._left


def lookup(kind: JoinKind, table: Table, condition: str | None = None) -> LookupJoinNode:
    left = stream(BIGINT, BIGINT)
    return LookupJoinNode(
        uid="lookup-join-1",
        inputs=(left,),
        columns=(*left.columns, *table.columns),
        mode=ChangelogMode.INSERT_ONLY,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        table=table,
        condition=condition,
    )


def test_rows_meet_the_table_as_it_is(tmp_path: Path) -> None:
    table = Table(tells=True)
    table.put((1, "a"), (2, "b"), (2, "c"))
    with Driver(lookup(JoinKind.INNER, table), tmp_path) as driver:
        output = driver.round([("+I", 2, 10), ("+I", 1, 11), ("+I", 3, 12), ("+I", None, 13)], watermark=7)
        assert output.changes == [("+I", 2, 10, 2, "b"), ("+I", 2, 10, 2, "c"), ("+I", 1, 11, 1, "a")]
        assert output.watermark == 7
        table.put((3, "new"))
        assert driver.round([("+I", 3, 14), ("+I", 1, 15)]).changes == [("+I", 3, 14, 3, "new")]


def test_rows_without_a_partner_stay_in_a_left_join(tmp_path: Path) -> None:
    table = Table(tells=True)
    table.put((1, "a"))
    with Driver(lookup(JoinKind.LEFT, table, "l.c1 > 5 AND r.c1 = 'a'"), tmp_path) as driver:
        assert driver.round([("+I", 1, 10), ("+I", 1, 5), ("+I", 2, 7)]).changes == [
            ("+I", 1, 10, 1, "a"),
            ("+I", 1, 5, None, None),
            ("+I", 2, 7, None, None),
        ]


@pytest.mark.parametrize(("tells", "reads"), [(True, 2), (False, 4)])
def test_the_table_is_read_again_only_when_it_may_have_changed(tells: bool, reads: int, tmp_path: Path) -> None:
    table = Table(tells=tells)
    table.put((1, "a"))
    with Driver(lookup(JoinKind.INNER, table), tmp_path) as driver:
        for _ in range(3):
            assert driver.round([("+I", 1, 0)]).changes == [("+I", 1, 0, 1, "a")]
            driver.round()
        table.put((1, "b"))
        assert driver.round([("+I", 1, 0)]).changes == [("+I", 1, 0, 1, "b")]
        assert table.reads == reads
