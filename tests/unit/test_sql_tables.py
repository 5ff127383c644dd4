"""CREATE TABLE and ALTER TABLE, in both flavours' words, parsed into values."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.type_names import flink_create_name

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


def table(sql: str, flavour: Flavour = FLINK) -> st.CreateTable:
    """The CREATE TABLE that ``sql`` is."""
    statement = parse(sql, flavour)
    assert isinstance(statement, st.CreateTable)
    return statement


def actions(sql: str, flavour: Flavour = FLINK) -> tuple[st.AlterAction, ...]:
    """The actions of an ALTER TABLE."""
    statement = parse(sql, flavour)
    assert isinstance(statement, st.AlterTable)
    return statement.actions


def error(sql: str, flavour: Flavour = FLINK) -> tuple[ErrorCode, str]:
    """The code of the complaint about ``sql``, and the word it points at."""
    with pytest.raises(BergError) as told:
        parse(sql, flavour)
    span = told.value.span
    assert span is not None
    return told.value.code, (sql + " ")[span.start : span.end]


def columns(statement: st.CreateTable) -> list[tuple[str, str, bool, str | None]]:
    """Name, type, nullability and comment of each column."""
    return [(c.name, flink_create_name(c.type), c.nullable, c.comment) for c in statement.columns]


def test_a_flink_table() -> None:
    made = table(
        "CREATE TABLE IF NOT EXISTS c.d.t (\n"
        "  `user id` BIGINT NOT NULL COMMENT '用户ID', -- the key\n"
        "  name STRING, price DECIMAL(10,2), tags ARRAY<STRING>,\n"
        "  r ROW<a INT NOT NULL, b MAP<STRING, INT>>,\n"
        "  CONSTRAINT pk PRIMARY KEY (`user id`, name) NOT ENFORCED\n"
        ") COMMENT '用户表' PARTITIONED BY (name, days(ts), bucket(4, `user id`))\n"
        "WITH ('write.format.default'='parquet', 'connector' = 'x')"
    )
    assert str(made.name) == "c.d.t"
    assert made.if_not_exists
    assert made.flavour is FLINK
    assert columns(made) == [
        ("user id", "BIGINT", False, "用户ID"),
        ("name", "STRING", True, None),
        ("price", "DECIMAL(10, 2)", True, None),
        ("tags", "ARRAY<STRING>", True, None),
        ("r", "ROW<`a` INT NOT NULL, `b` MAP<STRING, INT>>", True, None),
    ]
    assert made.primary_key is not None
    assert made.primary_key.columns == ("user id", "name")
    assert not made.primary_key.enforced
    assert made.comment == "用户表"
    assert [(p.transform.name, p.transform.column, p.transform.width) for p in made.partitioning] == [
        ("identity", "name", None),
        ("day", "ts", None),
        ("bucket", "user id", 4),
    ]
    assert [(o.key, o.value) for o in made.properties] == [("write.format.default", "parquet"), ("connector", "x")]


def test_a_spark_table() -> None:
    made = table(
        "create table t (\n\tid bigint,\n name string) using iceberg\nPARTITIONED BY (loc string)\n"
        "TBLPROPERTIES ('write.metadata.delete-after-commit.enabled'= true, 'n' = 3) location '/x' comment \"c\"",
        SPARK,
    )
    assert made.provider == "iceberg"
    assert made.location == "/x"
    assert made.comment == "c"
    assert [(o.key, o.value) for o in made.properties] == [
        ("write.metadata.delete-after-commit.enabled", "true"),
        ("n", "3"),
    ]
    (partition,) = made.partitioning
    assert partition.column is not None
    assert partition.column.name == "loc"
    assert partition.transform == st.Transform("identity", "loc", partition.column.span)


@pytest.mark.parametrize(
    ("written", "name", "width"),
    [
        ("years(a.b)", "year", None),
        ("year(a.b)", "year", None),
        ("months(a.b)", "month", None),
        ("day(a.b)", "day", None),
        ("date(a.b)", "day", None),
        ("hours(a.b)", "hour", None),
        ("date_hour(a.b)", "hour", None),
        ("bucket(16, a.b)", "bucket", 16),
        ("truncate(2, a.b)", "truncate", 2),
        ("truncate(a.b, 2)", "truncate", 2),
        ("identity(a.b)", "identity", None),
        ("a.b", "identity", None),
    ],
)
def test_transforms(written: str, name: str, width: int | None) -> None:
    (made,) = table(f"CREATE TABLE t (a INT) PARTITIONED BY ({written})").partitioning
    assert (made.transform.name, made.transform.column, made.transform.width) == (name, "a.b", width)


@pytest.mark.parametrize(
    ("sql", "flavour", "meant"),
    [
        ("CREATE TABLE t (a TIMESTAMP) WITH ('k'='v')", SPARK, FLINK),
        ("CREATE TABLE t (a TIMESTAMP) USING iceberg", FLINK, SPARK),
        ("CREATE TABLE t (a TIMESTAMP) TBLPROPERTIES ('k'='v')", FLINK, SPARK),
        ("CREATE TABLE t (a TIMESTAMP)", SPARK, SPARK),
        ("CREATE TABLE t (a TIMESTAMP)", FLINK, FLINK),
    ],
)
def test_the_clauses_tell_the_flavour_and_so_what_timestamp_means(sql: str, flavour: Flavour, meant: Flavour) -> None:
    made = table(sql, flavour)
    assert made.flavour is meant
    kind = "TIMESTAMP_LTZ(6)" if meant is SPARK else "TIMESTAMP(6)"
    assert flink_create_name(made.columns[0].type) == kind


def test_create_as_and_replace() -> None:
    made = table("CREATE TABLE t USING iceberg PARTITIONED BY (bucket(2,id)) AS SELECT 1 AS id", SPARK)
    assert made.mode == "create"
    assert made.query is not None
    assert made.query.text == "SELECT 1 AS id"
    assert table("replace table t using iceberg as select * from s").mode == "replace"
    assert table("CREATE OR REPLACE TABLE t AS VALUES (1)").mode == "create or replace"
    assert table("CREATE TABLE t WITH ('k'='v') AS WITH x AS (SELECT 1) SELECT * FROM x").query is not None
    assert table("CREATE TABLE t SELECT 1").query is not None


def test_like() -> None:
    made = table("CREATE TABLE t (x INT) WITH ('n'='9') LIKE c.d.s (EXCLUDING OPTIONS, INCLUDING WATERMARKS)")
    assert made.like is not None
    assert str(made.like.source) == "c.d.s"
    assert made.like.options == (("EXCLUDING", "OPTIONS"), ("INCLUDING", "WATERMARKS"))
    assert len(made.columns) == 1


def test_what_only_connector_tables_have() -> None:
    made = table(
        "CREATE TEMPORARY TABLE t (a INT, total AS a * (1 + 2) COMMENT 'c', p STRING METADATA FROM 'file.path' VIRTUAL, "
        "`file.size` BIGINT NOT NULL METADATA, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
    )
    assert made.temporary
    total, path, size = made.columns[1:4]
    assert total.computed is not None
    assert (total.computed.text, total.comment) == ("a * (1 + 2)", "c")
    assert (path.metadata, size.metadata, size.nullable) == ("file.path", "file.size", False)
    assert made.watermark is not None
    assert (made.watermark.column, made.watermark.expression.text) == ("ts", "ts - INTERVAL '5' SECOND")


def test_a_key_behind_its_column() -> None:
    made = table("CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, v INT NOT NULL DEFAULT 1 + 1 COMMENT 'x')")
    assert made.primary_key is not None
    assert made.primary_key.columns == ("id",)
    default = made.columns[1].default
    assert default is not None
    assert default.text == "1 + 1"


def test_the_span_of_a_key_is_what_is_wrong_with_it() -> None:
    for sql, word in (
        ("CREATE TABLE t (id INT, PRIMARY KEY (id) ENFORCED)", "ENFORCED"),
        ("CREATE TABLE t (id INT, PRIMARY KEY (id))", "PRIMARY KEY (id)"),
        ("CREATE TABLE t (id INT PRIMARY KEY)", "PRIMARY KEY"),
    ):
        key = table(sql).primary_key
        assert key is not None
        assert key.enforced
        assert sql[key.span.start : key.span.end] == word
    sql = "CREATE TABLE t (id INT, PRIMARY KEY (nope) NOT ENFORCED)"
    key = table(sql).primary_key
    assert key is not None
    assert sql[key.span.start : key.span.end] == "nope"


@pytest.mark.parametrize(
    ("sql", "code", "word"),
    [
        ("CREATE TABLE t", ErrorCode.SYNTAX, " "),
        ("CREATE TABLE (id INT)", ErrorCode.SYNTAX, "("),
        ("CREATE TABLE t (id INT,)", ErrorCode.SYNTAX, ")"),
        ("CREATE TABLE t (id INT", ErrorCode.SYNTAX, " "),
        ("CREATE TABLE t (id)", ErrorCode.SYNTAX, ")"),
        ("CREATE TABLE t (id INTT)", ErrorCode.TYPE, "INTT"),
        ("CREATE TABLE t (id INTERVAL DAY)", ErrorCode.TYPE, "INTERVAL DAY"),
        ("CREATE TABLE t (id INT COMENT 'x')", ErrorCode.SYNTAX, "COMENT"),
        ("CREATE TABLE t (id INT) WITH ('a'='b', 'a'='c')", ErrorCode.OPTION, "'a'='c'"),
        ("CREATE TABLE t (id INT) COMMENT 'a' COMMENT 'b'", ErrorCode.SYNTAX, "COMMENT"),
        ("CREATE TABLE t (id INT) PARTITIONED BY (day(id, 2))", ErrorCode.SYNTAX, "2"),
        ("CREATE TABLE t (id INT) PARTITIONED BY (dayz(id))", ErrorCode.SYNTAX, "dayz"),
        ("CREATE TABLE t (id INT) PARTITIONED BY (bucket(id, 4))", ErrorCode.SYNTAX, "4"),
        ("CREATE TABLE t (id INT) PARTITIONED BY (bucket(id))", ErrorCode.SYNTAX, "bucket(id)"),
        ("CREATE TABLE t (id INT) PARTITIONED BY (bucket(0, id))", ErrorCode.INVALID, "bucket(0, id)"),
        (
            "CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED, PRIMARY KEY (id) NOT ENFORCED)",
            ErrorCode.SYNTAX,
            "id",
        ),
        ("CREATE TABLE t AS SELEC 1", ErrorCode.SYNTAX, "SELEC"),
        ("CREATE TABLE t LIKE s (INCLUDING NOTHING)", ErrorCode.SYNTAX, "NOTHING"),
    ],
)
def test_slips(sql: str, code: ErrorCode, word: str) -> None:
    assert error(sql) == (code, word)


# --- ALTER TABLE -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql", ["ALTER TABLE c.d.t SET ('a'='b', 'c.d'='e')", "alter table c.d.t set tblproperties ('a'='b', c.d = 'e')"]
)
def test_set_properties(sql: str) -> None:
    (action,) = actions(sql)
    assert isinstance(action, st.SetProperties)
    assert [(o.key, o.value) for o in action.options] == [("a", "b"), ("c.d", "e")]


def test_unset_properties() -> None:
    assert actions("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a', b.c)") == (
        st.UnsetProperties(("a", "b.c"), True),
    )
    assert actions("ALTER TABLE t RESET ('a')") == (st.UnsetProperties(("a",), True),)
    assert error("ALTER TABLE t RESET ()")[0] is ErrorCode.SYNTAX


def test_renames() -> None:
    (renamed,) = actions("ALTER TABLE IF EXISTS t RENAME TO c.d.u")
    assert isinstance(renamed, st.RenameTable)
    assert str(renamed.to) == "c.d.u"
    for sql in ("ALTER TABLE t RENAME COLUMN a.b TO c", "ALTER TABLE t RENAME a.b TO c"):
        (column,) = actions(sql)
        assert isinstance(column, st.RenameColumn)
        assert (column.path, column.to) == (("a", "b"), "c")
    (odd,) = actions("ALTER TABLE t RENAME to TO c")
    assert isinstance(odd, st.RenameColumn)
    assert odd.path == ("to",)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t ADD COLUMNS (a.x INT COMMENT 'c' FIRST, y STRING AFTER z, w DOUBLE NOT NULL)",
        "ALTER TABLE t ADD COLUMN a.x INT COMMENT 'c' FIRST, y STRING AFTER z, w DOUBLE NOT NULL",
        "ALTER TABLE t ADD (a.x INT COMMENT 'c' FIRST, y STRING AFTER z, w DOUBLE NOT NULL)",
    ],
)
def test_add_columns(sql: str) -> None:
    nested, second, third = actions(sql)
    assert isinstance(nested, st.AddColumn)
    assert isinstance(second, st.AddColumn)
    assert isinstance(third, st.AddColumn)
    assert (nested.path, nested.column.name, nested.column.comment, nested.after) == (("a",), "x", "c", "")
    assert (second.column.name, second.after) == ("y", "z")
    assert (third.column.nullable, third.after) == (False, None)


def test_a_column_may_be_called_column() -> None:
    (added,) = actions("ALTER TABLE t ADD column INT")
    assert isinstance(added, st.AddColumn)
    assert added.column.name == "column"
    (dropped,) = actions("ALTER TABLE t DROP column")
    assert isinstance(dropped, st.DropColumn)
    assert dropped.path == ("column",)


@pytest.mark.parametrize(
    "sql", ["ALTER TABLE t DROP COLUMN a.b, c", "ALTER TABLE t DROP COLUMNS (a.b, c)", "ALTER TABLE t DROP (a.b, c)"]
)
def test_drop_columns(sql: str) -> None:
    first, second = actions(sql)
    assert isinstance(first, st.DropColumn)
    assert isinstance(second, st.DropColumn)
    assert (first.path, second.path) == (("a", "b"), ("c",))


def test_partition_fields() -> None:
    (added,) = actions("alter table t add partition field bucket(16, id) as shard")
    assert isinstance(added, st.AddPartitionField)
    assert (added.transform.name, added.transform.width, added.transform.alias) == ("bucket", 16, "shard")
    (named,) = actions("alter table t drop partition field shard")
    assert isinstance(named, st.DropPartitionField)
    assert (named.name, named.transform) == ("shard", None)
    (by,) = actions("alter table t drop partition field years(ts)")
    assert isinstance(by, st.DropPartitionField)
    assert by.name == "years(ts)"
    assert by.transform is not None
    assert (by.transform.name, by.transform.column) == ("year", "ts")


def test_alter_column() -> None:
    first, second = actions("ALTER TABLE t ALTER COLUMN a.b TYPE BIGINT COMMENT 'x' AFTER c, d SET DEFAULT 1 + 1")
    assert isinstance(first, st.ChangeColumn)
    assert (first.path, first.comment, first.after, first.to) == (("a", "b"), "x", "c", None)
    assert first.type is not None
    assert isinstance(second, st.ChangeColumn)
    assert second.default is not None
    assert second.default.text == "1 + 1"
    for sql, nullable in (("SET NOT NULL", False), ("DROP NOT NULL", True)):
        (change,) = actions(f"ALTER TABLE t ALTER a {sql}")
        assert isinstance(change, st.ChangeColumn)
        assert change.nullable is nullable


@pytest.mark.parametrize(
    ("sql", "path", "to"),
    [
        ("CHANGE COLUMN a b BIGINT COMMENT 'x' AFTER c", ("a",), "b"),
        ("CHANGE a.x x BIGINT", ("a", "x"), "x"),
        ("CHANGE COLUMN a TYPE BIGINT", ("a",), None),
        ("CHANGE type type INT", ("type",), None),
        ("ALTER type TYPE INT", ("type",), None),
    ],
)
def test_change_column(sql: str, path: tuple[str, ...], to: str | None) -> None:
    (change,) = actions(f"ALTER TABLE t {sql}")
    assert isinstance(change, st.ChangeColumn)
    assert (change.path, change.to) == (path, to)
    assert change.type is not None


def test_modify_and_its_constraints() -> None:
    column, key, mark = actions(
        "ALTER TABLE t MODIFY (a STRING FIRST, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR ts AS ts)"
    )
    assert isinstance(column, st.ModifyColumn)
    assert (column.column.name, column.after) == ("a", "")
    assert isinstance(key, st.SetKey)
    assert (key.key.columns, key.key.constraint, key.modify) == (("a",), "pk", True)
    assert isinstance(mark, st.SetWatermark)
    assert mark.modify
    (added, inline) = actions("ALTER TABLE t ADD a INT AFTER b NOT NULL COMMENT 'c' PRIMARY KEY NOT ENFORCED")
    assert isinstance(added, st.AddColumn)
    assert (added.after, added.column.nullable, added.column.comment) == ("b", False, "c")
    assert isinstance(inline, st.SetKey)


@pytest.mark.parametrize(
    ("sql", "keys", "distribution"),
    [
        ("ORDERED BY a DESC, bucket(2, b)", [(True, True), (False, False)], "range"),
        ("LOCALLY ORDERED BY (a NULLS LAST, b DESC NULLS FIRST)", [(False, True), (True, False)], None),
        ("LOCALLY ORDERED BY a DISTRIBUTED BY PARTITION", [(False, False)], "hash"),
        ("DISTRIBUTED BY PARTITION UNORDERED", [], "hash"),
        ("UNORDERED", [], "none"),
    ],
)
def test_write_order(sql: str, keys: list[tuple[bool, bool]], distribution: str | None) -> None:
    (action,) = actions(f"ALTER TABLE t WRITE {sql}")
    assert isinstance(action, st.SetWriteOrder)
    assert [(k.descending, k.nulls_last) for k in action.order] == keys
    assert action.distribution == distribution


@pytest.mark.parametrize(
    ("sql", "form", "words"),
    [
        ("ADD IF NOT EXISTS PARTITION (a='b') LOCATION '/x'", "ADD PARTITION", "ADD IF NOT EXISTS PARTITION"),
        ("PARTITION (a='b') RENAME TO PARTITION (a='c')", "PARTITION", "PARTITION"),
        ("RECOVER PARTITIONS", "RECOVER PARTITIONS", "RECOVER PARTITIONS"),
        ("DROP DISTRIBUTION", "DROP DISTRIBUTION", "DROP DISTRIBUTION"),
        ("SET SERDE 'x' WITH SERDEPROPERTIES ('a'='b')", "SET SERDE", "SET SERDE"),
    ],
)
def test_what_an_iceberg_table_has_no_place_for(sql: str, form: str, words: str) -> None:
    text = f"ALTER TABLE t {sql}"
    (action,) = actions(text)
    assert isinstance(action, st.Inapplicable)
    assert action.form == form
    assert text[action.span.start : action.span.end] == words
