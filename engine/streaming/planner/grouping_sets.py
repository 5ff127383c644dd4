"""GROUPING SETS, ROLLUP and CUBE of a stream: each row once for each set, without the keys that are not in it."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Found
from bergsql.engine.plan.grouping import bind_group, group_key
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import INT
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.planner.build import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bergsql.engine.plan.context import Context
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.calls import Calls

Sets = list[frozenset[int]]


def bind_sets(node: exp.Expr, group: exp.Expr, context: Context, calls: Calls) -> None:
    """Bind the keys of all sets; behind them stands the number of the set, which is a key too."""
    _, keys = bind_group(group, node.expressions, context)
    inner = replace(
        context, clause="GROUP BY", aggregates_allowed=False, windows_allowed=False, found=Found(), group_keys={}
    )
    if any(a != b and a in b for a in keys for b in keys):  # what the items mean by it could not be told
        raise not_supported("GROUPING SETS of a key and of what is computed of it, in a stream", span_of(group))
    numbers = {sql: n for n, sql in enumerate(keys)}

    def number(key: exp.Expr) -> int:
        return numbers[group_key(key, node.expressions, inner).sql]

    parts: list[Sets] = []
    for element in group.expressions:
        parts.append(_sets(element, number))
    for name, class_ in (("rollup", exp.Rollup), ("cube", exp.Cube), ("grouping_sets", exp.GroupingSets)):
        for extra in group.args.get(name) or []:
            if not isinstance(extra, exp.Expr):
                continue
            if not extra.expressions:  # GROUP BY a, b WITH ROLLUP
                parts = [_sets(class_(expressions=list(group.expressions)), number)]
            elif name == "grouping_sets":  # GROUP BY a, b GROUPING SETS ((a), (b)): only the sets count
                parts = [_sets(extra, number)]
            else:
                parts.append(_sets(extra, number))
    calls.sets = [frozenset().union(*chosen) for chosen in product(*parts)]
    calls.group([*keys.values(), Bound("", INT, "", False)])
    context.group_keys = {sql: replace(key, sql=f"g.c{n}", nullable=True) for n, (sql, key) in enumerate(keys.items())}


def _sets(node: exp.Expr, number: Callable[[exp.Expr], int]) -> Sets:
    """The sets that an element of GROUP BY stands for."""
    if isinstance(node, exp.GroupingSets):
        return [s for part in node.expressions for s in _sets(part, number)]
    if isinstance(node, exp.Rollup | exp.Cube):
        members = [_member(e, number) for e in node.expressions]
        if isinstance(node, exp.Rollup):
            chosen = [tuple(members[:n]) for n in range(len(members), -1, -1)]
        else:
            chosen = [c for n in range(len(members), -1, -1) for c in combinations(members, n)]
        return [frozenset().union(*c) for c in chosen]
    return [_member(node, number)]


def _member(node: exp.Expr, number: Callable[[exp.Expr], int]) -> frozenset[int]:
    """The keys of ``(a, b)``, ``(a)``, ``a`` or ``()``."""
    if isinstance(node, exp.Tuple):
        return frozenset(number(e) for e in node.expressions)
    while isinstance(node, exp.Paren):
        node = node.this
    return frozenset({number(node)})


def expanded(stream: Stream, calls: Calls, building: Building) -> tuple[Stream, list[int]]:
    """The rows once for each set, and where the keys and the number of the set are."""
    name = identifier(building.planner.alias("sets"))
    own = [(f"i.c{n}", c) for n, c in enumerate(stream.columns)]
    made: list[tuple[str, StreamColumn]] = []
    for n, key in enumerate(calls.keys[:-1]):
        having = [str(s) for s, each in enumerate(calls.sets) if n in each]
        sql = f"CASE WHEN {name}.g IN ({', '.join(having)}) THEN {key.sql} END" if having else "NULL"
        made.append((sql, StreamColumn(key.name or "", key.type)))
    made.append((f"CAST({name}.g AS INTEGER)", StreamColumn("set", INT, False)))
    joined = f", LATERAL (SELECT unnest(range({len(calls.sets)})) AS g) AS {name}"
    result = building.calc(stream, [*own, *made], joined=joined)
    return Stream(result.node), list(range(len(own), len(own) + len(made)))


def without_grouping(sql: str, calls: Calls) -> str:
    """SQL with what GROUPING(a, b) is of each set in its place."""
    before, mark, rest = sql.partition("GROUPING(")
    if not mark:
        return sql
    depth, end = 1, 0
    while depth:
        depth += (rest[end] == "(") - (rest[end] == ")")
        end += 1
    numbers = _numbers(rest[: end - 1], calls.keys[:-1])
    whens = " ".join(f"WHEN {n} THEN {_bits(numbers, each)}" for n, each in enumerate(calls.sets))
    return f"{before}CASE g.c{len(calls.keys) - 1} {whens} END{without_grouping(rest[end:], calls)}"


def _numbers(arguments: str, keys: Sequence[Bound]) -> list[int]:
    """Which keys stand there, each as it was bound, with commas between."""
    found: list[int] = []
    while arguments:
        n, key = max(
            ((n, k) for n, k in enumerate(keys) if arguments == k.sql or arguments.startswith(f"{k.sql}, ")),
            key=lambda each: len(each[1].sql),
        )
        found.append(n)
        arguments = arguments[len(key.sql) + 2 :]
    return found


def _bits(numbers: list[int], of: frozenset[int]) -> int:
    """A bit for each key, the first the highest: 1 where the set does not have it."""
    value = 0
    for n in numbers:
        value = value * 2 + (n not in of)
    return value
