"""Manifests kept on disk: what is read back is what was kept, and what is damaged, foreign or useless is no harm."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.storage.fenced import FencedStorage
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine import spill
from bergsql.engine.table import manifest_lists, manifest_memory, manifests
from bergsql.engine.table.datafile import ManifestFile
from bergsql.engine.table.manifest_cache import FORMAT, ManifestCache, decode, encode
from bergsql.engine.table.planning import FilePlan, plan_files
from bergsql.engine.table.predicate import Compare, Op, Predicate
from bergsql.engine.table.read_point import current
from tests.support.planned import BY_P, Manifest, data, entry, metadata

STORAGE = LocalStorage()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory for the cache, in use; memory is forgotten by :func:`planned`."""
    directory = tmp_path / "cache"
    spill.keep_at(lambda: spill.Place(directory, 1 << 20))
    yield directory
    spill.keep_at(None)


def planned(table: TableMetadata, predicate: Predicate | None = None) -> FilePlan:
    """The plan of another process."""
    manifest_memory.forget_memory()
    return plan_files(table, current(table), predicate, STORAGE)


def listed(table: TableMetadata) -> tuple[ManifestFile, ...]:
    return manifest_lists.read_manifest_list(STORAGE, table.snapshots[0], table)


def entries(home: Path) -> list[Path]:
    return sorted(p for p in home.rglob("*") if p.is_file() and p.name != "swept")


def a_table(folder: Path, files: int = 3) -> TableMetadata:
    folder.mkdir(exist_ok=True)
    return metadata(folder, Manifest(BY_P, [entry(data(f"/{i}", "xy"[i % 2]), i + 1) for i in range(files)]))


def test_the_cached_plan_is_the_plan(home: Path, tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", 300)
    for predicate in (None, Compare("p", Op.EQ, "y"), Compare("id", Op.GT, 5)):
        first = planned(table, predicate)
        assert planned(table, predicate) == first
        spill.keep_at(None)
        assert planned(table, predicate) == first
        spill.keep_at(lambda: spill.Place(home, 1 << 20))
    (kept,) = entries(home)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_the_manifest_is_not_read_again(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(tmp_path / "t")
    first = planned(table)
    read = LocalStorage.read
    monkeypatch.setattr(LocalStorage, "read", lambda self, path: _only_lists(path) and read(self, path))
    assert planned(table) == first
    assert len(entries(home)) == 1


def _only_lists(path: str) -> bool:
    assert "snap-" in path, path
    return True


@pytest.mark.parametrize("change", ["cut", "empty", "flip", "garbage"])
def test_a_damaged_entry_is_made_anew(change: str, home: Path, tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    first = planned(table)
    (kept,) = entries(home)
    good = kept.read_bytes()
    for at in range(0, len(good), 7) if change == "flip" else (0,):
        flipped = bytearray(good)
        flipped[at] ^= 0x41
        kept.write_bytes({"cut": good[:-9], "empty": b"", "garbage": b"x" * 900}.get(change, bytes(flipped)))
        assert planned(table) == first
        assert kept.read_bytes() == good


def test_a_manifest_that_changed_is_read(home: Path, tmp_path: Path) -> None:
    """Another file under the same name, as long as the first: a table was put back from somewhere."""
    table = a_table(tmp_path / "t")
    first = planned(table)
    (path,) = (tmp_path / "t").glob("????????-*.avro")
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(BergError, match="is missing"):
        planned(table)
    path.write_bytes(content[:-1] + b"?")
    with pytest.raises(BergError, match="does not end where it should"):
        planned(table)
    path.write_bytes(content)
    assert planned(table) == first
    assert len(entries(home)) == 2  # the old one belongs to a file that is no more


def test_no_table_reads_what_another_kept(home: Path, tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    planned(table)
    planned(replace(table, table_uuid=str(uuid4())))
    assert len({e.parent for e in entries(home)}) == 2
    assert len(entries(home)) == 2


def test_a_fence_holds_for_what_is_cached(home: Path, tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    planned(table)
    manifest_memory.forget_memory()
    fenced = FencedStorage((str(tmp_path / "elsewhere"),))
    (manifest,) = listed(table)
    assert len(entries(home)) == 1
    with pytest.raises(BergError):
        manifests.read_columns(fenced, manifest, table)


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    tables = [a_table(tmp_path / f"t{i}", 40) for i in range(12)]
    directory, started = tmp_path / "cache", int(time.time()) - 1000
    spill.keep_at(lambda: spill.Place(directory, 1 << 30))
    for i, table in enumerate(tables):
        before = set(entries(directory))
        planned(table)
        (new,) = set(entries(directory)) - before
        os.utime(new, (started + i, started + i))
    spill.keep_at(None)
    size = max(p.stat().st_size for p in entries(directory))
    ManifestCache(directory / "manifests", 6 * size).tidy()
    left = sorted(int(p.stat().st_mtime) - started for p in entries(directory))
    assert left == [7, 8, 9, 10, 11]


def test_useless_entries_go(home: Path, tmp_path: Path) -> None:
    kept, gone = a_table(tmp_path / "kept"), a_table(tmp_path / "gone")
    planned(kept)
    planned(gone)
    (home / "manifests" / str(FORMAT - 1) / "old").mkdir(parents=True)
    (home / "manifests" / str(FORMAT + 1)).mkdir()
    for file in (tmp_path / "gone").iterdir():
        file.unlink()
    left_over = entries(home)[0].with_name("x.1.2")
    left_over.write_bytes(b"half")
    os.utime(left_over, (1, 1))
    (home / "manifests" / str(FORMAT) / "swept").unlink()
    ManifestCache(home / "manifests").tidy()
    assert len(entries(home)) == 1
    assert planned(kept).files_kept == 3
    assert {p.name for p in (home / "manifests").iterdir()} == {str(FORMAT), str(FORMAT + 1)}


def test_a_dropped_table_is_forgotten(home: Path, tmp_path: Path) -> None:
    table, other = a_table(tmp_path / "t"), a_table(tmp_path / "u")
    planned(table)
    planned(other)
    manifest_memory.forget_table(table)
    assert len(entries(home)) == 1


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spill.keep_at(lambda: spill.Place(tmp_path / "file" / "cache", 1 << 20))
    try:
        assert planned(a_table(tmp_path / "t")).files_kept == 3
    finally:
        spill.keep_at(None)


WRITER = """
import sys
from pathlib import Path
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine import spill
from bergsql.engine.table import manifest_memory
from bergsql.engine.table.planning import plan_files
from bergsql.engine.table.read_point import current
name, home = sys.argv[1:]
spill.keep_at(lambda: spill.Place(Path(home), 60_000))
table = TableMetadata.parse(Path(name).read_bytes(), name)
for _ in range(30):
    manifest_memory.forget_memory()
    assert plan_files(table, current(table), None, LocalStorage()).files_kept == 400
"""


def test_processes_that_write_and_tidy_at_once(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    some = [[entry(data(f"/{m}-{i}", "x"), i + 1) for i in range(40)] for m in range(10)]
    table = metadata(folder, *(Manifest(BY_P, e) for e in some))
    name = tmp_path / "v1.metadata.json"
    name.write_bytes(table.serialize())
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(name), str(home)], stderr=subprocess.PIPE) for _ in range(3)
    ]
    assert [w.communicate()[1] for w in writers] == [b""] * 3
    for kept in entries(home):
        assert decode(kept.read_bytes(), bytes.fromhex(kept.name)).count == 40


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damage_is_always_noticed(draw: st.DataObject) -> None:
    content = CONTENT
    at = draw.draw(st.integers(0, len(content) - 1))
    damaged = draw.draw(
        st.sampled_from(
            [content[:at], content[:at] + bytes([content[at] ^ draw.draw(st.integers(1, 255))]) + content[at + 1 :]]
        )
    )
    with pytest.raises((ValueError, IndexError, struct.error)):
        decode(damaged, b"d" * 32)


def _content() -> bytes:
    from bergsql.engine.table.avro_columns import Column, Columns

    columns = (
        Column(b"\2", 0, 1, 3, True, 1),
        Column(b"abcdef", 0, 6, 3, False, 2, (), ((1, 8), (2, None))),
        Column(b"abcdef", 0, 6, 3, False, 0, (1, 3, 6)),
    )
    return encode(Columns(b"{}", 3, columns), b"d" * 32, "/m.avro")


CONTENT = _content()


def test_what_is_kept_is_read_back() -> None:
    found = decode(CONTENT, b"d" * 32)
    assert (found.schema, found.count) == (b"{}", 3)
    assert [c.values() for c in found.columns] == [[b"\2"] * 3, [b"ab", b"cd", b"ef"], [b"a", b"bc", b"def"]]
    assert [c.shape for c in found.columns] == [None, ((1, 8), (2, None)), None]
    with pytest.raises(ValueError, match="damaged"):
        decode(CONTENT, b"e" * 32)


def test_a_length_that_is_not_the_files(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    (manifest,) = listed(table)
    lying: ManifestFile = replace(manifest, length=manifest.length - 1)
    with pytest.raises(BergError, match=r"Manifest .* of snapshot 1 is damaged .* its manifest list says"):
        manifests.read_columns(STORAGE, lying, table)
