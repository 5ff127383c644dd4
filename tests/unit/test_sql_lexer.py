"""Tokens: what differs between the flavours, and offsets that are always true."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import Token, TokenKind, skip_blanks, tokenize

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


def texts(sql: str, flavour: Flavour = FLINK) -> list[tuple[str, str]]:
    """Kind and text of each token."""
    return [(t.kind.name, t.text) for t in tokenize(sql, flavour)[:-1]]


def only(sql: str, flavour: Flavour = FLINK) -> tuple[str, str]:
    """The one token of ``sql``."""
    (token,) = texts(sql, flavour)
    return token


@pytest.mark.parametrize(
    ("sql", "flavour", "token"),
    [
        ("'it''s'", FLINK, ("STRING", "it's")),
        (r"'a\nb'", FLINK, ("STRING", r"a\nb")),
        (r"'a\nb\t\\\'\"\q\%\_'", SPARK, ("STRING", "a\nb\t\\'\"q\\%\\_")),
        (r"'\u4e2d\U0001F600\101\0'", SPARK, ("STRING", "中😀A\0")),
        ('"it\'s"', SPARK, ("STRING", "it's")),
        ("'it''s'", SPARK, ("STRING", "its")),
        ("'a' \n 'b'", SPARK, ("STRING", "ab")),
        (r"r'\d+'", SPARK, ("STRING", r"\d+")),
        (r"U&'\4e2d\\\+01F600'", FLINK, ("STRING", "中\\😀")),
        ('"a""b"', FLINK, ("QUOTED", 'a"b')),
        ("`a``b`", FLINK, ("QUOTED", "a`b")),
        ("`列 名`", SPARK, ("QUOTED", "列 名")),
        ("用户表", FLINK, ("WORD", "用户表")),
        ("t$snapshots", FLINK, ("WORD", "t$snapshots")),
        ("X'0aFF'", FLINK, ("HEX", "0aFF")),
        ("1.5e-3", FLINK, ("NUMBER", "1.5e-3")),
        (".5", FLINK, ("NUMBER", ".5")),
        ("2020_sales", FLINK, ("WORD", "2020_sales")),
        ("1e", FLINK, ("WORD", "1e")),
    ],
)
def test_one_token(sql: str, flavour: Flavour, token: tuple[str, str]) -> None:
    assert only(sql, flavour) == token


def test_spark_numbers_carry_their_suffix() -> None:
    tokens = tokenize("1L 2s 3Y 1.5bd 2.0D 3f", SPARK)[:-1]
    assert [(t.text, t.suffix) for t in tokens] == [
        ("1", "L"),
        ("2", "S"),
        ("3", "Y"),
        ("1.5", "BD"),
        ("2.0", "D"),
        ("3", "F"),
    ]
    assert only("1L") == ("WORD", "1L")


def test_names_behind_a_dot_may_begin_with_a_digit() -> None:
    assert [t for _, t in texts("db.2020_t.2021.x")] == ["db", ".", "2020_t", ".", "2021", ".", "x"]


def test_comments_vanish_and_hints_stay() -> None:
    assert [t for _, t in texts("a -- it's ; b\n/* 'x */ b /*+ OPTIONS('k*/'='v') */ c")] == [
        *("a", "b", "/*+", "OPTIONS", "(", "k*/", "=", "v", ")", "*/", "c"),
    ]
    assert [t for _, t in texts("a*/*c*/b")] == ["a", "*", "b"]


def test_block_comments_nest_in_spark_only() -> None:
    assert [t for _, t in texts("/* a /* b */ c */ d", SPARK)] == ["d"]
    assert [t for _, t in texts("/* a /* b */ c", FLINK)] == ["c"]


@pytest.mark.parametrize(
    ("sql", "flavour", "at"),
    [
        ("a 'never", FLINK, 2),
        ('a "never', FLINK, 2),
        ("ab `never", SPARK, 3),
        (r"a 'never\'", SPARK, 2),
        ("a /* never", FLINK, 2),
        ("a /* /* never */", SPARK, 2),
    ],
)
def test_what_is_not_closed_is_told_at_its_opening(sql: str, flavour: Flavour, at: int) -> None:
    with pytest.raises(BergError, match="is not closed") as told:
        tokenize(sql, flavour)
    assert told.value.code is ErrorCode.SYNTAX
    assert told.value.span is not None
    assert told.value.span.start == at


def test_the_end_token_stands_behind_the_last_one() -> None:
    last = tokenize("SELECT 1  -- c", FLINK)[-1]
    assert (last.kind, last.start, last.end) == (TokenKind.END, 8, 8)


def test_skip_blanks() -> None:
    assert skip_blanks("  -- a\n /* b */ \n c", 0, FLINK) == 18
    assert skip_blanks("/*+ x */", 0, FLINK) == 0


def outcome(sql: str, flavour: Flavour) -> list[Token] | BergError:
    """The tokens, or the complaint."""
    try:
        return tokenize(sql, flavour)
    except BergError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab1_$ '\"`;-/*+.()=,<>\\\n中ré&UXx", max_size=40), st.sampled_from(Flavour))
def test_tokens_are_slices_in_order(sql: str, flavour: Flavour) -> None:
    found = outcome(sql, flavour)
    if isinstance(found, BergError):
        assert found.code is ErrorCode.SYNTAX
        assert found.span is not None
        assert 0 <= found.span.start < len(sql)
        return
    position = 0
    for token in found[:-1]:
        assert position <= token.start < token.end <= len(sql)
        position = token.end
        if token.kind in (TokenKind.WORD, TokenKind.OPERATOR):
            assert sql[token.start : token.end] == token.text
