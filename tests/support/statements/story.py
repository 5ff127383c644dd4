"""Random sequences of statements over one small table, in SQL that both bergsql and Spark take.

A seed's story is the same for every :class:`Setup`, which says how the table keeps its changes.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.statements.expressions import TABLE
from tests.support.statements.model import ModelTable, Refused
from tests.support.statements.random_changes import delete, insert_select, insert_values, overwrite, truncate, update
from tests.support.statements.random_definitions import DEFINITIONS, random_parts
from tests.support.statements.random_merge import random_merge
from tests.support.statements.statement import Statement
from tests.support.statements.values import BIGINT, INT, NESTED, SIMPLE

Maker = Callable[[ModelTable, Random], "Statement | None"]
MAKERS: Mapping[str, Maker] = {
    "insert": insert_values,
    "insert select": insert_select,
    "overwrite": overwrite,
    "truncate": truncate,
    "delete": delete,
    "update": update,
    "merge": random_merge,
    **DEFINITIONS,
}
"""None: no such statement is possible now."""
CHANGES = ("insert", "delete", "update", "merge")
WEIGHTS = {"insert": 6, "insert select": 3, "overwrite": 4, "delete": 10, "update": 10, "merge": 14}


@dataclass(frozen=True)
class Setup:
    """How a table keeps its changes."""

    version: int
    mode: str = "copy-on-write"
    granularity: str = "file"
    data_format: str = "parquet"
    delete_format: str = "parquet"

    @property
    def properties(self) -> str:
        found = {"format-version": str(self.version), "write.delete.granularity": self.granularity}
        found |= {f"write.{command}.mode": self.mode for command in ("delete", "update", "merge")}
        found |= {"write.format.default": self.data_format, "write.delete.format.default": self.delete_format}
        return ", ".join(f"'{key}'='{value}'" for key, value in found.items())

    def __str__(self) -> str:
        formats = (
            "" if self.data_format == self.delete_format == "parquet" else f" {self.data_format} {self.delete_format}"
        )
        return f"v{self.version} {self.mode} {self.granularity}{formats}"


SETUPS = (
    Setup(2),
    Setup(2, "merge-on-read"),
    Setup(2, "merge-on-read", "partition"),
    Setup(3),
    Setup(3, "merge-on-read"),
)
ALL_SETUPS = (
    Setup(1),
    *SETUPS,
    Setup(2, "merge-on-read", data_format="avro", delete_format="orc"),
    Setup(2, "copy-on-write", data_format="orc"),
    Setup(3, "merge-on-read", data_format="orc"),
    Setup(3, "copy-on-write", data_format="avro"),
)


@dataclass(frozen=True)
class Step:
    """A statement, and the table behind it: rows as JSON has them, and what is known of each.

    ``refused``: why the statement must fail; ``doubt``: why the real Spark may do otherwise.
    """

    statement: Statement
    refused: str | None
    doubt: str
    number: int
    rows: list[list[Any]]
    lineage: list[tuple[int, int]]


def story(seed: int, length: int = 12, kinds: Sequence[str] = tuple(MAKERS), changes: int = 0) -> list[Step]:
    """CREATE TABLE, an INSERT, ``length`` statements of the ``kinds``, and behind them ``changes`` that all must do."""
    random = Random(seed)
    table, create = random_table(random)
    steps = [_step(table, create), _step(table, insert_values(table, random, 8))]
    while len(steps) < length + 2:
        if (made := _made(table, kinds, random)) is not None:
            steps.append(_step(table, made))
    certain = [kind for kind in kinds if kind in CHANGES]
    while len(steps) < length + 2 + changes:
        made = _made(table, certain, random)
        if made is None or made.doubt(table):
            continue
        step = _step(table, made)
        if not step.refused:
            steps.append(step)
    return steps


def _made(table: ModelTable, kinds: Sequence[str], random: Random) -> Statement | None:
    (name,) = random.choices(kinds, [WEIGHTS.get(kind, 1) for kind in kinds])
    return MAKERS[name](table, random)


def _step(table: ModelTable, statement: Statement) -> Step:
    before = copy.copy(table)
    before.columns = dict(table.columns)
    table.statements += 1
    refused, doubt = None, statement.doubt(table) or _number_doubt(table, statement)
    try:
        statement.apply(table)
    except Refused as error:
        refused = str(error)
        vars(table).update(vars(before), statements=table.statements)
    return Step(statement, refused, doubt, table.statements, table.encoded(), table.lineage())


def _number_doubt(table: ModelTable, statement: Statement) -> str:
    """Iceberg's pruning of files knows -0.0 and 0.0 as two values, and NaN as none: Spark misses rows by it."""
    odd = {name for name in table.columns if any(_holds_odd(row[name]) for row in table.rows)}
    conditions = statement.text.partition("WHERE")[2] or statement.text
    named = odd & set(re.findall(r"\w+", conditions))
    return f"Iceberg prunes files of zeros and NaNs: {', '.join(sorted(named))}" if named else ""


def _holds_odd(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_odd, value.values()))
    return isinstance(value, float) and (math.isnan(value) or value == 0)


def random_table(random: Random) -> tuple[ModelTable, Statement]:
    kinds = [*random.sample(SIMPLE, random.randint(2, 4)), *random.sample(NESTED, random.randint(0, 1))]
    random.shuffle(kinds)
    columns = {"id": random.choice((INT, INT, BIGINT)), **{f"c{n}": kind for n, kind in enumerate(kinds)}}
    required = frozenset({"id"} if random.random() < 0.2 else ())
    parts = tuple(random_parts(columns, random)) if random.random() < 0.6 else ()
    table = ModelTable(columns, required, parts, used={part.column for part in parts})
    definitions = ", ".join(f"{n} {k.sql}{' NOT NULL' if n in required else ''}" for n, k in columns.items())
    by = f" PARTITIONED BY ({', '.join(part.sql for part in parts)})" if parts else ""
    text = f"CREATE TABLE {TABLE} ({definitions}) USING iceberg{by} TBLPROPERTIES (@properties@)"
    return table, Statement("create", text, lambda _: None)
