"""Commits of the Hadoop catalog under competition and death: real processes, real kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.types import NestedField, parse_type
from bergsql.catalog.metadata.updates import SetLocation, SetProperties, new_table_metadata
from bergsql.catalog.storage.local import LocalStorage
from tests.support.shared import ROOT

IDENT = TableIdent(("db",), "t")
SCHEMA = Schema(0, (NestedField(1, "id", parse_type("int"), required=False),))
COMMITTER = ROOT / "tests" / "support" / "committer.py"


def created(warehouse: Path, **properties: str) -> HadoopCatalog:
    """A catalog with the empty table db.t at version 1."""
    catalog = HadoopCatalog("h", str(warehouse))
    location = catalog.default_table_location(IDENT)
    catalog.create_table(IDENT, new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, location, properties))
    return catalog


def metadata_of(warehouse: Path) -> Path:
    return warehouse / "db" / "t" / "metadata"


def start(warehouse: Path, name: str, commits: int, *die_at: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(COMMITTER), str(warehouse), name, str(commits), *die_at])


def set_property(catalog: HadoopCatalog, key: str, value: str = "1") -> LoadedTable:
    return catalog.commit(catalog.load_table(IDENT), [SetProperties({key: value})])


def version(table: LoadedTable) -> int:
    return int(table.metadata_location.rpartition("/v")[2].partition(".")[0])


def test_five_processes_lose_none_of_fifty_commits(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    running = [start(tmp_path, f"p{n}", 10) for n in range(5)]
    assert [p.wait() for p in running] == [0] * 5
    table = catalog.load_table(IDENT)
    assert version(table) == 51
    wanted = {f"p{n}-{i}" for n in range(5) for i in range(10)}
    assert wanted <= set(table.metadata.properties)
    assert {s.summary["writer"] for s in table.metadata.snapshots} == wanted
    assert [s.sequence_number for s in table.metadata.snapshots] == list(range(1, 51))
    chain = [s.parent_id for s in table.metadata.snapshots][1:]
    assert chain == [s.snapshot_id for s in table.metadata.snapshots][:-1]
    assert (metadata_of(tmp_path) / "version-hint.text").read_text() == "51"
    names = sorted(p.name for p in metadata_of(tmp_path).iterdir())
    assert names == sorted(["version-hint.text", *(f"v{n}.metadata.json" for n in range(1, 52))])


@pytest.mark.parametrize(
    ("die_at", "lives"), [("write_new", False), ("publish", False), ("unlink", True), ("replace", True)]
)
def test_a_writer_killed_in_the_middle(tmp_path: Path, die_at: str, lives: bool) -> None:
    catalog = created(tmp_path)
    assert start(tmp_path, "dead", 3, die_at).wait() == -signal.SIGKILL
    hint = metadata_of(tmp_path) / "version-hint.text"
    assert hint.read_text() == "3"
    table = catalog.load_table(IDENT)
    assert version(table) == (4 if lives else 3)
    assert ("dead-2" in table.metadata.properties) is lives
    # The next writer goes on from there and puts the hint right.
    after = set_property(catalog, "next")
    assert version(after) == version(table) + 1
    assert hint.read_text() == str(version(after))
    assert catalog.load_table(IDENT) == after


def test_a_version_published_without_hint_is_found_and_repaired(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    set_property(catalog, "a")
    hint = metadata_of(tmp_path) / "version-hint.text"
    hint.write_text("1")
    assert version(HadoopCatalog("other", str(tmp_path)).load_table(IDENT)) == 2
    set_property(catalog, "b")
    assert hint.read_text() == "3"


def test_the_loser_of_a_race_is_told_and_nothing_of_it_stays(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    stale = catalog.load_table(IDENT)
    set_property(catalog, "winner")
    before = sorted(p.name for p in metadata_of(tmp_path).iterdir())
    with pytest.raises(CommitConflict, match=r"Table h\.db\.t was changed by another writer\."):
        catalog.commit(stale, [SetProperties({"loser": "1"})])
    assert sorted(p.name for p in metadata_of(tmp_path).iterdir()) == before
    assert "loser" not in catalog.load_table(IDENT).metadata.properties


class Overtaken(LocalStorage):
    """A storage that lets others commit at the last moment before its own publication."""

    def __init__(self, catalog: HadoopCatalog, commits: int) -> None:
        self.catalog = catalog
        self.commits = commits

    def publish(self, staged: str, path: str) -> None:
        for n in range(self.commits):
            set_property(self.catalog, f"fast-{n}")
        super().publish(staged, path)


@pytest.mark.parametrize("commits", [1, 2, 3, 5])
def test_a_late_version_never_lands_behind_others(tmp_path: Path, commits: int) -> None:
    # With a log of one, the name of the version after the base is free again when three others went by.
    catalog = created(
        tmp_path,
        **{"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"},
    )
    slow = HadoopCatalog("slow", str(tmp_path))
    base = slow.load_table(IDENT)
    slow._storage = Overtaken(catalog, commits)
    with pytest.raises(CommitConflict):
        slow.commit(base, [SetProperties({"slow": "1"})])
    table = catalog.load_table(IDENT)
    assert version(table) == commits + 1
    assert "slow" not in table.metadata.properties
    assert HadoopCatalog("fresh", str(tmp_path)).load_table(IDENT).metadata == table.metadata
    numbered = [p.name for p in metadata_of(tmp_path).glob("v*.metadata.json")]
    assert sorted(numbered) == [f"v{commits}.metadata.json", f"v{commits + 1}.metadata.json"]


class Interrupted(LocalStorage):
    """A storage in which Ctrl-C arrives at a step of the publication."""

    def __init__(self, step: str) -> None:
        self.step = step

    def publish(self, staged: str, path: str) -> None:
        if self.step == "before":
            raise KeyboardInterrupt
        super().publish(staged, path)
        if self.step == "after":
            raise KeyboardInterrupt

    def replace(self, path: str, data: bytes) -> None:
        step, self.step = self.step, ""
        if step == "hint":
            raise KeyboardInterrupt
        super().replace(path, data)


@pytest.mark.parametrize("step", ["after", "hint"])
def test_ctrl_c_after_the_publication_is_too_late(tmp_path: Path, step: str) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Interrupted(step)
    done = catalog.commit(base, [SetProperties({"a": "1"})])
    assert version(done) == 2
    assert (metadata_of(tmp_path) / "version-hint.text").read_text() == "2"


def test_ctrl_c_before_the_publication_leaves_nothing(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Interrupted("before")
    with pytest.raises(KeyboardInterrupt):
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert sorted(p.name for p in metadata_of(tmp_path).iterdir()) == ["v1.metadata.json", "version-hint.text"]


class Failing(LocalStorage):
    """A storage whose disk fails at a step of the publication."""

    def __init__(self, step: str) -> None:
        self.step = step

    def publish(self, staged: str, path: str) -> None:
        if self.step == "after":
            super().publish(staged, path)
        raise BergError(ErrorCode.IO, "the disk broke")


def test_a_failure_after_the_publication_is_an_unknown_outcome(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Failing("after")
    with pytest.raises(CommitStateUnknown, match="the disk broke"):
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert catalog.load_table(IDENT).metadata.properties["a"] == "1"


def test_a_failure_before_the_publication_is_certain(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Failing("before")
    with pytest.raises(BergError, match="the disk broke") as caught:
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert caught.value.code is ErrorCode.IO
    assert sorted(p.name for p in metadata_of(tmp_path).iterdir()) == ["v1.metadata.json", "version-hint.text"]


def test_a_table_made_anew_is_not_the_one_that_was_loaded(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog.drop_table(IDENT)
    with pytest.raises(CommitConflict):
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert not (tmp_path / "db" / "t").exists()
    again = created(tmp_path)
    with pytest.raises(CommitConflict):
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert catalog.load_table(IDENT).metadata == again.load_table(IDENT).metadata
    assert catalog.load_table(IDENT).metadata.table_uuid != base.metadata.table_uuid


class Dropped(LocalStorage):
    """A storage under which the table is dropped at the last moment."""

    def __init__(self, catalog: HadoopCatalog, step: str) -> None:
        self.catalog = catalog
        self.step = step

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        if self.step == "write_new":
            self.catalog.drop_table(IDENT)
        super().write_new(path, data, fsync=fsync, make_dirs=make_dirs)

    def publish(self, staged: str, path: str) -> None:
        if self.step == "publish":
            self.catalog.drop_table(IDENT)
        super().publish(staged, path)


@pytest.mark.parametrize("step", ["write_new", "publish"])
def test_a_commit_does_not_bring_a_dropped_table_back(tmp_path: Path, step: str) -> None:
    catalog = created(tmp_path)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Dropped(catalog, step)
    with pytest.raises(CommitConflict, match="was dropped meanwhile"):
        writer.commit(base, [SetProperties({"a": "1"})])
    assert not (tmp_path / "db" / "t").exists()


def test_updates_that_change_nothing_make_no_version(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = set_property(catalog, "a")
    assert catalog.commit(base, [SetProperties({"a": "1"})]) is base
    assert version(catalog.load_table(IDENT)) == 2


def test_the_log_names_the_versions_before(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    first = catalog.load_table(IDENT)
    second = set_property(catalog, "a")
    third = set_property(catalog, "b")
    assert [(e.timestamp_ms, e.metadata_file) for e in third.metadata.metadata_log] == [
        (first.metadata.last_updated_ms, first.metadata_location),
        (second.metadata.last_updated_ms, second.metadata_location),
    ]


def test_old_versions_are_deleted_when_asked(tmp_path: Path) -> None:
    catalog = created(tmp_path, **{"write.metadata.previous-versions-max": "2"})
    for n in range(4):
        set_property(catalog, f"k{n}")
    numbers = sorted(int(p.name[1:].split(".")[0]) for p in metadata_of(tmp_path).glob("v*.json"))
    assert numbers == [1, 2, 3, 4, 5]
    assert [e.metadata_file[-16:] for e in catalog.load_table(IDENT).metadata.metadata_log] == [
        "v3.metadata.json",
        "v4.metadata.json",
    ]
    set_property(catalog, "write.metadata.delete-after-commit.enabled", "true")
    set_property(catalog, "last")
    numbers = sorted(int(p.name[1:].split(".")[0]) for p in metadata_of(tmp_path).glob("v*.json"))
    assert numbers == [1, 2, 5, 6, 7]


def test_files_of_a_table_that_was_copied_are_not_deleted(tmp_path: Path) -> None:
    original, copy = tmp_path / "one", tmp_path / "two"
    catalog = created(
        original,
        **{"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"},
    )
    set_property(catalog, "a")
    subprocess.run(["cp", "-r", str(original), str(copy)], check=True)
    copied = HadoopCatalog("copy", str(copy))
    for n in range(3):
        set_property(copied, f"k{n}")
    assert sorted(p.name for p in metadata_of(original).glob("v*.json")) == ["v1.metadata.json", "v2.metadata.json"]
    assert version(catalog.load_table(IDENT)) == 2
    names = sorted(p.name for p in metadata_of(copy).glob("v*.json"))
    assert names[-2:] == ["v4.metadata.json", "v5.metadata.json"]


def test_the_codec_takes_effect_with_the_next_version(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    plain = set_property(catalog, "write.metadata.compression-codec", "gzip")
    assert plain.metadata_location.endswith("/v2.metadata.json")
    zipped = set_property(catalog, "a")
    assert zipped.metadata_location.endswith("/v3.gz.metadata.json")
    assert Path(zipped.metadata_location).read_bytes()[:2] == b"\x1f\x8b"
    assert HadoopCatalog("fresh", str(tmp_path)).load_table(IDENT).metadata == zipped.metadata
    assert set_property(catalog, "write.metadata.compression-codec", "none").metadata_location.endswith(
        "v4.gz.metadata.json"
    )
    assert set_property(catalog, "b").metadata_location.endswith("/v5.metadata.json")


def test_what_a_hadoop_table_cannot_have(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    with pytest.raises(BergError, match=r"Table h\.db\.t cannot be moved"):
        catalog.commit(base, [SetLocation("/elsewhere")])
    with pytest.raises(BergError, match=r"'write\.metadata\.path' cannot be set"):
        catalog.commit(base, [SetProperties({"write.metadata.path": "/elsewhere"})])
    assert version(catalog.load_table(IDENT)) == 1


def test_hadoops_checksum_of_the_hint_goes_away(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    checksum = metadata_of(tmp_path) / ".version-hint.text.crc"
    checksum.write_bytes(b"crc\0")
    set_property(catalog, "a")
    assert not checksum.exists()


def test_versions_are_whole_json(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    set_property(catalog, "键", "值")
    data = (metadata_of(tmp_path) / "v2.metadata.json").read_text(encoding="utf-8")
    assert json.loads(data)["properties"]["键"] == "值"
    assert '"键":"值"' in data
