"""Scripts to statements. The rows of group A of the users' asks are here too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.splitter import SourceStatement, Splitter

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


def split(parts: str | Iterable[str], flavour: Flavour = FLINK) -> list[SourceStatement]:
    """The statements of a text, or of text that comes in pieces."""
    splitter = Splitter(lambda: flavour)
    found: list[SourceStatement] = []
    for part in (parts,) if isinstance(parts, str) else parts:
        found += splitter.feed(part)
    return [*found, *splitter.finish()]


def texts(parts: str | Iterable[str], flavour: Flavour = FLINK) -> list[str]:
    """Their texts."""
    return [s.text for s in split(parts, flavour)]


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("select 1; insert into t select 2 /* x */", ["select 1", "insert into t select 2"]),
        ("select 1 -- it's\n;", ["select 1"]),
        ("-- header\ninsert into t values ('a--b');", ["insert into t values ('a--b')"]),
        ("select 1", ["select 1"]),
        (";", []),
        (" ;; ; ", []),
        ("-- c;", []),
        ("/* c; */", []),
        ("WITH ('url'='jdbc:mysql://h/db?a=1;b=2');x", ["WITH ('url'='jdbc:mysql://h/db?a=1;b=2')", "x"]),
        ('select `a;b`, "c;d"; x', ['select `a;b`, "c;d"', "x"]),
        ("select 1 /* a;b */ ; select 2", ["select 1", "select 2"]),
        ("a /*+ OPTIONS('a;'='*/') */ ; b", ["a /*+ OPTIONS('a;'='*/') */", "b"]),
        ("select case when a then b end; c", ["select case when a then b end", "c"]),
        ("select 'it''s;'; b", ["select 'it''s;'", "b"]),
    ],
)
def test_where_statements_end(script: str, statements: list[str]) -> None:
    assert texts(script) == statements
    assert texts(script, SPARK) == statements
    assert texts(iter(script)) == statements, "one character at a time"


@pytest.mark.parametrize(
    ("script", "flink", "spark"),
    [
        (r"select 'a\'; b", [r"select 'a\'", "b"], [r"select 'a\'; b"]),
        (r"select 'a\'b;c'; d", [r"select 'a\'b", "c'; d"], [r"select 'a\'b;c'", "d"]),
        (r"select r'\'; d", [r"select r'\'", "d"], [r"select r'\'", "d"]),
        ("/* a /* b */ c; */ d; e", ["c", "*/ d", "e"], ["d", "e"]),
    ],
)
def test_what_differs_by_flavour(script: str, flink: list[str], spark: list[str]) -> None:
    assert texts(script, FLINK) == flink
    assert texts(script, SPARK) == spark
    assert texts(iter(script), FLINK) == flink
    assert texts(iter(script), SPARK) == spark


@pytest.mark.parametrize(
    "block",
    [
        "EXECUTE STATEMENT SET BEGIN\ninsert into a select 1; insert into b select 2;\nEND",
        "execute /* x */ statement set -- y\n begin insert into a values ('END;'); end",
        "BEGIN STATEMENT SET;\ninsert into a select 1;\n END",
        "EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT case when 1=1 then 2 end; END",
        "COMPILE PLAN '/p' FOR STATEMENT SET BEGIN INSERT INTO a SELECT 1; END",
        "BEGIN insert into a select 1; BEGIN select 2; END; select 3; END",
        "BEGIN STATEMENT SET;\n insert into a select 1; -- c\n /* d */ END /* e */",
    ],
)
def test_a_block_is_one_statement(block: str) -> None:
    ended = block.removesuffix(" /* e */")
    assert texts(f"select 0; {block}; select 1;") == ["select 0", ended, "select 1"]
    assert texts(iter(f"{block};x")) == [ended, "x"]
    assert not Splitter.is_complete(block, FLINK)
    assert Splitter.is_complete(block + ";", FLINK)


def test_a_lone_begin_is_a_statement() -> None:
    assert texts("BEGIN; select 1; BEGIN TRANSACTION; END;") == ["BEGIN", "select 1", "BEGIN TRANSACTION", "END"]


def test_places() -> None:
    first, second, third = split("-- c\n  SELECT 1\n;\n\n SELECT 'a\nb'; x")
    assert (first.start, first.line, first.column) == (7, 2, 3)
    assert (second.line, second.column, second.text) == (5, 2, "SELECT 'a\nb'")
    assert (third.line, third.column) == (6, 5)


def test_places_go_on_over_pieces() -> None:
    script = "select 1;\nselect\n 2; select 3;\n\n-- c\nselect 4"
    whole = split(script)
    for size in (1, 2, 3, 7):
        assert split(script[i : i + size] for i in range(0, len(script), size)) == whole
    assert [(s.start, s.line, s.column) for s in whole] == [(0, 1, 1), (10, 2, 1), (21, 3, 5), (37, 6, 1)]


def test_the_flavour_is_asked_before_each_statement() -> None:
    flavour = [FLINK]
    splitter = Splitter(lambda: flavour[0])
    found = []
    for statement in splitter.feed(r"select 'a\'; set x; select 'a\'; b'; c;"):
        found.append(statement.text)
        if statement.text == "set x":
            flavour[0] = SPARK
    assert found == [r"select 'a\'", "set x", r"select 'a\'; b'", "c"]


@pytest.mark.parametrize("script", ["select 'never; closed", "select 1 /* never", "/* never", '"', "a `b;"])
def test_what_is_never_closed_is_kept_whole_for_the_lexer(script: str) -> None:
    (left,) = split(script)
    assert left.text == script


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("select 1;", True),
        ("select 1; -- tail", True),
        ("select 1; /* tail */ ", True),
        ("select 1", False),
        ("-- c;", False),
        ("", False),
        (";", False),
        ("select ';", False),
        ("select 1; select 2", False),
        ("select 1; /* open", False),
        ("select 1; -", False),
    ],
)
def test_is_complete(text: str, complete: bool) -> None:
    assert Splitter.is_complete(text, FLINK) is complete
    assert Splitter.is_complete(text, SPARK) is complete


_WORDS = st.sampled_from(
    [
        "select",
        "1",
        "'a;b'",
        "'it''s'",
        "`c;d`",
        '"e;"',
        "(",
        ")",
        ",",
        "中文",
        "/* ; */ x",
        "-- ;\nx",
        "end",
        "=",
        "- -",
    ]
)
_STATEMENT = st.lists(_WORDS, min_size=1, max_size=6).map(lambda words: "x " + " ".join(words))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(_STATEMENT, max_size=5),
    st.sampled_from([";", ";\n", " ; ", ";;", "; -- c ';\n", ";/* ' ; */"]),
    st.integers(1, 9),
    st.sampled_from(Flavour),
)
def test_joined_statements_split_into_themselves(
    statements: list[str], separator: str, size: int, flavour: Flavour
) -> None:
    script = separator.join(statements)
    whole = split(script, flavour)
    assert [s.text for s in whole] == statements
    assert all(script[s.start : s.start + len(s.text)] == s.text for s in whole)
    for s in whole:
        before = script[: s.start]
        assert (s.line, s.column) == (before.count("\n") + 1, s.start - before.rfind("\n"))
    assert split((script[i : i + size] for i in range(0, len(script), size)), flavour) == whole


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab;'\"`-/*+\\\n \trE", max_size=30), st.integers(1, 4), st.sampled_from(Flavour))
def test_pieces_make_no_difference(script: str, size: int, flavour: Flavour) -> None:
    pieces = (script[i : i + size] for i in range(0, len(script), size))
    assert split(pieces, flavour) == split(script, flavour)


def calls(work: Callable[[], object]) -> int:
    """How many functions ``work`` calls: what it costs, told by no clock."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_on_a_long_script_is_linear() -> None:
    def split(count: int) -> None:
        script = "INSERT INTO t VALUES (1, 'a;b');\n" * count
        assert sum(1 for _ in Splitter(lambda: FLINK).feed(script)) == count

    assert calls(lambda: split(8_000)) < 10 * calls(lambda: split(1_000))


def test_the_work_on_a_long_statement_in_lines_is_linear() -> None:
    def feed(lines: int) -> None:
        splitter = Splitter(lambda: FLINK)
        assert not list(splitter.feed("INSERT INTO t VALUES ('"))
        for _ in range(lines):
            assert not list(splitter.feed("x" * 100 + "\n"))

    assert calls(lambda: feed(8_000)) < 10 * calls(lambda: feed(1_000))
