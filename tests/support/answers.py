"""What each statement of one run printed.

A run of several statements prints one stream. To cut it, ``SET 'token'`` is sent behind each statement: it shows the
value of a setting that there is not, in any flavour, mode and layout. What stands before it belongs to the statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

NOTE = re.compile(r"\[(INFO|NOTE|WARN|WARNING)\] ")
POSITION = re.compile(r"^  (?:line (\d+), column (\d+)|.*?:(\d+):(\d+))$")


@dataclass(frozen=True, slots=True)
class Failure:
    """One ``[ERROR]`` block."""

    message: str
    line: int | None
    column: int | None
    hint: str | None

    def __str__(self) -> str:
        place = f" {self.line}:{self.column}" if self.line else ""
        return f"error{place} {self.message}" + (f"\nhint {self.hint}" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Answer:
    """One statement's output. ``lines`` are everything that is not an error, in order."""

    lines: tuple[str, ...]
    errors: tuple[Failure, ...]

    @property
    def data(self) -> list[str]:
        """The lines that are data: no notes."""
        return [line for line in self.lines if not NOTE.match(line)]

    def json_rows(self) -> list[dict[str, object]]:
        if self.errors:
            raise AssertionError("\n".join(map(str, self.errors)))
        return [json.loads(line) for line in self.data if line]


def marked(statements: Sequence[str], token: str) -> list[str]:
    """The arguments that run the statements, each followed by its marker."""
    arguments: list[str] = []
    for number, statement in enumerate(statements):
        arguments += ["-e", statement, "-e", f"SET '{token}_{number}'"]
    return arguments


def split_answers(out: str, count: int, token: str) -> list[Answer]:
    """Cut the merged output of a run of ``marked`` statements (tableau, csv or jsonl)."""
    lines = out.splitlines()
    answers: list[Answer] = []
    start = 0
    for number in range(count):
        place = next((i for i in range(start, len(lines)) if f"{token}_{number}" in lines[i]), None)
        if place is None:
            raise AssertionError(
                f"statement {number + 1} of {count} never came to its end. Output from there:\n"
                + "\n".join(lines[start:])
            )
        first, end = _marker_block(lines, place)
        answers.append(parse_answer(lines[start:first]))
        start = end
    if rest := [line for line in lines[start:] if line.strip()]:
        raise AssertionError("output behind the last statement:\n" + "\n".join(rest))
    return answers


def _marker_block(lines: list[str], place: int) -> tuple[int, int]:
    """Where the marker's result begins and ends, around the line that holds the token."""
    if lines[place].startswith("{"):
        return place, place + 1
    if lines[place].startswith("|"):
        end = place + 3  # the row, the border, the footer
        return place - 3, end + 1 if end < len(lines) and not lines[end] else end
    return place - 1, place + 1  # csv: its header


def parse_answer(lines: Sequence[str]) -> Answer:
    """Take the ``[ERROR]`` blocks out of the lines: message, place, source line and caret, hint."""
    kept: list[str] = []
    errors: list[Failure] = []
    i = 0
    while i < len(lines):
        if not lines[i].startswith("[ERROR] "):
            kept.append(lines[i])
            i += 1
            continue
        message, line, column, hint = lines[i].removeprefix("[ERROR] "), None, None, None
        i += 1
        if i < len(lines) and (place := POSITION.match(lines[i])):
            numbers = [g for g in place.groups() if g]
            line, column = int(numbers[0]), int(numbers[1])
            i += 1
            while i < len(lines) and lines[i].startswith("  "):  # the source line and the caret
                i += 1
        if i < len(lines) and lines[i].startswith("Hint: "):
            hint = lines[i].removeprefix("Hint: ")
            i += 1
        errors.append(Failure(message, line, column, hint))
    while kept and not kept[-1].strip():
        kept.pop()
    while kept and not kept[0].strip():
        kept.pop(0)
    return Answer(tuple(kept), tuple(errors))
