"""Expressions and conditions of random statements: each is SQL text and a Python function with the same meaning.

``@table@`` in a text stands for the table that is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.support.statements.values import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    Kind,
    Row,
    compare,
    literal,
    random_value,
    wrapped,
)

TABLE = "@table@"


class Env(NamedTuple):
    """What an expression sees: the row of each alias (``""``: names without one), and the table's rows."""

    rows: Mapping[str, Row | None]
    table: Sequence[Row]


@dataclass(frozen=True)
class Expr:
    """``value`` gives None for NULL."""

    sql: str
    kind: Kind
    value: Callable[[Env], Any]


class Scope(NamedTuple):
    """The columns that an expression may name, by alias; ``subqueries``: whether it may read the table again."""

    columns: Mapping[str, Mapping[str, Kind]]
    subqueries: bool = False

    def only(self, alias: str) -> Scope:
        return Scope({alias: self.columns[alias]}, self.subqueries)


def constant(kind: Kind, value: Any) -> Expr:
    return Expr(literal(kind, value), kind, lambda _: value)


def column(alias: str, name: str, kind: Kind) -> Expr:
    def value(env: Env) -> Any:
        row = env.rows[alias]
        return None if row is None else row[name]

    return Expr(f"{alias}.{name}" if alias else name, kind, value)


def part(whole: Expr, name: str, kind: Kind) -> Expr:
    """A struct's field."""

    def value(env: Env) -> Any:
        found = whole.value(env)
        return None if found is None else found[name]

    return Expr(f"{whole.sql}.{name}", kind, value)


def leaves(scope: Scope) -> list[Expr]:
    """All columns and struct fields that hold a single value."""
    found = [column(alias, name, kind) for alias, names in scope.columns.items() for name, kind in names.items()]
    out: list[Expr] = []
    while found:
        expr = found.pop(0)
        found += [part(expr, name, kind) for name, kind in expr.kind.fields]
        if not expr.kind.fields and not expr.kind.element:
            out.append(expr)
    return out


def random_expr(kind: Kind, scope: Scope, random: Random) -> Expr:
    """An expression of exactly this type."""
    same = [e for e in _all(scope) if e.kind == kind]
    ways = [lambda: constant(kind, random_value(kind, random))] * 2
    if same:
        ways += [lambda: random.choice(same), lambda: _case(random.choice(same), scope, random)]
        ways += [lambda: _coalesce(random.choice(same), constant(kind, random_value(kind, random, null=0)))]
        if kind.is_number:
            ways += [lambda: _plus(random.choice(same), random.choice((1, -1, 3)))] * 2
        if kind == STRING:
            ways += [lambda: _concat(random.choice(same), random.choice(("x", "é")))]
    if kind.is_number and scope.subqueries and random.random() < 0.3:
        return _aggregate(kind, scope, random)
    return random.choice(ways)()


def _all(scope: Scope) -> list[Expr]:
    found = [column(alias, name, kind) for alias, names in scope.columns.items() for name, kind in names.items()]
    for expr in found:
        found += [part(expr, name, kind) for name, kind in expr.kind.fields]
    return found


def _plus(expr: Expr, step: int) -> Expr:
    def value(env: Env) -> Any:
        found = expr.value(env)
        return wrapped(expr.kind, None if found is None else found + step)

    return Expr(f"({expr.sql} {'+' if step > 0 else '-'} {abs(step)})", expr.kind, value)


def _concat(expr: Expr, end: str) -> Expr:
    def value(env: Env) -> Any:
        found = expr.value(env)
        return None if found is None else found + end

    return Expr(f"concat({expr.sql}, '{end}')", STRING, value)


def _coalesce(first: Expr, second: Expr) -> Expr:
    def value(env: Env) -> Any:
        found = first.value(env)
        return second.value(env) if found is None else found

    return Expr(f"coalesce({first.sql}, {second.sql})", first.kind, value)


def _case(expr: Expr, scope: Scope, random: Random) -> Expr:
    when = simple_condition(scope, random)
    other = constant(expr.kind, random_value(expr.kind, random))

    def value(env: Env) -> Any:
        return expr.value(env) if when.value(env) else other.value(env)

    return Expr(f"CASE WHEN {when.sql} THEN {expr.sql} ELSE {other.sql} END", expr.kind, value)


def _aggregate(kind: Kind, scope: Scope, random: Random) -> Expr:
    """``(SELECT max(c) FROM t)`` of a column of the type, or a constant if there is none."""
    (columns,) = scope.columns.values()
    names = [name for name, found in columns.items() if found == kind]
    if not names:
        return constant(kind, 1)
    name, pick = random.choice(names), random.choice((max, min))

    def value(env: Env) -> Any:
        return pick((row[name] for row in env.table if row[name] is not None), default=None)

    return Expr(f"(SELECT {pick.__name__}({name}) FROM {TABLE})", kind, value)


# --- conditions -------------------------------------------------------------------------------------------------------

_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda c: c == 0,
    "<>": lambda c: c != 0,
    "<": lambda c: c < 0,
    "<=": lambda c: c <= 0,
    ">": lambda c: c > 0,
    ">=": lambda c: c >= 0,
}


def compared(left: Expr, operator: str, right: Expr) -> Expr:
    def value(env: Env) -> bool | None:
        found = compare(left.value(env), right.value(env))
        return None if found is None else _TESTS[operator](found)

    return Expr(f"{left.sql} {operator} {right.sql}", BOOLEAN, value)


def null_safe(left: Expr, right: Expr) -> Expr:
    def value(env: Env) -> bool:
        a, b = left.value(env), right.value(env)
        return a is b is None or compare(a, b) == 0

    return Expr(f"{left.sql} <=> {right.sql}", BOOLEAN, value)


def is_null(expr: Expr, wanted: bool) -> Expr:
    words = "IS NULL" if wanted else "IS NOT NULL"
    return Expr(f"{expr.sql} {words}", BOOLEAN, lambda env: (expr.value(env) is None) == wanted)


def is_in(expr: Expr, values: Sequence[Any], wanted: bool) -> Expr:
    items = ", ".join("NULL" if v is None else literal(expr.kind, v) for v in values)

    def value(env: Env) -> bool | None:
        found = _among(expr.value(env), values)
        return found if found is None else found == wanted

    return Expr(f"{expr.sql} {'' if wanted else 'NOT '}IN ({items})", BOOLEAN, value)


def _among(value: Any, values: Sequence[Any]) -> bool | None:
    """SQL's IN: of nothing it is FALSE, even for NULL."""
    if not values:
        return False
    if value is None:
        return None
    if any(compare(value, v) == 0 for v in values):
        return True
    return None if any(v is None for v in values) else False


def negated(expr: Expr) -> Expr:
    def value(env: Env) -> bool | None:
        found = expr.value(env)
        return None if found is None else not found

    return Expr(f"NOT ({expr.sql})", BOOLEAN, value)


def both(left: Expr, right: Expr) -> Expr:
    def value(env: Env) -> bool | None:
        found = (left.value(env), right.value(env))
        return False if False in found else None if None in found else True

    return Expr(f"({left.sql} AND {right.sql})", BOOLEAN, value)


def either(left: Expr, right: Expr) -> Expr:
    def value(env: Env) -> bool | None:
        found = (left.value(env), right.value(env))
        return True if True in found else None if None in found else False

    return Expr(f"({left.sql} OR {right.sql})", BOOLEAN, value)


def simple_condition(scope: Scope, random: Random) -> Expr:
    """A comparison of one column."""
    expr = random.choice(leaves(scope))
    others = [e for e in leaves(scope) if e.kind == expr.kind and e.sql != expr.sql]
    right = constant(expr.kind, random_value(expr.kind, random, null=0.05))
    if others and random.random() < 0.3:
        right = random.choice(others)
    roll = random.random()
    if roll < 0.5:
        return compared(expr, random.choice([*_TESTS, "=", ">"]), right)
    if roll < 0.65:
        return is_null(expr, random.random() < 0.5)
    if roll < 0.75:
        return null_safe(expr, right)
    values = [random_value(expr.kind, random, null=0.1) for _ in range(random.randint(1, 3))]
    return is_in(expr, values, random.random() < 0.6)


def random_condition(scope: Scope, random: Random) -> Expr:
    """A condition of a few comparisons; a subquery only where all must hold."""
    roll = random.random()
    if scope.subqueries and roll < 0.2:
        found = _subquery(scope, random)
        return found if random.random() < 0.5 else both(found, simple_condition(scope, random))
    if roll < 0.6:
        return simple_condition(scope, random)
    if roll < 0.65:
        return constant(BOOLEAN, random.choice((True, True, False, None)))
    first, second = simple_condition(scope, random), simple_condition(scope, random)
    return random.choice((both, both, either, either, lambda a, b: both(a, negated(b))))(first, second)


def _subquery(scope: Scope, random: Random) -> Expr:
    """``c [NOT] IN (SELECT d FROM t WHERE …)``, or EXISTS of such rows with the same ``c``."""
    ((alias, columns),) = scope.columns.items()
    names = [name for name, kind in columns.items() if kind in (INT, BIGINT, STRING)]
    if not names:
        return simple_condition(scope, random)
    name = random.choice(names)
    mine = column(alias, name, columns[name])
    other = random.choice([n for n in names if columns[n] == columns[name]])
    where = simple_condition(Scope({"q": columns}), random)
    wanted = random.random() < 0.6

    def chosen(env: Env) -> list[Any]:
        return [row[other] for row in env.table if where.value(Env({"q": row}, env.table))]

    if alias and random.random() < 0.4:

        def exists(env: Env) -> bool:
            return any(compare(v, mine.value(env)) == 0 for v in chosen(env)) == wanted

        inner = f"SELECT 1 FROM {TABLE} AS q WHERE q.{other} = {mine.sql} AND {where.sql}"
        return Expr(f"{'' if wanted else 'NOT '}EXISTS ({inner})", BOOLEAN, exists)

    def value(env: Env) -> bool | None:
        found = _among(mine.value(env), chosen(env))
        return found if found is None else found == wanted

    inner = f"SELECT q.{other} FROM {TABLE} AS q WHERE {where.sql}"
    return Expr(f"{mine.sql} {'' if wanted else 'NOT '}IN ({inner})", BOOLEAN, value)
