"""Every form of Flink's and Spark's statements that bergsql does not run is recognised, read through and named."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse, statement_words

FORMS = {
    "ALTER MATERIALIZED TABLE t SUSPEND": "ALTER MATERIALIZED",
    "ALTER TABLE t CREATE BRANCH b": "CREATE BRANCH",
    "ALTER TABLE t RENAME CONSTRAINT a TO b": "RENAME CONSTRAINT",
    "ALTER TABLE t EXECUTE expire_snapshots": "EXECUTE",
    "ALTER TABLE t CREATE OR REPLACE BRANCH b AS OF VERSION 1 RETAIN 7 DAYS "
    "WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 DAYS": "CREATE BRANCH",
    "ALTER TABLE t CREATE BRANCH b WITH SNAPSHOT RETENTION 3 DAYS": "CREATE BRANCH",
    "ALTER TABLE t CREATE TAG IF NOT EXISTS g AS OF VERSION 1 RETAIN 7 DAYS": "CREATE TAG",
    "ALTER TABLE t REPLACE BRANCH b AS OF VERSION 1": "REPLACE BRANCH",
    "ALTER TABLE t REPLACE TAG g AS OF VERSION 1": "REPLACE TAG",
    "ALTER TABLE t DROP BRANCH IF EXISTS b": "DROP BRANCH",
    "ALTER TABLE t DROP TAG g": "DROP TAG",
    "ADD FILE '/x'": "ADD FILE",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS": "FOR COLUMNS",
    "ANALYZE TABLE t PARTITION (a='b') COMPUTE STATISTICS": "PARTITION",
    "CACHE LAZY TABLE v OPTIONS ('storageLevel'='DISK_ONLY') AS SELECT 1": "CACHE TABLE",
    "CALL c.system.rollback_to_snapshot('db.t', 1)": "CALL",
    "CALL c.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2999-01-01 00:00:00')": "CALL",
    "CALL c.system.rewrite_data_files(table => 't', options => map('a', 'b'), snapshot_ids => array(1))": "CALL",
    "COMPILE PLAN '/p' FOR INSERT INTO t SELECT 1": "COMPILE PLAN",
    "CREATE INDEX i ON t (id)": "CREATE INDEX",
    "EXECUTE PLAN '/p'": "EXECUTE PLAN",
    "GRANT ALL ON x TO y": "GRANT",
    "INSERT INTO t REPLACE WHERE a = 1 SELECT 2": "REPLACE",
    "REFRESH FUNCTION f": "REFRESH FUNCTION",
    "REFRESH '/x'": "REFRESH of a path",
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY a ORDER BY b MEASURES A.x AS y PATTERN (A) DEFINE A AS A.x > 0)": (
        "MATCH_RECOGNIZE"
    ),
    "SELECT a FROM t START WITH a = 1 CONNECT BY PRIOR a = b": "CONNECT BY",
    "START TRANSACTION": "transaction",
}


@pytest.mark.parametrize("sql", FORMS)
def test_is_named(sql: str) -> None:
    statement = parse(sql, Flavour.FLINK)
    assert isinstance(statement, st.Unsupported)
    assert FORMS[sql] in statement.form
    assert 0 <= statement.span.start < statement.span.end <= len(sql)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("ALTER TABLE t CREATE OR REPLACE TAG g RETAIN 1 DAYS", "CREATE OR REPLACE TAG"),
        ("CALL\n c.system.f(1)", "CALL"),
    ],
)
def test_its_words_are_pointed_at(sql: str, words: str) -> None:
    statement = parse(sql, Flavour.FLINK)
    assert isinstance(statement, st.Unsupported)
    assert sql[statement.span.start : statement.span.end] == words


@pytest.mark.parametrize("sql", [s for s in FORMS if "RIGHT JOIN" not in s])
def test_is_named_in_the_other_flavour_too(sql: str) -> None:
    statement = parse(sql + ";", Flavour.SPARK)
    assert isinstance(statement, st.Unsupported)
    assert FORMS[sql] in statement.form


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        (
            "MERGE INTO t USING (SELECT 1 id) s ON t.id = s.id WHEN NOT MATCHED ADN s.id > 0 THEN INSERT (id) VALUES (s.id)",
            "ADN",
            "Did you mean 'AND'?",
        ),
        ("MERGE INTO t USING s ON t.id = s.id", " ", None),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE a = 1", "a", None),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE FROM t", "FROM", None),
        ("MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN DELETE", "DELETE", None),
        ("UPDATE t SET a = 1 WHER id = 2", "id", "Did you mean 'WHERE'?"),
        ("UPDATE t SET a", " ", None),
        ("DELETE FROM t WHERE", " ", None),
        ("DELETE t", "t", None),
        ("CALL c.system.f(table => )", ")", None),
        ("CALL c.system.f", " ", None),
        ("CREATE VIEW v AS SELEC 1", "SELEC", None),
        ("CREATE VIEW v", " ", None),
        ("EXECUTE STATEMENT SET BEGIN SELECT 1; END", "SELECT", None),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1 END", " ", None),
        ("END", "END", None),
        ("ALTER TABLE t CREATE BRANCH b AS OF VERSION x", "x", None),
        ("ALTER TABLE t WRITE ORDERD BY a", "ORDERD", "Did you mean 'ORDERED'?"),
        ("TRUNCATE t", "t", None),
        ("SHOW FUNCTION", "FUNCTION", "Did you mean 'FUNCTIONS'?"),
        ("STOP JOB 1", "1", None),
        ("STOP JOB '1' WITH DRAIN", "DRAIN", "STOP JOB '1' WITH SAVEPOINT WITH DRAIN;"),
        ("STOP JOB '1' WITH SAVEPOINT WITH", " ", None),
        ("STOP JOB '1' WITH SAVEPONT", "SAVEPONT", "Did you mean 'SAVEPOINT'?"),
        ("SHOW PARTITIONS t PARTITION (a='b', )", ")", None),
        ("SHOW PARTITIONS t PARTITION (a=b)", "b", None),
        ("SHOW TABLE EXTENDED IN d", " ", None),
        ("SHOW COLUMNS t", "t", None),
        ("SHOW MODULES core", "core", None),
        ("LOAD MODULE hive WIHT ('a'='b')", "WIHT", "Did you mean 'WITH'?"),
        ("USE MODULES a b", "b", None),
        ("ADD JAR", " ", None),
        ("ANALYZE TABLE t COMPUTE STATISTIC", "STATISTIC", "Did you mean 'STATISTICS'?"),
        ("CACHE TABLE IF EXISTS t", "EXISTS", None),
        ("COMMENT ON TABLE t IS", " ", None),
        ("COMMENT ON COLUMN a IS 'x'", "a", None),
        ("DESCRIBE t EXTENDED x", "x", None),
        ("MSCK TABLE t", "TABLE", None),
        ("TRUNCATE TABLE t now", "now", None),
        ("CALL c.f() and more", "and", None),
        ("CREATE VIEW v AS SELECT 1; SELECT 2", "SELECT", None),
        ("DROP VIEW v, w", ",", None),
    ],
)
def test_a_slip_in_it_is_a_syntax_error(sql: str, word: str, hint: str | None) -> None:
    for flavour in Flavour:
        with pytest.raises(BergError) as told:
            parse(sql, flavour)
        assert told.value.code is ErrorCode.SYNTAX
        assert told.value.span is not None
        assert (sql + " ")[told.value.span.start : told.value.span.end] == word
        if hint is not None:
            assert told.value.hint == hint


def test_every_first_word_has_its_grammar() -> None:
    for word in statement_words():
        try:
            parse(word, Flavour.FLINK)
        except BergError as error:
            assert not error.message.startswith("No statement begins")  # noqa: PT017
