"""Scenario 2, unedited, in all three ways: the real Spark's rows, statement by statement."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.scenarios.script import Step, read_steps
from tests.scenarios.ways import WAYS, check_errors, run_scenario
from tests.support.berg import Berg
from tests.support.oracle import as_multiset
from tests.support.shared import ROOT, shared

SCRIPT = shared("scenarios", "2_spark_tour.sql")
EXEMPT: dict[str, Any] = json.loads((ROOT / "tests/scenarios/tour_exempt.json").read_text(encoding="utf-8"))
"""What later issues bring, by statement number, with the reason (see its ``about``)."""
QUERIES = ("select", "describe", "show")


def unsupported(step: Step) -> bool:
    return str(step.number) in EXEMPT["unsupported"]


def oracle_rows() -> dict[int, list[list[object]]]:
    """Spark's rows by statement number."""
    told = json.loads(shared("oracle", "spark", "tour_oracle.json").read_text(encoding="utf-8"))
    return {s["n"]: s["rows"] for s in told["statements"] if "rows" in s}


def check_rows(steps: Sequence[Step], data: list[str]) -> None:
    """Cut the printed rows by what each query must give, and compare."""
    oracle = oracle_rows()
    start = 0
    for step in steps:
        if step.sql.casefold().startswith("set "):
            assert len(json.loads(data[start])) == 2  # Spark's SET gives back key and value
            start += 1
        if not step.sql.startswith(QUERIES) or step.error or unsupported(step):
            continue
        number = str(step.number)
        later = EXEMPT["rows_later"].get(number)
        listing = EXEMPT["listings"].get(number)
        wanted = oracle[int(number)]
        count = later["rows"] if later else listing or len(wanted)
        rows = [list(json.loads(line).values()) for line in data[start : start + count]]
        start += count
        if not later and not listing:
            assert without_chance(step, rows) == without_chance(step, wanted), f"[{number}] {step.sql}"
    assert data[start:] == []


PARTITIONS = re.compile(r"select \* from \S+\.partitions;?$")
VARYING = (4, 9, 10)
"""The columns of ``partitions`` that differ by run: size of files, time, id of a snapshot."""


def without_chance(step: Step, rows: list[list[object]]) -> list[str]:
    varying = VARYING if PARTITIONS.match(step.sql) else ()
    return as_multiset([cell for n, cell in enumerate(row) if n not in varying] for row in rows)


@pytest.mark.parametrize("way", WAYS)
def test_spark_tour(way: str, berg: Berg) -> None:
    steps = read_steps(SCRIPT)
    outcome = run_scenario(way, SCRIPT, steps, berg, ("--dialect", "spark", "--format", "jsonl"))
    check_errors(steps, outcome, unsupported)
    check_rows(steps, outcome.data)
