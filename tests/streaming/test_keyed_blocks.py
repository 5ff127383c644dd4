"""Rows in blocks, found by their places."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bergsql.engine.streaming.state.keyed import KeyedRows
from bergsql.engine.streaming.state.store import Scope, Store

FIXED = pa.schema([("p", pa.uint64()), ("v", pa.int64())])
SCHEMAS = {"fixed": FIXED, "wide": FIXED.append(pa.field("t", pa.string()))}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path, durable=False)
    yield made
    made.close()


def unsigned(values: list[int]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


def table(schema: pa.Schema, places: list[int], values: list[int]) -> pa.Table:
    texts = pa.array([f"text {v}" * (v % 5) for v in values], pa.string())
    columns = [pa.array(places, pa.uint64()), pa.array(values, pa.int64()), texts]
    return pa.table(columns[: len(schema.names)], schema=schema)


def change(rows: KeyedRows, wanted: dict[int, int | None]) -> None:
    """Set the value of each place, or take its row away."""
    fetched = rows.fetch(unsigned(sorted(wanted)))
    stay = {place: value for place, value in wanted.items() if value is not None}
    gone = fetched.rows.column("row").to_numpy()
    rows.replace(fetched, gone, unsigned(list(stay)), table(rows.schema, list(stay), list(stay.values())))


def held(rows: KeyedRows) -> dict[int, int]:
    found = rows.every().rows
    return dict(zip(found.column("p").to_pylist(), found.column("v").to_pylist(), strict=True))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_rows_are_what_was_put_at_their_places(store: Store, kind: str) -> None:
    chance = random.Random(6)
    model: dict[int, int] = {}
    scope = store.scope("a")
    rows = KeyedRows(scope, SCHEMAS[kind])
    for turn in range(60):
        near = chance.choice([0, 1 << 40, 2**64 - 5000])
        some = {near + chance.randrange(5000): chance.randrange(1000) for _ in range(chance.randrange(1, 800))}
        if turn % 3 == 2:
            some |= dict.fromkeys(chance.sample(sorted(model), len(model) * 2 // 3))  # type: ignore[arg-type]
        change(rows, some)  # type: ignore[arg-type]
        for place, value in some.items():
            model.pop(place, None)
            if value is not None:
                model[place] = value
        if turn % 5 == 4:
            rows = KeyedRows(scope, SCHEMAS[kind])  # as after a restart
        assert held(rows) == model
    change(rows, dict.fromkeys(model))
    assert held(rows) == {}
    assert blocks(scope) <= 1


def blocks(scope: Scope) -> int:
    return scope.part("starts").count()


def test_places_that_never_come_again_leave_nothing(store: Store) -> None:
    """As those of windows: each has its own."""
    scope = store.scope("a")
    rows = KeyedRows(scope, SCHEMAS["fixed"])
    seen = []
    for window in range(40):
        change(rows, {(window << 32) + key: key for key in range(3000)})
        if window:
            change(rows, {((window - 1) << 32) + key: None for key in range(3000)})
        seen.append(blocks(scope))
    assert max(seen) <= 2 * max(seen[:3])
