"""The runner of ``tests/sql/*.test``: statements and what they print, side by side.

A file begins with a block of settings, one ``key: value`` a line:

    dialect: spark          flink (default) or spark
    format: csv             tableau (default), csv or jsonl
    args: --conf k=v        further arguments of the command line

Then come records, set apart by empty lines. A record is a statement, a line ``----``, and what it prints:

    # A line that begins with a hash, before the statement, is a comment.
    SELECT id, name
    FROM t ORDER BY id
    ----
    +----+------+
    | id | name |
    +----+------+
    |  1 |   zs |
    +----+------+
    1 row in set (0.00 seconds)

- All statements of a file run in one process and one session, each as an ``-e`` of its own, so the last ``;`` may be left
  out and a broken string spoils its own record only. ``${WAREHOUSE}`` is an empty folder, ``default_catalog`` is empty.
- ``let A, B = SELECT …`` stores the cells of a query's one row: ``${A}`` and ``${B}`` stand for them from there on, in
  statements and in what they print. It reads with a session of its own, and ends the file's: what follows has the same
  folders, tables and catalogs, but no temporary objects and settings of what went before.
- Without ``----`` the statement must succeed and its output is not looked at. With nothing behind ``----`` it prints nothing.
- ``---- sorted`` compares the lines in any order.
- An error is written ``error LINE:COLUMN text`` and ``hint text``; the text is part of what bergsql says. The place, which
  is relative to the record, may be left out, and so may the hint.
- ``[INFO] …`` and other notes are compared only where the expectation holds such a line.
- An empty line inside the output is written ``<blank>``.
- Seconds, snapshot ids, sizes of files, the UUIDs in their names and the test's folders differ by run: they are written
  ``(0.00 seconds)``, ``snapshot <id>``, ``<size>``, ``<uuid>``, ``${WAREHOUSE}`` and ``${BERG_HOME}``. Where one of the
  last five stands, a box is as wide as what it stands for, and widths are not compared.

``python -m tests.sqltest FILE…`` prints the differences; with ``--rewrite`` it writes what was printed into the files,
for a person to read over: expected results come from the oracles and from the rules, not from the program under test.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.answers import NOTE, Answer
from tests.support.berg import Berg, fresh_berg

BLANK = "<blank>"
KEYS = ("dialect", "format", "args")
SEPARATOR = re.compile(r"^----(?: (sorted))?$")
ERROR = re.compile(r"^error (?:(\d+):(\d+) )?(.*)$")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
VARYING = (
    (re.compile(r"\(\d+\.\d+ seconds\)"), "(0.00 seconds)"),
    (re.compile(r"(?i)(snapshot[-_ ]?(?:id)?[':= ]+)\d{6,19}\b"), r"\1<id>"),
    (re.compile(r"\b\d+(\.\d)? (bytes|KiB|MiB)\b"), "<size>"),
    (re.compile(rf"(?<=[-/]){UUID}|{UUID}(?=[-.])"), "<uuid>"),
)

VARYING_WIDTH = re.compile(r"<(?:id|size|uuid)>|\$\{\w+\}")
LET = re.compile(r"let (\w+(?:, \w+)*) = ")


@dataclass(frozen=True, slots=True)
class Record:
    """One statement and its expectation. ``line`` is where the statement begins in the file, from 1.

    ``names``: the query's cells are stored under them.
    """

    comments: tuple[str, ...]
    sql: str
    expected: tuple[str, ...] | None
    in_any_order: bool
    line: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestFile:
    """A parsed ``.test`` file."""

    __test__ = False
    header: tuple[str, ...]
    options: dict[str, str]
    records: tuple[Record, ...]
    tail: tuple[str, ...]

    def arguments(self) -> list[str]:
        return [*self.session(), "--format", self.options.get("format", "tableau")]

    def session(self) -> list[str]:
        """The arguments but the format."""
        return ["--dialect", self.options.get("dialect", "flink"), *shlex.split(self.options.get("args", ""))]


class FormatError(Exception):
    """A ``.test`` file that is not one."""


def parse_file(text: str) -> TestFile:
    """Read a ``.test`` file."""
    blocks = _blocks(text)
    header: tuple[str, ...] = ()
    options: dict[str, str] = {}
    if blocks and any(re.match(r"[a-z]+: ", line) for line in blocks[0][1]):
        header = tuple(blocks.pop(0)[1])
        for line in header:
            if line.startswith("#"):
                continue
            key, colon, value = line.partition(": ")
            if not colon or key not in KEYS:
                raise FormatError(f"unknown setting: {line}")
            options[key] = value.strip()
    records: list[Record] = []
    comments: list[str] = []
    for start, lines in blocks:
        if all(line.startswith("#") for line in lines):
            comments += [*lines, ""]
            continue
        records.append(_record(start, lines, comments))
        comments = []
    return TestFile(header, options, tuple(records), tuple(comments))


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """The runs of lines between empty lines, each with the number of its first line."""
    blocks: list[tuple[int, list[str]]] = []
    fresh = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            fresh = True
        elif fresh:
            blocks.append((number, [line]))
            fresh = False
        else:
            blocks[-1][1].append(line)
    return blocks


def _record(start: int, lines: list[str], comments: list[str]) -> Record:
    own = 0
    while lines[own].startswith("#"):
        own += 1
    cut = next((i for i, line in enumerate(lines) if SEPARATOR.match(line)), None)
    separator = SEPARATOR.match(lines[cut]) if cut is not None else None
    sql = "\n".join(lines[own:cut])
    if not sql:
        raise FormatError(f"line {start}: no statement before ----")
    let = LET.match(sql)
    if let and cut is not None:
        raise FormatError(f"line {start}: what is stored is not compared")
    return Record(
        comments=(*comments, *lines[:own]),
        sql=sql,
        expected=None if cut is None else tuple(lines[cut + 1 :]),
        in_any_order=bool(separator and separator.group(1)),
        line=start + own,
        names=tuple(let[1].split(", ")) if let else (),
    )


class Ran(NamedTuple):
    """What a file's statements gave: an answer each, and the values that were stored, by name."""

    answers: list[Answer]
    stored: dict[str, str]


def run_file(file: TestFile, berg: Berg) -> Ran:
    """Run the file's statements through the command line."""
    answers: list[Answer] = []
    stored: dict[str, str] = {}
    for storing, group in groupby(file.records, key=lambda record: bool(record.names)):
        records = list(group)
        if storing:
            for record in records:
                answers.append(_stored(record, berg, file, stored))
        else:
            answers += berg.answers([r.sql for r in records], *_defined(stored), *file.arguments())
    return Ran(answers, stored)


def _stored(record: Record, berg: Berg, file: TestFile, stored: dict[str, str]) -> Answer:
    """Run the query of a ``let`` and add its cells to ``stored``."""
    query = LET.sub("", record.sql, count=1)
    (answer,) = berg.answers([query], *_defined(stored), *file.session(), "--format", "jsonl")
    if not answer.errors:
        (row,) = answer.json_rows()
        stored.update(zip(record.names, map(str, row.values()), strict=True))
    return answer


def _defined(stored: Mapping[str, str]) -> list[str]:
    return [argument for name, value in stored.items() for argument in ("-D", f"{name}={value}")]


def normalised(line: str, berg: Berg, stored: Mapping[str, str] | None = None) -> str:
    """The line without what differs by run."""
    for name, value in (stored or {}).items():
        line = re.sub(rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])", f"${{{name}}}", line)
    line = line.replace(str(berg.warehouse), "${WAREHOUSE}").replace(str(berg.home), "${BERG_HOME}").rstrip()
    for pattern, replacement in VARYING:
        line = pattern.sub(replacement, line)
    return line or BLANK


def printed(answer: Answer, berg: Berg, stored: Mapping[str, str] | None = None, *, notes: bool) -> list[str]:
    """What a statement printed, as the expectation would write it."""
    lines = [normalised(line, berg, stored) for line in (answer.lines if notes else answer.data)]
    for failure in answer.errors:
        lines += [normalised(line, berg, stored) for line in str(failure).splitlines()]
    return lines


def _wants_notes(record: Record) -> bool:
    return any(NOTE.match(line) for line in record.expected or ())


def meets(record: Record, got: Sequence[str], answer: Answer) -> bool:
    """Whether what was printed is what the record expects."""
    if record.expected is None:
        return not answer.errors
    expected, actual = list(record.expected), list(got)
    if any(VARYING_WIDTH.search(line) for line in expected):
        expected, actual = list(map(_unsized, expected)), list(map(_unsized, actual))
    if not any(line.startswith("hint ") for line in expected):
        actual = [line for line in actual if not line.startswith("hint ")]
    if record.in_any_order:
        expected, actual = sorted(expected), sorted(actual)
    return len(expected) == len(actual) and all(map(_line_meets, expected, actual))


def _unsized(line: str) -> str:
    """A border without its length, and a row of a box without what fills its cells up."""
    if re.fullmatch(r"\+(?:-+\+)+", line):
        return re.sub("-+", "-", line)
    return re.sub(r" *\| *", "|", line) if line.lstrip().startswith("|") else line


def _line_meets(expected: str, actual: str) -> bool:
    if wanted := ERROR.match(expected):
        told = ERROR.match(actual)
        if told is None:
            return False
        return wanted.group(1, 2) in ((None, None), told.group(1, 2)) and wanted.group(3) in told.group(3)
    if expected.startswith("hint "):
        return actual.startswith("hint ") and expected.removeprefix("hint ") in actual
    return expected.rstrip() == actual


def differences(path: Path, berg: Berg) -> list[str]:
    """Run a file; the lines of a diff from what it expects to what was printed, empty if all is met."""
    file = parse_file(path.read_text(encoding="utf-8"))
    lines: list[str] = []
    answers, stored = run_file(file, berg)
    for record, answer in zip(file.records, answers, strict=True):
        got = printed(answer, berg, stored, notes=_wants_notes(record))
        if not meets(record, got, answer):
            lines += [f"{path.name}:{record.line}:", *(f"    {line}" for line in record.sql.splitlines())]
            lines += list(unified_diff(record.expected or [], got, "expected", "printed", lineterm="", n=100))[2:]
    return lines


def rewritten(file: TestFile, ran: Ran, berg: Berg) -> str:
    """The file's text with each expectation that is not met replaced by what was printed."""
    parts: list[str] = ["\n".join(file.header)] if file.header else []
    for record, answer in zip(file.records, ran.answers, strict=True):
        got = printed(answer, berg, ran.stored, notes=_wants_notes(record))
        lines = [*record.comments, *record.sql.splitlines()]
        expected = record.expected if meets(record, got, answer) else tuple(got)
        if expected is not None:
            lines += ["---- sorted" if record.in_any_order else "----", *expected]
        parts.append("\n".join(lines))
    if file.tail:
        parts.append("\n".join(file.tail).rstrip())
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """The command line of the runner."""
    rewrite = "--rewrite" in arguments
    failed = False
    for path in map(Path, (a for a in arguments if a != "--rewrite")):
        with fresh_berg() as berg:
            if rewrite:
                file = parse_file(path.read_text(encoding="utf-8"))
                path.write_text(rewritten(file, run_file(file, berg), berg), encoding="utf-8")
            elif lines := differences(path, berg):
                failed = True
                print("\n".join(lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
