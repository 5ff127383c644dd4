"""The runner of .test files tests itself: what it must notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sqltest import FormatError, Ran, meets, normalised, parse_file, printed, rewritten, run_file
from tests.support.answers import parse_answer, split_answers
from tests.support.berg import Berg, fresh_berg

BERG = Berg(Path("/tmp/h123456"), Path("/tmp/w123456"))
FILE = """dialect: spark
args: --conf a=b

# About the file.

# About the record.
SELECT 1
AS one
----
+-----+
| one |
+-----+
|   1 |
+-----+
1 row in set (0.00 seconds)

CREATE TABLE t (id int)

SELECT nope
----
error 1:8 nope
hint mean
"""
ROWS = ["+-----+", "| one |", "+-----+", "|   1 |", "+-----+", "1 row in set (3.21 seconds)"]
ERROR = [
    "[ERROR] Column nope was not found.",
    "  line 1, column 8",
    "  SELECT nope",
    "         ^^^^",
    "Hint: Did you mean it?",
]


def marker(number: int) -> list[str]:
    return [
        "+-------+-------+",
        "|   key | value |",
        "+-------+-------+",
        f"| tok_{number} |       |",
        "+-------+-------+",
        "1 row in set",
    ]


def test_a_file_is_read_and_written_back() -> None:
    file = parse_file(FILE)
    assert file.arguments() == ["--dialect", "spark", "--conf", "a=b", "--format", "tableau"]
    assert [r.sql for r in file.records] == ["SELECT 1\nAS one", "CREATE TABLE t (id int)", "SELECT nope"]
    assert [r.line for r in file.records] == [7, 17, 19]
    answers = [parse_answer(ROWS), parse_answer([]), parse_answer(ERROR)]
    assert rewritten(file, Ran(answers, {}), BERG) == FILE


def test_answers_are_cut_at_their_markers() -> None:
    out = "\n".join([*ROWS, *marker(0), "[INFO] Execute statement succeeded.", *marker(1), *ERROR, *marker(2)])
    first, second, third = split_answers(out, 3, "tok")
    assert list(first.lines) == ROWS
    assert second.lines == ("[INFO] Execute statement succeeded.",)
    assert second.data == []
    (failure,) = third.errors
    assert (failure.line, failure.column, failure.hint) == (1, 8, "Did you mean it?")


@pytest.mark.parametrize(
    ("expected", "met"),
    [
        ("error 1:8 nope\nhint mean", True),
        ("error nope\nhint it?", True),
        ("error 1:9 nope\nhint mean", False),
        ("error 1:8 other\nhint mean", False),
        ("error 1:8 nope", True),
        ("error 1:8 nope\nhint other", False),
        ("", False),
    ],
)
def test_an_error_is_met_by_place_and_text(expected: str, met: bool) -> None:
    (record,) = parse_file(f"SELECT nope\n----\n{expected}").records
    answer = parse_answer(ERROR)
    assert meets(record, printed(answer, BERG, notes=False), answer) is met


def test_a_statement_without_expectation_must_succeed() -> None:
    (record,) = parse_file("SELECT nope").records
    assert meets(record, [], parse_answer(ROWS))
    assert not meets(record, [], parse_answer(ERROR))


def test_other_rows_are_noticed() -> None:
    (record,) = parse_file("SELECT 1\n----\n" + "\n".join(ROWS).replace("3.21", "0.00")).records
    answer = parse_answer(ROWS)
    assert meets(record, printed(answer, BERG, notes=False), answer)
    changed = parse_answer([row.replace("1 |", "2 |") for row in ROWS])
    assert not meets(record, printed(changed, BERG, notes=False), changed)
    assert not meets(record, printed(changed, BERG, notes=False)[:-1], changed)


def test_what_differs_by_run_is_replaced() -> None:
    line = "/tmp/w123456/db/00000-0-123e4567-e89b-12d3-a456-426614174000-1.parquet snapshot 1234567890123456 (0.52 seconds)"
    assert normalised(line, BERG) == "${WAREHOUSE}/db/00000-0-<uuid>-1.parquet snapshot <id> (0.00 seconds)"
    assert normalised("9223372036854775807", BERG) == "9223372036854775807"


def test_a_box_may_be_as_wide_as_what_differs_by_run() -> None:
    box = ["+-----------+", "|    result |", "+-----------+", "| q", "  snapshot: <id>", " |", "+-----------+"]
    wider = [
        "+-------------+",
        "|      result |",
        "+-------------+",
        "| q",
        "  snapshot: <id>",
        " |",
        "+-------------+",
    ]
    (record,) = parse_file("\n".join(["EXPLAIN q", "----", *box])).records
    assert meets(record, wider, parse_answer(ROWS))
    assert not meets(record, [line.replace("| q", "| p") for line in wider], parse_answer(ROWS))
    (fixed,) = parse_file("\n".join(["EXPLAIN q", "----", *box]).replace("<id>", "1")).records
    assert not meets(fixed, [line.replace("<id>", "1") for line in wider], parse_answer(ROWS))


def test_cells_are_stored_and_stand_for_what_they_are() -> None:
    text = """format: csv

let A, B = SELECT 77, 'x
y'

let C = SELECT ${A} + 1

SELECT ${C} AS c, '${B}' AS b, 177 AS other
----
c,b,other
${C},"x
y",177
"""
    file = parse_file(text)
    assert [r.names for r in file.records] == [("A", "B"), ("C",), ()]
    with fresh_berg() as berg:
        ran = run_file(file, berg)
        assert ran.stored == {"A": "77", "B": "x\ny", "C": "78"}
        assert rewritten(file, ran, berg) == text


@pytest.mark.parametrize("text", ["let A = SELECT 1\n----\n1", "nonsense: x\n\nSELECT 1", "# only a comment\n----\n1"])
def test_a_malformed_file_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_file(text)
