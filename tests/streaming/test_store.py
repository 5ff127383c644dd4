"""State that lasts with transactions: an ordered map, whatever happens to process, disk and version."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.state import mapping, order
from bergsql.engine.streaming.state.base import MAX_KEY
from bergsql.engine.streaming.state.order import near_order
from bergsql.engine.streaming.state.store import Scope, Store
from bergsql.engine.streaming.state.ttl import Retention, retention_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    made = Store.open(path)
    yield made
    made.close()


KEYS = some.binary(min_size=1, max_size=3) | some.sampled_from(
    [b"\xff", b"\xff\xff", b"a", b"ab", b"b", b"k" * MAX_KEY]
)
STEPS = some.one_of(
    some.tuples(some.just("put"), some.lists(some.tuples(KEYS, some.binary(max_size=5)), max_size=5)),
    some.tuples(some.just("delete"), some.lists(KEYS, max_size=3)),
    some.tuples(some.just("get"), some.lists(KEYS, max_size=4)),
    some.tuples(some.just("scan"), some.tuples(some.just(b"") | KEYS, some.just(b"") | KEYS, some.none() | KEYS)),
    some.tuples(some.just("last"), some.just(b"") | KEYS),
    some.tuples(some.sampled_from(["commit", "abort", "reopen"]), some.none()),
)


@pytest.mark.parametrize("big", [False, True])
@settings(max_examples=60, deadline=None)
@given(steps=some.lists(STEPS, max_size=25))
def test_a_scope_is_an_ordered_map(big: bool, steps: list[tuple[str, object]]) -> None:
    """``big``: what is done for big files only is done for all."""
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        if big:
            patch.setattr(mapping, "_BIG", 0)
            patch.setattr(mapping, "_TOUCHED", 0)
            patch.setattr(order, "_FEW", 0)
        store = Store.open(Path(directory), durable=False)
        scope, other = store.scope("a"), store.scope("a").part("x")
        model: dict[bytes, bytes] = {}
        committed = dict(model)
        for step, given_ in steps:
            if step == "reopen":
                store.close()
                store = Store.open(Path(directory), durable=False)
                scope, other = store.scope("a"), store.scope("a").part("x")
                model = dict(committed)
            elif step == "commit":
                store.commit()
                committed = dict(model)
            elif step == "abort":
                store.abort()
                model = dict(committed)
            else:
                apply(step, given_, scope, model)
            assert scope.count() == len(model)
            assert other.count() == 0
        store.close()


def apply(step: str, given_: object, scope: Scope, model: dict[bytes, bytes]) -> None:
    if step == "put":
        assert isinstance(given_, list)
        scope.put_many(given_)
        model.update(given_)
    elif step == "delete":
        assert isinstance(given_, list)
        scope.delete_many(given_)
        for key in given_:
            model.pop(key, None)
    elif step == "get":
        assert isinstance(given_, list)
        assert scope.get_many(given_) == [model.get(key) for key in given_]
    elif step == "last":
        assert isinstance(given_, bytes)
        assert scope.last(given_) == max((kv for kv in model.items() if kv[0].startswith(given_)), default=None)
    else:
        assert isinstance(given_, tuple)
        prefix, start, stop = given_
        wanted = [k for k in model if k.startswith(prefix) and k >= start and (stop is None or k < stop)]
        assert list(scope.scan(prefix, start, stop)) == [(k, model[k]) for k in sorted(wanted)]


def test_equal_keys_keep_their_order() -> None:
    chance = random.Random(1)
    keys = [bytes(chance.choices(b"\x00\x01ab", k=chance.choice((1, 3, 15, 16, 17, 40)))) for _ in range(5000)]
    found = near_order(keys)
    assert sorted(found) == list(range(5000))
    places = {position: n for n, position in enumerate(found)}
    last: dict[bytes, int] = {}
    for position, key in enumerate(keys):
        assert places[position] > last.get(key, -1)
        last[key] = places[position]
    heads = [keys[position].ljust(16, b"\x00")[:16] for position in found]
    assert heads == sorted(heads)


def test_a_transaction_is_all_or_nothing(path: Path, store: Store) -> None:
    scope = store.scope("aggregate-1")
    scope.put_many([(b"a", b"1")])
    store.put_meta("checkpoint", {"number": 1})
    store.commit()
    scope.put_many([(b"b", b"2")])
    scope.part("new").put_many([(b"c", b"3")])
    store.put_meta("checkpoint", {"number": 2})
    store.close()
    again = Store.open(path)
    assert list(again.scope("aggregate-1").scan()) == [(b"a", b"1")]
    assert again.scopes() == ["aggregate-1"]
    assert again.get_meta("checkpoint") == {"number": 1}
    assert again.get_meta("nothing") is None
    again.close()


def test_dropped_state_is_gone_with_its_parts(store: Store) -> None:
    for name in ("a", "a/x", "ab"):
        store.scope(name).put_many([(b"k", b"v")])
    store.drop("a")
    assert {name: store.entries(name) for name in store.scopes()} == {"a": 0, "a/x": 0, "ab": 1}


def test_files_are_their_owners(path: Path, store: Store) -> None:
    store.copy_to(path.parent / "copy")
    assert [p.stat().st_mode & 0o777 for p in (path, path.parent / "copy")] == [0o700, 0o700]
    files = [*path.iterdir(), *(path.parent / "copy").iterdir()]
    assert sorted(p.name for p in files) == ["data.mdb", "data.mdb", "lock"]
    assert {p.stat().st_mode & 0o777 for p in files} == {0o600}


def test_a_store_is_opened_by_one(path: Path, store: Store) -> None:
    assert store.path == path
    with pytest.raises(BergError, match="is in use by another process") as raised:
        Store.open(path)
    assert raised.value.code is ErrorCode.CONFLICT
    script = f"from pathlib import Path; from bergsql.engine.streaming.state.store import Store; Store.open(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "is in use by another process" in done.stderr
    store.close()
    Store.open(path).close()


def test_a_copy_is_a_store_of_what_is_committed(path: Path, store: Store) -> None:
    scope = store.scope("a")
    scope.put_many([(str(n).encode(), b"v" * 100) for n in range(5000)])
    store.commit()
    scope.delete_many([str(n).encode() for n in range(4990)])
    store.commit()
    scope.put_many([(b"later", b"")])
    store.copy_to(path.parent / "copy")
    assert scope.get_many([b"later"]) == [b""]
    copy = Store.open(path.parent / "copy")
    assert len(list(copy.scope("a").scan())) == copy.scope("a").count() == 10
    assert (path.parent / "copy" / "data.mdb").stat().st_size < (path / "data.mdb").stat().st_size / 5
    copy.close()


def test_another_layout_is_refused(path: Path, store: Store) -> None:
    store.put_meta("layout", 99)
    store.commit()
    store.close()
    with pytest.raises(BergError, match="was made by another version of bergsql: layout 99, not 1") as raised:
        Store.open(path)
    assert raised.value.hint


@pytest.mark.parametrize("content", [b"x" * 20_000, b"\x00" * 8192])
def test_what_is_no_store_is_said(path: Path, content: bytes) -> None:
    path.mkdir()
    (path / "data.mdb").write_bytes(content)
    with pytest.raises(BergError, match="is damaged") as raised:
        Store.open(path)
    assert raised.value.code is ErrorCode.CORRUPT


def test_no_room_is_said_and_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_SIZES", (1 << 20,))
    store = Store.open(path)
    scope = store.scope("a")
    scope.put_many([(b"a", b"1")])
    store.commit()
    with pytest.raises(BergError, match="does not fit into the address space"):
        scope.put_many([(str(n).encode(), b"v" * 1000) for n in range(5000)])
    store.abort()
    assert list(scope.scan()) == [(b"a", b"1")]
    scope.put_many([(b"b", b"2")])
    store.commit()
    store.close()


def test_a_process_of_little_address_space(path: Path) -> None:
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from pathlib import Path
from bergsql.engine.streaming.state.store import Store
store = Store.open(Path({str(path)!r}))
store.scope("a").put_many([(str(n).encode(), b"v" * 1000) for n in range(100_000)])
store.commit()
store.close()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    store = Store.open(path)
    assert store.scope("a").count() == 100_000
    assert 100 << 20 < store.size() < 300 << 20
    store.close()


def test_state_expires_by_its_last_use(store: Store) -> None:
    kept = Retention(store.scope("a"), 16_000)
    kept.touch([b"x", b"y", b"x"], 100_000)
    kept.touch([b"z"], 105_000)
    kept.touch([b"y"], 110_000)
    kept.touch([b"y"], 50_000)  # a clock that was set back
    assert list(kept.expired(115_999)) == []
    assert list(kept.expired(117_000)) == [[b"x"]]
    kept.forget([b"z", b"unknown"])
    assert list(kept.expired(125_000)) == []
    assert list(kept.expired(200_000)) == [[b"y"]]
    assert [store.entries(name) for name in store.scopes()] == [0, 0]


def test_expiry_comes_in_chunks(store: Store) -> None:
    kept = Retention(store.scope("a"), 1000)
    keys = [f"{n:06}".encode() for n in range(25_000)]
    kept.touch(keys, 0)
    found = list(kept.expired(10_000))
    assert [len(chunk) for chunk in found] == [10_000, 10_000, 5_000]
    assert sorted(key for chunk in found for key in chunk) == keys


def test_use_within_a_step_writes_nothing(store: Store) -> None:
    kept = Retention(store.scope("a"), 1_600_000)
    kept.touch([b"x"], 1)
    store.changed = False
    kept.touch([b"x"], 50_000)
    assert not store.changed


@pytest.mark.parametrize(("value", "kept"), [(None, False), ("0", False), ("0 ms", False), ("1 h", True)])
def test_the_setting_of_retention(store: Store, value: str | None, kept: bool) -> None:
    assert (retention_of(lambda _key: value, store.scope("a")) is not None) == kept
