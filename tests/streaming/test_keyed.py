"""Rows found by key: as a dictionary has them, whatever their blocks; and what a small batch costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bergsql.engine.duck import Duck
from bergsql.engine.streaming.operators import group_state
from bergsql.engine.streaming.operators.group_state import GroupState
from bergsql.engine.streaming.state import keyed
from bergsql.engine.streaming.state.keyed import Block, Fetched, KeyedRows
from bergsql.engine.streaming.state.store import Store
from tests.support.streams import Accesses, Context, CountedScope

FIXED = pa.schema([("k", pa.int64()), ("v", pa.int64())])
VARYING = pa.schema([("k", pa.int64()), ("v", pa.string())])
PLACES = (0, 1, 2, 3, 1000, 2**32, 2**63, 2**64 - 1)
"""Few, so that rows share them; the first and the last one among them."""

KEYS = some.integers(0, 60)
STEPS = some.one_of(
    some.tuples(some.just("change"), some.dictionaries(KEYS, some.none() | some.integers(0, 40), max_size=30)),
    some.tuples(some.just("read"), some.tuples(some.sampled_from(PLACES), some.sampled_from(PLACES))),
    some.tuples(some.sampled_from(["commit", "abort", "reopen"]), some.none()),
)


def place_of(key: int) -> int:
    return PLACES[key % len(PLACES)] if key < 20 else key * 0x0123456789ABCDEF % 2**64


def ordered(places: set[int]) -> Any:
    return np.array(sorted(places), np.uint64)


class Dictionary:
    """Rows in blocks, beside the dictionary that they must be like."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._text = schema.field("v").type == pa.string()
        self.model: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self._open()

    def _open(self) -> None:
        self.store = Store.open(self._path, durable=False)
        self.rows = KeyedRows(self.store.scope("a"), self._schema)

    def step(self, step: str, given: Any) -> None:
        if step == "change":
            self.change(given)
        elif step == "read":
            self.check_span(min(given), max(given))
        elif step == "commit":
            self.store.commit()
            self._kept = dict(self.model)
        else:
            if step == "reopen":
                self.store.close()
                self._open()
            else:
                self.store.abort()
                self.rows = KeyedRows(self.store.scope("a"), self._schema)
            self.model = dict(self._kept)

    def change(self, given: dict[int, int | None]) -> None:
        """Set keys, or forget those for which None is given: read, check, write."""
        places = {place_of(key) for key in given}
        fetched = self.rows.fetch(ordered(places))
        assert self.found(fetched) == {k: v for k, v in self.model.items() if place_of(k) in places}
        gone = [row["row"] for row in fetched.rows.to_pylist() if row["k"] in given]
        put = [(key, value) for key, value in given.items() if value is not None]
        rows = pa.table([[k for k, _ in put], [self._value(v) for _, v in put]], schema=self._schema)
        at = np.array([place_of(k) for k, _ in put], np.uint64)
        self.rows.replace(fetched, np.array(gone, np.int64), at, rows)
        self.model = {k: v for k, v in self.model.items() if k not in given} | dict(put)

    def check_span(self, low: int, high: int) -> None:
        fetched = self.rows.fetch(np.array([low], np.uint64), np.array([high], np.uint64))
        assert self.found(fetched) == {k: v for k, v in self.model.items() if low <= place_of(k) <= high}

    def check(self) -> None:
        assert self.found(self.rows.every()) == self.model
        starts = self.rows._starts
        assert starts[0] == 0
        assert (starts[1:] > starts[:-1]).all()

    def _value(self, value: int) -> Any:
        return "x" * value if self._text else value

    def found(self, fetched: Fetched) -> dict[int, int]:
        rows = fetched.rows.to_pylist()
        numbers = [row["row"] for row in rows]
        assert numbers == sorted(set(numbers))
        assert len({row["k"] for row in rows}) == len(rows)
        return {row["k"]: len(row["v"]) if self._text else row["v"] for row in rows}


@pytest.mark.parametrize("schema", [FIXED, VARYING], ids=["fixed", "varying"])
@pytest.mark.parametrize("piece", [1, 300, 1 << 20])
@settings(max_examples=50, deadline=None)
@given(steps=some.lists(STEPS, max_size=12))
def test_rows_are_found_as_in_a_dictionary(schema: pa.Schema, piece: int, steps: list[tuple[str, Any]]) -> None:
    """With blocks of a few rows, so that they are cut all the time, and with some or all of them in memory at a time."""
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed, "_MOST", 120)
        patch.setattr(keyed, "_AIM", 60)
        patch.setattr(keyed, "_PIECE", piece)
        same = Dictionary(Path(directory), schema)
        for step, given_ in steps:
            same.step(step, given_)
        same.check()
        same.store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "state", durable=False)
    yield made
    made.close()


def fill(rows: KeyedRows, keys: Sequence[int] | np.ndarray[Any, Any]) -> None:
    """Put keys, spread as hashes are, in the place of those that are there."""
    numbers = np.sort(np.asarray(keys, np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    fetched = rows.fetch(numbers)
    values = pa.table({"k": numbers.view(np.int64), "v": numbers.view(np.int64)})
    rows.replace(fetched, fetched.rows.column("row").to_numpy(), numbers, values)


def test_blocks_stay_within_their_bounds(store: Store) -> None:
    """New blocks are found by search among those there are: each is listed once, and holds the rows from its start on."""
    scope = store.scope("a")
    rows = KeyedRows(scope, FIXED)
    chance = np.random.default_rng(1)
    for keys in np.array_split(chance.permutation(50_000), 20):
        fill(rows, keys)
        listed = [int.from_bytes(key, "big") for key, _ in scope.part("starts").scan()]
        assert sorted({0, *listed}) == rows._starts.tolist()
        assert len(listed) == len(set(listed))
    blocks = list(scope.part("blocks").scan())
    assert max(len(value) for _, value in blocks) <= keyed._MOST
    ends = [int.from_bytes(key, "big") for key, _ in blocks[1:]] + [2**64]
    for (key, value), end in zip(blocks, ends, strict=True):
        places = rows._parsed([value]).places
        assert int.from_bytes(key, "big") <= places[0] <= places[-1] < end
    assert KeyedRows(scope, FIXED).count() == 50_000


def test_a_batch_costs_its_keys_not_what_is_held(store: Store) -> None:
    """Blocks read and written for 1,000 changed keys: one each at most, of 10,000 and of 1,000,000."""
    costs: dict[int, Accesses] = {}
    chance = np.random.default_rng(1)
    for held in (10_000, 1_000_000):
        scope = store.scope(f"held-{held}")
        fill(KeyedRows(scope, FIXED), np.arange(held))
        costs[held] = Accesses()
        rows = KeyedRows(CountedScope(scope, costs[held]), FIXED)
        fill(rows, np.zeros(1, np.int64))
        costs[held].got = costs[held].put = costs[held].scans = 0
        fill(rows, chance.choice(held, 1_000, replace=False))
    assert costs[10_000].got == costs[10_000].put < 400
    assert costs[1_000_000].got == costs[1_000_000].put <= 1_000
    assert all(cost.deleted == cost.scans == 0 for cost in costs.values())


def test_many_blocks_are_in_memory_a_piece_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed, "_PIECE", 1 << 16)
    rows = KeyedRows(store.scope("a"), FIXED)
    fill(rows, np.arange(100_000))
    read: list[int] = []
    plain = rows._parsed

    def parsed(values: Sequence[bytes]) -> Block:
        read.append(sum(map(len, values)))
        return plain(values)

    monkeypatch.setattr(rows, "_parsed", parsed)
    fill(rows, np.arange(100_000))
    assert len(read) > 20
    assert max(read) < 2 << 16
    assert rows.count() == 100_000


def test_rows_move_when_the_hash_changes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another DuckDB may hash otherwise: what an older one placed is found all the same."""
    monkeypatch.setattr(keyed, "_MOST", 200)
    monkeypatch.setattr(keyed, "_AIM", 100)
    monkeypatch.setattr(keyed, "_PIECE", 1_000)
    duck = Duck(threads=1)
    context, columns = Context(duck, store.scope("a"), {}), {"k": "BIGINT", "v": "BIGINT"}
    old = GroupState(context, context.state, columns, "hash(k + 1)")
    keys = pa.table({"k": range(500), "v": range(500)})

    def places(sql: str) -> Any:
        return context.query(f"SELECT {sql} AS p FROM {context.relation(keys)}").column("p").to_numpy()

    fetched, _ = old.fetch(places("hash(k + 1)"))
    old.replace(fetched, np.zeros(0, np.int64), places("hash(k + 1)"), keys)
    monkeypatch.setattr(group_state, "_PROBE", "SELECT 'another hash'")
    new = GroupState(context, context.state, columns, "hash(k)")
    fetched, _ = new.fetch(places("hash(k)"))
    assert sorted(fetched.rows.column("k").to_pylist()) == list(range(500))
    assert new.rows.count() == 500
    duck.close()
