"""Random changes of a table's columns, partitions, order and properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from tests.support.statements import model
from tests.support.statements.expressions import TABLE
from tests.support.statements.model import ModelTable, Part
from tests.support.statements.statement import Statement
from tests.support.statements.values import BIGINT, DATE, INT, SIMPLE, STRING, Kind, decimal


def random_parts(columns: dict[str, Kind], random: Random) -> list[Part]:
    possible = [Part("bucket", "id", random.choice((2, 4)))]
    for name, kind in columns.items():
        if kind in (INT, STRING, DATE) or kind.name == "boolean":
            possible.append(Part("identity", name))
        if kind in (INT, BIGINT, STRING):
            possible.append(Part("truncate", name, 1 if kind == STRING else 4))
        if kind in (STRING, DATE):
            possible.append(Part("bucket", name, 3))
        if kind.name in ("date", "timestamp"):
            possible.append(Part("days", name))
    first = random.choice(possible)
    second = random.choice([p for p in possible if p.column != first.column] or [first])
    return [first] if second == first or random.random() < 0.6 else [first, second]


def structs(table: ModelTable) -> Iterator[tuple[tuple[str, ...], Kind]]:
    """Where there are structs, the whole row (of kind ``struct`` too) first."""
    todo: list[tuple[tuple[str, ...], Kind]] = [((), Kind("struct", tuple(table.columns.items())))]
    while todo:
        path, kind = todo.pop(0)
        yield path, kind
        todo += [((*path, name), inner) for name, inner in kind.fields if inner.fields]


def random_struct(table: ModelTable, random: Random) -> tuple[tuple[str, ...], Kind]:
    return random.choice([*list(structs(table)), ((), Kind("struct", tuple(table.columns.items())))])


def fresh_name(table: ModelTable, random: Random) -> str:
    """A name that no column has; often one that another column had before."""
    taken = {name for _, kind in structs(table) for name, _ in kind.fields}
    return random.choice([n for n in ("d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9") if n not in taken])


def alter(text: str, apply: Callable[[ModelTable], None], kind: str = "columns") -> Statement:
    return Statement(kind, f"ALTER TABLE {TABLE} {text}", apply)


def add_column(table: ModelTable, random: Random) -> Statement | None:
    path, kind = random_struct(table, random)
    if len(kind.fields) > 6:
        return None
    name, new = fresh_name(table, random), random.choice(SIMPLE)
    full = ".".join((*path, name))
    if path or random.random() < 0.6:
        return alter(f"ADD COLUMN {full} {new.sql}", lambda t: model.add_field(t, path, name, new))
    after = random.choice(["", *table.columns])

    def apply(t: ModelTable) -> None:
        model.add_field(t, path, name, new)
        order = [n for n in t.columns if n != name]
        order.insert(order.index(after) + 1 if after else 0, name)
        t.columns = {n: t.columns[n] for n in order}

    return alter(f"ADD COLUMN {full} {new.sql} {f'AFTER {after}' if after else 'FIRST'}", apply)


def drop_column(table: ModelTable, random: Random) -> Statement | None:
    path, kind = random_struct(table, random)
    names = [n for n, _ in kind.fields if path or (n != "id" and n not in table.used)]
    if not names or len(kind.fields) < 2 or (not path and len(names) < 2):
        return None
    name = random.choice(names)
    return alter(f"DROP COLUMN {'.'.join((*path, name))}", lambda t: model.drop_field(t, path, name))


def rename_column(table: ModelTable, random: Random) -> Statement | None:
    path, kind = random_struct(table, random)
    names = [n for n, _ in kind.fields if path or n != "id"]
    if not names:
        return None
    name, new = random.choice(names), fresh_name(table, random)
    return alter(f"RENAME COLUMN {'.'.join((*path, name))} TO {new}", lambda t: model.rename_field(t, path, name, new))


def widen_column(table: ModelTable, random: Random) -> Statement | None:
    """ALTER TYPE: int to bigint, a decimal to one of more digits."""
    wider: list[tuple[tuple[str, ...], Kind]] = []
    for path, kind in structs(table):
        for name, inner in kind.fields:
            if inner == INT:
                wider.append(((*path, name), BIGINT))
            if inner.scale and inner.name != "decimal(12,2)":
                wider.append(((*path, name), decimal(12, inner.scale)))
    if not wider:
        return None
    path, new = random.choice(wider)

    def apply(t: ModelTable) -> None:
        whole = Kind("struct", tuple(t.columns.items()))
        inner = model.at_path(
            whole, path[:-1], lambda k: k.with_fields([(n, new if n == path[-1] else f) for n, f in k.fields])
        )
        t.columns = dict(inner.fields)

    return alter(f"ALTER COLUMN {'.'.join(path)} TYPE {new.sql}", apply)


def evolve_partitions(table: ModelTable, random: Random) -> Statement | None:
    """ADD, DROP or REPLACE PARTITION FIELD."""
    (new, *_) = random_parts(table.columns, random)
    if any(p.column == new.column for p in table.parts) or new.column in table.used:
        new = Part("", "")
    old = random.choice(table.parts) if table.parts else None

    def apply(parts: tuple[Part, ...]) -> Callable[[ModelTable], None]:
        def change(t: ModelTable) -> None:
            t.parts = parts
            t.used |= {p.column for p in parts}
            t.mixed = bool(t.rows)

        return change

    others = tuple(p for p in table.parts if p != old)
    roll = random.random()
    if old and new.column and roll < 0.4:
        text = f"REPLACE PARTITION FIELD {old.sql} WITH {new.sql}"
        return alter(text, apply((*others, new)), "partitions")
    if old and (roll < 0.6 or not new.column):
        return alter(f"DROP PARTITION FIELD {old.sql}", apply(others), "partitions")
    if new.column and len(table.parts) < 2:
        return alter(f"ADD PARTITION FIELD {new.sql}", apply((*table.parts, new)), "partitions")
    return None


def order_writes(table: ModelTable, random: Random) -> Statement:
    """WRITE ORDERED BY, LOCALLY ORDERED BY or UNORDERED."""
    if random.random() < 0.3:
        return alter("WRITE UNORDERED", lambda _: None, "order")
    names = [n for n, kind in table.columns.items() if not kind.fields and not kind.element]
    chosen = random.sample(names, min(len(names), random.randint(1, 2)))
    items = ", ".join(f"{n}{random.choice(('', ' DESC', ' ASC NULLS LAST'))}" for n in chosen)

    def apply(t: ModelTable) -> None:
        t.used |= set(chosen)

    return alter(f"WRITE {random.choice(('', 'LOCALLY '))}ORDERED BY {items}", apply, "order")


def change_mode(_: ModelTable, random: Random) -> Statement:
    """Another mode for one command; tables of format version 1 have no other."""
    command, mode = random.choice(("delete", "update", "merge")), random.choice(("copy-on-write", "merge-on-read"))
    return alter(f"SET TBLPROPERTIES ('write.{command}.mode'='{mode}')", lambda _: None, "mode")


def upgrade(_: ModelTable, __: Random) -> Statement:
    return alter("SET TBLPROPERTIES ('format-version'='3')", lambda _: None, "upgrade")


DEFINITIONS: Mapping[str, Callable[[ModelTable, Random], Statement | None]] = {
    "add column": add_column,
    "drop column": drop_column,
    "rename column": rename_column,
    "widen column": widen_column,
    "partitions": evolve_partitions,
    "order": order_writes,
    "mode": change_mode,
    "upgrade": upgrade,
}
