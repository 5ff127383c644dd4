"""The real Flink SQL client's transcripts, statement by statement: the same rows, the same drawing, the same refusals.

``flink_exempt.json`` lists what is not compared: what a later issue brings (which must say "not supported yet"), what
depends on that, and where bergsql means to differ, by the number of the row in docs/flink-differences.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.support.answers import Answer
from tests.support.berg import fresh_berg
from tests.support.shared import ROOT, shared
from tests.support.transcript import Drawn, Told, drawn, read_transcript, timeless

TRANSCRIPTS = (
    "00_basic",
    "01_catalog_db",
    "02_table_ddl",
    "03_views",
    "04_alter",
    "05_insert",
    "06_select_stream",
    "07_render_batch",
    "07_render_stream",
    "08_errors",
    "08b_errors",
    "50_iceberg_smoke",
    "51_iceberg",
    "52_iceberg_stream",
)
GOES_ON = {"52_iceberg_stream": "51_iceberg"}
"""Transcripts that find what another one left."""
EXEMPT: dict[str, Any] = json.loads((ROOT / "tests/scenarios/flink_exempt.json").read_text(encoding="utf-8"))
SAME_WORDS = re.compile(r"CONSTRAINT `[^`]*` (?=PRIMARY KEY)")
COMMENT = " '...'"
"""What Flink's DESCRIBE says of the comment of a field within a column."""
STRING = ("VARCHAR(2147483647)", "STRING")
DIFFERENCES = (ROOT / "docs/flink-differences.md").read_text(encoding="utf-8")


@cache
def transcript(name: str) -> list[Told]:
    return read_transcript(shared("oracle", "flink", f"{name}.txt"))


ALL = [told for name in TRANSCRIPTS for told in transcript(name)]


@pytest.fixture(scope="module")
def answers() -> dict[str, list[Answer]]:
    """The answers of each transcript, run in one session of its own."""
    given: dict[str, list[Answer]] = {}
    for name in TRANSCRIPTS:
        if name in GOES_ON:
            continue
        together = [name, *(later for later, earlier in GOES_ON.items() if earlier == name)]
        with fresh_berg("-D", "LOCAL=/nonexistent") as berg:
            for each in together:
                statements = [told.sql.replace("${LOCAL}", str(berg.warehouse)) for told in transcript(each)]
                given[each] = [localized(answer, str(berg.warehouse)) for answer in berg.answers(statements)]
    return given


def localized(answer: Answer, folder: str) -> Answer:
    """The answer with the transcript's name for the folder that paths are in."""
    return Answer(tuple(line.replace(folder, "${LOCAL}") for line in answer.lines), answer.errors)


def exemption(told: Told) -> tuple[str, str]:
    """Its kind and its reason; two empty texts when the statement is compared."""
    for kind in ("later", "follows", "ours"):
        reason = EXEMPT[kind].get(told.transcript, {}).get(str(told.number))
        if reason is not None:
            return kind, reason
    return "", ""


@pytest.mark.parametrize("told", ALL, ids=str)
def test_answers_as_flink(told: Told, answers: dict[str, list[Answer]]) -> None:
    answer = answers[told.transcript][told.number]
    kind, _ = exemption(told)
    if kind == "later":
        assert answer.errors, answer.lines
        assert "not supported yet" in answer.errors[0].message
    elif kind == "":
        compare(told, answer)


def compare(told: Told, answer: Answer) -> None:
    if told.failed:
        assert answer.errors, answer.lines
        assert not any("not supported yet" in error.message for error in answer.errors), answer.errors
        assert not any("Internal error" in error.message for error in answer.errors), answer.errors
        return
    assert not answer.errors, answer.errors
    expected = told.table
    if expected is None:
        return
    found = drawn(answer.lines)
    assert found is not None, answer.lines
    if by_chance(expected):
        assert normal(without_chance(found)) == normal(without_chance(expected))
        return
    assert normal(found.settled()) == normal(expected.settled())
    if told.sql.upper().startswith("SELECT") and drawn_alike(found, expected):
        in_any_order = "ORDER BY" not in told.sql.upper()
        order: Callable[[list[str]], list[str]] = sorted if in_any_order else list
        assert order(timeless(answer.data)) == order(timeless(told.lines))


def drawn_alike(found: Drawn, expected: Drawn) -> bool:
    """Whether both are changelogs or neither is: Flink streams unless it is told otherwise. Ours is folded, and may have
    other changes where rows were taken back."""
    return found.is_changelog == expected.is_changelog and (not expected.is_changelog or expected.only_inserts)


CHANCE = re.compile(r"^(made_current|last_updated|committed)_at$|(^|_)snapshot_id$|^parent_id$|_size_in_bytes$")
"""Columns of metadata tables whose values differ by run."""


def by_chance(table: Drawn) -> bool:
    return bool(table.rows) and any(CHANCE.search(name) for name in table.names)


def without_chance(table: Drawn) -> Drawn:
    """Without values that differ by run; that one is NULL stays told."""
    varying = [CHANCE.search(name) is not None for name in table.names]
    rows = (
        tuple("" if by and cell != "<NULL>" else cell for cell, by in zip(row, varying, strict=True))
        for row in table.rows
    )
    return Drawn(table.names, tuple(rows))


def normal(table: Drawn) -> Drawn:
    """Without what is the same in other words: Flink's name of STRING, the made-up name of a primary key, quotes around
    names, the order of rows."""
    texts = sorted(tuple(same_words(cell) for cell in row) for row in table.rows)
    return Drawn(table.names if table.rows else (), tuple(texts))


def test_each_difference_is_documented() -> None:
    rows = set(re.findall(r"^\| (\d+) \|", DIFFERENCES, re.MULTILINE))
    used = {reason for numbers in EXEMPT["ours"].values() for reason in numbers.values()}
    assert used == rows


def test_exemptions_name_statements() -> None:
    known = {(told.transcript, str(told.number)) for told in ALL}
    named = [(name, n) for kind in ("later", "follows", "ours") for name, ns in EXEMPT[kind].items() for n in ns]
    assert set(named) <= known
    assert len(named) == len(set(named))


def same_words(cell: str) -> str:
    return (
        SAME_WORDS.sub("", cell)
        .replace(*STRING)
        .replace("`", "")
        .replace(COMMENT, "")
        .replace(" AS INTEGER)", " AS INT)")
    )
