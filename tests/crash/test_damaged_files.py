"""Every file of a table damaged in every way: right rows, or one clean error that names the file and the snapshot."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from tests.support.damaged import FIRST, KINDS, SECOND, THIRD, damageable, forget_files

TABLE = "SELECT id FROM t"
OLD = f"SELECT id FROM t FOR SYSTEM_VERSION AS OF {FIRST}"
STATEMENTS = (
    TABLE,
    OLD,
    "SELECT name FROM t WHERE id > 3",
    "SELECT COUNT(*) FROM t",
    "SELECT _pos FROM t",
    "EXPLAIN SELECT * FROM t WHERE id > 3",
    "EXPLAIN ANALYZE SELECT * FROM t",
    *(f"SELECT * FROM `t${name}`" for name in ("files", "entries", "manifests", "partitions", "snapshots")),
    "SELECT * FROM `t$all_files`",
)
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "garbage": lambda _: bytes(range(256)) * 4,
    "zeros": lambda data: bytes(len(data)),
}
INTERNAL = re.compile(
    r"duckdb|exception|traceback|internal|read_parquet|arrow|std::|errno|codec can|NoneType|--debug", re.I
)


class Opened:
    """A session on a warehouse with a table ``t`` and another one, ``other``."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        warehouse = folder / "wh"
        self.table = damageable(warehouse / "default_database" / "t", kind)
        self.other = damageable(warehouse / "default_database" / "other", "data parquet")
        config = {"engine.threads": "1", "engine.memory-limit": "512MB"}
        self.session = Session(SessionConfig(home=self.home, warehouse=str(warehouse), conf=config))

    def rows(self, statement: str) -> list[Any]:
        """What a statement gives, everything read anew."""
        forget_files()
        rmtree(self.home / "cache", ignore_errors=True)
        result = self.session.execute(statement)
        try:
            return sorted(map(repr, result.rows()))
        finally:
            result.close()


@contextmanager
def opened(folder: Path, kind: str) -> Iterator[Opened]:
    made = Opened(folder, kind)
    try:
        yield made
    finally:
        made.session.close()


@contextmanager
def damaged(path: Path, damage: Callable[[bytes], bytes | None]) -> Iterator[bytes]:
    """The file is another one inside; what it was before."""
    before = path.read_bytes()
    path.unlink()
    made = damage(before)
    if made is not None:
        path.write_bytes(made)
    try:
        yield before
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(before)


def check_error(error: BergError, what: str, path: Path | None) -> None:
    """It is one clean line that names the file, if that is given, and the snapshot."""
    message = error.message
    assert "\n" not in message, message
    assert message.endswith("."), message
    assert not INTERNAL.search(f"{message} {error.hint}".replace(str(path), "")), (message, error.hint)
    if path is not None:
        assert path.name in message, message
        assert error.code in (ErrorCode.CORRUPT, ErrorCode.IO, ErrorCode.NOT_FOUND), (error.code, message)
        if what != "metadata":
            assert re.search(rf"snapshot ({FIRST}|{SECOND}|{THIRD})\b", message), message


def needs(statement: str, what: str) -> bool:
    """Whether a query of rows reads the file."""
    if statement == OLD:
        return what == "metadata" or what.endswith(str(FIRST))
    return what == "metadata" or not what.startswith("manifest list") or what.endswith(str(THIRD))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_is_named(kind: str, tmp_path: Path) -> None:
    with opened(tmp_path, kind) as on:
        expected = {statement: on.rows(statement) for statement in STATEMENTS if "ANALYZE" not in statement}
        assert expected[TABLE] == sorted(repr((i,)) for i in on.table.ids())
        for what, path in on.table.files().items():
            for name, damage in DAMAGES.items():
                with damaged(path, damage):
                    failed = set()
                    for statement in STATEMENTS:
                        try:
                            rows = on.rows(statement)
                        except BergError as error:
                            check_error(error, what, path)
                            failed.add(statement)
                        else:
                            assert rows == expected.get(statement, rows), (what, name, statement)
                    # Of a Puffin file only the vector is read, which may be whole.
                    for statement in () if path.suffix == ".puffin" else (TABLE, OLD):
                        assert (statement in failed) == needs(statement, what), (what, name, statement)
                    assert on.rows("SELECT COUNT(*) FROM other") == ["(20,)"]


@pytest.mark.parametrize("kind", [k for k in KINDS if k.startswith(("position", "equality"))])
def test_a_delete_file_is_called_so(kind: str, tmp_path: Path) -> None:
    with opened(tmp_path, kind) as on:
        path = on.table.files()[f"deletes {THIRD}"]
        for name in ("half", "garbage", "missing"):
            with damaged(path, DAMAGES[name]):
                for statement in (TABLE, "SELECT COUNT(*) FROM t"):
                    with pytest.raises(BergError) as caught:
                        on.rows(statement)
                    assert re.match(rf"Delete file \S+ of snapshot {THIRD} is ", caught.value.message), caught.value


@pytest.mark.parametrize("kind", ["data parquet", "vector puffin", "equality avro"])
def test_a_directory_in_the_place_of_a_file(kind: str, tmp_path: Path) -> None:
    with opened(tmp_path, kind) as on:
        for what, path in on.table.files().items():
            before = path.read_bytes()
            path.unlink()
            path.mkdir()
            for statement in STATEMENTS:
                try:
                    on.rows(statement)
                except BergError as error:
                    check_error(error, what, path)
            path.rmdir()
            path.write_bytes(before)


def check_flips(folder: Path, kind: str, seed: int, count: int) -> None:
    """Bytes are other ones, or the file ends somewhere. What holds no checksum may then mean something else: but
    nothing is told that is no error of ours, and a vector and a file's end are never taken for another."""
    chance = random.Random(seed)
    with opened(folder, kind) as on:
        statements = (*STATEMENTS[:5], STATEMENTS[7])
        expected = {statement: on.rows(statement) for statement in statements}
        for what, path in on.table.files().items():
            size = path.stat().st_size
            for _ in range(count):
                at, byte, cut = chance.randrange(size), chance.randrange(256), chance.random() < 0.3

                def damage(data: bytes, at: int = at, byte: int = byte, cut: bool = cut) -> bytes:
                    return data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :]

                told_by_checksum = cut or path.suffix == ".puffin"
                with damaged(path, damage):
                    for statement in statements:
                        try:
                            rows = on.rows(statement)
                        except BergError as error:
                            # Another byte in metadata may name another file, or another column.
                            check_error(error, what, path if told_by_checksum else None)
                        else:
                            if told_by_checksum and what != "metadata":
                                assert rows == expected[statement], (what, at, byte, cut, statement)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_others(kind: str, tmp_path: Path) -> None:
    check_flips(tmp_path, kind, 1, 6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_many_bytes_that_are_others(kind: str, seed: int, tmp_path: Path) -> None:
    check_flips(tmp_path, kind, 100 + seed, 150)
