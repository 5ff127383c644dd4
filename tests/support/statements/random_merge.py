"""Random MERGE INTO: sources, conditions and clauses of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.support.statements import model
from tests.support.statements.expressions import (
    TABLE,
    Expr,
    Scope,
    both,
    column,
    compared,
    null_safe,
    random_condition,
    simple_condition,
)
from tests.support.statements.model import Clause, ClauseKind, ModelTable
from tests.support.statements.random_rows import (
    Rows,
    random_assignments,
    random_row,
    random_select,
    set_text,
    stored_expr,
    values_text,
)
from tests.support.statements.statement import Statement
from tests.support.statements.values import Kind, Row

TARGET, SOURCE = "t", "s"
KINDS: tuple[ClauseKind, ...] = ("matched", "not matched", "by source")


@dataclass(frozen=True)
class Source:
    """``sql`` stands behind USING, its alias left out. ``whole``: it has the target's columns."""

    sql: str
    columns: Mapping[str, Kind]
    rows: Rows
    whole: bool = True
    before: tuple[str, ...] = ()


def random_source(table: ModelTable, random: Random) -> Source:
    roll = random.random()
    if roll < 0.5 or not table.rows:
        return _values(table, random)
    if roll < 0.6:
        return Source(TABLE, table.columns, lambda t: list(t.rows))
    if roll < 0.75:
        return _grouped(table)
    text, rows = random_select(table, random)
    if random.random() < 0.3:
        view = f"CREATE OR REPLACE TEMPORARY VIEW changes AS {text}"
        return Source("changes", table.columns, rows, before=(view,))
    if random.random() < 0.3:
        text = f"WITH q1 AS ({text}) SELECT * FROM q1"
    return Source(f"({text})", table.columns, rows)


def _values(table: ModelTable, random: Random) -> Source:
    """Rows of their own, mostly with keys that differ; some columns may lack, others may be there too."""
    rows = [random_row(table, random) for _ in range(random.randint(1, 5))]
    if random.random() < 0.8:
        keys: dict[object, Row] = {row["id"]: row for row in rows}
        rows = list(keys.values())
    columns = dict(table.columns)
    if random.random() < 0.3:
        columns = {n: k for n, k in columns.items() if n == "id" or random.random() < 0.6}
        rows = [{n: row[n] for n in columns} for row in rows]
    text = f"(SELECT * FROM VALUES {values_text(columns, rows)} AS v({', '.join(columns)}))"
    return Source(text, columns, lambda _: rows, len(columns) == len(table.columns))


def _grouped(table: ModelTable) -> Source:
    """A row for each id of the table."""
    names = [n for n, k in table.columns.items() if k.name in ("int", "bigint", "string", "date") and n != "id"]
    columns = {"id": table.columns["id"], **{n: table.columns[n] for n in names[:2]}}
    items = ", ".join(f"max({n}) AS {n}" for n in names[:2])

    def rows(t: ModelTable) -> list[Row]:
        groups: dict[object, list[Row]] = {}
        for row in t.rows:
            groups.setdefault(row["id"], []).append(row)
        return [
            {"id": key, **{n: max((r[n] for r in group if r[n] is not None), default=None) for n in names[:2]}}
            for key, group in groups.items()
        ]

    text = f"(SELECT id{f', {items}' if items else ''} FROM {TABLE} GROUP BY id)"
    return Source(text, columns, rows, len(columns) == len(table.columns))


def random_on(table: ModelTable, source: Source, random: Random) -> Expr:
    keys = (column(TARGET, "id", table.columns["id"]), column(SOURCE, "id", source.columns["id"]))
    scope = Scope({TARGET: table.columns, SOURCE: source.columns})
    roll = random.random()
    if roll < 0.5:
        return compared(keys[0], "=", keys[1])
    if roll < 0.65:
        return null_safe(*keys)
    if roll < 0.9:
        return both(compared(keys[0], "=", keys[1]), random_condition(scope, random))
    return random_condition(scope, random)


def random_merge(table: ModelTable, random: Random) -> Statement | None:
    if len(table.rows) > 40:
        return None
    source = random_source(table, random)
    on = random_on(table, source, random)
    clauses: list[Clause] = []
    texts: list[str] = []
    counts = random.choice(
        ((1, 0, 0), (1, 1, 0), (1, 1, 0), (2, 1, 0), (0, 1, 0), (3, 2, 0), (1, 1, 1), (0, 0, 1), (2, 1, 2))
    )
    for kind, count in zip(KINDS, counts, strict=True):
        for number in range(count):
            clause, text = _clause(kind, number == count - 1, table, source, random)
            clauses.append(clause)
            texts.append(text)
    named = f"MERGE INTO {TABLE} AS {TARGET} USING {source.sql} AS {SOURCE} ON {on.sql} {' '.join(texts)}"

    def doubt(t: ModelTable) -> str:
        twice = not counts[0] and any(len(found) > 1 for found in model.matches(t, source.rows(t), on))
        return "Spark doubles a row that is matched twice where no clause is WHEN MATCHED" if twice else ""

    return Statement("merge", named, lambda t: model.merge(t, source.rows(t), on, clauses), source.before, doubt=doubt)


def _clause(kind: ClauseKind, last: bool, table: ModelTable, source: Source, random: Random) -> tuple[Clause, str]:
    both_sides = Scope({TARGET: table.columns, SOURCE: source.columns})
    scope = both_sides if kind == "matched" else both_sides.only(SOURCE if kind == "not matched" else TARGET)
    condition = None if last and random.random() < 0.5 else simple_condition(scope, random)
    words = {"matched": "MATCHED", "not matched": "NOT MATCHED", "by source": "NOT MATCHED BY SOURCE"}[kind]
    when = f"WHEN {words}{f' AND {condition.sql}' if condition else ''} THEN"
    if kind == "not matched":
        assignments, action = _inserted(table, source, scope, random)
        return Clause(kind, condition, assignments), f"{when} {action}"
    if random.random() < 0.35:
        return Clause(kind, condition, None), f"{when} DELETE"
    if kind == "matched" and source.whole and random.random() < 0.4:
        return Clause(kind, condition, _all_columns(table, source)), f"{when} UPDATE SET *"
    assignments = random_assignments(table, scope, random)
    return Clause(kind, condition, assignments), f"{when} UPDATE SET {set_text(TARGET, assignments)}"


def _all_columns(table: ModelTable, source: Source) -> dict[tuple[str, ...], Expr]:
    return {(name,): column(SOURCE, name, source.columns[name]) for name in table.columns}


def _inserted(
    table: ModelTable, source: Source, scope: Scope, random: Random
) -> tuple[dict[tuple[str, ...], Expr], str]:
    if source.whole and random.random() < 0.6:
        return _all_columns(table, source), "INSERT *"
    names = [n for n in table.columns if n == "id" or n in table.required or random.random() < 0.7]
    random.shuffle(names)
    values: dict[tuple[str, ...], Expr] = {(n,): stored_expr(table.columns[n], scope, random) for n in names}
    if random.random() < 0.7:
        values["id",] = column(SOURCE, "id", source.columns["id"])
    items = ", ".join(e.sql for e in values.values())
    return values, f"INSERT ({', '.join(names)}) VALUES ({items})"
