"""Local files: locations, and what survives a failure."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import bergsql.catalog.storage.local as local_storage
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import (
    MOST_BYTES,
    FileExists,
    FileMissing,
    NameTooLong,
    parent_of,
    scheme_of,
    storage_for,
    strip_scheme,
)
from bergsql.catalog.storage.local import LocalStorage

STORAGE = LocalStorage()


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/", "/"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("FILE:///a", "/a"),
        ("file://localhost/a", "/a"),
        ("/a b/50%25/c:d", "/a b/50%25/c:d"),
        ("file:/中/x y", "/中/x y"),
    ],
)
def test_locations(location: str, path: str) -> None:
    assert strip_scheme(location) == path
    assert STORAGE.local_path(location) == path


@pytest.mark.parametrize("location", ["a/b", "", "s3://b/k", "file://host/a", "file:a", "/a\0b"])
def test_locations_that_are_no_local_file(location: str) -> None:
    with pytest.raises(BergError) as caught:
        strip_scheme(location)
    assert caught.value.code is ErrorCode.INVALID


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "link"])
def test_only_files_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    for read in (STORAGE.read, STORAGE.open_input, STORAGE.readable_path):
        with pytest.raises(BergError, match=f"Cannot read {path}: ") as caught:
            read(str(path))
        assert caught.value.code is ErrorCode.IO
        assert ("Is a directory" if kind == "directory" else "it is a device or a pipe") in caught.value.message


def test_files_that_are_read(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"abc")
    link.symlink_to(path)
    for name in (path, link):
        assert STORAGE.read(str(name)) == b"abc"
        with STORAGE.open_input(f"file:{name}") as file:
            assert file.read() == b"abc"
        assert STORAGE.readable_path(f"file:{name}") == str(name)
    for read in (STORAGE.read, STORAGE.open_input, STORAGE.readable_path):
        with pytest.raises(FileMissing):
            read(f"{path}.no")


def test_a_file_larger_than_any_metadata_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(BergError, match=f"it has {MOST_BYTES + 1} bytes, more than any metadata has"):
        STORAGE.read(str(path))
    with STORAGE.open_input(str(path)) as file:
        assert file.read(1) == b"\0"


def test_schemes() -> None:
    assert [scheme_of(x) for x in ("/a", "file:/a", "S3A://b", "hdfs://n:1/x")] == ["file", "file", "s3a", "hdfs"]
    assert isinstance(storage_for("/a"), LocalStorage)
    with pytest.raises(BergError, match="Storage on s3 is not supported yet"):
        storage_for("s3://b/k")


@pytest.mark.parametrize(
    ("location", "above"),
    [
        ("/a/b", "/a"),
        ("/a/b/", "/a"),
        ("/a", "/"),
        ("/", None),
        ("file:/a/b", "file:/a"),
        ("file:/a", "file:/"),
        ("file:/", None),
        ("file:///a/b", "file:///a"),
        ("file:///a", "file:///"),
        ("file:///", None),
        ("s3://b/k/x", "s3://b/k"),
        ("s3://b/k", "s3://b/"),
        ("s3://b", None),
    ],
)
def test_the_directory_above(location: str, above: str | None) -> None:
    assert parent_of(location) == above


def test_write_read_list_delete(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/a b/x"
    STORAGE.write_new(place, b"one")
    assert STORAGE.read(place) == b"one"
    with STORAGE.open_input(place) as f:
        assert f.read(2) == b"on"
    assert STORAGE.exists(place)
    assert not STORAGE.is_dir(place)
    assert list(STORAGE.list(f"{tmp_path}/a b")) == [("x", False)]
    assert list(STORAGE.list(str(tmp_path))) == [("a b", True)]
    STORAGE.fsync_file(place)
    STORAGE.fsync_dir(f"{tmp_path}/a b")
    assert STORAGE.delete(place)
    assert not STORAGE.delete(place)


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    place = str(tmp_path / "x")
    STORAGE.write_new(place, b"one")
    with pytest.raises(FileExists, match=r"/x exists already\."):
        STORAGE.write_new(place, b"two")
    assert STORAGE.read(place) == b"one"


def test_what_is_missing(tmp_path: Path) -> None:
    missing = str(tmp_path / "no" / "x")
    for act in (STORAGE.read, STORAGE.list, STORAGE.fsync_file, STORAGE.fsync_dir):
        with pytest.raises(FileMissing, match=r"no/x was not found\."):
            act(missing)
    with pytest.raises(FileMissing):
        STORAGE.write_new(missing, b"", make_dirs=False)
    assert not STORAGE.exists(missing)
    assert STORAGE.identity(missing) is None
    with pytest.raises(FileMissing):
        STORAGE.replace(missing, b"")
    (tmp_path / "file").write_text("")
    for nothing in (missing, str(tmp_path / "file" / "x")):
        assert not STORAGE.exists(nothing)
        assert not STORAGE.is_dir(nothing)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    endless = str(tmp_path / ("x" * 256))
    assert not STORAGE.exists(endless)
    assert not STORAGE.is_dir(endless)
    assert STORAGE.identity(endless) is None
    assert not STORAGE.delete(endless)
    for act in (STORAGE.mkdir, STORAGE.read, lambda p: STORAGE.write_new(p, b"")):
        with pytest.raises(NameTooLong, match=r"The name is too long for the file system: /.*/x{256}") as caught:
            act(endless)
        assert caught.value.code is ErrorCode.INVALID


STRANGER = """
import os, sys
from bergsql.catalog.errors import BergError
from bergsql.catalog.storage.local import LocalStorage
if os.getuid() == 0:
    os.setuid(65534)
for act in (LocalStorage().exists, LocalStorage().is_dir, LocalStorage().identity):
    try:
        print(act(sys.argv[1]))
    except BergError as e:
        print(e.code, e.message, e.hint)
"""


def test_what_may_not_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    place = tmp_path / "closed" / "x"
    told = subprocess.run([sys.executable, "-c", STRANGER, str(place)], capture_output=True, text=True, check=True)
    assert told.stdout == f"IO Cannot read {place}: Permission denied. Are the permissions right?\n" * 3


def test_a_link_that_leads_nowhere_is_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "no")
    assert STORAGE.exists(str(tmp_path / "link"))
    assert not STORAGE.is_dir(str(tmp_path / "link"))


def test_publish_gives_the_name_once(tmp_path: Path) -> None:
    staged, other, target = (str(tmp_path / n) for n in ("staged", "other", "target"))
    STORAGE.write_new(staged, b"one")
    identity = STORAGE.identity(staged)
    STORAGE.publish(staged, target)
    assert not STORAGE.exists(staged)
    assert STORAGE.identity(target) == identity
    STORAGE.write_new(other, b"two")
    with pytest.raises(FileExists):
        STORAGE.publish(other, target)
    assert STORAGE.read(target) == b"one"
    assert STORAGE.read(other) == b"two"


def test_replace_is_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "hint"
    STORAGE.replace(str(place), b"1")
    STORAGE.replace(str(place), b"2")
    assert place.read_bytes() == b"2"
    assert [p.name for p in tmp_path.iterdir()] == ["hint"]
    (tmp_path / "dir" / "full").mkdir(parents=True)
    with pytest.raises(BergError) as caught:
        STORAGE.replace(str(tmp_path / "dir"), b"3")
    assert caught.value.code is ErrorCode.IO
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir", "hint"]


def test_identity_changes_with_the_file(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_bytes(b"one")
    first = STORAGE.identity(str(place))
    assert STORAGE.identity(f"file:{place}") == first
    STORAGE.replace(str(place), b"two")
    assert STORAGE.identity(str(place)) != first


def test_directories(tmp_path: Path) -> None:
    (tmp_path / "full" / "deep").mkdir(parents=True)
    (tmp_path / "full" / "deep" / "x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    assert not STORAGE.delete_empty_dir(str(tmp_path / "full"))
    STORAGE.delete_tree(str(tmp_path / "link"))
    assert (tmp_path / "full" / "deep" / "x").exists()
    STORAGE.rename(str(tmp_path / "full"), str(tmp_path / "moved"))
    STORAGE.delete_tree(f"file:{tmp_path}/moved")
    STORAGE.delete_tree(str(tmp_path / "moved"))
    STORAGE.mkdir(str(tmp_path / "a" / "b"))
    assert STORAGE.delete_empty_dir(str(tmp_path / "a" / "b"))
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


LIMITED = """
import resource, sys
from bergsql.catalog.errors import BergError
from bergsql.catalog.storage.local import LocalStorage
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    LocalStorage().write_new(sys.argv[1], bytes(5000))
except BergError as e:
    print(e.code, e.message)
"""


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "x"
    told = subprocess.run([sys.executable, "-c", LIMITED, str(place)], capture_output=True, text=True, check=True)
    assert told.stdout == f"IO Cannot write {place}: File too large.\n"
    assert list(tmp_path.iterdir()) == []


# --- turns ------------------------------------------------------------------------------------------------------------


@contextmanager
def taken(place: Path) -> Iterator[threading.Event]:
    """Another thread is in a turn of the directory until the event is set."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with STORAGE.turn(str(place)):
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    try:
        yield leave
    finally:
        leave.set()
        thread.join(60)


def test_a_turn_waits_as_long_as_something_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight writers in a row waited for longer than one is patient, went on, and failed for good."""
    monkeypatch.setattr(local_storage, "PATIENCE", 0.5)
    with taken(tmp_path) as leave:
        done = threading.Event()

        def get_on() -> None:
            for n in range(20):
                (tmp_path / f"{n}").touch()
                done.wait(0.1)
            leave.set()

        busy = threading.Thread(target=get_on)
        busy.start()
        with STORAGE.turn(str(tmp_path)):
            assert leave.is_set()
        busy.join(60)


@pytest.mark.parametrize(("name", "busy"), [("PATIENCE", False), ("_LONGEST", True)])
def test_a_turn_that_does_not_come_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, busy: bool
) -> None:
    monkeypatch.setattr(local_storage, name, 0.05)
    with taken(tmp_path) as leave:
        over = threading.Event()

        def get_on() -> None:
            while busy and not over.wait(0.01):
                (tmp_path / "x").touch()
                (tmp_path / "x").unlink()

        other = threading.Thread(target=get_on)
        other.start()
        with STORAGE.turn(str(tmp_path)):
            assert not leave.is_set()
        over.set()
        other.join(60)


def test_a_turn_inside_a_turn_is_the_same(tmp_path: Path) -> None:
    with STORAGE.turn(str(tmp_path)), STORAGE.turn(f"file:{tmp_path}"):
        entered = threading.Event()

        def enter() -> None:
            with LocalStorage().turn(str(tmp_path)):
                entered.set()

        other = threading.Thread(target=enter)
        other.start()
        with LocalStorage().turn(str(tmp_path)):
            pass
        assert not entered.wait(0.05)  # the inner one gave nothing back
    other.join(60)
    assert entered.is_set()


def test_a_turn_of_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with STORAGE.turn(f"{tmp_path}/none"):
        pass
