"""Queries: the tree is what parser/query.py promises, in both flavours, and what cannot be read is told at its word."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.parser.query import declared_type, span_of, table_name_span
from bergsql.engine.sql.type_names import flink_create_name
from bergsql.engine.sql.types import DataType, Kind

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


def query(sql: str, flavour: Flavour = FLINK) -> st.Query:
    """The query that ``sql`` is."""
    statement = parse(sql, flavour)
    assert isinstance(statement, st.Select)
    return statement.query


def item(expression: str, flavour: Flavour = FLINK) -> exp.Expr:
    """The tree of one expression."""
    tree = query(f"SELECT {expression} FROM t", flavour).ast
    (found,) = tree.expressions
    assert isinstance(found, exp.Expr)
    return found


def shape(node: object) -> object:
    """A tree as text and tuples: calls as their name and arguments, leaves as what was written."""
    if isinstance(node, exp.Anonymous):
        assert isinstance(node.this, str)
        return (node.this, *(shape(e) for e in node.expressions))
    if isinstance(node, exp.Literal):
        return f"'{node.this}'" if node.is_string else node.this
    if isinstance(node, exp.Column):
        return ".".join(p.name for p in node.parts)
    if isinstance(node, exp.Identifier):
        return node.this
    if isinstance(node, exp.Cast):
        return (type(node).__name__, shape(node.this), flink_create_name(declared_type(node)))
    if isinstance(node, exp.Expr):
        return (type(node).__name__, *(shape(v) for v in node.iter_expressions()))
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("written", "tree"),
    [
        ("SUM(a)", ("SUM", "a")),
        ("sum(a)", ("sum", "a")),
        ("`sum`(a)", ("sum", "a")),
        ("COUNT(*)", ("COUNT", ("Star",))),
        ("COUNT(DISTINCT a, b)", ("COUNT", ("Distinct", "a", "b"))),
        ("DATE_ADD(a, 1)", ("DATE_ADD", "a", "1")),
        ("IF(a, b, c)", ("IF", "a", "b", "c")),
        ("LEFT(a, 1)", ("LEFT", "a", "1")),
        ("DATE(a)", ("DATE", "a")),
        ("CURRENT_TIMESTAMP(3)", ("CURRENT_TIMESTAMP", "3")),
        ("ROW(1, 'x')", ("ROW", "1", "'x'")),
        ("ARRAY[1, 2]", ("ARRAY", "1", "2")),
        ("ARRAY[ARRAY[1], ARRAY[2]][1]", ("Bracket", ("ARRAY", ("ARRAY", "1"), ("ARRAY", "2")), "1")),
        ("MAP['k', 1]['k']", ("Bracket", ("MAP", "'k'", "1"), "'k'")),
        ("map('k', 1)", ("map", "'k'", "1")),
        ("struct(1 as a)", ("struct", ("Alias", "1", "a"))),
        ("SUBSTRING(a FROM 2 FOR 3)", ("SUBSTRING", "a", "2", "3")),
        ("POSITION('x' IN a)", ("POSITION", "'x'", "a")),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", ("OVERLAY", "a", "b", "1", "2")),
        ("CEIL(a TO day)", ("CEIL", "a", "'DAY'")),
        ("FLOOR(a)", ("FLOOR", "a")),
        ("TRIM(a)", ("TRIM", "a")),
        ("TRIM(BOTH 'x' FROM a)", ("Trim", "a", "'x'")),
        ("EXTRACT(DAY FROM a)", ("Extract", ("Var",), "a")),
        ("JSON_OBJECT(KEY 'k' VALUE 1, 'l' VALUE b)", ("JSON_OBJECT", "'k'", "1", "'l'", "b")),
        ("TIMESTAMPADD(DAY, 1, a)", ("TIMESTAMPADD", "DAY", "1", "a")),
        ("c.system.bucket(4, a)", ("Dot", ("Dot", "c", "system"), ("bucket", "4", "a"))),
        ("transform(a, x -> x + 1)", ("transform", "a", ("Lambda", ("Add", "x", "1"), "x"))),
        ("SUM(a) FILTER (WHERE b > 1)", ("Filter", ("SUM", "a"), ("Where", ("GT", "b", "1")))),
        (
            "LISTAGG(a, ',') WITHIN GROUP (ORDER BY b)",
            ("WithinGroup", ("LISTAGG", "a", "','"), ("Order", ("Ordered", "b"))),
        ),
        ("a = b IS NULL", ("Is", ("Paren", ("EQ", "a", "b")), ("Null",))),
        ("a || b", ("DPipe", "a", "b")),
        ("a <=> b", ("NullSafeEQ", "a", "b")),
        ("a DIV b", ("IntDiv", "a", "b")),
        ("a % b", ("Mod", "a", "b")),
        ("a == b", ("EQ", "a", "b")),
        ("NOT a AND b", ("And", ("Not", "a"), "b")),
        ("-a * b", ("Mul", ("Neg", "a"), "b")),
        ("a RLIKE 'x'", ("RegexpLike", "a", "'x'")),
        ("a.b.c", "a.b.c"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("format", "format"),
        ("t.end", "t.end"),
        ("`select`", "select"),
        ("`a.b`", "a.b"),
        ("X'0aFF'", ("HexString",)),
    ],
)
def test_expressions_are_as_written(written: str, tree: object) -> None:
    assert shape(item(written, FLINK)) == tree
    assert shape(item(written, SPARK)) == tree


@pytest.mark.parametrize(
    ("written", "flavour", "tree"),
    [
        ("CAST(a AS ROW<x INT, y STRING>)", FLINK, ("Cast", "a", "ROW<`x` INT, `y` STRING>")),
        ("CAST(a AS BYTES)", FLINK, ("Cast", "a", "BYTES")),
        ("CAST(a AS TIMESTAMP(3))", FLINK, ("Cast", "a", "TIMESTAMP(3)")),
        ("CAST(a AS TIMESTAMP)", SPARK, ("Cast", "a", "TIMESTAMP_LTZ(6)")),
        ("CAST(a AS TIMESTAMP_LTZ(9))", FLINK, ("Cast", "a", "TIMESTAMP_LTZ(9)")),
        ("TRY_CAST(CAST(a AS STRING) AS INT)", FLINK, ("TryCast", ("Cast", "a", "STRING"), "INT")),
        ("a::array<int>", SPARK, ("Cast", "a", "ARRAY<INT>")),
        ("CAST(a AS INTERVAL DAY TO SECOND(3))", FLINK, ("Cast", "a", "INTERVAL DAY TO SECOND")),
        ("DATE '2020-01-01'", FLINK, ("Cast", "'2020-01-01'", "DATE")),
        ("TIME '01:02:03'", FLINK, ("Cast", "'01:02:03'", "TIME(0)")),
        ("TIMESTAMP '2020-01-01 00:00:00'", FLINK, ("Cast", "'2020-01-01 00:00:00'", "TIMESTAMP(0)")),
        ("TIMESTAMP '2020-01-01 00:00:00.123'", FLINK, ("Cast", "'2020-01-01 00:00:00.123'", "TIMESTAMP(3)")),
        ("timestamp'2020-01-01'", SPARK, ("Cast", "'2020-01-01'", "TIMESTAMP_LTZ(6)")),
        ("timestamp_ntz'2020-01-01'", SPARK, ("Cast", "'2020-01-01'", "TIMESTAMP(6)")),
        ("1L", SPARK, ("Cast", "1", "BIGINT")),
        ("1.50BD", SPARK, ("Cast", "1.50", "DECIMAL(3, 2)")),
        ("2.0D", SPARK, ("Cast", "2.0", "DOUBLE")),
    ],
)
def test_types_are_ours(written: str, flavour: Flavour, tree: object) -> None:
    node = item(written, flavour)
    assert shape(node) == tree
    assert bool(node.meta.get("literal")) is not (
        "(a" in written.lower() or "(cast" in written.lower() or "::" in written
    )


def test_a_copied_tree_keeps_its_types() -> None:
    assert declared_type(item("CAST(a AS TIMESTAMP(3))").copy()) == DataType(Kind.TIMESTAMP, 3)


@pytest.mark.parametrize(
    ("written", "value", "unit"),
    [
        ("INTERVAL '3' DAY", "3", "DAY"),
        ("interval 1 month", "1", "MONTH"),
        ("INTERVAL '1-2' YEAR TO MONTH", "1-2", "YEAR TO MONTH"),
        ("interval '1 day 2 hours'", "1 day 2 hours", None),
    ],
)
def test_intervals(written: str, value: str, unit: str | None) -> None:
    node = item(written)
    assert isinstance(node, exp.Interval)
    assert node.this.name == value
    found = node.args.get("unit")
    assert (found.sql().upper() if found is not None else None) == unit


def test_strings_are_values() -> None:
    assert item("'it''s'").name == "it's"
    assert item(r"'a\nb'", SPARK).name == "a\nb"
    assert item(r"'a\nb'", FLINK).name == r"a\nb"
    assert item('"x"', SPARK).is_string
    assert isinstance(item('"x"', FLINK), exp.Column)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("VALUES (1, 'a'), (2, 'b')", [["1", "'a'"], ["2", "'b'"]]),
        ("VALUES ROW(1, 'a'), ROW(2, 'b')", [["1", "'a'"], ["2", "'b'"]]),
        ("VALUES 1, 2", [["1"], ["2"]]),
        ("VALUES (ROW(1, 2))", [[("ROW", "1", "2")]]),
    ],
)
def test_values(sql: str, rows: list[list[object]]) -> None:
    tree = query(sql).ast
    assert isinstance(tree, exp.Values)
    assert [[shape(v) for v in row.expressions] for row in tree.expressions] == rows


def test_values_as_a_table() -> None:
    tree = query("select * from values (2),(null) t(x) order by x", SPARK).ast
    values = tree.find(exp.Values)
    assert values is not None
    assert (values.alias, values.alias_column_names) == ("t", ["x"])
    tree = query("SELECT * FROM (VALUES (1, 'a')) AS t(id, name)").ast
    values = tree.find(exp.Values)
    assert values is not None


def test_table_t_is_a_select() -> None:
    assert query("TABLE c.d.t").ast.sql() == "SELECT * FROM c.d.t"


@pytest.mark.parametrize("sql", ["SELECT * FROM c.d.`t$files`", "SELECT * FROM c.d.t$files"])
def test_metadata_tables_are_one_identifier(sql: str) -> None:
    table = query(sql).ast.find(exp.Table)
    assert table is not None
    assert [p.name for p in table.parts] == ["c", "d", "t$files"]


def test_more_than_three_parts() -> None:
    table = query("SELECT * FROM c.d.t.snapshots").ast.find(exp.Table)
    assert table is not None
    assert [p.name for p in table.parts] == ["c", "d", "t", "snapshots"]


@pytest.mark.parametrize(
    ("clause", "kind", "value"),
    [
        ("VERSION AS OF 12", "VERSION", "12"),
        ("VERSION AS OF 'b'", "VERSION", "'b'"),
        ("FOR VERSION AS OF 12", "VERSION", "12"),
        ("FOR SYSTEM_VERSION AS OF 12", "VERSION", "12"),
        ("TIMESTAMP AS OF '2020-01-01'", "TIMESTAMP", "'2020-01-01'"),
        ("FOR SYSTEM_TIME AS OF '2020-01-01'", "TIMESTAMP", "'2020-01-01'"),
        ("FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00' AS x", "TIMESTAMP", None),
    ],
)
def test_time_travel(clause: str, kind: str, value: str | None) -> None:
    for flavour in Flavour:
        table = query(f"SELECT * FROM c.d.t {clause}", flavour).ast.find(exp.Table)
        assert table is not None
        version = table.args["version"]
        assert (version.name, version.args["kind"]) == (kind, "AS OF")
        if value is not None:
            assert shape(version.expression) == value


def test_table_functions() -> None:
    sql = "SELECT window_start FROM TABLE(SESSION(TABLE d.ev PARTITION BY (k, l), DESCRIPTOR(ts), INTERVAL '5' MINUTES)) AS w"
    table = query(sql).ast.find(exp.Table)
    assert table is not None
    assert shape(table.this) == (
        "TABLE",
        (
            "SESSION",
            ("TABLE", "d.ev", "k", "l"),
            ("DESCRIPTOR", "ts"),
            ("Interval", "'5'", ("Var",)),
        ),
    )
    assert table.alias == "w"
    named = query("SELECT * FROM TABLE(TUMBLE(DATA => TABLE ev, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR))")
    assert len(list(named.ast.find_all(exp.Kwarg))) == 3
    assert query("SELECT * FROM a, LATERAL TABLE(f(x)) AS t(y)").ast.find(exp.Lateral) is not None
    assert query("SELECT * FROM a CROSS JOIN UNNEST(x) AS u(v)").ast.find(exp.Unnest) is not None
    assert query("select * from a lateral view outer explode(x) t as y", SPARK).ast.find(exp.Lateral) is not None


def test_set_operations_and_clauses() -> None:
    tree = query("SELECT a FROM x UNION ALL SELECT b FROM y INTERSECT SELECT c FROM z ORDER BY 1 LIMIT 3").ast
    assert isinstance(tree, exp.Union)
    assert isinstance(tree.expression.this, exp.Intersect)
    assert tree.args["limit"] is not None
    for sql in (
        "SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a), ()) HAVING COUNT(*) > 1",
        "SELECT a FROM t GROUP BY ROLLUP (a, b) ORDER BY a DESC NULLS LAST OFFSET 2 ROWS FETCH NEXT 5 ROWS ONLY",
        "SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        "SELECT a, LAST(b) IGNORE NULLS OVER w FROM t WINDOW w AS (PARTITION BY c)",
        "WITH RECURSIVE x(a) AS (SELECT 1) SELECT * FROM x LEFT SEMI JOIN y ON x.a = y.a LEFT ANTI JOIN z USING (a)",
        "select * from a tablesample (10 percent) x where b between 1 and 2 and c not in (1, 2) sort by d",
        "(SELECT 1) EXCEPT (SELECT 2)",
        "SELECT CASE a WHEN 1 THEN 'x' ELSE NULL END, a LIKE 'b!%' ESCAPE '!', EXISTS (SELECT 1), a > ALL (SELECT 1)",
    ):
        for flavour in Flavour:
            assert isinstance(query(sql, flavour).ast, exp.Query), sql


def test_hints_are_tied_to_their_tables() -> None:
    sql = (
        "SELECT /*+ BROADCAST(x), REPARTITION(3) */ * FROM c.d.t /*+ OPTIONS('a'='b', 'c' = 'd') */ AS x "
        "JOIN (SELECT * FROM u y /*+ OPTIONS('e'='f') */) z ON true"
    )
    found = query(sql)
    ends = {
        ".".join(p.name for p in t.parts): span.end
        for t in found.ast.find_all(exp.Table)
        if (span := table_name_span(t)) is not None
    }
    assert [(h.after, [(o.key, o.value) for o in h.options]) for h in found.hints] == [
        (ends["c.d.t"], [("a", "b"), ("c", "d")]),
        (ends["u"], [("e", "f")]),
    ]
    assert "OPTIONS" in sql[found.hints[0].span.start : found.hints[0].span.end]


@pytest.mark.parametrize(
    ("sql", "code", "word"),
    [
        ("SELECT * FROM t /*+ OPTION('a'='b') */", ErrorCode.OPTION, "OPTION"),
        ("SELECT /*+ BROADCAT(t) */ * FROM t", ErrorCode.OPTION, "BROADCAT"),
        ("SELECT /*+ OPTIONS('a'='b') */ * FROM t", ErrorCode.SYNTAX, "OPTIONS"),
        ("SELECT a /*+ OPTIONS('a'='b') */ FROM t", ErrorCode.SYNTAX, "/*+ OPTIONS('a'='b') */"),
        ("SELECT * FROM t /*+ OPTIONS('a') */", ErrorCode.SYNTAX, ")"),
        ("SELECT * FROM t /*+ OPTIONS('a'='b')", ErrorCode.SYNTAX, " "),
    ],
)
def test_hints_that_mean_nothing_are_refused(sql: str, code: ErrorCode, word: str) -> None:
    with pytest.raises(BergError) as told:
        parse(sql, FLINK)
    assert told.value.code is code
    assert told.value.span is not None
    assert (sql + " ")[told.value.span.start : told.value.span.end] == word


def test_every_place_leads_into_the_statement() -> None:
    sql = "INSERT INTO t SELECT aa, `b b`, SUM(cc), 'dd', 11, CAST(ee AS BYTES), DATE '2020-01-01', f.* FROM g.h /* x */ k"
    statement = parse(sql, FLINK)
    assert isinstance(statement, st.Insert)
    tree = statement.query.ast
    spans = [span_of(e) for e in tree.expressions]
    assert [sql[s.start : s.end] if s else None for s in spans] == [
        *("aa", "`b b`", "SUM(cc", "'dd'", "11", "CAST(ee AS BYTES", "DATE '2020-01-01'", "f.*"),
    ]
    table = tree.find(exp.Table)
    assert table is not None
    name = table_name_span(table)
    assert name is not None
    assert sql[name.start : name.end] == "g.h"


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        ("SELECT 1 1", "1", None),
        ("SELECT a b c FROM t", "c", None),
        ("SELECT * FORM t", "t", "Did you mean 'FROM'?"),
        ("SELECT a FROM t WEHRE a = 1", "a", "Did you mean 'WHERE'?"),
        ("SELECT FROM t", "SELECT FROM", None),
        ("SELECT", "SELECT", None),
        ("SELECT a, FROM t", ",", None),
        ("SELECT a FROM t WHERE", "WHERE", None),
        ("SELECT a FROM t WHERE (b = 1", "(", None),
        ("SELECT a FROM t WHERE b = 1)", ")", None),
        ("SELECT a FROM t ORDER a", "a", None),
        ("SELECT a FROM t GROUP BY", "BY", None),
        ("SELECT a FROM t JOIN b ON", "ON", None),
        ("SELECT a FROM t WHERE b IN", "IN", None),
        ("SELECT f(a b) FROM t", "b", None),
        ("SELECT f(a AS b) FROM t", "a AS b", None),
        ("SELECT CAST(a INT)", "INT", None),
        ("SELECT CAST(a AS INTT)", "INTT", "Did you mean 'INT'?"),
        ("SELECT [1]", "[", "ARRAY[…] makes an array."),
        ("SELECT ?", "?", None),
        ("SELECT :x", ":", None),
        ("SELECT 1 AS", "AS", None),
        ("SELECT a FROM t LIMIT", "LIMIT", None),
        ("SELECT a.b. FROM t", ".", None),
        ("WITH x AS SELECT 1", "SELECT", None),
        ("VALUES", "VALUES", None),
    ],
)
def test_slips(sql: str, word: str, hint: str | None) -> None:
    for flavour in Flavour:
        with pytest.raises(BergError) as told:
            parse(sql, flavour)
        assert told.value.code in (ErrorCode.SYNTAX, ErrorCode.TYPE)
        assert told.value.span is not None
        assert sql[told.value.span.start : told.value.span.end] == word
        assert told.value.hint == hint


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    for sql in (
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + "NOT " * 5000 + "a",
        "SELECT " + "- " * 5000 + "1",
    ):
        with pytest.raises(BergError, match="nested too deeply") as raised:
            parse(sql, FLINK)
        assert raised.value.span is not None
        assert raised.value.hint is not None


def test_a_long_chain_is_no_deep_nesting() -> None:
    parse("SELECT a FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(3000)), FLINK)
    parse(" UNION ALL ".join("SELECT 1" for _ in range(500)), FLINK)


def test_nothing_but_the_parser_of_sqlglot_is_loaded() -> None:
    code = (
        "import sys\n"
        "from bergsql.engine.sql.flavour import Flavour\n"
        "from bergsql.engine.sql.parser import parse\n"
        "parse('SELECT 1', Flavour.FLINK)\n"
        "print(*(m for m in sys.modules if m.startswith(('sqlglot.dialects.', 'sqlglot.generators.', 'bergsql'))))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {m for m in loaded if m.startswith("sqlglot")} <= {"sqlglot.dialects.dialect"}
    assert "bergsql.engine.sql.parser.tables" not in loaded
    assert "bergsql.engine.sql.type_parser" not in loaded
