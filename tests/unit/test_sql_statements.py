"""Statements on sessions, catalogs and databases, and INSERT, parsed into values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


def plain(value: Any) -> Any:
    """A value without its spans and defaults: ``("Set", {"key": "a"})``; names as dotted text."""
    if isinstance(value, st.Name):
        return ".".join(value.parts)
    if isinstance(value, st.Option):
        return (value.key, value.value)
    if isinstance(value, (st.Query, st.Expression)):
        return value.text
    if isinstance(value, st.Select):
        return ("Select", {"query": value.query.text})
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        given = {f.name: plain(getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != f.default}
        return (type(value).__name__, {k: v for k, v in given.items() if not k.endswith(("span", "spans")) and v != ()})
    return value


def parsed(sql: str, flavour: Flavour = FLINK) -> Any:
    """The statement of ``sql``, plain."""
    return plain(parse(sql, flavour))


def error(sql: str, flavour: Flavour = FLINK) -> BergError:
    """The complaint about ``sql``."""
    with pytest.raises(BergError) as told:
        parse(sql, flavour)
    return told.value


def at(sql: str, flavour: Flavour = FLINK) -> str:
    """The word that the complaint about ``sql`` points at."""
    span = error(sql, flavour).span
    assert span is not None
    return sql[span.start : span.end]


@pytest.mark.parametrize(
    ("sql", "key", "value"),
    [
        ("SET", None, None),
        ("SET;", None, None),
        ("set -v", None, None),
        ("SET 'a.b' = 'c'", "a.b", "c"),
        ("SET 'a.b'", "a.b", None),
        ("SET a.b", "a.b", None),
        ("SET 'k'='it''s'", "k", "it's"),
        ("SET execution.checkpointing.interval = 3s;", "execution.checkpointing.interval", "3s"),
        ("SET execution.runtime-mode = batch", "execution.runtime-mode", "batch"),
        ("SET spark.sql.catalog.c.warehouse = /tmp/a b/--x", "spark.sql.catalog.c.warehouse", "/tmp/a b/--x"),
        ("SET a=hdfs://nn:8020/wh -- the warehouse", "a", "hdfs://nn:8020/wh"),
        ("SET /* c */ a = /* d */ b /* e */", "a", "b"),
        ("-- c\nSET a = 'b'", "a", "b"),
        ("SET a = it's", "a", "it's"),
        ("SET a =", "a", ""),
        ("SET a = b = c", "a", "b = c"),
        ('SET `a` = "b"', "a", "b"),
        ("SET TIME ZONE 'Asia/Shanghai'", "table.local-time-zone", "Asia/Shanghai"),
    ],
)
def test_set(sql: str, key: str | None, value: str | None) -> None:
    statement = parse(sql, FLINK)
    assert isinstance(statement, st.Set)
    assert (statement.key, statement.value) == (key, value)


def test_set_points_at_what_is_wrong() -> None:
    assert at("SET 'a' 'b'") == "'"
    assert at("SET a = 'b") == "="
    assert at("SET = b") == "="
    assert at("SETT a = b") == "SETT"


@pytest.mark.parametrize(
    ("sql", "key"), [("RESET", None), ("RESET;", None), ("RESET 'a.b'", "a.b"), ("RESET a.b-c", "a.b-c")]
)
def test_reset(sql: str, key: str | None) -> None:
    statement = parse(sql, SPARK)
    assert isinstance(statement, st.Reset)
    assert statement.key == key


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        (
            "CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type'='iceberg', 'warehouse'='/w')",
            (
                "CreateCatalog",
                {
                    "name": "c",
                    "options": (("type", "iceberg"), ("warehouse", "/w")),
                    "comment": "x",
                    "if_not_exists": True,
                },
            ),
        ),
        ("CREATE CATALOG c WITH ()", ("CreateCatalog", {"name": "c"})),
        ("DROP CATALOG IF EXISTS `c d`", ("DropCatalog", {"name": "c d", "if_exists": True})),
        ("USE CATALOG c", ("UseCatalog", {"name": "c"})),
        ("SHOW CATALOGS LIKE 'a%'", ("ShowCatalogs", {"like": ("a%", False, False)})),
        ("SHOW CURRENT CATALOG", ("ShowCurrentCatalog", {})),
        ("SHOW CREATE CATALOG c", ("ShowCreateCatalog", {"name": "c"})),
        (
            "CREATE DATABASE IF NOT EXISTS c.d COMMENT 'two' WITH ('k'='v')",
            ("CreateDatabase", {"name": "c.d", "if_not_exists": True, "comment": "two", "properties": (("k", "v"),)}),
        ),
        (
            "create namespace n location '/x' with dbproperties (a.b = 1, 'c'=true)",
            ("CreateDatabase", {"name": "n", "location": "/x", "properties": (("a.b", "1"), ("c", "true"))}),
        ),
        ("CREATE SCHEMA s", ("CreateDatabase", {"name": "s"})),
        ("DROP DATABASE IF EXISTS c.d CASCADE", ("DropDatabase", {"name": "c.d", "if_exists": True, "cascade": True})),
        ("drop namespace d restrict;", ("DropDatabase", {"name": "d"})),
        ("USE c.d", ("UseDatabase", {"name": "c.d"})),
        ("USE `default`", ("UseDatabase", {"name": "default"})),
        ("use database", ("UseDatabase", {"name": "database"})),
        ("use namespace n", ("UseDatabase", {"name": "n", "bare": False})),
        ("SHOW DATABASES", ("ShowDatabases", {})),
        ("show namespaces in c like 'x*'", ("ShowDatabases", {"catalog": "c", "like": ("x*", False, False)})),
        ("SHOW CURRENT DATABASE", ("ShowCurrentDatabase", {})),
        ("SHOW CURRENT NAMESPACE", ("ShowCurrentDatabase", {"namespace_form": True})),
        ("SHOW TABLES FROM c.d LIKE 'p%'", ("ShowTables", {"database": "c.d", "like": ("p%", False, False)})),
        ("show tables 'p*'", ("ShowTables", {"like": ("p*", False, False)})),
        ("SHOW TABLES NOT LIKE 'a'", ("ShowTables", {"like": ("a", True, False)})),
        ("SHOW CATALOGS NOT ILIKE 'a'", ("ShowCatalogs", {"like": ("a", True, True)})),
        ("DESC TABLE c.d.t", ("Describe", {"name": "c.d.t"})),
        ("DESCRIBE EXTENDED t", ("Describe", {"name": "t", "extended": True})),
        ("DESCRIBE TABLE FORMATTED t a.b", ("Describe", {"name": "t", "extended": True, "column": "a.b"})),
        ("DESC extended", ("Describe", {"name": "extended"})),
        ("DESC t AS JSON", ("Describe", {"name": "t", "as_json": True})),
        ("DESCRIBE database", ("Describe", {"name": "database"})),
        ("DESC SCHEMA EXTENDED c.d", ("DescribeDatabase", {"name": "c.d", "extended": True})),
        ("DESCRIBE CATALOG c", ("DescribeCatalog", {"name": "c"})),
        ("SHOW FULL MODULES", ("ShowModules", {"full": True})),
        ("SHOW MODULES", ("ShowModules", {})),
        (
            "SHOW COLUMNS IN t FROM d LIKE 'x'",
            ("ShowColumns", {"name": "t", "database": "d", "like": ("x", False, False)}),
        ),
        ("UNCACHE TABLE IF EXISTS t", ("CacheTable", {"name": "t", "verb": "UNCACHE", "if_exists": True})),
        ("SET CATALOG `a b`", ("UseCatalog", {"name": "a b"})),
        ("DESCRIBE `t$snapshots`", ("Describe", {"name": "t$snapshots"})),
        ("describe extended", ("Describe", {"name": "extended"})),
        ("SHOW CREATE TABLE t", ("ShowCreateTable", {"name": "t"})),
        ("SHOW TBLPROPERTIES t ('a.b')", ("ShowTableProperties", {"name": "t", "key": "a.b"})),
        ("show tblproperties t(a.b)", ("ShowTableProperties", {"name": "t", "key": "a.b"})),
        ("DROP TABLE IF EXISTS a.b.c", ("DropTable", {"name": "a.b.c", "if_exists": True})),
        ("drop table t purge", ("DropTable", {"name": "t", "purge": True})),
        ("DROP TEMPORARY TABLE t;;", ("DropTable", {"name": "t", "temporary": True})),
    ],
)
def test_small_statements(sql: str, value: Any) -> None:
    assert parsed(sql, FLINK) == value
    assert parsed(sql, SPARK) == value


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("INSERT INTO t VALUES (1, 'a')", {"target": "t", "query": "VALUES (1, 'a')"}),
        ("insert into table c.d.t select * from s", {"target": "c.d.t", "query": "select * from s"}),
        (
            "INSERT INTO t (b, `a`) WITH x AS (SELECT 1) SELECT * FROM x",
            {"target": "t", "query": "WITH x AS (SELECT 1) SELECT * FROM x", "columns": ("b", "a")},
        ),
        ("INSERT INTO t (SELECT 1)", {"target": "t", "query": "(SELECT 1)"}),
        ("INSERT INTO t TABLE s", {"target": "t", "query": "TABLE s"}),
        ("INSERT OVERWRITE t SELECT 1;", {"target": "t", "query": "SELECT 1", "overwrite": True}),
        (
            "INSERT OVERWRITE t PARTITION (a='x', b = 1 + 1, c) SELECT 5",
            {
                "target": "t",
                "query": "SELECT 5",
                "overwrite": True,
                "partition": (
                    ("PartitionValue", {"column": "a", "value": "'x'"}),
                    ("PartitionValue", {"column": "b", "value": "1 + 1"}),
                    ("PartitionValue", {"column": "c", "value": None}),
                ),
            },
        ),
        (
            "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ VALUES (1)",
            {"target": "t", "query": "VALUES (1)", "hints": (("upsert-enabled", "true"),)},
        ),
        ("insert into d.t.branch_b values (1)", {"target": "d.t.branch_b", "query": "values (1)"}),
    ],
)
def test_insert(sql: str, value: dict[str, Any]) -> None:
    kind, given = parsed(sql)
    assert kind == "Insert"
    assert given == value


def test_spans_point_into_the_statement() -> None:
    sql = "INSERT INTO c.`d`.t (aa, bb) PARTITION"
    assert at(sql) == "PARTITION"
    statement = parse("INSERT INTO  c.`d`.t (aa, bb) SELECT 1", FLINK)
    assert isinstance(statement, st.Insert)
    assert statement.target.span == Span(13, 20)
    assert statement.column_spans == (Span(22, 24), Span(26, 28))
    assert statement.query.span == Span(30, 38)


def test_explain() -> None:
    assert parsed("EXPLAIN SELECT 1") == ("Explain", {"statement": ("Select", {"query": "SELECT 1"})})
    for sql, mode in (
        ("EXPLAIN PLAN FOR SELECT 1", "PLAN FOR"),
        ("explain extended select 1", "EXTENDED"),
        ("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE SELECT 1", "ESTIMATED_COST, CHANGELOG_MODE"),
    ):
        statement = parse(sql, SPARK)
        assert isinstance(statement, st.Explain)
        assert statement.mode == mode
    inner = parse("EXPLAIN INSERT INTO t SELECT 1", FLINK)
    assert isinstance(inner, st.Explain)
    assert isinstance(inner.statement, st.Insert)


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        ("SELEC 1", "SELEC", "Did you mean 'SELECT'?"),
        ("42", "42", None),
        ("DROP TABL t", "TABL", "Did you mean 'TABLE'?"),
        ("SHOW TABLS", "TABLS", "Did you mean 'TABLES'?"),
        ("INSERT INT t VALUES (1)", "INT", "Did you mean 'INTO'?"),
        ("CREATE TABLE u (id INT) PARTITIOND BY (id)", "PARTITIOND", "Did you mean 'PARTITIONED'?"),
        ("CREATE CATALOG c WIHT ('a'='b')", "WIHT", "Did you mean 'WITH'?"),
        ("CREATE CATALOG c WITH ('a' 'b')", "'b'", None),
        ("CREATE CATALOG c WITH ('a'='b'", " ", None),
        ("DROP DATABASE d CASCAD", "CASCAD", "Did you mean 'CASCADE'?"),
        ("USE a.b extra", "extra", None),
        ("DESCRIBE 'x'", "'x'", None),
        ("CREATE DATABASE IF EXISTS d", "EXISTS", None),
        ("INSERT INTO t (a, b, a) SELECT 1", "a", None),
        ("ALTER TABEL t SET ('a'='b')", "TABEL", "Did you mean 'TABLE'?"),
        ("ALTER TABLE t RENAM TO u", "RENAM", "Did you mean 'RENAME'?"),
    ],
)
def test_a_slip_is_a_syntax_error_at_its_word(sql: str, word: str, hint: str | None) -> None:
    complaint = error(sql)
    assert complaint.code is ErrorCode.SYNTAX
    assert complaint.span is not None
    assert (sql + " ")[complaint.span.start : complaint.span.end] == word
    assert complaint.hint == hint


@pytest.mark.parametrize(
    "sql", ["USE", "USE CATALOG", "SHOW", "SHOW CREATE", "DESCRIBE", "EXPLAIN", "DROP", "ALTER TABLE t"]
)
def test_an_early_end_is_told_behind_the_last_word(sql: str) -> None:
    complaint = error(sql + "  -- comment")
    assert complaint.span == Span(len(sql), len(sql) + 1)
    assert "the statement ends here" in complaint.message


@pytest.mark.parametrize("sql", ["", "  ", "-- c", "/* c */", ";"])
def test_nothing_is_not_a_statement(sql: str) -> None:
    assert error(sql).code is ErrorCode.SYNTAX
