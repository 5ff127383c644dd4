"""What the real Spark answers to 300 statements of meaning: rows where it gives rows, an error where it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from tests.support.answers import Answer
from tests.support.berg import fresh_berg
from tests.support.oracle import as_multiset, in_order
from tests.support.shared import ROOT, shared

ARGUMENTS = ("--dialect", "spark", "--format", "jsonl")
CATALOG = [
    "SET spark.sql.catalog.hadoop_prod = org.apache.iceberg.spark.SparkCatalog",
    "SET spark.sql.catalog.hadoop_prod.type = hadoop",
    "SET spark.sql.catalog.hadoop_prod.warehouse = ${WAREHOUSE}",
    "SET spark.sql.session.timeZone = UTC",
]
REFUSED: dict[str, str] = json.loads((ROOT / "tests/scenarios/semantics_errors.json").read_text(encoding="utf-8"))
"""By statement number, for what Spark refuses for a reason that is ours too: our error code, and line:column."""
EXEMPT: dict[str, Any] = json.loads((ROOT / "tests/scenarios/semantics_exempt.json").read_text(encoding="utf-8"))
"""By statement number (its place in the oracle's list): see the file's ``about``."""


@dataclass(frozen=True, slots=True)
class Told:
    """One statement of the oracle. ``rows`` None: Spark refused it."""

    number: int
    sql: str
    rows: list[list[Any]] | None
    columns: list[str]

    @property
    def compared(self) -> bool:
        """All but SET, which gives no rows here, and EXPLAIN, whose plan is that of another engine."""
        return self.rows is not None and re.match(r"(?i)\s*(set|explain)\b", self.sql) is None


@cache
def oracle() -> tuple[Told, ...]:
    told = json.loads(shared("oracle", "spark", "semantics_oracle.json").read_text(encoding="utf-8"))
    return tuple(Told(n, s["sql"], s.get("rows"), s.get("columns") or []) for n, s in enumerate(told) if "sql" in s)


@pytest.fixture(scope="module")
def answers() -> dict[int, Answer]:
    """All statements in their order, in one session."""
    with fresh_berg(*ARGUMENTS) as berg:
        given = berg.answers([*CATALOG, *(t.sql for t in oracle())])[len(CATALOG) :]
    return {t.number: a for t, a in zip(oracle(), given, strict=True)}


CHANCE = re.compile(
    r"^(?:file://)?[^ ]*(?=/db\b)|(?<=LOCATION ')[^']*(?=/db\b)|(?<=current-snapshot-id=)\d+"
    r"|(?<='current-snapshot-id' = ')\d+"
)


def without_chance(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows without what differs by run: who owns a table, the id of its snapshot, where the warehouse is."""
    kept = [row for row in rows if row[:1] != ["Owner"]]
    kept = [[row[0], ""] if row[:1] == ["current-snapshot-id"] else row for row in kept]
    return [[CHANCE.sub("", cell) if isinstance(cell, str) else cell for cell in row] for row in kept]


@pytest.mark.parametrize("told", oracle(), ids=lambda t: f"{t.number}: {t.sql[:60]}")
def test_meaning_is_sparks(told: Told, answers: dict[int, Answer]) -> None:
    answer = answers[told.number]
    number = str(told.number)
    if number in EXEMPT["follows"]:
        return
    if number in EXEMPT["later"]:
        assert answer.errors, answer.lines
        assert "not supported yet" in answer.errors[0].message
    elif number in EXEMPT["ours"]:
        assert not answer.errors, answer.errors[0]
    elif told.rows is None:
        assert answer.errors, answer.lines
    elif number in EXEMPT["shape"]:
        shown = answer.json_rows()
        assert len(shown) == len(told.rows)
        assert all(list(row) == told.columns for row in shown)
    elif told.compared:
        rows = [list(row.values()) for row in answer.json_rows()]
        order = in_order if "order by" in told.sql.lower() else as_multiset
        assert order(without_chance(rows)) == order(without_chance(told.rows))
    else:
        assert not answer.errors, answer.errors[0]


@pytest.fixture(scope="module")
def refusals() -> dict[int, BergError | None]:
    """What the session itself raises for each statement, all in their order."""
    found: dict[int, BergError | None] = {}
    with fresh_berg() as berg:
        variables = {"WAREHOUSE": str(berg.warehouse)}
        session = Session(SessionConfig(home=berg.home, flavour=Flavour.SPARK, variables=variables))
        for sql in CATALOG:
            session.execute(sql)
        for told in oracle():
            found[told.number] = refusal(session, told.sql)
        session.close()
    return found


def refusal(session: Session, sql: str) -> BergError | None:
    try:
        for _ in session.execute(sql).chunks:
            pass
    except BergError as error:
        return error
    return None


@pytest.mark.parametrize("number", REFUSED)
def test_refusals_have_our_code_and_the_place(number: str, refusals: dict[int, BergError | None]) -> None:
    error = refusals[int(number)]
    assert error is not None
    assert error.span is not None
    sql = next(t.sql for t in oracle() if t.number == int(number))
    before = sql[: error.span.start]
    place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert f"{error.code.name} {place}" == REFUSED[number]


def test_every_refusal_of_sparks_is_looked_at() -> None:
    exempt = EXEMPT["later"].keys() | EXEMPT["follows"].keys() | EXEMPT["ours"].keys()
    refused = {str(t.number) for t in oracle() if t.rows is None} - exempt
    assert refused == REFUSED.keys()
