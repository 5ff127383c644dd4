"""Whatever a person types, the parser gives a statement or one BergError that points into the text."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.splitter import Splitter
from bergsql.engine.sql.statements import Statement
from tests.support.shared import shared
from tests.unit.test_sql_unsupported import FORMS

SAMPLES = [
    *FORMS,
    "SELECT CAST(ROW(1,'x') AS ROW<a INT, b STRING>) AS named, ARRAY[1,2][1], MAP['k', X'00'], U&'\\4e2d' FROM `a`.b$c",
    "SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00.123' AS x",
    "CREATE TABLE c.d.t (`i` INT NOT NULL COMMENT 'x', r ROW<a INT>, c AS i + 1, p STRING METADATA FROM 'k' VIRTUAL, "
    "PRIMARY KEY (i) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) COMMENT '中文' "
    "PARTITIONED BY (days(ts), bucket(4, i)) WITH ('a'='b') LIKE s (EXCLUDING OPTIONS)",
    "select sum(x) filter (where x > 1) over (partition by a order by b rows between 1 preceding and current row), 1L "
    "from values (1),(null) t(x) lateral view explode(y) e as z where a <=> b and c rlike 'x' group by rollup (a)",
    "INSERT OVERWRITE t PARTITION (a='x', b) SELECT CASE WHEN a THEN 1 ELSE -1.5e3 END FROM TABLE(TUMBLE(TABLE s, "
    "DESCRIPTOR(ts), INTERVAL '1' HOUR))",
    "ALTER TABLE t ADD COLUMNS (a.b INT FIRST, c MAP<STRING, ARRAY<DECIMAL(5, 2)>> COMMENT 'x' AFTER d)",
    "SET 'a.b' = 'c';",
    "SET spark.x = /tmp/it's",
]


@cache
def scripts() -> tuple[tuple[str, Flavour], ...]:
    """The statements of the scenarios."""
    found: list[tuple[str, Flavour]] = []
    for path in sorted(shared("scenarios").glob("*.sql")):
        flavour = Flavour.SPARK if "spark" in path.name else Flavour.FLINK
        splitter = Splitter(lambda flavour=flavour: flavour)  # type: ignore[misc]
        found += ((s.text, flavour) for s in splitter.feed(path.read_text(encoding="utf-8")))
    return tuple(found)


def outcome(sql: str, flavour: Flavour) -> Statement | BergError:
    """What parsing gives; any other exception fails the test."""
    try:
        return parse(sql, flavour)
    except BergError as error:
        return error


def check(sql: str, flavour: Flavour) -> None:
    """A statement, or an error that has a sentence and points into the text."""
    found = outcome(sql, flavour)
    if isinstance(found, BergError):
        assert found.message.endswith(".")
        assert not any(word in found.message for word in ("<class", "Token", "SENTINEL")), "no Python in a message"
        assert isinstance(found.span, Span)
        assert 0 <= found.span.start <= len(sql)
        assert found.span.start < found.span.end <= len(sql) + 1


def test_the_scenarios_parse() -> None:
    refused = [sql for sql, flavour in scripts() if isinstance(outcome(sql, flavour), BergError)]
    assert len(scripts()) > 200
    assert [s.split("(")[0].strip() for s in refused] == [
        "create table hadoop_prod.default.p_trunc2",
        "MERGE INTO hadoop_prod.default.t_a t USING",
    ]


@pytest.mark.parametrize("name", ["tour_oracle.json", "semantics_oracle.json"])
def test_spark_and_we_agree_on_what_is_syntax(name: str) -> None:
    data = json.loads(shared("oracle", "spark", name).read_text(encoding="utf-8"))
    for row in data["statements"] if isinstance(data, dict) else data:
        sql, error = row.get("sql"), row.get("error") or {}
        if not sql or sql.startswith(("spark.", "df")):
            continue
        found = outcome(sql, Flavour.SPARK)
        if isinstance(found, BergError):
            assert error, f"{sql}: {found.message}"


_NOISE = st.sampled_from(
    [
        *"()[]<>,.;:'\"`=*-+/?$@#{}\\\n \x00中é",
        *("--", "/*", "*/", "/*+", "''", "X'", "=>", "::", "->", "CAST(", "ROW<", "1"),
        *("NOT", "AS", "SELECT", "FROM", "CASE", "END", "BY", "IN", "TABLE", "WITH", "VALUES"),
    ]
)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(SAMPLES), st.sampled_from(Flavour))
def test_mangled_samples(data: st.DataObject, sql: str, flavour: Flavour) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(sql)))
        end = start + data.draw(st.integers(0, 12))
        sql = sql[:start] + data.draw(_NOISE | st.just("")) + sql[end:]
    check(sql, flavour)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(0, 10_000), st.sampled_from(Flavour))
def test_mangled_scenarios(data: st.DataObject, number: int, flavour: Flavour) -> None:
    sql, _ = scripts()[number % len(scripts())]
    start = data.draw(st.integers(0, len(sql)))
    end = start + data.draw(st.integers(0, 30))
    check(sql[:start] + data.draw(_NOISE | st.just("")) + sql[end:], flavour)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(_NOISE | st.sampled_from(" ".join(SAMPLES).split()), max_size=12).map(" ".join), st.sampled_from(Flavour)
)
@example("SELECT ( ( (", Flavour.FLINK)
@example("SELECT a FROM t WHERE a IN (", Flavour.SPARK)
@example("SELECT \x00", Flavour.SPARK)
@example("SELECT CAST(a, CAST(b AS INT))", Flavour.SPARK)
@example("SELECT INTERVAL DAY '3'", Flavour.FLINK)
@example("SELECT CAST(a, '\x020')", Flavour.FLINK)
def test_word_salad(sql: str, flavour: Flavour) -> None:
    check(sql, flavour)


@pytest.mark.parametrize("sql", SAMPLES)
def test_every_beginning_of_a_statement(sql: str) -> None:
    for end in range(len(sql)):
        check(sql[:end], Flavour.FLINK)


@pytest.mark.parametrize("sql", SAMPLES)
def test_every_token_left_out(sql: str) -> None:
    words = sql.split(" ")
    for i in range(len(words)):
        check(" ".join(words[:i] + words[i + 1 :]), Flavour.SPARK)
