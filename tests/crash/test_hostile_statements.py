"""Whatever is typed at a warehouse with tables: it succeeds or gives one error, and no table is left half-written.

Statements of the scenarios and of the documentation's forms are mangled and run by the real command line, in batches of
one session each.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.splitter import Splitter
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest
from tests.support.answers import Answer
from tests.support.berg import Berg, fresh_berg
from tests.support.checklist import FLINK, SPARK
from tests.support.shared import shared

BATCH = 50
BOUNDED, WHOLE = 8, 25
"""How many batches are tried: in every run, in the long one."""

NOISE = st.sampled_from(
    [
        *"()[]<>,.;:'\"`=*-+/?$@#{}\\\n中é",
        *(
            "--",
            "/*",
            "*/",
            "/*+",
            "''",
            "X'",
            "=>",
            "::",
            "->",
            "CAST(",
            "ROW<",
            "1",
            "-1",
            "9999999999999999999",
            "NULL",
        ),
        *(
            "NOT",
            "AS",
            "SELECT",
            "FROM",
            "CASE",
            "END",
            "BY",
            "IN",
            "TABLE",
            "WITH",
            "VALUES",
            "PARTITION",
            "OVERWRITE",
        ),
        *("id", "data", "ts", "t", "c", "d", "${WAREHOUSE}", "${x}", "default_catalog", "test"),
    ]
)


@cache
def scripts() -> tuple[tuple[Flavour, tuple[str, ...]], ...]:
    """The statements that are mangled, in their order: each scenario, and the documentation's forms."""
    found: list[tuple[Flavour, tuple[str, ...]]] = [(Flavour.FLINK, FLINK), (Flavour.SPARK, SPARK)]
    for path in sorted(shared("scenarios").glob("*.sql")):
        flavour = Flavour.SPARK if "spark" in path.name else Flavour.FLINK
        splitter = Splitter(lambda flavour=flavour: flavour)  # type: ignore[misc]
        found.append((flavour, tuple(s.text for s in splitter.feed(path.read_text(encoding="utf-8")))))
    return tuple(found)


@st.composite
def mangled(draw: st.DrawFn) -> tuple[Flavour, list[str]]:
    """Some statements of one script in their order; most are mangled, the others make what those meet."""
    flavour, statements = draw(st.sampled_from(scripts()))
    start = draw(st.integers(0, max(0, len(statements) - BATCH)))
    chosen = (statements * (1 + BATCH // len(statements)))[start : start + BATCH]
    return flavour, [_mangled(draw, sql) if draw(st.integers(0, 2)) else sql for sql in chosen]


def _mangled(draw: st.DrawFn, sql: str) -> str:
    for _ in range(draw(st.integers(1, 3))):
        words = sql.split(" ")
        at = draw(st.integers(0, len(words)))
        match draw(st.sampled_from(["cut", "word", "swap", "double"])):
            case "cut":
                begin = draw(st.integers(0, len(sql)))
                sql = sql[:begin] + draw(NOISE | st.just("")) + sql[begin + draw(st.integers(0, 9)) :]
            case "word":
                sql = " ".join([*words[:at], draw(NOISE), *words[at + draw(st.integers(0, 1)) :]])
            case "swap":
                sql = " ".join([*words[:at], *words[at : at + 2][::-1], *words[at + 2 :]])
            case "double":
                sql = " ".join([*words[:at], *words[at : at + 3], *words[at:]])
    return sql.replace("\0", "")


def check(batch: tuple[Flavour, list[str]]) -> None:
    flavour, given = batch
    statements = [sql for sql in given if "streaming" not in sql.casefold()]  # a stream would never end
    with fresh_berg("--dialect", flavour.value, "--no-config") as berg:
        for sql, answer in zip(statements, berg.answers(statements), strict=True):
            check_answer(sql, answer)
        for table in tables_below(berg):
            check_table(berg, table)


def check_answer(sql: str, answer: Answer) -> None:
    text = "\n".join([*answer.lines, *map(str, answer.errors)])
    assert "Traceback" not in text, f"{sql}\n{text}"
    assert "Internal error" not in text, f"{sql}\n{text}"
    assert len(answer.errors) <= 1 + sql.count(";"), f"{sql}\n{text}"
    for error in answer.errors:
        assert error.message.endswith((".", "!", "?", "…")), f"{sql}\n{text}"


def tables_below(berg: Berg) -> list[Path]:
    found = [p.parent.parent for folder in (berg.warehouse, berg.home) for p in folder.rglob("version-hint.text")]
    return sorted(set(found))


def check_table(berg: Berg, table: Path) -> None:
    """It is read whole, and each of its data files belongs to a snapshot."""
    catalog = HadoopCatalog("c", str(table.parent.parent), {})
    (ident,) = [t for t in catalog.list_tables((table.parent.name,)) if t.name == table.name]
    loaded = catalog.load_table(ident)
    storage = catalog.storage()
    named = set()
    for snapshot in loaded.metadata.snapshots:
        for manifest in read_manifest_list(storage, snapshot, loaded.metadata):
            named |= {Path(e.data_file.path).name for e in read_manifest(storage, manifest, loaded.metadata)}
    data = {p.name for p in (table / "data").rglob("*") if p.is_file()} if (table / "data").is_dir() else set()
    assert data <= named, f"{table}: {data - named}"
    definition = {"type": "iceberg", "catalog-type": "hadoop", "warehouse": str(table.parent.parent)}
    options = ", ".join(f"'{k}'='{v}'" for k, v in definition.items())
    name = f"chk.`{table.parent.name}`.`{table.name}`"
    counted = berg.run(
        "--format", "jsonl", "-e", f"CREATE CATALOG chk WITH ({options})", "-e", f"SELECT COUNT(*) AS n FROM {name}"
    )
    assert counted.code == 0, counted.err
    current = loaded.metadata.current_snapshot()
    total = int(current.summary["total-records"]) if current else 0
    assert json.loads(counted.out) == {"n": total}


SETTINGS = {
    "deadline": None,
    "database": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@pytest.mark.parametrize("batches", [BOUNDED, pytest.param(WHOLE, marks=pytest.mark.long)])
def test_mangled_statements(batches: int) -> None:
    settings(max_examples=batches, **SETTINGS)(given(mangled())(check))()  # type: ignore[arg-type]
