"""COUNT, MIN and MAX of a table, answered from what its manifests say of the files.

Only ``SELECT aggregates FROM t`` is answered, with a WHERE if it is true of every row of each file that it keeps, and
only where the manifests are certain: no row is deleted (COUNT(*) may subtract the rows of deletion vectors and position
delete files, which are looked up when the query runs), every file has counted its NULLs and NaNs, and bounds are exact,
as those of numbers and times are. Bounds of text and bytes may have been cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.whole_scans import only_asks, plain_column, whole_scan
from bergsql.engine.sql.types import FLOATS, INTEGERS, STAMPS, Kind
from bergsql.engine.table.row_counts import RowCount, row_count

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context, Planner, Slot
    from bergsql.engine.plan.items import Item
    from bergsql.engine.table.planning import FilePlan, FileTask
    from bergsql.engine.table.predicate import Predicate

_EXACT = frozenset({Kind.BOOLEAN, *INTEGERS, *FLOATS, Kind.DECIMAL, Kind.DATE, Kind.TIME, *STAMPS})
"""Kinds whose bounds are values of the file."""

_UNKNOWN: Final = object()


class Answered(NamedTuple):
    """What was answered of a scan, as it is written, from which plan.

    ``predicate`` is what every row of the plan's files fulfils; ``variables`` are to be set before the query runs.
    """

    aggregates: tuple[str, ...]
    plan: FilePlan
    predicate: Predicate
    variables: Mapping[str, object]
    delete_files: int = 0
    """How many of them are read when the query runs."""


def answer(node: exp.Expr, items: Sequence[Item], from_sql: str, context: Context, where: Bound | None) -> bool:
    """Put values in the place of the items' aggregates, and say so in the scan's slot, where manifests know all."""
    number = _only_scan(node, from_sql, context)
    calls = [context.found.calls.get(i.bound.sql) for i in items]
    if number is None or any(c is None and not i.bound.is_constant for c, i in zip(calls, items, strict=True)):
        return False
    slot = context.planner.slots[number]
    fields = (slot.relation.point.schema if slot.relation.point else slot.relation.schema).fields
    wanted = [None if c is None else _wanted(*c, fields) for c in calls]
    if any(w is _UNKNOWN for w in wanted):
        return False
    known = _files(slot, number, where, context.planner, only_rows=all(w is None or w.field is None for w in wanted))
    if known is None:
        return False
    variables: dict[str, object] = {}
    made: list[str] = []
    for item, asked in zip(items, wanted, strict=True):
        sql = item.bound.sql if asked is None else _answer_sql(asked, item.bound, known, f"s{number}_rows", variables)
        if sql is None:
            return False
        made.append(sql)
    for item, sql in zip(items, made, strict=True):
        item.bound = replace(item.bound, sql=sql)
    read = {id(d) for v in variables.values() if isinstance(v, RowCount) for t in v.tasks for d in t.deletes}
    aggregates = tuple(dict.fromkeys(str(w) for w in wanted if w is not None))
    slot.answered = Answered(aggregates, known.plan, known.predicate, variables, len(read))
    return True


def _only_scan(node: exp.Expr, from_sql: str, context: Context) -> int | None:
    """The one scan in FROM, where nothing but aggregates of all its rows, or of those of WHERE, is asked of it."""
    if not context.planner.reads or not only_asks(node, "where"):
        return None
    found, scope = context.found, context.scope
    if not found.aggregate or found.loose or found.partitions or scope.outer:
        return None
    number = whole_scan(from_sql, context.planner)
    if number is None or not scope.slots <= {number}:
        return None
    slot = context.planner.slots[number]
    if slot.sampled or slot.relation.suffix is not None or (slot.predicates and not node.args.get("where")):
        return None
    return None if slot.gives_deleted else number  # with it, rows that are deleted are there too


class _Known(NamedTuple):
    """The files of which all rows are meant, or only how many rows they have."""

    plan: FilePlan
    predicate: Predicate
    rows: int | RowCount | None


def _files(slot: Slot, number: int, where: Bound | None, planner: Planner, *, only_rows: bool) -> _Known | None:
    """The files whose rows all fulfil WHERE; None where it may be true of some rows of a file, and not of others."""
    from bergsql.engine.plan.pushdown import is_useful, outcomes
    from bergsql.engine.table.planning import count_rows, plan_files
    from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue
    from bergsql.engine.table.read_point import current

    relation = slot.relation
    metadata, storage = relation.table.metadata, relation.storage
    point = relation.point or current(metadata)
    if where is None and only_rows:
        counted = count_rows(metadata, point, storage)
        if counted is not None:
            return _Known(counted[0], AlwaysTrue(), counted[1])
    wanted, other = (None, AlwaysFalse()) if where is None else outcomes(where, number, point.schema, planner)
    if not is_useful(other):
        return None
    plan = plan_files(metadata, point, wanted, storage, other)
    if len(plan.whole) < len(plan.tasks):
        return None
    rows = row_count(storage, metadata, plan.tasks) if not plan.equality_deletes else None
    return _Known(plan, wanted or AlwaysTrue(), rows)


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
    origin = plain_column(argument)
    field = None if origin is None else next((f for f in fields if f.name == origin.column), None)
    if field is None or not field.type.is_primitive:
        return _UNKNOWN
    if name == "count":
        return _Wanted(name, None if field.required else field, argument.type.kind)
    return _Wanted(name, field, argument.type.kind) if argument.type.kind in _EXACT else _UNKNOWN


def _answer_sql(wanted: _Wanted, of: Bound, known: _Known, name: str, variables: dict[str, object]) -> str | None:
    """The value of an aggregate; None where manifests do not know it. What is found later is called ``name``."""
    if wanted.field is None:
        if isinstance(known.rows, RowCount):
            variables[name] = known.rows
            return f"CAST(getvariable('{name}') AS BIGINT)"
        return None if known.rows is None else _sql(known.rows, of)
    value = _value(wanted, known.plan.tasks)
    return None if value is _UNKNOWN else _sql(value, of)


def _value(wanted: _Wanted, tasks: Sequence[FileTask]) -> Any:
    assert wanted.field is not None
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
