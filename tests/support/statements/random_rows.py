"""Rows, queries and new values for random statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from tests.support.statements.expressions import TABLE, Env, Expr, Scope, column, leaves, random_condition, random_expr
from tests.support.statements.model import Assignments, ModelTable
from tests.support.statements.values import BIGINT, DATE, INT, STRING, Kind, Row, literal, random_value

Rows = Callable[[ModelTable], list[Row]]


def random_row(table: ModelTable, random: Random) -> Row:
    return {
        name: random.randint(0, 9)
        if name == "id" and random.random() < 0.9
        else random_value(kind, random, null=0.02 if name in table.required else 0.15)
        for name, kind in table.columns.items()
    }


def values_text(columns: Mapping[str, Kind], rows: Sequence[Row]) -> str:
    return ", ".join(f"({', '.join(literal(columns[n], row[n]) for n in columns)})" for row in rows)


def ordered(table: ModelTable, row: Row) -> Row:
    return {name: row[name] for name in table.columns}


def random_select(table: ModelTable, random: Random, leave_out: str = "") -> tuple[str, Rows]:
    """A query of the table itself that gives rows of its columns, one of them left out."""
    scope = Scope({"q": table.columns})
    exprs: dict[str, Expr] = {}
    for name, kind in table.columns.items():
        exprs[name] = column("q", name, kind) if random.random() < 0.7 else random_expr(kind, scope, random)
    where = random_condition(scope, random)
    items = ", ".join(f"{e.sql} AS {n}" for n, e in exprs.items() if n != leave_out)

    def rows(table: ModelTable) -> list[Row]:
        envs = [Env({"q": row}, table.rows) for row in table.rows]
        return [{n: e.value(env) for n, e in exprs.items()} for env in envs if where.value(env)]

    return f"SELECT {items} FROM {TABLE} AS q WHERE {where.sql}", rows


def random_assignments(table: ModelTable, scope: Scope, random: Random) -> dict[tuple[str, ...], Expr]:
    """One to three columns or fields with new values, seldom of types that may not be stored."""
    out: dict[tuple[str, ...], Expr] = {}
    names = random.sample(list(table.columns), min(len(table.columns), random.choice((1, 1, 2, 3))))
    for name in names:
        path: tuple[str, ...] = (name,)
        kind = table.columns[name]
        while kind.fields and random.random() < 0.5:
            inner, kind = random.choice(kind.fields)
            path = (*path, inner)
        out[path] = stored_expr(kind, scope, random)
    return out


def stored_expr(kind: Kind, scope: Scope, random: Random) -> Expr:
    """A value for a column: mostly of its own type, seldom of one that may not be stored.

    No constant is too big for its column: when engines look at constants is not the same in all.
    """
    other = kind
    if random.random() < 0.15:
        other = {"int": BIGINT, "bigint": INT, "timestamp": DATE}.get(kind.name, kind)
    if kind == INT and random.random() < 0.03:
        other = STRING
    same = [e for e in leaves(scope) if e.kind == other]
    return random.choice(same) if same and other != kind else random_expr(kind, scope, random)


def set_text(alias: str, assignments: Assignments) -> str:
    prefix = f"{alias}." if alias else ""
    return ", ".join(f"{prefix}{'.'.join(path)} = {expr.sql}" for path, expr in assignments.items())
