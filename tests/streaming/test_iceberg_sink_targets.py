"""What a statement may name as the Iceberg sink of a stream: a branch, a connector table; and what hints ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.base import TableIdent
from bergsql.catalog.metadata.changes import SetSnapshotRef
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,a\n2,b\n1,c\n")
    run(
        opened,
        f"CREATE TABLE src (id BIGINT, x STRING) WITH ('connector'='filesystem', 'format'='csv', 'path'='{tmp_path}/in')",
    )
    yield opened
    opened.close()


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).close()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return sorted(result.rows(), key=str)
    finally:
        result.close()


def stream(session: Session, insert: str) -> None:
    statement = parse(insert, session.flavour)
    assert isinstance(statement, st.Insert)
    store = Store.open(session.home / "state")
    plan = plan_insert_jobs(session, [statement])
    runner = Runner(
        plan, session.duck, store, job_id="ab" * 16, setting=session.setting, time_zone="UTC", note=lambda _: None
    )
    try:
        runner.open()
        runner.run(lambda: None)
    finally:
        runner.close()
        store.close()


ALL = [(1, "a"), (1, "c"), (2, "b")]


def test_a_branch(session: Session) -> None:
    run(session, "CREATE TABLE t (id BIGINT, x STRING)", "INSERT INTO t VALUES (9, 'z')")
    catalog = session.catalog("default_catalog")
    table = catalog.load_table(TableIdent(("default_database",), "t"))
    catalog.commit(table, [SetSnapshotRef("b", SnapshotRef(table.metadata.current_snapshot_id or 0))])
    stream(session, "INSERT INTO t.branch_b SELECT * FROM src")
    assert rows(session, "SELECT * FROM t") == [(9, "z")]
    assert rows(session, "SELECT * FROM t.branch_b") == [*ALL, (9, "z")]


def test_a_connector_table(session: Session, tmp_path: Path) -> None:
    run(
        session,
        "CREATE TABLE c (id BIGINT, x STRING) WITH ('connector'='iceberg', 'catalog-name'='other', "
        f"'catalog-type'='hadoop', 'warehouse'='{tmp_path}/other')",
    )
    stream(session, "INSERT INTO c SELECT * FROM src")
    assert rows(session, "SELECT * FROM c") == ALL


def test_hints(session: Session) -> None:
    run(session, "CREATE TABLE t (id BIGINT, x STRING, PRIMARY KEY (id) NOT ENFORCED)", "INSERT INTO t VALUES (1, 'z')")
    stream(session, "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true', 'write-format'='orc') */ SELECT * FROM src")
    assert rows(session, "SELECT * FROM t") == [(1, "c"), (2, "b")]
    assert rows(session, "SELECT DISTINCT file_format FROM t$data_files") == [("ORC",), ("PARQUET",)]
    properties = rows(session, "SHOW TBLPROPERTIES t")
    assert (f"bergsql.job.{'ab' * 16}.sink-1", "1") in properties
