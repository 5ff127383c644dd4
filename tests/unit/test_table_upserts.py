"""Upserts: the table is what a dictionary would be, whatever the partitioning, the formats and the order of commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.engine.execute.upsert import UPSERT, is_enabled
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.equality_delete_writing import key_of, reaching_specs
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest
from bergsql.engine.table.upsert import Upsert, write_upserts
from tests.support.reference_tables import PLACE, laid_out

ON = "'write.upsert.enabled'='true'"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    yield opened
    opened.close()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return list(result.rows())
    finally:
        result.close()


def load(session: Session, name: str = "t") -> LoadedTable:
    catalog = session.catalog("default_catalog")
    return catalog.load_table(TableIdent(("default_database",), name))


def files(session: Session) -> set[str]:
    """The names of all files below the table's data folder."""
    return {p.name for p in Path(load(session).metadata.location).rglob("data/**/*") if p.is_file()}


# --- a dictionary -----------------------------------------------------------------------------------------------------

KEYS = st.tuples(st.integers(0, 5), st.sampled_from(["2024-01-01", "2024-01-31", "2024-02-01"]))
BATCH = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 9))), min_size=1, max_size=6)
FIELDS = ["bucket(2, id)", "truncate(3, id)", "days(d)", "months(d)", "d"]
STEPS = st.one_of(
    st.tuples(st.just("upsert"), BATCH),
    st.tuples(st.just("upsert"), BATCH),
    st.tuples(st.just("upsert"), BATCH),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("field"), st.sampled_from(FIELDS)),
    st.tuples(st.just("format"), st.sampled_from(["parquet", "avro", "orc"])),
    st.tuples(st.just("upgrade"), st.just("3")),
)


def run(session: Session, steps: list[tuple[str, Any]]) -> None:
    session.execute("DROP TABLE IF EXISTS t")
    session.execute(f"CREATE TABLE t (id INT, v INT, d DATE, PRIMARY KEY (id, d) NOT ENFORCED) WITH ({ON})")
    model: dict[tuple[int, str], int | None] = {}
    there: set[str] = set()
    for what, value in steps:
        if what == "upsert":
            shown = ", ".join(
                f"({key[0]}, {'CAST(NULL AS INT)' if v is None else v}, DATE '{key[1]}')" for key, v in value
            )
            session.execute(f"INSERT INTO t VALUES {shown}")
            model.update(value)
        elif what == "delete":
            session.execute(f"DELETE FROM t WHERE id = {value[0]} AND d = DATE '{value[1]}'")
            model.pop(value, None)
        elif what == "field":
            session.execute(f"ALTER TABLE t {'DROP' if value in there else 'ADD'} PARTITION FIELD {value}")
            there ^= {value}
        elif what == "format":
            session.execute(f"ALTER TABLE t SET ('write.delete.format.default'='{value}')")
        else:
            session.execute(f"ALTER TABLE t SET ('format-version'='{value}')")
        found = rows(session, "SELECT id, CAST(d AS STRING), v FROM t")
        assert sorted(found, key=str) == sorted(((*key, v) for key, v in model.items()), key=str), steps


@given(steps=st.lists(STEPS, min_size=2, max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_table_is_a_dictionary(session: Session, steps: list[tuple[str, Any]]) -> None:
    run(session, steps)


@pytest.mark.long
@given(steps=st.lists(STEPS, min_size=2, max_size=14))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_table_is_a_dictionary_in_many_cases(session: Session, steps: list[tuple[str, Any]]) -> None:
    run(session, steps)


@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (bucket(4, id))"])
def test_the_last_row_in_the_querys_order_stays(session: Session, partitioned: str) -> None:
    session.execute(f"CREATE TABLE t (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) {partitioned} WITH ({ON})")
    source = "(SELECT s.i % 1000 AS id, s.i AS v FROM (SELECT id AS i FROM range(300000)) AS s)"
    session.execute(f"INSERT INTO t SELECT id, v FROM {source} AS q ORDER BY v")
    assert rows(session, "SELECT COUNT(*), MIN(v - id), MAX(v - id) FROM t") == [(1000, 299000, 299000)]
    session.execute(f"INSERT INTO t SELECT id, v FROM {source} AS q ORDER BY v DESC")
    assert rows(session, "SELECT COUNT(*), MIN(v - id), MAX(v - id) FROM t") == [(1000, 0, 0)]


# --- files ------------------------------------------------------------------------------------------------------------


def added(metadata: Any, storage: Any) -> list[Any]:
    snapshot = metadata.current_snapshot()
    return [
        entry.data_file
        for manifest in read_manifest_list(storage, snapshot, metadata)
        if manifest.added_snapshot_id == snapshot.snapshot_id
        for entry in read_manifest(storage, manifest, metadata)
    ]


def form(metadata: Any, storage: Any) -> list[Any]:
    """What there is to say of files, but for their paths and sizes, and position deletes."""
    told = ("content", "format", "partition", "equality_ids", "sort_order_id", "record_count", "value_counts")
    more = ("null_counts", "lower_bounds", "upper_bounds")
    return sorted(str([(n, getattr(f, n)) for n in (*told, *more)]) for f in added(metadata, storage) if f.content != 1)


def test_files_are_told_of_as_flinks_are(session: Session) -> None:
    """The rows of a batch that Flink upserted give the same entries of data files and delete files."""
    laid_out("upsert_partitioned")
    flink = HadoopCatalog("c", str(PLACE))
    metadata = flink.load_table(TableIdent(("flk",), "upsert_partitioned")).metadata
    names = ", ".join(f"'{f.path}'" for f in added(metadata, flink.storage()) if f.content == 0)
    session.execute(f"CREATE CATALOG ref WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{PLACE}')")
    session.execute(
        "CREATE TABLE t (id BIGINT, dt STRING, v INT, city STRING, PRIMARY KEY (id, dt) NOT ENFORCED)"
        f" PARTITIONED BY (dt) WITH ({ON})"
    )
    session.execute(f"INSERT INTO t SELECT * FROM ref.flk.upsert_partitioned WHERE `_file` IN ({names})")
    storage = session.catalog("default_catalog").storage()
    assert form(load(session).metadata, storage) == form(metadata, flink.storage())


@pytest.mark.parametrize(
    ("made", "values"),
    [
        ("", "(1, 'a'), (CAST(NULL AS INT), 'b')"),
        (", 'write.delete.format.default'='csv'", "(1, 'a')"),
        (", 'write.delete.parquet.compression-codec'='nope'", "(1, 'a')"),
        ("", "(1, 'a'), (1 / (SELECT 0), 'b')"),
    ],
)
def test_nothing_stays_of_what_failed(session: Session, made: str, values: str) -> None:
    session.execute(f"CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({ON}{made})")
    with pytest.raises(BergError):
        session.execute(f"INSERT INTO t VALUES {values}")
    assert files(session) == set()
    assert load(session).metadata.current_snapshot() is None


# --- others meanwhile -------------------------------------------------------------------------------------------------


def upsert(session: Session, base: LoadedTable, sql: str) -> None:
    """An upsert of a statement that read the table at ``base``."""
    catalog = session.catalog("default_catalog")
    metadata, storage = base.metadata, catalog.storage()
    written = write_upserts(
        session.duck,
        sql,
        {},
        key=key_of(metadata.schema),
        specs=reaching_specs(metadata, metadata.current_snapshot(), storage),
        metadata=metadata,
        storage=storage,
    )
    commit_snapshot(catalog, base, Upsert(written.files, deletes=written.deletes), storage)


@pytest.fixture
def filled(session: Session) -> LoadedTable:
    session.execute(f"CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({ON})")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return load(session)


def test_of_two_upserts_of_a_key_the_later_commit_stays(session: Session, filled: LoadedTable) -> None:
    upsert(session, filled, "SELECT 1, 'first'")
    upsert(session, filled, "SELECT 1, 'second' UNION ALL SELECT 3, 'c'")
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, "second"), (2, "b"), (3, "c")]


def test_a_delete_meanwhile_does_not_matter(session: Session, filled: LoadedTable) -> None:
    session.execute("DELETE FROM t WHERE id = 1")
    upsert(session, filled, "SELECT 1, 'again'")
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, "again"), (2, "b")]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("ALTER TABLE t ADD PARTITION FIELD bucket(2, id)", "partitioning"),
        ("ALTER TABLE t DROP PRIMARY KEY", "key"),
    ],
)
def test_another_key_or_partitioning_is_a_conflict(
    session: Session, filled: LoadedTable, change: str, what: str
) -> None:
    before = files(session)
    session.execute(change)
    with pytest.raises(StatementConflict, match=f"The {what} of the table was changed meanwhile"):
        upsert(session, filled, "SELECT 1, 'first'")
    assert files(session) == before
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, "a"), (2, "b")]


def test_a_property_that_is_neither_true_nor_false_is_refused() -> None:
    assert is_enabled({UPSERT: "TRUE"}, Flavour.FLINK)
    assert not is_enabled({UPSERT: "yes"}, Flavour.SPARK)
    with pytest.raises(BergError, match=r"'write.upsert.enabled' is 'yes': it takes true or false"):
        is_enabled({UPSERT: "yes"}, Flavour.FLINK)
