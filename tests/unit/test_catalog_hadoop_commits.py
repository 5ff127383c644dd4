"""Commits of the Hadoop catalog under competition and death: real processes, real kills.

Mirrors, in our own words, of the situations that Iceberg's TestHadoopCommits and TestHadoopCommitsAtomicRename test:

- a commit on metadata that is no longer the newest: a conflict, and nothing of it stays, no manifest either
- someone else has published the version meanwhile: a conflict that names it
- the file system refuses or fails to publish the version: a certain failure, and no temporary file stays
- the writer fails or dies behind the publication and before the hint: the version is there, and the next writer goes on
- a hint that is stale, ahead, missing, empty or no number leads to the newest version (test_catalog_hadoop.py)
- appends, with manifests merged and not; changes of the schema (test_table_commit.py, tests/sql/alter_columns.test)
- several writers append at once: every commit is there, none twice
- metadata is written with the codec that the table asks for, and read with any
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path

import pytest

from bergsql.catalog import hadoop_commit
from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import AddSnapshot, SetLocation, SetProperties, SetSnapshotRef, TableUpdate
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.storage.local import LocalStorage
from tests.support.shared import ROOT

IDENT = TableIdent(("db",), "t")
SCHEMA = Schema(0, (NestedField(1, "id", parse_type("int"), required=False),))
KEEP_ONE = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
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


def set_clock(monkeypatch: pytest.MonkeyPatch, *, step: int) -> None:
    times = count(now_ms() + 1, step)
    monkeypatch.setattr(hadoop_commit, "now_ms", lambda: next(times))


@pytest.mark.parametrize("commits", [1, 2, 3, 5])
def test_a_late_version_never_lands_behind_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    set_clock(monkeypatch, step=1)
    # With a log of one, the name of the version after the base is free again when three others went by.
    catalog = created(tmp_path, **KEEP_ONE)
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


@pytest.mark.parametrize(("name", "done"), [("slow", False), ("fast-0", True)])
def test_a_late_version_of_the_same_millisecond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, done: bool
) -> None:
    # The log of the others' third version names one of the same number and time, which is not the late one.
    set_clock(monkeypatch, step=0)
    catalog = created(tmp_path, **KEEP_ONE)
    slow = HadoopCatalog("slow", str(tmp_path))
    base = slow.load_table(IDENT)
    slow._storage = Overtaken(catalog, 3)
    with nullcontext() if done else pytest.raises(CommitStateUnknown):
        slow.commit(base, [SetProperties({name: "1"})])
    table = HadoopCatalog("fresh", str(tmp_path)).load_table(IDENT)
    assert version(table) == 4
    assert (name in table.metadata.properties) is done


class Outrun(LocalStorage):
    """A storage under which others commit behind its publication, and delete the head that it then looks for."""

    def __init__(self, catalog: HadoopCatalog, behind: int, heads: int) -> None:
        self.catalog = catalog
        self.behind = behind
        self.heads = heads

    def publish(self, staged: str, path: str) -> None:
        super().publish(staged, path)
        for n in range(self.behind):
            set_property(self.catalog, f"behind-{n}")

    def list(self, path: str) -> Iterator[tuple[str, bool]]:
        found = list(super().list(path))
        if self.heads:
            self.heads -= 1
            for n in range(3):
                set_property(self.catalog, f"head-{self.heads}-{n}")
        return iter(found)


def snapshot_on(table: LoadedTable, snapshot_id: int) -> list[TableUpdate]:
    """The updates of a commit that adds an (empty) snapshot."""
    m = table.metadata
    summary = {"operation": "append"}
    number = m.last_sequence_number + 1
    added = Snapshot(snapshot_id, m.current_snapshot_id, number, m.last_updated_ms, "none.avro", summary, 0)
    return [AddSnapshot(added), SetSnapshotRef("main", SnapshotRef(snapshot_id))]


@pytest.mark.parametrize(("behind", "heads"), [(1, 0), (3, 0), (3, 1), (2, 3)])
def test_a_version_that_others_built_on_is_no_conflict(tmp_path: Path, behind: int, heads: int) -> None:
    others = created(tmp_path, **KEEP_ONE)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Outrun(others, behind, heads)
    done = writer.commit(base, snapshot_on(base, 7))
    assert version(done) == 2
    table = HadoopCatalog("fresh", str(tmp_path)).load_table(IDENT)
    assert [s.snapshot_id for s in table.metadata.snapshots] == [7]
    assert version(table) == 2 + behind + 3 * heads
    assert (metadata_of(tmp_path) / "version-hint.text").read_text() == str(version(table))


def test_a_version_that_left_no_trace_is_an_unknown_outcome(tmp_path: Path) -> None:
    others = created(tmp_path, **KEEP_ONE)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Outrun(others, behind=3, heads=1)
    with pytest.raises(CommitStateUnknown, match=r"Other writers overtook .*/v2\.metadata\.json"):
        writer.commit(base, [SetProperties({"a": "1"})])
    assert others.load_table(IDENT).metadata.properties["a"] == "1"


def test_a_head_that_is_never_there_is_an_unknown_outcome(tmp_path: Path) -> None:
    others = created(tmp_path, **KEEP_ONE)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Outrun(others, behind=3, heads=1000)
    with pytest.raises(CommitStateUnknown):
        writer.commit(base, snapshot_on(base, 7))
    assert [s.snapshot_id for s in others.load_table(IDENT).metadata.snapshots] == [7]


@pytest.mark.parametrize("most", ["2", "100"])
def test_a_version_that_fell_out_of_the_log_is_no_conflict(tmp_path: Path, most: str) -> None:
    others = created(tmp_path, **{"write.metadata.previous-versions-max": most})
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Outrun(others, behind=5, heads=0)
    assert version(writer.commit(base, [SetProperties({"a": "1"})])) == 2
    assert others.load_table(IDENT).metadata.properties["a"] == "1"


class Interrupted(LocalStorage):
    """A storage in which Ctrl-C arrives at a step of the publication."""

    def __init__(self, step: str) -> None:
        self.step = step

    def publish(self, staged: str, path: str) -> None:
        if self.step == "before":
            raise KeyboardInterrupt
        if self.step == "named":
            # The name is given, the staged one not yet taken away.
            os.link(staged, path)
            raise KeyboardInterrupt
        super().publish(staged, path)
        if self.step == "after":
            raise KeyboardInterrupt

    def replace(self, path: str, data: bytes) -> None:
        step, self.step = self.step, ""
        if step == "hint":
            raise KeyboardInterrupt
        super().replace(path, data)


@pytest.mark.parametrize("step", ["named", "after", "hint"])
def test_ctrl_c_after_the_publication_is_too_late(tmp_path: Path, step: str) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Interrupted(step)
    done = catalog.commit(base, [SetProperties({"a": "1"})])
    assert version(done) == 2
    assert (metadata_of(tmp_path) / "version-hint.text").read_text() == "2"
    names = sorted(p.name for p in metadata_of(tmp_path).iterdir())
    assert names == ["v1.metadata.json", "v2.metadata.json", "version-hint.text"]


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
        if self.step == "named":
            os.link(staged, path)
        if self.step == "after":
            super().publish(staged, path)
        raise BergError(ErrorCode.IO, "the disk broke")


@pytest.mark.parametrize("step", ["named", "after"])
def test_a_failure_after_the_publication_is_an_unknown_outcome(tmp_path: Path, step: str) -> None:
    catalog = created(tmp_path)
    base = catalog.load_table(IDENT)
    catalog._storage = Failing(step)
    with pytest.raises(CommitStateUnknown, match="the disk broke"):
        catalog.commit(base, [SetProperties({"a": "1"})])
    assert catalog.load_table(IDENT).metadata.properties["a"] == "1"
    assert not list(metadata_of(tmp_path).glob("*.tmp"))


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

    def replace(self, path: str, data: bytes) -> None:
        if self.step == "replace":
            self.catalog.drop_table(IDENT)
        super().replace(path, data)


@pytest.mark.parametrize("step", ["write_new", "publish"])
def test_a_commit_does_not_bring_a_dropped_table_back(tmp_path: Path, step: str) -> None:
    catalog = created(tmp_path)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Dropped(catalog, step)
    with pytest.raises(CommitConflict, match="was dropped meanwhile"):
        writer.commit(base, [SetProperties({"a": "1"})])
    assert not (tmp_path / "db" / "t").exists()


def test_a_hint_does_not_bring_a_dropped_table_back(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = Dropped(catalog, "replace")
    assert version(writer.commit(base, [SetProperties({"a": "1"})])) == 2  # the commit came first, then the drop
    assert catalog.list_namespaces(("db",)) == []
    catalog.drop_namespace(("db",), cascade=True)
    assert list(tmp_path.iterdir()) == []


class Dying(LocalStorage):
    """A storage whose process dies before it deletes a directory."""

    def delete_tree(self, path: str) -> None:  # noqa: ARG002
        raise KeyboardInterrupt


def test_a_drop_that_died_is_finished_with_the_database(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    catalog._storage = Dying()
    with pytest.raises(KeyboardInterrupt):
        catalog.drop_table(IDENT)
    assert list(tmp_path.glob("db/.dropped-*/metadata/v1.metadata.json"))
    again = HadoopCatalog("again", str(tmp_path))
    assert not again.list_tables(("db",))
    assert not again.list_namespaces(("db",))
    again.drop_namespace(("db",))
    assert list(tmp_path.iterdir()) == []


class MadeAnew(Dropped):
    """A storage under which the table is dropped at a step, and another one made in its place."""

    def write_new(self, path: str, data: bytes, *, fsync: bool = True, make_dirs: bool = True) -> None:
        if self.step == "write_new":
            self.catalog.drop_table(IDENT)
            created(Path(self.catalog.warehouse), anew="1")
        LocalStorage.write_new(self, path, data, fsync=fsync, make_dirs=make_dirs)

    def publish(self, staged: str, path: str) -> None:
        LocalStorage.publish(self, staged, path)
        if self.step == "published":
            self.catalog.drop_table(IDENT)
            created(Path(self.catalog.warehouse), anew="1")
            for n in range(3):
                set_property(self.catalog, f"k{n}")


def test_a_commit_does_not_go_to_a_table_made_anew(tmp_path: Path) -> None:
    catalog = created(tmp_path)
    writer = HadoopCatalog("writer", str(tmp_path))
    base = writer.load_table(IDENT)
    writer._storage = MadeAnew(catalog, "write_new")
    with pytest.raises(CommitConflict):
        writer.commit(base, [SetProperties({"a": "1"})])
    assert "anew" in catalog.load_table(IDENT).metadata.properties
    assert sorted(p.name for p in metadata_of(tmp_path).iterdir()) == ["v1.metadata.json", "version-hint.text"]


def test_a_commit_leaves_alone_the_table_that_was_made_behind_it(tmp_path: Path) -> None:
    catalog = created(tmp_path, **KEEP_ONE)
    base = [set_property(catalog, f"old-{n}") for n in range(2)][-1]
    writer = HadoopCatalog("writer", str(tmp_path))
    writer.load_table(IDENT)
    writer._storage = MadeAnew(catalog, "published")
    # v4 drops v2 from its log, and by then there is another v2.
    assert version(writer.commit(base, [SetProperties({"a": "1"})])) == 4
    names = sorted(p.name for p in metadata_of(tmp_path).iterdir())
    assert names == [*(f"v{n}.metadata.json" for n in range(1, 5)), "version-hint.text"]
    for reader in (writer, catalog, HadoopCatalog("fresh", str(tmp_path))):
        assert "anew" in reader.load_table(IDENT).metadata.properties


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
    catalog = created(original, **KEEP_ONE)
    set_property(catalog, "a")
    subprocess.run(["cp", "-r", str(original), str(copy)], check=True)
    # Made a table of its own, but for its log, which still names the original's files.
    at_home(metadata_of(copy) / "v2.metadata.json", original / "db" / "t", copy / "db" / "t")
    copied = HadoopCatalog("copy", str(copy))
    for n in range(3):
        set_property(copied, f"k{n}")
    assert sorted(p.name for p in metadata_of(original).glob("v*.json")) == ["v1.metadata.json", "v2.metadata.json"]
    assert version(catalog.load_table(IDENT)) == 2
    names = sorted(p.name for p in metadata_of(copy).glob("v*.json"))
    assert names[-2:] == ["v4.metadata.json", "v5.metadata.json"]


def at_home(file: Path, before: Path, after: Path) -> None:
    """Make a metadata file say that its table lies at ``after``."""
    text = file.read_text()
    changed = text.replace(f'"location":"{before}"', f'"location":"{after}"')
    assert changed != text
    file.write_text(changed)


def test_a_copy_of_a_table_can_only_be_read(tmp_path: Path) -> None:
    original, copy = tmp_path / "one", tmp_path / "two"
    created(original)
    subprocess.run(["cp", "-r", str(original), str(copy)], check=True)
    copied = HadoopCatalog("copy", str(copy))
    base = copied.load_table(IDENT)
    for refused in (lambda: copied.check_writable(base), lambda: copied.commit(base, [SetProperties({"a": "1"})])):
        with pytest.raises(
            BergError, match=rf"it lies at {copy}/db/t, but its metadata says {original}/db/t"
        ) as caught:
            refused()
        assert caught.value.code is ErrorCode.INVALID
        assert "CREATE TABLE" in (caught.value.hint or "")
    assert version(copied.load_table(IDENT)) == 1


@pytest.mark.parametrize(
    "style", ["{}/wh/db/t/", "file:{}/wh/db/t", "file://{}/wh/db/t", "{}/link/db/t", "{}/wh/./db/../db/t"]
)
def test_one_place_may_be_spelt_in_many_ways(tmp_path: Path, style: str) -> None:
    created(tmp_path / "wh")
    (tmp_path / "link").symlink_to(tmp_path / "wh")
    place = tmp_path / "wh" / "db" / "t"
    at_home(metadata_of(tmp_path / "wh") / "v1.metadata.json", place, Path("@"))
    file = metadata_of(tmp_path / "wh") / "v1.metadata.json"
    file.write_text(file.read_text().replace("@", style.format(tmp_path)))
    for warehouse in ("wh", "link"):
        catalog = HadoopCatalog("h", str(tmp_path / warehouse))
        catalog.check_writable(catalog.load_table(IDENT))
        set_property(catalog, warehouse)


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
