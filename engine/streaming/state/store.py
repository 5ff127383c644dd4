"""What of a job outlives a crash: one lmdb environment, whose transactions are the job's checkpoints.

lmdb, as a batch must cost what its keys cost: it is a B-tree in one file, and reads and changes a thousand of ten
million keys in milliseconds (``benchmarks/streaming_state.py``). It copies pages on write and keeps the old ones until
a commit has turned the root, so what a crash or a full disk leaves behind is the last commit, whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import sync_directory
from bergsql.engine.streaming.state.mapping import DATA_FILE, Pages, is_big, open_environment, told
from bergsql.engine.streaming.state.order import near_order

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json

LAYOUT: Final = 1
"""The version of what is in a store; older ones down to :data:`OLDEST_LAYOUT` are read."""
OLDEST_LAYOUT: Final = 1

T = TypeVar("T")

_META: Final = ".meta"
"""The map of the runtime's own entries. A uid begins with a letter."""
_LAYOUT_KEY: Final = "layout"
_LOCK_FILE: Final = "lock"
_PAGE: Final = 4096
"""Bytes of a page, for what is about right only."""


class Store:
    """The state of one job. What is written belongs to one transaction, until :meth:`commit` or :meth:`abort`.

    For one thread. No two processes have a store open at a time.
    """

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self._durable = durable
        self._pages = Pages(path)
        self._lock = _locked(path)
        self._maps: dict[str, Any] = {}
        self._new: set[str] = set()  # maps whose handles came with the open transaction
        self._cursors: dict[str, Any] = {}
        self._changes: dict[str, int] = {}  # by map, pages that the open transaction changed at most
        self._transaction: Any = None
        self._environment: Any = None
        self.changed = False
        """Whether an operator's state was changed since somebody set this to False."""
        try:
            self._environment = open_environment(path, durable)
            self._check_layout()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path, *, durable: bool = True) -> Store:
        """Open the store in the directory ``path``, which is made if it is not there.

        :param durable: whether a commit waits until the disk has it: not so for a SELECT, which nobody resumes.
        :raises BergError: CONFLICT where another process has it open, CORRUPT for what is no store or a damaged one,
            INVALID for one of another version.
        """
        return cls(path, durable=durable)

    def scope(self, uid: str) -> Scope:
        """The state of the operator ``uid``."""
        return Scope(self, uid)

    def scopes(self) -> list[str]:
        """The names of all maps with state; parts are called ``uid/name``."""
        with self._begun().cursor() as cursor:
            names = [bytes(name).decode() for name in cursor.iternext(values=False)]
        return [name for name in names if name != _META]

    def drop(self, uid: str) -> None:
        """Forget the state of ``uid`` and of its parts."""
        for name in self.scopes():
            if name == uid or name.startswith(f"{uid}/"):
                self.clear(name)

    def clear(self, name: str) -> None:
        """Forget all entries of one map."""
        if (cursor := self._cursors.pop(name, None)) is not None:
            cursor.close()
        self.run(lambda: self._begun().drop(self._map(name), delete=False))

    def get_meta(self, key: str) -> Json:
        """What was put under ``key``; None for nothing."""
        value = self.run(lambda: self._begun().get(key.encode(), db=self._map(_META)))
        return None if value is None else json.loads(value)

    def put_meta(self, key: str, value: Json) -> None:
        """Keep a value, in the open transaction."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        self.run(lambda: self._begun().put(key.encode(), text, db=self._map(_META)))

    def commit(self) -> None:
        """End the transaction: what was written lasts, all of it.

        :raises BergError: IO, where the disk is full or fails; then nothing of the transaction is there.
        """
        self._close_cursors()
        self._changes.clear()
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return
        try:
            self.run(transaction.commit)
        except BaseException:
            self._forget_new()
            raise
        self._new.clear()
        if is_big(self._environment):
            self._maps.clear()
            self._environment.close()
            self._environment = open_environment(self.path, self._durable)

    def abort(self) -> None:
        """Undo what was written since the last commit."""
        self._close_cursors()
        self._changes.clear()
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.abort()
        self._forget_new()

    def close(self) -> None:
        """Undo what is not committed, and let go of the files. Safe to call again."""
        if self._environment is not None:
            self.abort()
            self._maps.clear()
            self._environment.close()
            self._environment = None
        self._lock.release()

    def copy_to(self, path: Path) -> None:
        """Write what is committed into the directory ``path``, compacted: a store of its own. What is not is left out.

        :raises BergError: IO; then ``path`` may hold a part.
        """
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._environment.copy(str(path), compact=True)
            data = path / DATA_FILE
            data.chmod(0o600)
            with data.open("rb") as file:
                os.fsync(file.fileno())
            sync_directory(path)
        except Exception as error:
            if (known := told(error, path)) is not None:
                raise known from error
            raise

    def size(self) -> int:
        """Bytes on disk that are in use: the file may be longer by pages that are free again."""
        stats = [self._begun().stat(self._map(name)) for name in [_META, *self.scopes()]]
        return sum(s["psize"] * (s["branch_pages"] + s["leaf_pages"] + s["overflow_pages"]) for s in stats)

    def changed_bytes(self) -> int:
        """Bytes of pages that the open transaction has changed, about: they are in memory until a commit.

        Entries are taken to lie evenly among the pages of their map, so that some share a page.
        """
        from math import expm1

        total = 0.0
        for name, changes in self._changes.items():
            stat = self._begun().stat(self._map(name))
            pages = max(1, stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])
            total -= stat["psize"] * pages * expm1(-changes / pages)
        return int(total)

    def note_changes(self, name: str, entries: int, size: int = 0) -> None:
        """So many entries of a map, of so many bytes, are about to be changed."""
        self.changed = True
        self._changes[name] = self._changes.get(name, 0) + max(entries, size // _PAGE)

    def run(self, call: Callable[[], T]) -> T:
        """What ``call`` gives, with lmdb's errors told to a person."""
        try:
            return call()
        except Exception as error:
            if (known := told(error, self.path)) is not None:
                raise known from error
            raise

    def cursor(self, name: str, *, own: bool = False) -> Any:
        """lmdb's cursor of the map ``name``: the one that is kept in the transaction, or one that the caller closes."""
        if own:
            return self._begun().cursor(self._map(name))
        found = self._cursors.get(name)
        if found is None:
            found = self._cursors[name] = self._begun().cursor(self._map(name))
        return found

    def touch(self, keys: int) -> None:
        """Some keys are about to be looked up."""
        self._pages.touch(keys, self._environment)

    def entries(self, name: str) -> int:
        """How many entries a map has."""
        return int(self._begun().stat(self._map(name))["entries"])

    def _check_layout(self) -> None:
        layout = self.get_meta(_LAYOUT_KEY)
        if layout is None:
            self.put_meta(_LAYOUT_KEY, LAYOUT)
            self.commit()
        elif not isinstance(layout, int) or not OLDEST_LAYOUT <= layout <= LAYOUT:
            raise BergError(
                ErrorCode.INVALID,
                f"The state in '{self.path}' was made by another version of bergsql: layout {layout}, not {LAYOUT}.",
                hint="Go on with the version that made it, or start the job anew without this state.",
            )

    def _begun(self) -> Any:
        if self._transaction is None:
            self._transaction = self.run(lambda: self._environment.begin(write=True))
        return self._transaction

    def _map(self, name: str) -> Any:
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = self._environment.open_db(name.encode(), txn=self._begun())
            self._new.add(name)
        return found

    def _close_cursors(self) -> None:
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()

    def _forget_new(self) -> None:
        # The handle of a map goes with the transaction that opened it, even of one that was there before.
        for name in self._new:
            self._maps.pop(name, None)
        self._new.clear()


class Scope:
    """One map of a store: :class:`~bergsql.engine.streaming.state.base.StateScope`.

    Keys are sorted before they are looked up or set: neighbours are on the same page, which makes a big batch twice as
    fast as in the order of its rows.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        cursor = self._store.cursor(self._name)
        self._store.touch(len(keys))
        order = near_order(keys)
        ordered = [keys[i] for i in order]
        found: list[tuple[bytes, bytes]] = self._store.run(lambda: cursor.getmulti(ordered))
        values: list[bytes | None] = [None] * len(keys)
        if len(found) == len(keys):
            for i, (_, value) in zip(order, found, strict=True):
                values[i] = value
            return values
        # Those that are not there were passed over.
        left = iter(found)
        there, value = next(left, (b"", b""))
        for i, key in zip(order, ordered, strict=True):
            if key == there:
                values[i] = value
                there, value = next(left, (b"", b""))
        return values

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        if not items:
            return
        self._store.note_changes(self._name, len(items), sum(len(value) for _, value in items))
        cursor = self._store.cursor(self._name)
        # Of two values for a key, the later one stays: equal keys do not change places.
        ordered = [items[i] for i in near_order([key for key, _ in items])]
        self._store.run(lambda: cursor.putmulti(ordered))

    def delete_many(self, keys: Sequence[bytes]) -> None:
        if not keys:
            return
        self._store.note_changes(self._name, len(keys))
        cursor = self._store.cursor(self._name)

        def delete() -> None:
            for i in near_order(keys):
                key = keys[i]
                if cursor.set_key(key):
                    cursor.delete()

        self._store.run(delete)

    def scan(self, prefix: bytes = b"", start: bytes = b"", stop: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        first = max(prefix, start)
        behind = _behind(prefix)
        if stop is None or (behind is not None and behind < stop):
            stop = behind
        cursor = self._store.cursor(self._name, own=True)
        try:
            if not (cursor.set_range(first) if first else cursor.first()):
                return
            for key, value in cursor.iternext():
                if stop is not None and key >= stop:
                    return
                yield key, value
        finally:
            cursor.close()

    def scan_many(self, prefixes: Sequence[bytes], limit: int | None = None) -> list[tuple[bytes, bytes, bytes]]:
        cursor = self._store.cursor(self._name)
        found: list[tuple[bytes, bytes, bytes]] = []
        for prefix in sorted(prefixes):
            there, left = cursor.set_range(prefix), limit
            while there and left != 0:
                key, value = cursor.item()
                if not key.startswith(prefix):
                    break
                found.append((prefix, key, value))
                left = None if left is None else left - 1
                there = cursor.next()
        return found

    def last(self, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        behind = _behind(prefix)
        cursor = self._store.cursor(self._name)
        there = cursor.prev() if behind is not None and cursor.set_range(behind) else cursor.last()
        if not there:
            return None
        key, value = cursor.item()
        return (key, value) if key.startswith(prefix) else None

    def part(self, name: str) -> Scope:
        return Scope(self._store, f"{self._name}/{name}")

    def count(self) -> int:
        return self._store.entries(self._name)


def _behind(prefix: bytes) -> bytes | None:
    """The first key behind all that begin with ``prefix``; None where there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _locked(path: Path) -> Any:
    """A lock on the store, which the system lets go of when the process ends, however it does."""
    from filelock import FileLock, Timeout

    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(path / _LOCK_FILE, timeout=0, mode=0o600)
        lock.acquire()
    except Timeout as error:
        raise BergError(
            ErrorCode.CONFLICT,
            f"The state in '{path}' is in use by another process.",
            hint="SHOW JOBS lists the jobs that run.",
        ) from error
    except OSError as error:
        raise BergError(
            ErrorCode.IO, f"The state in '{path}' could not be opened: {error.strerror or error}."
        ) from error
    return lock
