"""Random INSERT, INSERT OVERWRITE, DELETE and UPDATE."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support.statements import model
from tests.support.statements.expressions import TABLE, Expr, Scope, random_condition
from tests.support.statements.model import ModelTable
from tests.support.statements.random_rows import (
    Rows,
    ordered,
    random_assignments,
    random_row,
    random_select,
    set_text,
    values_text,
)
from tests.support.statements.statement import Statement
from tests.support.statements.values import BOOLEAN, holds_null, literal, random_value


def insert_values(table: ModelTable, random: Random, most: int = 4) -> Statement:
    rows = [random_row(table, random) for _ in range(random.randint(1, most))]
    columns = dict(table.columns)
    listed = ""
    if random.random() < 0.3:
        names = list(columns)
        random.shuffle(names)
        columns = {name: columns[name] for name in names}
        listed = f" ({', '.join(names)})"
    text = f"INSERT INTO {TABLE}{listed} VALUES {values_text(columns, rows)}"
    return Statement("insert", text, lambda t: model.insert(t, [ordered(t, row) for row in rows]))


def insert_select(table: ModelTable, random: Random) -> Statement | None:
    if len(table.rows) > 40:
        return None
    text, rows = random_select(table, random)
    return Statement("insert", f"INSERT INTO {TABLE} {text}", lambda t: model.insert(t, rows(t)))


DYNAMIC = (
    "SET spark.sql.sources.partitionOverwriteMode=dynamic",
    "SET spark.sql.sources.partitionOverwriteMode=static",
)


def overwrite(table: ModelTable, random: Random) -> Statement | None:
    """INSERT OVERWRITE: the whole table, one partition, or the partitions that get rows."""
    # Spark cannot overwrite where a BOOLEAN is a value: it makes NOT of it.
    identities = [p.column for p in table.parts if p.transform == "identity" and table.columns[p.column] != BOOLEAN]
    ways = ["whole"]
    if not table.mixed and table.parts:
        ways = ["whole", "dynamic", "dynamic", "static", "static"]
    way = random.choice(ways)
    name = random.choice(identities) if identities else ""
    if way == "static" and not name:
        way = "dynamic"
    if random.random() < 0.5:
        new = [random_row(table, random) for _ in range(random.randint(1, 4))]
        kept = {n: k for n, k in table.columns.items() if way != "static" or n != name}
        text, rows = f"VALUES {values_text(kept, new)}", lambda _: [dict(row) for row in new]
    else:
        text, rows = random_select(table, random, name if way == "static" else "")
    if way == "whole":
        return Statement("overwrite", f"INSERT OVERWRITE {TABLE} {text}", _overwrite_whole(rows))
    if way == "dynamic":
        apply = _overwrite_dynamic(rows)
        return Statement("overwrite", f"INSERT OVERWRITE {TABLE} {text}", apply, DYNAMIC[:1], DYNAMIC[1:])
    value = random_value(table.columns[name], random, null=0)
    named = f"INSERT OVERWRITE {TABLE} PARTITION ({name} = {literal(table.columns[name], value)}) {text}"
    return Statement("overwrite", named, _overwrite_static(rows, name, value))


def _overwrite_whole(rows: Rows) -> Callable[[ModelTable], None]:
    def apply(table: ModelTable) -> None:
        model.overwrite(table, rows(table), lambda _: True)
        table.mixed = False

    return apply


def _overwrite_dynamic(rows: Rows) -> Callable[[ModelTable], None]:
    def apply(table: ModelTable) -> None:
        new = rows(table)
        replaced = {table.partition(row) for row in new}
        model.overwrite(table, new, lambda row: table.partition(row) in replaced)

    return apply


def _overwrite_static(rows: Rows, name: str, value: Any) -> Callable[[ModelTable], None]:
    def apply(table: ModelTable) -> None:
        model.overwrite(table, [{**row, name: value} for row in rows(table)], lambda row: row[name] == value)

    return apply


def _doubt(where: Expr) -> Callable[[ModelTable], str]:
    """A DELETE that Spark leaves to Iceberg may take rows whose condition is NULL."""

    def doubt(table: ModelTable) -> str:
        named = set(re.findall(r"\w+", where.sql))
        nulls = {n for n in table.columns if n in named and any(holds_null(row[n]) for row in table.rows)}
        if nulls & table.used:
            return "Iceberg takes a partition of NULLs for one below all values"
        if nulls and ("<>" in where.sql or "NOT" in where.sql):
            return "Iceberg takes NULL for a value that differs from all others"
        return ""

    return doubt


def truncate(_: ModelTable, __: Random) -> Statement:
    return Statement("truncate", f"TRUNCATE TABLE {TABLE}", lambda t: model.delete(t, "", None))


def delete(table: ModelTable, random: Random) -> Statement:
    alias = random.choice(("", "t"))
    where = random_condition(Scope({alias: table.columns}, subqueries=True), random)
    named = f"{TABLE} AS t" if alias else TABLE
    if random.random() < 0.03:
        return Statement("delete", f"DELETE FROM {named}", lambda t: model.delete(t, alias, None))

    text = f"DELETE FROM {named} WHERE {where.sql}"
    return Statement("delete", text, lambda t: model.delete(t, alias, where), doubt=_doubt(where))


def update(table: ModelTable, random: Random) -> Statement:
    alias = random.choice(("", "t"))
    scope = Scope({alias: table.columns}, subqueries=True)
    assignments = random_assignments(table, scope, random)
    where = random_condition(scope, random) if random.random() < 0.9 else None
    text = f"UPDATE {TABLE}{' AS t' if alias else ''} SET {set_text(alias, assignments)}"
    text += f" WHERE {where.sql}" if where else ""
    return Statement("update", text, lambda t: model.update(t, alias, assignments, where))
