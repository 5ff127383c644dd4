"""A scenario script, statement by statement, with what its comments say about each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a scenario.

    ``first_line`` and ``last_line`` are lines of the file, from 1. ``number`` is the statement's number in the tour
    oracle. ``error`` is text that its error must contain. ``facts`` are the ``--=`` lines behind it.
    """

    sql: str
    first_line: int
    last_line: int
    number: int | None
    error: str | None
    follows_call: bool
    facts: tuple[str, ...]


def read_steps(path: Path) -> list[Step]:
    """The script's statements. In these scripts a statement ends with a ``;`` at a line's end."""
    steps: list[Step] = []
    number: int | None = None
    error: str | None = None
    follows_call = False
    sql: list[str] = []
    facts: list[list[str]] = []
    first = 0
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not sql and line.startswith("--"):
            if line.startswith("--="):
                facts[-1].append(line.removeprefix("--="))
            elif line.startswith("--!"):
                error = line.removeprefix("--!").strip()
            elif line.startswith("--~"):
                follows_call = True
            elif match := re.match(r"--\[(\d+)\]", line):
                number = int(match.group(1))
            continue
        if not sql and not line.strip():
            continue
        first = first if sql else at
        sql.append(line)
        if line.rstrip().endswith(";"):
            steps.append(Step("\n".join(sql), first, at, number, error, follows_call, ()))
            facts.append([])
            sql, number, error, follows_call = [], None, None, False
    return [
        Step(s.sql, s.first_line, s.last_line, s.number, s.error, s.follows_call, _joined(f))
        for s, f in zip(steps, facts, strict=True)
    ]


def _joined(facts: list[str]) -> tuple[str, ...]:
    """One text a fact: a line indented by more than one blank goes on with the one before."""
    whole: list[str] = []
    for fact in facts:
        if fact.startswith("  ") and whole:
            whole[-1] += " " + fact.strip()
        else:
            whole.append(fact.strip())
    return tuple(whole)
