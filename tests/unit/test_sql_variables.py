"""``${NAME}``: filled in everywhere but in comments, and offsets lead back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.variables import substitute

KNOWN = {"X": "longer", "EMPTY": "", "table_name": "t", "a.b": "dotted"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("SELECT ${X}", "SELECT longer"),
        ("'${X}' `${X}` \"${X}\"", "'longer' `longer` \"longer\""),
        ("${EMPTY}a${EMPTY}", "a"),
        ("${a.b} ${ X }", "dotted longer"),
        ("a -- ${NOPE}\n ${X}", "a -- ${NOPE}\n longer"),
        ("a /* ${NOPE} */ ${X}", "a /* ${NOPE} */ longer"),
        ("'--' ${X} '/*' ${X}", "'--' longer '/*' longer"),
        ("/*+ OPTIONS('k'='${X}') */", "/*+ OPTIONS('k'='longer') */"),
        ("'${env:HOME}' ${env:X}", "'${env:HOME}' ${env:X}"),
        ("$X ${ $ {X} 'a${'", "$X ${ $ {X} 'a${'"),
    ],
)
def test_substitute(text: str, filled: str) -> None:
    assert substitute(text, KNOWN).text == filled
    assert substitute(text, KNOWN.get).text == filled


def test_a_value_is_not_filled_in_again() -> None:
    assert substitute("${A}", {"A": "${B}", "B": "x"}).text == "${B}"


def test_comments_are_told_by_flavour() -> None:
    text = r"'\' -- ' ${NOPE}"
    assert substitute(text, KNOWN, Flavour.FLINK).text == text
    with pytest.raises(BergError):
        substitute(text, KNOWN, Flavour.SPARK)


@pytest.mark.parametrize(
    ("text", "start", "end", "hint"),
    [
        ("SELECT ${table_nam}", 7, 19, "Did you mean 'table_name'?"),
        ("SELECT '${x}'", 8, 12, "Did you mean 'X'?"),
        ("${}", 0, 3, "Define it with -D NAME=value."),
        ("${far_away}", 0, 11, "Define it with -D far_away=value."),
    ],
)
def test_an_unknown_variable_is_an_error(text: str, start: int, end: int, hint: str) -> None:
    with pytest.raises(BergError) as told:
        substitute(text, KNOWN)
    assert told.value.code is ErrorCode.OPTION
    assert told.value.span == Span(start, end)
    assert told.value.hint == hint


def test_names_to_hint_at_may_be_given() -> None:
    with pytest.raises(BergError) as told:
        substitute("${table_nam}", lambda _: None, known=["table_name"])
    assert told.value.hint == "Did you mean 'table_name'?"


_PIECES = st.lists(st.sampled_from(["ab ", "${X}", "${EMPTY}", "'q'", "中文", "\n", "${a.b}"]), max_size=8)


@settings(max_examples=200, deadline=None)
@given(_PIECES)
def test_offsets_lead_back(pieces: list[str]) -> None:
    text = "".join(pieces)
    filled = substitute(text, KNOWN)
    back = [filled.to_original(i) for i in range(len(filled.text) + 1)]
    assert back == sorted(back)
    assert all(0 <= b <= len(text) for b in back)
    place = 0
    original = 0
    for piece in pieces:
        value = KNOWN[piece[2:-1]] if piece.startswith("${") else piece
        if piece is not value:  # a variable: its value leads to its beginning
            assert all(back[place + i] == original for i in range(len(value)))
        else:  # plain text: each character to itself
            assert [back[place + i] for i in range(1, len(value))] == [original + i for i in range(1, len(value))]
        place += len(value)
        original += len(piece)
    assert filled.text[place:] == ""


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        (r"SELECT r'\' -- ${NOPE}", r"SELECT r'\' -- ${NOPE}"),
        (r"SELECT R'C:\', '${a}'", r"SELECT R'C:\', '1'"),
        (r'SELECT r"\", 2 /* ${NOPE} */', r'SELECT r"\", 2 /* ${NOPE} */'),
        (r"SELECT '\' ${a} -- ' -- ${NOPE}", r"SELECT '\' 1 -- ' -- ${NOPE}"),
        (r"SELECT tr'\' ${a}'", r"SELECT tr'\' 1'"),
    ],
)
def test_sparks_raw_strings_have_no_escapes(written: str, filled: str) -> None:
    assert substitute(written, {"a": "1"}, Flavour.SPARK).text == filled
