"""A table as a list of dicts, and what statements do to it: the meaning of SQL without files, snapshots or engines."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

import mmh3

from tests.support.statements.expressions import Env, Expr
from tests.support.statements.values import Kind, Row, encoded, without


class Refused(Exception):
    """The statement is wrong, and the table stays as it was."""


@dataclass(frozen=True)
class Part:
    """A partition field: ``transform`` is ``identity``, ``bucket``, ``truncate`` or ``days``."""

    transform: str
    column: str
    number: int = 0

    @property
    def sql(self) -> str:
        if self.transform == "identity":
            return self.column
        return f"{self.transform}({f'{self.number}, ' if self.number else ''}{self.column})"

    def of(self, value: Any) -> Any:
        """The transform, as the specification's appendix B has it."""
        if value is None or self.transform == "identity":
            return value
        if self.transform == "days":
            return value.date() if isinstance(value, datetime) else value
        if self.transform == "truncate":
            return value[: self.number] if isinstance(value, str) else value - value % self.number
        if isinstance(value, date):
            value = (value - date(1970, 1, 1)).days
        data = value.encode() if isinstance(value, str) else struct.pack("<q", value)
        return (mmh3.hash(data) & 0x7FFFFFFF) % self.number


IDENTITY, CHANGED = "#identity", "#changed"
"""Beside its columns a row holds a number of its own, which an UPDATE keeps, and the last statement that wrote it."""


@dataclass
class ModelTable:
    """``used`` columns were partitioned or sorted by; ``mixed``: rows may lie in files of different specs.

    ``statements`` counts what was applied, ``identities`` the rows that there ever were.
    """

    columns: dict[str, Kind]
    required: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()
    rows: list[Row] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    mixed: bool = False
    statements: int = 0
    identities: int = 0

    def encoded(self) -> list[list[Any]]:
        """The rows as engines' JSON gives them."""
        return [[encoded(kind, row[name]) for name, kind in self.columns.items()] for row in self.rows]

    def lineage(self) -> list[tuple[int, int]]:
        """Each row's own number, and the number of the statement that wrote it last."""
        return [(row[IDENTITY], row[CHANGED]) for row in self.rows]

    def env(self, alias: str, row: Row) -> Env:
        return Env({alias: row}, self.rows)

    def replace_rows(self, rows: list[Row]) -> None:
        """The rows after a statement, checked."""
        for name in self.required:
            if any(row[name] is None for row in rows):
                raise Refused(f"{name} is NOT NULL")
        for row in rows:
            if IDENTITY not in row:
                self.identities += 1
                row |= {IDENTITY: self.identities, CHANGED: self.statements}
        self.rows = rows
        self.mixed = self.mixed and bool(rows)

    def partition(self, row: Row) -> tuple[Any, ...]:
        return tuple(part.of(row[part.column]) for part in self.parts)


# --- store assignment -------------------------------------------------------------------------------------------------


def stored(kind: Kind, expr: Expr, env: Env) -> Any:
    """An expression's value in a column, by ANSI store assignment. Of other pairs of types the generator makes none."""
    value = expr.value(env)
    if kind == expr.kind or value is None:
        return value
    match kind.name, expr.kind.name:
        case "bigint", "int":
            return value
        case "int", "bigint":
            if not -(2**31) <= value < 2**31:
                raise Refused(f"{value} does not fit into an int")
            return value
        case "timestamp", "date":
            return datetime.combine(value, datetime.min.time())
    raise AssertionError((kind.name, expr.kind.name))


def storable(kind: Kind, expr: Expr) -> bool:
    """Whether values of the expression's type may be stored in the column at all."""
    return kind == expr.kind or (kind.name, expr.kind.name) in {
        ("bigint", "int"),
        ("int", "bigint"),
        ("timestamp", "date"),
    }


Assignments = Mapping[tuple[str, ...], Expr]
"""New values by column, or by column and fields inside it."""


def assigned(columns: Mapping[str, Kind], row: Row, assignments: Assignments, env: Env) -> Row:
    """The row after SET: every value is of the row before."""
    return {
        name: _assigned(kind, row[name], {p[1:]: e for p, e in assignments.items() if p[0] == name}, env)
        for name, kind in columns.items()
    }


def _updated(table: ModelTable, row: Row, assignments: Assignments, env: Env) -> Row:
    """As :func:`assigned`, the same row to those who follow it."""
    new = assigned(table.columns, row, assignments, env)
    return {**new, IDENTITY: row[IDENTITY], CHANGED: table.statements}


def _assigned(kind: Kind, value: Any, assignments: Assignments, env: Env) -> Any:
    if not assignments:
        return value
    if () in assignments:
        return stored(kind, assignments[()], env)
    before = dict.fromkeys(name for name, _ in kind.fields) if value is None else value
    return assigned(dict(kind.fields), before, assignments, env)


def check_assignments(columns: Mapping[str, Kind], assignments: Assignments) -> None:
    """Types are looked at before any row is."""
    for path, expr in assignments.items():
        kind = columns[path[0]]
        for name in path[1:]:
            kind = dict(kind.fields)[name]
        if not storable(kind, expr):
            raise Refused(f"{expr.kind.sql} in {'.'.join(path)}")


# --- statements -------------------------------------------------------------------------------------------------------


def insert(table: ModelTable, new: Sequence[Row]) -> None:
    table.replace_rows([*table.rows, *new])


def overwrite(table: ModelTable, new: Sequence[Row], goes: Callable[[Row], bool]) -> None:
    """``goes``: which rows of before are replaced."""
    table.replace_rows([*(row for row in table.rows if not goes(row)), *new])


def delete(table: ModelTable, alias: str, where: Expr | None) -> None:
    table.replace_rows([r for r in table.rows if where is not None and not where.value(table.env(alias, r))])


def update(table: ModelTable, alias: str, assignments: Assignments, where: Expr | None) -> None:
    check_assignments(table.columns, assignments)
    out = []
    for row in table.rows:
        env = table.env(alias, row)
        taken = where is None or where.value(env)
        out.append(_updated(table, row, assignments, env) if taken else row)
    table.replace_rows(out)


ClauseKind = Literal["matched", "not matched", "by source"]


@dataclass(frozen=True)
class Clause:
    """A WHEN clause. ``assignments`` None: DELETE; of an INSERT: the values by column, the others are NULL."""

    kind: ClauseKind
    condition: Expr | None
    assignments: Assignments | None

    def takes(self, env: Env) -> bool:
        return self.condition is None or bool(self.condition.value(env))


def matches(table: ModelTable, source: Sequence[Row], on: Expr) -> list[list[int]]:
    """For each row of the target, which rows of the source it is matched by."""
    return [[n for n, s in enumerate(source) if on.value(Env({"t": row, "s": s}, table.rows))] for row in table.rows]


def _first(clauses: Sequence[Clause], kind: str, env: Env) -> Clause | None:
    return next((c for c in clauses if c.kind == kind and c.takes(env)), None)


def merge(table: ModelTable, source: Sequence[Row], on: Expr, clauses: Sequence[Clause]) -> None:
    """MERGE INTO: the target's alias is ``t``, the source's ``s``."""
    for clause in clauses:
        check_assignments(table.columns, clause.assignments or {})
    matched = [c for c in clauses if c.kind == "matched"]
    lone_delete = len(matched) == 1 and matched[0].condition is None and matched[0].assignments is None
    out: list[Row] = []
    met: set[int] = set()
    for row, found in zip(table.rows, matches(table, source, on), strict=True):
        met.update(found)
        if len(found) > 1 and matched and not lone_delete:
            raise Refused("a row is matched twice")
        env = Env({"t": row, "s": source[found[0]] if found else None}, table.rows)
        kind = "matched" if found else "by source"
        changing = _first(clauses, kind, env)
        if changing is None:
            out.append(row)
        elif changing.assignments is not None:
            out.append(_updated(table, row, changing.assignments, env))
    nothing: Row = dict.fromkeys(table.columns)
    for number, s in enumerate(source):
        env = Env({"t": None, "s": s}, table.rows)
        inserting = None if number in met else _first(clauses, "not matched", env)
        if inserting is not None:
            out.append(assigned(table.columns, nothing, inserting.assignments or {}, env))
    table.replace_rows(out)


# --- definitions ------------------------------------------------------------------------------------------------------


def at_path(kind: Kind, path: Sequence[str], change: Callable[[Kind], Kind]) -> Kind:
    """The type with the struct at a path of fields changed."""
    if not path:
        return change(kind)
    return kind.with_fields([(n, at_path(k, path[1:], change) if n == path[0] else k) for n, k in kind.fields])


def change_values(table: ModelTable, path: Sequence[str], change: Callable[[Row], Row]) -> None:
    """Change each row, or each struct at a path in it that is not NULL."""

    def changed(value: Any, rest: Sequence[str]) -> Any:
        if value is None:
            return None
        return {**value, rest[0]: changed(value[rest[0]], rest[1:])} if rest else change(value)

    table.rows = [changed(row, path) for row in table.rows]


def renamed(row: Row, old: str, new: str) -> Row:
    return {new if name == old else name: value for name, value in row.items()}


def add_field(table: ModelTable, path: Sequence[str], name: str, kind: Kind) -> None:
    """ADD COLUMN path.name, at the end."""
    if path:
        outer = table.columns[path[0]]
        table.columns[path[0]] = at_path(outer, path[1:], lambda k: k.with_fields([*k.fields, (name, kind)]))
    else:
        table.columns[name] = kind
    change_values(table, path, lambda row: {**row, name: None})


def drop_field(table: ModelTable, path: Sequence[str], name: str) -> None:
    if path:
        outer = table.columns[path[0]]
        table.columns[path[0]] = at_path(
            outer, path[1:], lambda k: k.with_fields([f for f in k.fields if f[0] != name])
        )
    else:
        del table.columns[name]
    change_values(table, path, lambda row: without(row, name))


def rename_field(table: ModelTable, path: Sequence[str], old: str, new: str) -> None:
    if path:
        outer = table.columns[path[0]]
        table.columns[path[0]] = at_path(
            outer, path[1:], lambda k: k.with_fields([(new if n == old else n, t) for n, t in k.fields])
        )
    else:
        table.columns = {new if n == old else n: k for n, k in table.columns.items()}
        table.used = {new if n == old else n for n in table.used}
        table.required = frozenset(new if n == old else n for n in table.required)
        table.parts = tuple(Part(p.transform, new if p.column == old else p.column, p.number) for p in table.parts)
    change_values(table, path, lambda row: renamed(row, old, new))
