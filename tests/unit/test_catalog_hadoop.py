"""The Hadoop catalog: where namespaces and tables are, how the current version is found, what is refused."""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, CommitConflict, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.hadoop_versions import newest
from bergsql.catalog.metadata.changes import AddSnapshot, SetProperties, SetSnapshotRef
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.metadata.updates import apply_updates
from bergsql.catalog.storage.local import LocalStorage
from tests.support.relics import TABLES, unpack_metadata

SCHEMA = Schema(0, (NestedField(1, "id", parse_type("int"), required=False),))
T = TableIdent(("db",), "t")


@pytest.fixture
def catalog(tmp_path: Path) -> HadoopCatalog:
    return HadoopCatalog("h", str(tmp_path / "wh"))


def fresh(catalog: HadoopCatalog, ident: TableIdent, **properties: str) -> TableMetadata:
    return new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, catalog.default_table_location(ident), properties)


def create(catalog: HadoopCatalog, ident: TableIdent = T) -> LoadedTable:
    return catalog.create_table(ident, fresh(catalog, ident))


def place(catalog: HadoopCatalog, ident: TableIdent = T) -> Path:
    return Path(catalog.default_table_location(ident))


# --- what Spark and Flink wrote --------------------------------------------------------------------------------------


def test_all_tables_of_spark_and_flink_load(tmp_path: Path) -> None:
    catalog = HadoopCatalog("h", f"file://{unpack_metadata(tmp_path)}/")
    assert catalog.list_namespaces() == [("flk",), ("fx",)]
    idents = [i for n in catalog.list_namespaces() for i in catalog.list_tables(n)]
    assert len(idents) == TABLES
    for ident in idents:
        table = catalog.load_table(ident)
        hint = Path(tmp_path, *ident.namespace, ident.name, "metadata", "version-hint.text").read_text()
        assert f"/v{hint}." in table.metadata_location
        assert table.metadata.location.endswith(f"/{ident.namespace[0]}/{ident.name}")
    zipped = catalog.load_table(TableIdent(("fx",), "gzip_metadata"))
    assert zipped.metadata_location.endswith("/v3.gz.metadata.json")


def at_home(catalog: HadoopCatalog, ident: TableIdent) -> LoadedTable:
    """The table as if it had been written where it is."""
    table = catalog.load_table(ident)
    assert not table.metadata.location.endswith(catalog.default_table_location(ident))
    data = replace(table.metadata, location=catalog.default_table_location(ident)).serialize()
    Path(table.metadata_location).write_bytes(gzip.compress(data) if ".gz." in table.metadata_location else data)
    return catalog.load_table(ident)


def test_commits_continue_what_java_wrote(tmp_path: Path) -> None:
    catalog = HadoopCatalog("h", str(unpack_metadata(tmp_path)))
    for name, version in (("v1_plain", 5), ("gzip_metadata", 4), ("v3_deletion_vectors", 7)):
        base = at_home(catalog, TableIdent(("fx",), name))
        done = catalog.commit(base, [SetProperties({"a": "b"})])
        assert f"/v{version}." in done.metadata_location
        assert done.metadata.snapshots == base.metadata.snapshots
        assert catalog.load_table(base.ident).metadata == done.metadata


# --- namespaces ------------------------------------------------------------------------------------------------------


def test_namespaces_are_directories(catalog: HadoopCatalog, tmp_path: Path) -> None:
    assert catalog.list_namespaces() == []
    catalog.create_namespace(("b",))
    catalog.create_namespace(("a",))
    catalog.create_namespace(("a", "inner"))
    assert (tmp_path / "wh" / "a" / "inner").is_dir()
    assert catalog.list_namespaces() == [("a",), ("b",)]
    assert catalog.list_namespaces(("a",)) == [("a", "inner")]
    assert catalog.namespace_exists(("a", "inner"))
    assert not catalog.namespace_exists(("inner",))
    assert catalog.namespace_properties(("a",)) == {"location": str(tmp_path / "wh" / "a")}
    with pytest.raises(BergError, match=r"Database h\.a already exists\.") as caught:
        catalog.create_namespace(("a",))
    assert caught.value.code is ErrorCode.ALREADY_EXISTS


def test_hidden_directories_and_files_are_no_namespaces(catalog: HadoopCatalog, tmp_path: Path) -> None:
    (tmp_path / "wh" / ".trash").mkdir(parents=True)
    (tmp_path / "wh" / "file").write_text("")
    assert catalog.list_namespaces() == []
    assert not catalog.namespace_exists((".trash",))
    assert not catalog.namespace_exists(("file",))


def test_a_table_is_no_namespace(catalog: HadoopCatalog) -> None:
    create(catalog)
    assert not catalog.namespace_exists(("db", "t"))
    assert catalog.list_namespaces(("db",)) == []
    with pytest.raises(BergError, match="already exists"):
        catalog.create_namespace(("db", "t"))
    with pytest.raises(BergError, match=r"Database h\.db\.t was not found"):
        create(catalog, TableIdent(("db", "t"), "inner"))


def test_properties_of_a_namespace_are_refused(catalog: HadoopCatalog) -> None:
    with pytest.raises(BergError, match="with 'comment': a Hadoop catalog keeps no properties"):
        catalog.create_namespace(("a",), {"comment": "x"})
    assert catalog.list_namespaces() == []
    catalog.create_namespace(("a",))
    with pytest.raises(BergError, match=r"Cannot change 'x', 'y' of the database h\.a: a Hadoop catalog keeps no"):
        catalog.update_namespace_properties(("a",), {"x": "1"}, ("y",))
    with pytest.raises(BergError, match="not found"):
        catalog.update_namespace_properties(("b",), {"x": "1"})


def test_dropping_namespaces(catalog: HadoopCatalog, tmp_path: Path) -> None:
    create(catalog)
    create(catalog, TableIdent(("db", "inner"), "u"))
    with pytest.raises(BergError, match=r"Database h\.db is not empty: it holds 1 table") as caught:
        catalog.drop_namespace(("db",))
    assert "CASCADE" in (caught.value.hint or "")
    catalog.drop_namespace(("db",), cascade=True)
    assert list((tmp_path / "wh").iterdir()) == []
    with pytest.raises(BergError, match=r"Database h\.db was not found"):
        catalog.drop_namespace(("db",))
    for nothing in ((), ("..",), ("",)):
        with pytest.raises(BergError, match="was not found"):
            catalog.drop_namespace(nothing, cascade=True)


@pytest.mark.parametrize(
    "precious", [None, "t/data/thesis.txt", "t/metadata/v1.metadata.json.bak", "t/notes/n.parquet"]
)
def test_cascade_takes_what_a_killed_create_table_as_left(
    catalog: HadoopCatalog, tmp_path: Path, precious: str | None
) -> None:
    catalog.create_namespace(("db",))
    made = ["t/data/staging-1/x.parquet", "t/data/a=1/00000-0-x-00001.parquet", "t/metadata/x-m0.avro"]
    for name in made if precious is None else [*made, precious]:
        path = tmp_path / "wh" / "db" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with pytest.raises(BergError, match="is not empty"):
        catalog.drop_namespace(("db",))
    if precious is None:
        catalog.drop_namespace(("db",), cascade=True)
        assert list((tmp_path / "wh").iterdir()) == []
    else:
        with pytest.raises(BergError, match="holds files that are no table's"):
            catalog.drop_namespace(("db",), cascade=True)
        assert (tmp_path / "wh" / "db" / precious).exists()


def test_cascade_leaves_files_that_are_no_tables(catalog: HadoopCatalog, tmp_path: Path) -> None:
    create(catalog)
    precious = tmp_path / "wh" / "db" / "thesis.txt"
    precious.write_text("x")
    with pytest.raises(BergError, match="holds files that are no table's"):
        catalog.drop_namespace(("db",), cascade=True)
    assert precious.exists()


# --- tables ----------------------------------------------------------------------------------------------------------


def test_the_layout_of_a_new_table(catalog: HadoopCatalog, tmp_path: Path) -> None:
    table = create(catalog)
    metadata = tmp_path / "wh" / "db" / "t" / "metadata"
    assert sorted(p.name for p in metadata.iterdir()) == ["v1.metadata.json", "version-hint.text"]
    assert (metadata / "version-hint.text").read_bytes() == b"1"
    assert table.metadata_location == str(metadata / "v1.metadata.json")
    assert table.full_name == "h.db.t"
    assert table.metadata.current_snapshot() is None
    assert catalog.load_table(T) == table
    assert catalog.list_tables(("db",)) == [T]


@pytest.mark.parametrize("style", ["", "file:", "file://"])
def test_locations_follow_the_warehouse(tmp_path: Path, style: str) -> None:
    catalog = HadoopCatalog("h", f"{style}{tmp_path}/wh/")
    table = create(catalog)
    assert table.metadata.location == f"{style}{tmp_path}/wh/db/t"
    assert table.metadata_location == f"{style}{tmp_path}/wh/db/t/metadata/v1.metadata.json"
    done = catalog.commit(table, [SetProperties({"a": "b"})])
    assert done.metadata.metadata_log[0].metadata_file == table.metadata_location


def test_a_relative_warehouse_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = HadoopCatalog("h", "wh")
    monkeypatch.chdir("/")
    assert create(catalog).metadata.location == f"{tmp_path}/wh/db/t"


def test_the_warehouse_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERG_TEST_WAREHOUSE", str(tmp_path))
    catalog = HadoopCatalog("h", "${env:BERG_TEST_WAREHOUSE}/wh", {"warehouse": "${env:BERG_TEST_WAREHOUSE}/wh"})
    assert create(catalog).metadata.location == f"{tmp_path}/wh/db/t"
    assert catalog.options["warehouse"] == "${env:BERG_TEST_WAREHOUSE}/wh"


def test_a_table_with_rows_is_made_in_one_version(catalog: HadoopCatalog) -> None:
    snapshot = Snapshot(5, None, 1, 10**13, "x.avro", {"operation": "append"}, 0)
    updates = [AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(5))]
    table = catalog.create_table(T, apply_updates(fresh(catalog, T), updates, 1))
    assert table.metadata_location.endswith("/v1.metadata.json")
    assert catalog.load_table(T).metadata.current_snapshot() == snapshot


def test_a_table_is_made_once(catalog: HadoopCatalog) -> None:
    first = create(catalog)
    with pytest.raises(BergError, match=r"Table h\.db\.t already exists\.") as caught:
        create(catalog)
    assert caught.value.code is ErrorCode.ALREADY_EXISTS
    assert catalog.load_table(T) == first


def test_two_make_one_table_at_once(catalog: HadoopCatalog, tmp_path: Path) -> None:
    class Slow(LocalStorage):
        def publish(self, staged: str, path: str) -> None:
            create(HadoopCatalog("fast", str(tmp_path / "wh")))
            super().publish(staged, path)

    catalog._storage = Slow()
    with pytest.raises(BergError, match=r"Table h\.db\.t already exists\."):
        create(catalog)
    names = sorted(p.name for p in (place(catalog) / "metadata").iterdir())
    assert names == ["v1.metadata.json", "version-hint.text"]


class Synced(LocalStorage):
    """A storage that knows which directories were synced, and cannot open some."""

    def __init__(self, closed: str | None = None) -> None:
        self.synced: set[str] = set()
        self.closed = closed

    def fsync_dir(self, path: str) -> None:
        if path == self.closed:
            raise BergError(ErrorCode.IO, f"Cannot sync {path}: Permission denied.")
        super().fsync_dir(path)
        self.synced.add(path)


@pytest.mark.parametrize("style", ["", "file:", "file://"])
@pytest.mark.parametrize("there", ["", "db/t/data"])
def test_a_new_table_lasts_whoever_made_its_directories(tmp_path: Path, style: str, there: str) -> None:
    (tmp_path / "wh" / there).mkdir(parents=True)
    catalog = HadoopCatalog("h", f"{style}{tmp_path}/wh")
    storage = catalog._storage = Synced()
    create(catalog)
    metadata = tmp_path / "wh" / "db" / "t" / "metadata"
    assert storage.synced == {f"{style}{p}" for p in metadata.parents}


def test_directories_above_the_warehouse_may_be_closed(tmp_path: Path) -> None:
    catalog = HadoopCatalog("h", str(tmp_path / "wh"))
    catalog._storage = Synced(closed=str(tmp_path.parent))
    create(catalog)
    catalog._storage = Synced(closed=str(tmp_path / "wh"))
    with pytest.raises(BergError, match="Permission denied"):
        create(catalog, TableIdent(("new",), "t"))
    assert catalog.list_namespaces() == [("db",)]


@pytest.mark.parametrize("kept", ["", "db", "db/t"])
def test_a_table_that_could_not_be_made_leaves_nothing(tmp_path: Path, kept: str) -> None:
    class Full(LocalStorage):
        def publish(self, staged: str, path: str) -> None:
            raise BergError(ErrorCode.IO, f"Cannot publish {staged} as {path}: No space left on device.")

    (tmp_path / "wh" / kept).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    catalog = HadoopCatalog("h", str(tmp_path / "wh"))
    catalog._storage = Full()
    with pytest.raises(BergError, match="No space left on device"):
        create(catalog)
    assert sorted(tmp_path.rglob("*")) == before


def test_another_location_is_refused(catalog: HadoopCatalog, tmp_path: Path) -> None:
    elsewhere = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, f"{tmp_path}/x", {})
    with pytest.raises(BergError, match=r"Cannot put the table h\.db\.t at .*/x: in a Hadoop catalog it must be at"):
        catalog.create_table(T, elsewhere)
    same = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, f"file://{tmp_path}/wh/db/t/", {})
    assert catalog.create_table(T, same).metadata.location == f"file://{tmp_path}/wh/db/t"


def test_a_missing_table_is_told_with_the_nearest_name(catalog: HadoopCatalog) -> None:
    create(catalog, TableIdent(("db",), "my_user"))
    with pytest.raises(BergError) as caught:
        catalog.load_table(TableIdent(("db",), "my_usr"))
    assert caught.value.code is ErrorCode.NOT_FOUND
    assert caught.value.message == "Table h.db.my_usr was not found."
    assert caught.value.hint == "Did you mean 'my_user'?"
    with pytest.raises(BergError) as caught:
        catalog.load_table(TableIdent(("dbb",), "t"))
    assert caught.value.hint == "There is no database h.dbb."
    with pytest.raises(BergError, match=r"Database h\.dbb was not found") as caught:
        catalog.list_tables(("dbb",))
    assert caught.value.hint == "Did you mean 'db'?"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", ".hidden", "x\0", "ü" * 128])
def test_names_that_are_no_directory(catalog: HadoopCatalog, name: str) -> None:
    for ident in (TableIdent(("db",), name), TableIdent((name,), "t")):
        assert not catalog.table_exists(ident)
        with pytest.raises(BergError, match="was not found"):
            catalog.load_table(ident)
        with pytest.raises(BergError, match="was not found"):
            catalog.drop_table(ident)
        with pytest.raises(BergError, match="cannot be the name of a table"):
            catalog.default_table_location(ident)
    with pytest.raises(BergError, match="cannot be the name of a database"):
        catalog.create_namespace((name,))


def test_backslashes(catalog: HadoopCatalog, tmp_path: Path) -> None:
    for ident in (TableIdent(("db",), r"a\b"), TableIdent((r"a\b",), "t")):
        with pytest.raises(BergError, match=r"cannot be the name of a table: .* takes a backslash for a slash"):
            catalog.default_table_location(ident)
    with pytest.raises(BergError, match=r"cannot be the name of a database: .* takes a backslash for a slash"):
        catalog.create_namespace((r"a\b",))
    for style in ("", "file:"):
        with pytest.raises(BergError, match=r"The warehouse cannot be at .* takes a backslash for a slash"):
            HadoopCatalog("h", rf"{style}{tmp_path}/a\b")
    # What Spark made can be read.
    spark = TableIdent(("db",), r"a\b")
    create(catalog)
    place(catalog).rename(place(catalog).with_name(r"a\b"))
    file = place(catalog).with_name(r"a\b") / "metadata" / "v1.metadata.json"
    file.write_text(file.read_text().replace("/db/t", r"/db/a\\b"))
    table = catalog.load_table(spark)
    with pytest.raises(BergError, match=r"can only be read: it lies at .* takes a backslash for a slash"):
        catalog.check_writable(table)
    catalog.drop_table(spark)


@pytest.mark.parametrize("which", ["warehouse", "database"])
def test_what_should_be_a_directory(tmp_path: Path, which: str) -> None:
    file = tmp_path / "wh" if which == "warehouse" else tmp_path / "wh" / "db"
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    catalog = HadoopCatalog("h", str(tmp_path / "wh"))
    uses: list[Callable[[], object]] = [lambda: create(catalog), lambda: catalog.create_namespace(("db", "inner"))]
    if which == "warehouse":
        uses += [
            lambda: catalog.load_table(T),
            lambda: catalog.list_tables(("db",)),
            catalog.list_namespaces,
            lambda: catalog.namespace_exists(("db",)),
            lambda: catalog.create_namespace(("new",)),
        ]
    told = "warehouse of catalog h" if which == "warehouse" else r"database h\.db"
    for use in uses:
        with pytest.raises(BergError, match=rf"The {told} is not a directory: {file}\."):
            use()
    assert file.read_text() == ""


def test_the_longest_name(catalog: HadoopCatalog) -> None:
    ident = TableIdent(("d" * 255,), "t" * 255)
    catalog.commit(create(catalog, ident), [SetProperties({"a": "b"})])
    catalog.drop_table(ident)
    assert list(place(catalog, ident).parent.iterdir()) == []
    catalog.drop_namespace(ident.namespace)
    assert catalog.list_namespaces() == []


@pytest.mark.parametrize("room", [30, 300])
def test_a_path_that_the_file_system_does_not_take(tmp_path: Path, room: int) -> None:
    # With 4,095 bytes for a path: the directories of the table fit and its files do not; or nothing does.
    deep = tmp_path
    while (left := 4095 - room - len(str(deep))) > 1:
        deep /= "x" * min(200, left - 1)
    catalog = HadoopCatalog("h", str(deep))
    ident = TableIdent(("d",), "t" if room == 30 else "t" * 255)
    assert not catalog.table_exists(ident)
    with pytest.raises(BergError, match="The name is too long for the file system: /") as caught:
        create(catalog, ident)
    assert caught.value.code is ErrorCode.INVALID
    assert not deep.exists()
    with pytest.raises(BergError, match="was not found"):
        catalog.load_table(ident)


def test_names_in_any_script(catalog: HadoopCatalog) -> None:
    ident = TableIdent(("数据 库",), "用户's 100%_😀")
    table = create(catalog, ident)
    assert catalog.list_tables(("数据 库",)) == [ident]
    assert catalog.commit(table, [SetProperties({"a": "b"})]).ident == ident


def test_dropping_a_table_takes_its_directory(catalog: HadoopCatalog) -> None:
    create(catalog)
    (place(catalog) / "data").mkdir()
    (place(catalog) / "data" / "x.parquet").write_bytes(b"x")
    catalog.drop_table(T)
    assert list(place(catalog).parent.iterdir()) == []
    with pytest.raises(BergError, match=r"Table h\.db\.t was not found"):
        catalog.drop_table(T)


def test_dropping_a_link_leaves_what_it_leads_to(catalog: HadoopCatalog, tmp_path: Path) -> None:
    create(catalog)
    real = tmp_path / "real"
    shutil.move(place(catalog), real)
    place(catalog).symlink_to(real)
    assert catalog.load_table(T).ident == T
    catalog.drop_table(T)
    assert (real / "metadata" / "v1.metadata.json").exists()
    assert list(place(catalog).parent.iterdir()) == []


def test_hadoop_tables_cannot_be_renamed(catalog: HadoopCatalog) -> None:
    with pytest.raises(BergError, match=r"Cannot rename Hadoop tables\."):
        catalog.rename_table(T, TableIdent(("db",), "u"))


def test_a_warehouse_reached_by_a_link(catalog: HadoopCatalog, tmp_path: Path) -> None:
    create(catalog)
    (tmp_path / "link").symlink_to(tmp_path / "wh")
    linked = HadoopCatalog("l", str(tmp_path / "link"))
    done = linked.commit(linked.load_table(T), [SetProperties({"a": "b"})])
    assert catalog.load_table(T).metadata == done.metadata


# --- finding the current version -------------------------------------------------------------------------------------


def grown(catalog: HadoopCatalog, versions: int = 12) -> LoadedTable:
    table = create(catalog)
    for n in range(2, versions + 1):
        table = catalog.commit(table, [SetProperties({"n": str(n)})])
    return table


@pytest.mark.parametrize(
    "hint",
    [
        None,
        "",
        " ",
        "garbage",
        "-1",
        "0",
        "1",
        "9",
        "11",
        "12",
        "12\n",
        "9" * 40,
        "v12",
        "１２",
        "\0",
        b"\xff",
    ],
    ids=repr,
)
def test_any_hint_leads_to_the_newest(catalog: HadoopCatalog, hint: str | bytes | None) -> None:
    latest = grown(catalog)
    file = place(catalog) / "metadata" / "version-hint.text"
    file.unlink()
    if hint is not None:
        file.write_bytes(hint if isinstance(hint, bytes) else hint.encode())
    other = HadoopCatalog("other", catalog.warehouse)
    assert other.table_exists(T)
    assert other.load_table(T).metadata == latest.metadata
    done = other.commit(other.load_table(T), [SetProperties({"n": "13"})])
    assert done.metadata_location.endswith("/v13.metadata.json")
    assert file.read_text() == "13"


def test_a_hint_that_is_a_directory(catalog: HadoopCatalog) -> None:
    latest = grown(catalog, 3)
    file = place(catalog) / "metadata" / "version-hint.text"
    file.unlink()
    file.mkdir()
    assert catalog.load_table(T) == latest
    assert catalog.commit(latest, [SetProperties({"n": "4"})]).metadata_location.endswith("/v4.metadata.json")
    assert catalog.load_table(T).metadata.properties["n"] == "4"


def test_first_versions_may_be_gone(catalog: HadoopCatalog) -> None:
    latest = grown(catalog)
    for n in range(1, 9):
        (place(catalog) / "metadata" / f"v{n}.metadata.json").unlink()
    for hint in ("3", "9", "x"):
        (place(catalog) / "metadata" / "version-hint.text").write_text(hint)
        assert catalog.load_table(T) == latest


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    first=st.integers(1, 30),
    count=st.integers(1, 15),
    hint=st.one_of(st.none(), st.integers(-2, 50).map(str), st.text(max_size=3)),
    seed=st.integers(0, 2**16),
)
def test_the_newest_of_any_run_of_versions(
    tmp_path_factory: pytest.TempPathFactory, first: int, count: int, hint: str | None, seed: int
) -> None:
    table = tmp_path_factory.mktemp("run")
    (table / "metadata").mkdir()
    forms = ["v{}.metadata.json", "v{}.gz.metadata.json", "v{}.metadata.json.gz"]
    choose = random.Random(seed)
    for n in range(first, first + count):
        (table / "metadata" / choose.choice(forms).format(n)).touch()
    for noise in ("snap-1-1.avro", "a.metadata.json", "v.metadata.json", "v99.metadata.json.tmp", ".v99.metadata.json"):
        (table / "metadata" / noise).touch()
    if hint is not None:
        (table / "metadata" / "version-hint.text").write_text(hint, encoding="utf-8")
    text = (hint or "").strip()
    if text.isascii() and text.isdigit() and int(text) >= first + count:
        with pytest.raises(BergError, match=rf"names .*/v{int(text)}\.metadata\.json"):
            newest(LocalStorage(), str(table))
        return
    found = newest(LocalStorage(), str(table))
    assert found is not None
    assert found.version == first + count - 1
    assert Path(found.location).exists()


@pytest.mark.parametrize("hint", ["4", "99"])
def test_a_lost_newest_version_is_told_and_not_overwritten(catalog: HadoopCatalog, hint: str) -> None:
    latest = grown(catalog, 4)
    metadata = place(catalog) / "metadata"
    (metadata / "v4.metadata.json").unlink()
    (metadata / "version-hint.text").write_text(hint)
    assert catalog.list_tables(("db",)) == [T]
    before = catalog.load_table  # the same catalog has read version 4, others have not
    for load in (before, HadoopCatalog("other", catalog.warehouse).load_table):
        with pytest.raises(BergError, match=rf"/version-hint\.text names .*/v{hint}\.metadata\.json") as caught:
            load(T)
        assert caught.value.code is ErrorCode.CORRUPT
        assert "write 3 into version-hint.text" in (caught.value.hint or "")
    with pytest.raises(BergError, match="newest metadata file is missing"):
        catalog.commit(latest, [SetProperties({"n": "5"})])
    assert sorted(p.name for p in metadata.iterdir()) == [
        *(f"v{n}.metadata.json" for n in (1, 2, 3)),
        "version-hint.text",
    ]
    (metadata / "version-hint.text").write_text("3")
    done = catalog.commit(catalog.load_table(T), [SetProperties({"n": "new"})])
    assert done.metadata_location.endswith("/v4.metadata.json")


def test_no_version_at_all(catalog: HadoopCatalog) -> None:
    (place(catalog) / "metadata").mkdir(parents=True)
    (place(catalog) / "metadata" / "version-hint.text").write_text("0")
    assert not catalog.table_exists(T)
    with pytest.raises(BergError, match=r"Table h\.db\.t was not found"):
        catalog.load_table(T)
    assert create(catalog).metadata_location.endswith("/v1.metadata.json")
    assert (place(catalog) / "metadata" / "version-hint.text").read_text() == "1"


def test_a_table_of_which_only_the_hint_is_left(catalog: HadoopCatalog) -> None:
    (place(catalog) / "metadata").mkdir(parents=True)
    (place(catalog) / "metadata" / "version-hint.text").write_text("3")
    with pytest.raises(BergError, match=r"newest metadata file is missing.*/v3\.metadata\.json") as caught:
        catalog.load_table(T)
    assert "DROP TABLE" in (caught.value.hint or "")
    with pytest.raises(BergError, match="already exists"):
        create(catalog)
    catalog.drop_table(T)
    assert create(catalog).metadata_location.endswith("/v1.metadata.json")


class Overwritten(LocalStorage):
    """A storage under which others go on to version 20, without leaving older ones, when the directory is listed."""

    def list(self, path: str) -> Iterator[tuple[str, bool]]:
        found = list(super().list(path))
        (Path(path) / "v20.metadata.json").touch()
        (Path(path) / "version-hint.text").write_text("20")
        return iter(found)


def test_a_hint_is_ahead_only_if_it_still_is(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    metadata.mkdir()
    (metadata / "v3.metadata.json").touch()
    (metadata / "version-hint.text").write_text("7")
    found = newest(Overwritten(), str(tmp_path))
    assert found is not None
    assert found.version == 20


def test_a_damaged_version_is_named(catalog: HadoopCatalog) -> None:
    grown(catalog, 2)
    (place(catalog) / "metadata" / "v3.metadata.json").write_text('{"format-version":2')
    with pytest.raises(BergError, match=r"metadata file .*/v3\.metadata\.json is damaged") as caught:
        catalog.load_table(T)
    assert caught.value.code is ErrorCode.CORRUPT


def test_what_another_process_does_is_seen_at_once(catalog: HadoopCatalog) -> None:
    table = grown(catalog, 2)
    other = HadoopCatalog("other", catalog.warehouse)
    assert catalog.load_table(T).metadata is catalog.load_table(T).metadata
    changed = other.commit(other.load_table(T), [SetProperties({"x": "y"})])
    assert catalog.load_table(T).metadata == changed.metadata
    with pytest.raises(CommitConflict):
        catalog.commit(table, [SetProperties({"x": "z"})])


# --- tables of other catalogs ----------------------------------------------------------------------------------------


def renamed_to_uuids(catalog: HadoopCatalog, versions: int = 11) -> Path:
    """The versions of a table under the names that catalogs with a pointer give."""
    grown(catalog, versions)
    metadata = place(catalog) / "metadata"
    (metadata / "version-hint.text").unlink()
    for n in range(1, versions + 1):
        (metadata / f"v{n}.metadata.json").rename(metadata / f"{n - 1:05d}-{n:08x}-aaaa-bbbb.metadata.json")
    return metadata


def test_metadata_named_by_uuid_is_read_but_not_committed(catalog: HadoopCatalog) -> None:
    renamed_to_uuids(catalog)
    assert catalog.list_tables(("db",)) == [T]
    table = catalog.load_table(T)
    assert table.metadata.properties["n"] == "11"
    with pytest.raises(BergError, match="its metadata files are another catalog's") as caught:
        catalog.commit(table, [SetProperties({"a": "b"})])
    assert caught.value.code is ErrorCode.INVALID


@pytest.mark.parametrize("hint", ["00004-00000005-aaaa-bbbb", "00004-00000005-aaaa-bbbb.metadata.json"])
def test_a_hint_may_name_the_file(catalog: HadoopCatalog, hint: str) -> None:
    (renamed_to_uuids(catalog) / "version-hint.text").write_text(hint)
    assert catalog.load_table(T).metadata.properties["n"] == "5"
