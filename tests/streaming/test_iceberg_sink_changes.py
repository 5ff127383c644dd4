"""Changes of rows with keys into an Iceberg table: behind each checkpoint it is what the changes make of a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.sinks.base import Writer
from bergsql.engine.streaming.sinks.iceberg import IcebergSink, iceberg_sink
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest
from tests.support.sinks import HandContext, changes, checkpoint

RETRACT, UPSERT, INSERT_ONLY = ChangelogMode.RETRACT, ChangelogMode.UPSERT, ChangelogMode.INSERT_ONLY
Row = tuple[Any, ...]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    yield opened
    opened.close()


def sink(
    session: Session, mode: ChangelogMode, *, upserts: bool = False, key: tuple[int, ...] | None = None
) -> IcebergSink:
    from bergsql.catalog.errors import Span
    from bergsql.engine.execute.destination import destination
    from bergsql.engine.sql.statements import Name

    made = iceberg_sink(destination(session, Name(("t",), Span(0, 1))), upserts=upserts)
    made.check(mode, made.key if key is None else key)
    return made


def writer(session: Session, mode: ChangelogMode, restored: int = 0, *, upserts: bool = False) -> Writer:
    return sink(session, mode, upserts=upserts).writer(HandContext(session.duck), restored)


def rows(session: Session, query: str = "SELECT * FROM t") -> list[Row]:
    result = session.execute(query)
    try:
        return sorted(result.rows(), key=str)
    finally:
        result.close()


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        list(session.execute(statement).rows())


def added(session: Session) -> dict[int, int]:
    """How many files of each content the last snapshot added."""
    catalog = session.catalog("default_catalog")
    metadata = catalog.load_table(TableIdent(("default_database",), "t")).metadata
    head = metadata.current_snapshot()
    assert head is not None
    found: dict[int, int] = {}
    for manifest in read_manifest_list(catalog.storage(), head, metadata):
        if manifest.added_snapshot_id == head.snapshot_id:
            for entry in read_manifest(catalog.storage(), manifest, metadata):
                found[entry.data_file.content] = found.get(entry.data_file.content, 0) + 1
    return found


def summary(session: Session) -> dict[str, str]:
    catalog = session.catalog("default_catalog")
    head = catalog.load_table(TableIdent(("default_database",), "t")).metadata.current_snapshot()
    assert head is not None
    return dict(head.summary)


KEYED = "CREATE TABLE t (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) {} WITH ('format-version'='{}')"
"""With the partitioning and the format version."""


# --- folding --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_the_last_change_of_a_key_counts(session: Session, version: int) -> None:
    run(session, KEYED.format("", version), "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
    to = writer(session, RETRACT)
    to.write(changes(("-U", 1, 0), ("+U", 1, 1), ("-D", 2, 0), ("+I", 4, 4), ("+I", 5, 5)))
    to.write(changes(("-U", 1, 1), ("+U", 1, 2), ("-D", 5, 5), ("+I", 6, 6)))
    assert checkpoint(to, 1)
    assert rows(session) == [(1, 2), (3, 0), (4, 4), (6, 6)]
    assert added(session) == {FileContent.DATA: 1, FileContent.EQUALITY_DELETES: 1}
    told = summary(session)
    assert told["operation"] == "overwrite"
    assert told["added-records"] == "3"
    assert told["added-equality-deletes"] == "2"


def test_new_keys_alone_are_an_append(session: Session) -> None:
    run(session, KEYED.format("", 2))
    to = writer(session, RETRACT)
    to.write(changes(("+I", 1, 0), ("+I", 2, 0)))
    assert checkpoint(to, 1)
    assert summary(session)["operation"] == "append"
    assert added(session) == {FileContent.DATA: 1}


def test_deletes_alone_are_a_delete(session: Session) -> None:
    run(session, KEYED.format("", 2), "INSERT INTO t VALUES (1, 0), (2, 0)")
    to = writer(session, RETRACT)
    to.write(changes(("-D", 1, 0)))
    assert checkpoint(to, 1)
    assert summary(session)["operation"] == "delete"
    assert rows(session) == [(2, 0)]


def test_what_comes_and_goes_in_one_checkpoint_is_nothing(session: Session) -> None:
    run(session, KEYED.format("", 2))
    to = writer(session, RETRACT)
    to.write(changes(("+I", 1, 0)))
    to.write(changes(("-D", 1, 0)))
    assert not checkpoint(to, 1)


@pytest.mark.parametrize("mode", [UPSERT, INSERT_ONLY])
def test_upserts_delete_the_keys_always(session: Session, mode: ChangelogMode) -> None:
    run(session, KEYED.format("", 2), "INSERT INTO t VALUES (1, 0), (2, 0)")
    to = writer(session, mode, upserts=mode is INSERT_ONLY)
    to.write(changes(("+I", 1, 1), ("+I", 3, 1), ("+I", 1, 2)))
    assert checkpoint(to, 1)
    assert rows(session) == [(1, 2), (2, 0), (3, 1)]
    assert summary(session)["added-equality-deletes"] == "2"


def test_an_insert_only_query_appends_without_upserts(session: Session) -> None:
    run(session, KEYED.format("", 2), "INSERT INTO t VALUES (1, 0)")
    to = writer(session, INSERT_ONLY)
    to.write(changes(("+I", 1, 1)))
    assert checkpoint(to, 1)
    assert rows(session) == [(1, 0), (1, 1)]


def test_a_key_that_moves_is_deleted_in_its_old_partition(session: Session) -> None:
    run(
        session,
        "CREATE TABLE t (name STRING, id BIGINT, day BIGINT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (day) "
        "WITH ('format-version'='2')",
        "INSERT INTO t VALUES ('a', 1, 10), ('b', 2, 10)",
        "ALTER TABLE t ADD PARTITION FIELD bucket(2, name)",
    )
    to = writer(session, RETRACT)
    to.write(changes(("-U", "a", 1, 10), ("+U", "A", 1, 20), ("-D", "b", 2, 10), ("+I", "c", 3, 10)))
    assert checkpoint(to, 1)
    assert rows(session) == [("A", 1, 20), ("c", 3, 10)]
    to.write(changes(("-U", "A", 1, 20), ("+U", "x", 1, 30), ("-U", "x", 1, 30), ("+U", "y", 1, 10)))
    assert checkpoint(to, 2)
    assert rows(session) == [("c", 3, 10), ("y", 1, 10)]


# --- a dictionary ---------------------------------------------------------------------------------------------------------

CHANGE = st.tuples(st.integers(0, 6), st.one_of(st.none(), st.tuples(st.integers(0, 3), st.integers(0, 2))))
"""A key, and its new value and day, or that it goes."""
STEP = st.one_of(
    st.tuples(st.just("changes"), st.lists(CHANGE, min_size=1, max_size=6)),
    st.tuples(st.just("changes"), st.lists(CHANGE, min_size=1, max_size=6)),
    st.tuples(st.just("commit"), st.just("")),
    st.tuples(st.just("alter"), st.sampled_from(["ADD PARTITION FIELD bucket(2, id)", "ADD PARTITION FIELD day",
                                                 "SET ('write.delete.format.default'='avro')",
                                                 "SET ('write.format.default'='orc')",
                                                 "SET ('format-version'='3')"])),
)  # fmt: skip


def dictionary(session: Session, steps: list[tuple[str, Any]]) -> None:
    run(session, "DROP TABLE IF EXISTS t", "CREATE TABLE t (id BIGINT, v BIGINT, day BIGINT, PRIMARY KEY (id) NOT "
        "ENFORCED) WITH ('format-version'='2')")  # fmt: skip
    to, number, done = writer(session, RETRACT), 0, set[str]()
    model: dict[int, tuple[int, int]] = {}
    for what, value in [*steps, ("commit", "")]:
        if what == "changes":
            told: list[Row] = []
            for key, new in value:
                old = model.pop(key, None)
                if new is not None:
                    model[key] = new
                if old is not None:
                    told.append(("-D" if new is None else "-U", key, *old))
                if new is not None:
                    told.append(("+I" if old is None else "+U", key, *new))
            if told:
                to.write(changes(*told))
        elif what == "commit":
            number += 1
            checkpoint(to, number)
            assert rows(session) == sorted(((k, *v) for k, v in model.items()), key=str), steps
        elif value not in done:
            number += 1
            checkpoint(to, number)
            done.add(value)
            run(session, f"ALTER TABLE t {value}")


@given(steps=st.lists(STEP, min_size=2, max_size=8))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_table_is_a_dictionary(session: Session, steps: list[tuple[str, Any]]) -> None:
    dictionary(session, steps)


@pytest.mark.long
@given(steps=st.lists(STEP, min_size=2, max_size=16))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_table_is_a_dictionary_in_many_cases(session: Session, steps: list[tuple[str, Any]]) -> None:
    dictionary(session, steps)


# --- refused --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "mode", "key", "told", "hint"),
    [
        ("(id BIGINT, v BIGINT)", RETRACT, (), "has no primary key", "ADD PRIMARY KEY"),
        ("(id BIGINT, v BIGINT) WITH ('format-version'='1')", RETRACT, (), "format version 1", "'format-version'='2'"),
        ("(id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)", RETRACT, (0, 1), "told apart by (id, v)", "primary key"),
        ("(id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (v)", UPSERT, (0,), "'v'", "PRIMARY KEY"),
    ],
)  # fmt: skip
def test_changes_that_a_table_cannot_take(
    session: Session, table: str, mode: ChangelogMode, key: tuple[int, ...], told: str, hint: str
) -> None:
    run(session, f"CREATE TABLE t {table}")
    with pytest.raises(BergError) as caught:
        sink(session, mode, key=key)
    assert told in caught.value.message
    assert hint in (caught.value.hint or "")


def test_a_null_in_a_key_names_it(session: Session) -> None:
    run(session, KEYED.format("", 2))
    to = writer(session, RETRACT)
    to.write(changes(("+I", None, 1)))
    with pytest.raises(BergError, match="Column 'id' is NOT NULL"):
        to.prepare(1)


def test_a_key_that_was_changed_meanwhile_stops_the_job(session: Session) -> None:
    run(session, "CREATE TABLE t (id BIGINT, v BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH "
        "('format-version'='2')", "INSERT INTO t VALUES (1, 1)")  # fmt: skip
    to = writer(session, RETRACT)
    to.write(changes(("-U", 1, 1), ("+U", 1, 2)))
    committable = to.prepare(1)
    run(session, "ALTER TABLE t SET IDENTIFIER FIELDS id, v")
    with pytest.raises(BergError, match=r"The key of table .* was changed"):
        to.commit(1, committable)
    to.write(changes(("-U", 1, 1), ("+U", 1, 2)))
    with pytest.raises(BergError, match="its key was changed"):
        to.prepare(2)


def test_a_partitioning_that_was_changed_and_used_meanwhile_stops_the_job(session: Session) -> None:
    run(session, KEYED.format("PARTITIONED BY (bucket(2, id))", 2), "INSERT INTO t VALUES (1, 1)")
    to = writer(session, RETRACT)
    to.write(changes(("-U", 1, 1), ("+U", 1, 2)))
    committable = to.prepare(1)
    run(session, "ALTER TABLE t ADD PARTITION FIELD truncate(10, id)")
    to.commit(1, committable)
    to.write(changes(("-U", 1, 2), ("+U", 1, 3)))
    committable = to.prepare(2)
    run(session, "ALTER TABLE t ADD PARTITION FIELD bucket(7, id)", "INSERT INTO t VALUES (5, 5)")
    with pytest.raises(BergError, match=r"The partitioning of table .* was changed"):
        to.commit(2, committable)
    assert rows(session) == [(1, 2), (5, 5)]
