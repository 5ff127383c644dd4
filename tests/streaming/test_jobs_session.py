"""A session that is made again from its document means what it meant."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.catalog.store import Definition
from bergsql.engine.execute.session_spec import session_from, session_spec
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour


def again(session: Session) -> Session:
    """The session that another process would make of its document."""
    return session_from(json.loads(json.dumps(session_spec(session))))


def text(session: Session, statement: str) -> str:
    return "\n".join(" | ".join(map(str, row)) for row in session.execute(statement).rows())


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    catalogs = {"conf": Definition({"type": "iceberg", "catalog-type": "hadoop", "warehouse": str(tmp_path / "c")})}
    return Session(SessionConfig(home=tmp_path / "home", catalogs=catalogs, variables={"who": "me"}))


def test_tables_views_and_catalogs_are_there_again(session: Session, tmp_path: Path) -> None:
    run(
        session,
        f"CREATE CATALOG ice WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='{tmp_path / 'w'}')",
        "SET 'spark.sql.catalog.sp' = 'org.apache.iceberg.spark.SparkCatalog'",
        "SET 'spark.sql.catalog.sp.type' = 'hadoop'",
        f"SET 'spark.sql.catalog.sp.warehouse' = '{tmp_path / 'sp'}'",
        "CREATE DATABASE ice.db",
        "CREATE TABLE ice.db.t (id BIGINT, s STRING)",
        "INSERT INTO ice.db.t VALUES (1, 'a'), (2, 'b')",
        "CREATE CATALOG mem WITH ('type'='generic_in_memory')",
        "CREATE DATABASE mem.d COMMENT 'a place'",
        "CREATE TABLE mem.d.gen (a INT COMMENT 'it''s', b AS a + 1, k BIGINT METADATA FROM 'offset' VIRTUAL,"
        " ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED)"
        " WITH ('connector'='kafka','topic'='t','format'='csv','properties.bootstrap.servers'='localhost:9092')",
        "CREATE TEMPORARY TABLE tmp (x INT) WITH ('connector'='print')",
        "CREATE TABLE pointer (id BIGINT, s STRING) PARTITIONED BY (bucket(4, id))"
        " WITH ('connector'='iceberg','catalog-name'='ice','catalog-database'='db','catalog-table'='later')",
        "CREATE VIEW v AS SELECT id, s FROM ice.db.t WHERE id > 1",
        "CREATE VIEW w (one) AS SELECT id FROM v",
        "CREATE TEMPORARY VIEW v2 AS SELECT * FROM v /* the view */",
        "SET 'table.local-time-zone' = 'Asia/Shanghai'",
        "USE ice.db",
    )
    made = again(session)
    for statement in (
        "SHOW CATALOGS",
        "SHOW CURRENT CATALOG",
        "SHOW CURRENT DATABASE",
        "SHOW CREATE TABLE mem.d.gen",
        "DESCRIBE DATABASE EXTENDED mem.d",
        "DESCRIBE mem.d.gen",
        "SHOW TABLES IN default_catalog.default_database",
        "SHOW CREATE TABLE default_catalog.default_database.tmp",
        "SHOW CREATE TABLE default_catalog.default_database.pointer",
        "SHOW CREATE VIEW default_catalog.default_database.v",
        "SHOW CREATE VIEW default_catalog.default_database.w",
        "SELECT * FROM default_catalog.default_database.w",
        "SELECT * FROM default_catalog.default_database.v2",
        "SELECT * FROM t",
        "SELECT CAST(TIMESTAMP '2020-01-01 00:00:00' AS TIMESTAMP_LTZ(3))",
        "SHOW DATABASES IN conf",
        "SHOW DATABASES IN sp",
        "SET",
    ):
        assert text(made, statement) == text(session, statement), statement
    assert made.filled("${who}") == "me"


def test_a_pointer_makes_its_table_as_it_was_declared(session: Session, tmp_path: Path) -> None:
    run(
        session,
        f"CREATE CATALOG ice WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='{tmp_path / 'w'}')",
        "CREATE TABLE p (id BIGINT, ts TIMESTAMP(6)) PARTITIONED BY (bucket(4, id), days(ts))"
        " WITH ('connector'='iceberg','catalog-name'='ice','catalog-database'='db')",
    )
    made = again(session)
    run(made, "INSERT INTO p VALUES (1, TIMESTAMP '2020-01-01 00:00:00')")
    assert "PARTITIONED BY (bucket(4, `id`), days(`ts`))" in text(made, "SHOW CREATE TABLE ice.db.p")


def test_what_spark_defined_means_what_it_meant(tmp_path: Path) -> None:
    session = Session(SessionConfig(home=tmp_path, flavour=Flavour.SPARK))
    run(
        session,
        "CREATE TEMPORARY VIEW tv AS SELECT 'it\\'s' AS a, \"x\" AS b",
        "CREATE TEMPORARY FUNCTION twice(n INT DEFAULT 4) RETURNS INT COMMENT 'by \\'two\\'' RETURN n * 2",
        "CREATE FUNCTION default_catalog.default_database.half(n DOUBLE) RETURN n / 2",
    )
    made = again(session)
    for statement in (
        "SELECT * FROM tv",
        "SELECT twice(), twice(3), default_catalog.default_database.half(3)",
        "DESCRIBE FUNCTION EXTENDED twice",
        "SHOW USER FUNCTIONS",
    ):
        assert text(made, statement) == text(session, statement), statement


def test_functions_in_python_are_imported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "job_functions.py").write_text("def plus(n: int) -> int:\n    return n + 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    session = Session(SessionConfig(home=tmp_path))
    run(session, "CREATE TEMPORARY SYSTEM FUNCTION plus AS 'job_functions.plus' LANGUAGE PYTHON")
    assert text(again(session), "SELECT plus(1)") == "2"
    (tmp_path / "job_functions.py").unlink()
    spec: Mapping[str, object] = session_spec(session)
    monkeypatch.delitem(sys.modules, "job_functions")
    with pytest.raises(BergError, match="There is no Python module 'job_functions'"):
        session_from(spec)


def test_a_table_in_a_directory_is_there_again(session: Session, tmp_path: Path) -> None:
    run(
        session,
        f"CREATE EXTERNAL TABLE e (id INT) STORED BY ICEBERG LOCATION '{tmp_path / 'e'}'",
        "INSERT INTO e VALUES (5)",
    )
    assert text(again(session), "SELECT * FROM e") == "5"


def test_references_to_the_environment_stay(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE_OF_JOB", str(tmp_path / "w"))
    run(session, "CREATE CATALOG ice WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='${env:PLACE_OF_JOB}')")
    assert "${env:PLACE_OF_JOB}" in json.dumps(session_spec(session))
    assert text(again(session), "SHOW CREATE CATALOG ice") == text(session, "SHOW CREATE CATALOG ice")
