"""COUNT, MIN and MAX of a whole table, answered from what its manifests say of the files.

Only ``SELECT aggregates FROM t`` is answered, and only where the manifests are certain: no row is deleted (COUNT(*) may
subtract the rows of deletion vectors), every file has counted its NULLs and NaNs, and bounds are exact, as those of
numbers and times are. Bounds of text and bytes may have been cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.types import FLOATS, INTEGERS, STAMPS, Kind

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context, Slot
    from bergsql.engine.plan.items import Item
    from bergsql.engine.table.planning import FilePlan, FileTask

_EXACT = frozenset({Kind.BOOLEAN, *INTEGERS, *FLOATS, Kind.DECIMAL, Kind.DATE, Kind.TIME, *STAMPS})
"""Kinds whose bounds are values of the file."""

_UNKNOWN: Final = object()


class Answered(NamedTuple):
    """What was answered of a scan, as it is written, from which plan."""

    aggregates: tuple[str, ...]
    plan: FilePlan


def answer(node: exp.Expr, items: Sequence[Item], from_sql: str, context: Context) -> bool:
    """Put constants in the place of the items' aggregates, and say so in the scan's slot, where manifests know all."""
    slot = _only_scan(node, from_sql, context)
    if slot is None:
        return False
    calls = [context.found.calls.get(i.bound.sql) for i in items]
    if any(c is None and not i.bound.is_constant for c, i in zip(calls, items, strict=True)):
        return False
    from bergsql.engine.table.planning import plan_files
    from bergsql.engine.table.read_point import current

    relation = slot.relation
    point = relation.point or current(relation.table.metadata)
    wanted = [None if c is None else _wanted(*c, point.schema.fields) for c in calls]
    if any(w is _UNKNOWN for w in wanted):
        return False
    plan = plan_files(relation.table.metadata, point, None, relation.storage)
    values = [None if w is None else _value(w, plan.tasks) for w in wanted]
    if any(v is _UNKNOWN for v in values):
        return False
    made = [_sql(v, i.bound) if w is not None else i.bound.sql for v, w, i in zip(values, wanted, items, strict=True)]
    if None in made:
        return False
    for item, sql in zip(items, made, strict=True):
        item.bound = replace(item.bound, sql=sql)
    slot.answered = Answered(tuple(dict.fromkeys(str(w) for w in wanted if w is not None)), plan)
    return True


def _only_scan(node: exp.Expr, from_sql: str, context: Context) -> Slot | None:
    """The scan of the one table in FROM, where nothing but aggregates is asked of it."""
    asked = {key for key, value in node.args.items() if value}
    if not context.planner.reads or not asked <= {"expressions", "from_", "with_", "hint"}:
        return None
    if not context.found.aggregate or context.found.loose or context.found.partitions or len(context.scope.slots) != 1:
        return None
    (number,) = context.scope.slots
    slot = context.planner.slots[number]
    # Nothing behind its name: no sample, no lateral view.
    plain = re.fullmatch(re.escape(slot.mark) + r' AS ("(?:[^"]|"")*"|\w+)', from_sql) is not None
    if not plain or slot.sampled or slot.predicates or slot.relation.suffix is not None:
        return None
    return slot


class _Wanted(NamedTuple):
    """An aggregate of a column; of rows where there is none."""

    name: str
    field: NestedField | None
    kind: Kind = Kind.NULL

    def __str__(self) -> str:
        return f"{self.name.upper()}({'*' if self.field is None else self.field.name})"


def _wanted(name: str, arguments: Sequence[Bound], fields: Sequence[NestedField]) -> Any:
    """The aggregate, or :data:`_UNKNOWN` for one that manifests never know."""
    if name not in ("count", "min", "max") or len(arguments) != 1:
        return _UNKNOWN
    argument = arguments[0]
    if argument.sql == "*" or (argument.is_constant and not argument.is_null):
        return _Wanted(name, None) if name == "count" else _UNKNOWN
    origin = argument.origin
    if origin is None or len(origin.path) > 1 or argument.sql.count(".") != 1:
        return _UNKNOWN
    field = next((f for f in fields if f.name == origin.column), None)
    if field is None or not field.type.is_primitive:
        return _UNKNOWN
    if name == "count":
        return _Wanted(name, None if field.required else field, argument.type.kind)
    return _Wanted(name, field, argument.type.kind) if argument.type.kind in _EXACT else _UNKNOWN


def _value(wanted: _Wanted, tasks: Sequence[FileTask]) -> Any:
    if wanted.field is None:
        return _rows(tasks)
    if any(t.deletes for t in tasks):
        return _UNKNOWN
    files = [t.data_file for t in tasks if t.data_file.record_count]
    number = wanted.field.field_id
    counted = all(f.value_counts.get(number) == f.record_count and number in f.null_counts for f in files)
    if not counted:
        return _UNKNOWN
    if wanted.name == "count":
        return sum(f.record_count - f.null_counts[number] for f in files)
    files = [f for f in files if f.null_counts[number] < f.record_count]
    if wanted.kind in FLOATS and any(f.nan_counts.get(number) != 0 for f in files):
        return _UNKNOWN
    bounds = [(f.lower_bounds if wanted.name == "min" else f.upper_bounds).get(number) for f in files]
    return _outermost(wanted, bounds)


def _outermost(wanted: _Wanted, bounds: Sequence[bytes | None]) -> Any:
    from bergsql.catalog.metadata.values import from_bytes

    assert wanted.field is not None
    found = []
    for bound in bounds:
        if bound is None:
            return _UNKNOWN
        try:
            found.append(from_bytes(wanted.field.type, bound))
        except BergError:
            return _UNKNOWN
    value = (min if wanted.name == "min" else max)(found, default=None)
    # A bound of zero may have lost its sign, or have got one.
    return _UNKNOWN if wanted.kind in FLOATS and (value == 0 or value != value) else value


def _rows(tasks: Sequence[FileTask]) -> Any:
    """How many rows there are. A deletion vector says how many it deletes; other delete files may name a row twice."""
    count = 0
    for task in tasks:
        count += task.data_file.record_count
        if len(task.deletes) > 1:
            return _UNKNOWN
        for delete in task.deletes:
            file = delete.data_file
            if file.format != "PUFFIN" or file.referenced_data_file != task.data_file.path:
                return _UNKNOWN
            count -= file.record_count
    return count


def _sql(value: Any, of: Bound) -> str | None:
    """The constant, of the aggregate's type; None for one that Python has no value for."""
    from bergsql.engine.plan.constants import constant_sql
    from bergsql.engine.plan.images import shown

    known = shown(value, of.type)
    if isinstance(known, int) and of.type.kind in (Kind.DATE, Kind.TIME, *STAMPS) and not of.type.holds_nanoseconds:
        return None
    if isinstance(known, datetime):
        known = known.replace(tzinfo=None)
    return constant_sql(known, of.type)
