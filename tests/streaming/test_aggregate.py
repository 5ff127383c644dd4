"""GROUP BY over changes is what DuckDB says of all rows, and costs what changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.engine.sql.types import BOOLEAN, DataType, Field, Kind
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import AggregateCall, AggregateNode
from bergsql.engine.streaming.operators.aggregate_rules import unsupported
from tests.support.streams import BIGINT, DOUBLE, INT, STRING, Change, Driver, answer, fold, stream

MONEY = DataType(Kind.DECIMAL, 10, 2)
TOTAL = DataType(Kind.DECIMAL, 38, 2)
COLUMNS = (STRING, INT, DOUBLE, MONEY, BOOLEAN, STRING, BIGINT)
"""c0 is the key, c4 a filter."""


def call(function: str, argument: int | None, type_: DataType, **more: Any) -> AggregateCall:
    return AggregateCall(function, () if argument is None else (argument,), type_, **more)


def ints() -> DataType:
    return DataType(Kind.ARRAY, children=(Field("element", INT),))


CALLS = {
    "count": (call("count", None, BIGINT), "count(*)"),
    "count of values": (call("count", 1, BIGINT), "count(c1)"),
    "count distinct": (call("count", 1, BIGINT, distinct=True), "count(DISTINCT c1)"),
    "count filter": (call("count", None, BIGINT, filter=4), "count(*) FILTER (WHERE c4)"),
    "count distinct filter": (
        call("count", 5, BIGINT, filter=4, distinct=True),
        "count(DISTINCT c5) FILTER (WHERE c4)",
    ),
    "sum": (call("sum", 1, INT), "CAST(sum(c1) AS INT)"),
    "sum of bigints": (call("sum", 6, DataType(Kind.HUGEINT)), "sum(c6)"),
    "sum of decimals": (call("sum", 3, TOTAL), "CAST(sum(c3) AS DECIMAL(38, 2))"),
    "sum of doubles": (call("sum", 2, DOUBLE), "sum(c2)"),
    "sum distinct": (call("sum", 1, INT, distinct=True), "CAST(sum(DISTINCT c1) AS INT)"),
    "sum filter": (call("sum", 1, INT, filter=4), "CAST(sum(c1) FILTER (WHERE c4) AS INT)"),
    "avg": (call("avg", 1, DOUBLE), "avg(c1)"),
    "whole avg": (call("avg", 1, INT), "CAST(sum(c1) // count(c1) AS INT)"),
    "avg of doubles": (call("avg", 2, DOUBLE), "avg(c2)"),
    "min": (call("min", 1, INT), "min(c1)"),
    "max": (call("max", 5, STRING), "max(c5)"),
    "min filter": (call("min", 2, DOUBLE, filter=4), "min(c2) FILTER (WHERE c4)"),
    "stddev_pop": (call("stddev_pop", 2, DOUBLE), "stddev_pop(c2)"),
    "stddev_samp": (call("stddev_samp", 2, DOUBLE), "stddev_samp(c2)"),
    "var_pop": (call("var_pop", 2, DOUBLE), "var_pop(c2)"),
    "var_samp": (call("var_samp", 2, DOUBLE), "var_samp(c2)"),
    "bool_and": (call("bool_and", 4, BOOLEAN), "bool_and(c4)"),
    "bool_or": (call("bool_or", 4, BOOLEAN), "bool_or(c4)"),
    "bit_and": (call("bit_and", 1, INT), "bit_and(c1)"),
    "bit_or": (call("bit_or", 6, BIGINT), "bit_or(c6)"),
    "bit_xor": (call("bit_xor", 1, INT), "bit_xor(c1)"),
    "approx_count_distinct": (call("approx_count_distinct", 1, BIGINT), "count(DISTINCT c1)"),
    "array_agg": (call("array_agg", 1, ints()), "list(c1)"),
    "array_agg distinct": (call("array_agg", 1, ints(), distinct=True), "list(DISTINCT c1)"),
    "collect_list": (call("collect_list", 1, ints()), "coalesce(list(c1) FILTER (WHERE c1 IS NOT NULL), [])"),
    "collect_set": (
        call("collect_set", 1, ints()),
        "coalesce(list(DISTINCT c1) FILTER (WHERE c1 IS NOT NULL), [])",
    ),
    "listagg": (call("listagg", 5, STRING, separator="|"), "string_agg(c5, '|' ORDER BY c5)"),
    "listagg distinct": (
        call("listagg", 5, STRING, separator="|", distinct=True),
        "string_agg(DISTINCT c5, '|' ORDER BY c5)",
    ),
}
IN_ANY_ORDER = frozenset(name for name in CALLS if name.split()[0] in ("array_agg", "collect_list", "collect_set"))

ROWS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 0, 1, -2, 3, 70_000, -(2**20)]),
    st.sampled_from([None, 0.5, 1.25, -3.0, 1024.0]),
    st.sampled_from([None, Decimal("1.25"), Decimal("-2.10"), Decimal("99999999.99")]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "x", "yy", "z", "é"]),
    st.sampled_from([None, 2**62, 2**62 - 1, -5, 9]),
)


@st.composite
def batches(draw: st.DrawFn, *, retracts: bool) -> list[list[Change]]:
    """Batches of changes: rows come, and some go that are there."""
    held: list[tuple[Any, ...]] = []
    made: list[list[Change]] = []
    for _ in range(draw(st.integers(1, 5))):
        batch: list[Change] = []
        for _ in range(draw(st.integers(0, 8))):
            goes = draw(st.booleans())
            if retracts and held and goes:
                gone = held.pop(draw(st.integers(0, len(held) - 1)))
                updates = draw(st.booleans())
                batch.append(("-U" if updates else "-D", *gone))
                if not updates:
                    continue
                held.append(draw(ROWS))
                batch.append(("+U", *held[-1]))
            else:
                held.append(draw(ROWS))
                batch.append(("+I", *held[-1]))
        made.append(batch)
    return made


def grouped(keys: tuple[int, ...], calls: Iterable[AggregateCall], *, retracts: bool) -> AggregateNode:
    source = stream(*COLUMNS, mode=ChangelogMode.RETRACT if retracts else ChangelogMode.INSERT_ONLY)
    made = tuple(calls)
    columns = tuple(source.columns[k] for k in keys) + tuple(StreamColumn(c.function, c.type) for c in made)
    mode = ChangelogMode.RETRACT if made or retracts else ChangelogMode.INSERT_ONLY
    return AggregateNode(
        uid="aggregate-1",
        inputs=(source,),
        columns=columns,
        mode=mode,
        key=tuple(range(len(keys))),
        keys=keys,
        calls=made,
    )


def rows_left(changes: list[list[Change]]) -> list[tuple[Any, ...]]:
    return list(fold(change for batch in changes for change in batch).elements())


def like(value: Any, name: str) -> Any:
    """A result so that it can be compared: sums of doubles nearly, lists in order."""
    if isinstance(value, float):
        return round(value * math.pi, 3) + 0.0  # by a factor that leaves no decimal half-way between two others
    if name in IN_ANY_ORDER and value is not None:
        return tuple(sorted(value, key=lambda x: (x is not None, x or 0)))
    if name.startswith("listagg") and value is not None:
        return "|".join(sorted(value.split("|")))
    return value


def run(node: AggregateNode, changes: list[list[Change]], path: Path, restart_at: int) -> Counter[Change]:
    """The rows that the batches leave, with a crash and a restart behind one of them."""
    held: Counter[Change] = Counter()
    with Driver(node, path) as driver:
        for at, batch in enumerate(changes):
            if at == restart_at:
                driver.checkpoint()
                driver.round(batch)  # what is behind the checkpoint is undone, and comes again
                driver.restart()
            fold(driver.round(batch).changes, held)
        fold(driver.end().changes, held)
    return held


@pytest.mark.parametrize("keys", [(0,), ()], ids=["keys", "global"])
@pytest.mark.parametrize("retracts", [False, True], ids=["inserts", "changes"])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_is_what_the_batch_says(
    keys: tuple[int, ...], retracts: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every function at once, over random changes, batch boundaries and a restart."""
    changes = data.draw(batches(retracts=retracts))
    restart_at = data.draw(st.integers(0, len(changes)))
    node = grouped(keys, [c for c, _ in CALLS.values()], retracts=retracts)
    held = run(node, changes, tmp_path_factory.mktemp("state"), restart_at)
    listed = ", ".join([*(f"c{k}" for k in keys), *(sql for _, sql in CALLS.values())])
    group = f" GROUP BY {', '.join(f'c{k}' for k in keys)}" if keys else ""
    source = node.inputs[0].columns
    wanted = answer(f"SELECT {listed} FROM t{group}", {"t": (source, rows_left(changes))})
    names = [*("key" for _ in keys), *CALLS]

    def comparable(rows: Counter[Change]) -> Counter[Change]:
        return Counter({tuple(like(v, n) for v, n in zip(row, names, strict=True)): c for row, c in rows.items()})

    assert comparable(held) == comparable(wanted)


@pytest.mark.parametrize("retracts", [False, True], ids=["inserts", "changes"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_first_and_last_follow_the_rows_that_are_left(
    retracts: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of equal values the oldest is taken back."""
    changes = data.draw(batches(retracts=retracts))
    node = grouped((0,), [call("first_value", 1, INT), call("last_value", 1, INT)], retracts=retracts)
    held = run(node, changes, tmp_path_factory.mktemp("state"), data.draw(st.integers(0, len(changes))))
    values: dict[Any, list[Any]] = {}
    for kind, key, value, *_ in (c for batch in changes for c in batch):
        if kind[0] == "+":
            values.setdefault(key, []).append(value)
        else:
            values[key].remove(value)
    assert held == Counter({(key, found[0], found[-1]): 1 for key, found in values.items() if found})


def test_tells_what_changed_folded(tmp_path: Path) -> None:
    node = grouped((0,), [call("sum", 1, INT)], retracts=True)
    rest = (None,) * 5
    with Driver(node, tmp_path) as driver:
        first = driver.round([("+I", "a", 1, *rest), ("+I", "a", 2, *rest), ("+I", "b", 1, *rest)]).changes
        assert first == [("+I", "a", 3), ("+I", "b", 1)]
        assert driver.round([("-D", "a", 1, *rest), ("+I", "a", 1, *rest)]).changes == []
        assert driver.round([("-U", "a", 2, *rest), ("+U", "a", 5, *rest)]).changes == [("-U", "a", 3), ("+U", "a", 6)]
        assert driver.round([("-D", "b", 1, *rest)]).changes == [("-D", "b", 1)]
        # What was never there cannot go.
        assert driver.round([("-D", "c", 1, *rest)]).changes == []


def test_without_keys_there_is_a_row_at_the_end(tmp_path: Path) -> None:
    node = grouped((), [call("count", None, BIGINT), call("sum", 1, INT)], retracts=True)
    with Driver(node, tmp_path) as driver:
        assert driver.round([]).changes == []
        assert driver.end().changes == [("+I", 0, None)]
        assert driver.end().changes == []


def test_distinct_tells_a_row_once(tmp_path: Path) -> None:
    node = grouped((0, 1), [], retracts=False)
    rest = (None,) * 5
    with Driver(node, tmp_path) as driver:
        assert driver.round([("+I", "a", 1, *rest)] * 3 + [("+I", None, None, *rest)]).changes == [
            ("+I", "a", 1),
            ("+I", None, None),
        ]
        driver.checkpoint()
        driver.restart()
        assert driver.round([("+I", "a", 1, *rest), ("+I", "a", 2, *rest)]).changes == [("+I", "a", 2)]


def test_sums_of_doubles_come_back_from_infinity(tmp_path: Path) -> None:
    node = grouped((), [call("sum", 2, DOUBLE), call("stddev_pop", 2, DOUBLE)], retracts=True)

    def row(kind: str, x: float) -> Change:
        return (kind, "a", 1, x, *(None,) * 4)

    with Driver(node, tmp_path) as driver:
        driver.round([row("+I", 0.1), row("+I", 0.1)])
        (_, changed) = driver.round([row("+I", float("inf")), row("+I", float("nan"))]).changes
        assert str(changed[1]) == "nan"
        (_, changed) = driver.round([row("-D", float("nan"))]).changes
        assert changed[1] == float("inf")
        (_, changed) = driver.round([row("-D", float("inf"))]).changes
        assert changed[1:] == (0.2, 0.0)
        # A large number that passes leaves nothing behind.
        driver.round([row("+I", 1e17)])
        (_, changed) = driver.round([row("-D", 1e17)]).changes
        assert changed[1] == pytest.approx(0.2, rel=1e-12)


def test_long_texts_are_ordered_to_their_end(tmp_path: Path) -> None:
    node = grouped((0,), [call("min", 5, STRING), call("max", 5, STRING)], retracts=True)
    texts = ["x" * 600 + end for end in ("b", "a", "d", "c")]
    rows = [(None, None, None, None, text, None) for text in texts]
    with Driver(node, tmp_path) as driver:
        driver.round([("+I", "k", *row) for row in rows])
        (_, changed) = driver.round([("-D", "k", *rows[1]), ("-D", "k", *rows[2])]).changes
        assert (changed[2][-1], changed[3][-1]) == ("b", "c")


def test_idle_groups_are_forgotten(tmp_path: Path) -> None:
    calls = [call("count", 1, BIGINT, distinct=True), call("min", 1, INT), call("array_agg", 1, ints())]
    rest = (None,) * 5
    with Driver(grouped((0,), calls, retracts=True), tmp_path, {"table.exec.state.ttl": "16 s"}) as driver:
        empty = driver.entries()
        driver.round([("+I", "a", 1, *rest), ("+I", "b", 1, *rest)], now=0)
        driver.round([("+I", "b", 2, *rest)], now=10_000)
        assert driver.round([("+I", "a", 5, *rest)], now=18_000).changes == [("+I", "a", 1, 5, [5])]
        changed = driver.round([("+I", "b", 1, *rest)], now=18_000).changes[-1]
        assert changed == ("+U", "b", 2, 1, [1, 2, 1])
        driver.round([], now=60_000)
        assert driver.entries() <= empty + 2  # the number of the next value is kept


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [1_000, 100_000])
def test_a_batch_costs_what_it_changes(held: int, tmp_path: Path) -> None:
    """No more blocks are read and written than keys change, and each is small, whatever is held."""
    source = stream(BIGINT, INT)
    calls = (call("count", None, BIGINT), call("sum", 1, BIGINT))
    columns = (source.columns[0], StreamColumn("n", BIGINT), StreamColumn("s", BIGINT))
    node = AggregateNode(
        uid="a", inputs=(source,), columns=columns, mode=ChangelogMode.RETRACT, key=(0,), keys=(0,), calls=calls
    )
    with Driver(node, tmp_path) as driver:
        name = f"(SELECT range AS c0, 1::INT AS c1, 0::TINYINT AS op FROM range({held}))"
        from bergsql.engine.streaming.changelog import Batch
        from bergsql.engine.streaming.operators.base import Flow

        driver.operator.process([Flow(driver.context.table(Batch(name)))], 0)
        driver.context.end_round()
        accesses = driver.accesses
        accesses.got = accesses.put = accesses.deleted = accesses.scans = accesses.scanned = 0
        changed = driver.round([("+I", key, 5) for key in range(0, held, held // 20)]).changes
        assert len(changed) == 40
        assert accesses.got <= 20
        assert accesses.put <= 20 + 2  # a block may be cut
        assert accesses.scanned == accesses.deleted == 0


def test_rows_are_not_kept(tmp_path: Path) -> None:
    """A thousand rows of one key are one entry."""
    calls = [call("count", None, BIGINT), call("sum", 1, INT), call("avg", 2, DOUBLE), call("max", 1, INT)]
    rest = (None,) * 4
    with Driver(grouped((0,), calls, retracts=False), tmp_path) as driver:
        driver.round([("+I", "a", 1, 0.5, *rest)])
        entries = driver.entries()
        driver.round([("+I", "a", n, 0.5, *rest) for n in range(1000)])
        assert driver.entries() == entries


def test_what_a_stream_cannot_have_is_named() -> None:
    mode = ChangelogMode.RETRACT
    assert unsupported(call("sum", 1, INT), mode) is None
    assert "all values" in (unsupported(call("median", 1, DOUBLE), mode) or "")
    assert "in the order in which they come" in (
        unsupported(call("listagg", 5, STRING, order=((1, False),)), mode) or ""
    )
    assert "before a change" in (unsupported(call("sum", 1, INT), ChangelogMode.UPSERT) or "")
