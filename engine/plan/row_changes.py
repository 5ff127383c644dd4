"""The change query: what DELETE, UPDATE and MERGE do to the rows of a table, as one query of DuckDB's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    from bergsql.catalog.errors import Span
    from bergsql.catalog.metadata.changes import TableUpdate
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.plan.query import PlannedScan
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.predicate import Predicate


class Clause(NamedTuple):
    """What may happen to a row. ``text`` is what messages call it: ``WHEN MATCHED THEN UPDATE``."""

    kind: str
    """``delete``, ``update`` or ``insert``."""
    text: str


class ChangeQuery(NamedTuple):
    """A statement that changes rows, planned.

    ``sql`` yields ``file`` BIGINT, ``position`` BIGINT, ``clause`` INTEGER and ``row_id`` BIGINT; behind them, if
    ``writes``, the columns of ``schema`` in order, in the types that they are stored in. ``file`` counts in the tasks
    of ``target`` and is NULL for a new row; ``clause`` counts in ``clauses`` and is NULL where nothing happens to the
    row, which then only counts for ``unique``. A row of a clause that deletes has NULL in all columns.
    """

    sql: str
    variables: Mapping[str, object]
    scans: tuple[PlannedScan, ...]
    """All that is read, the target among them."""
    target: PlannedScan
    schema: Schema
    """What the rows are written with."""
    writes: bool
    """Whether some clause writes rows."""
    clauses: tuple[Clause, ...]
    unique: bool
    """Whether a row of the target may come once only: else it is an error, before anything is written."""
    read: Predicate
    """What rows of the target the statement looked at: what serializable isolation guards."""
    whole: tuple[FileTask, ...] = ()
    """Data files all of whose rows go; they are not read."""
    updates: tuple[TableUpdate, ...] = ()
    """Changes of the table's schema that are committed with the rows."""
    evolution: str = ""
    """What those change, for messages."""
    narrowed: tuple[tuple[str, DataType], ...] = ()
    """Columns that take values of another type, which may not fit, with their own types."""
    values: tuple[tuple[str, Span], ...] = ()
    """Columns with the places of their values: of errors that name these."""
    written: Query | None = None
    """The statement's expressions as they were written: where an error of DuckDB's is looked for."""


class Target:
    """The table that a statement changes, as a relation of its change query.

    ``sql`` stands behind FROM; ``source`` are the columns, ``columns`` the same by the schema's order.
    """

    def __init__(self, relation: IcebergRelation, slot: int, source: Source, sql: str, planner: Planner) -> None:
        self.relation = relation
        self.slot = slot
        self.source = source
        self.sql = sql
        self._planner = planner
        self.alias = sql.removeprefix(f"{planner.slots[slot].mark} AS ")

    @property
    def schema(self) -> Schema:
        return self.relation.schema

    @property
    def columns(self) -> list[SourceColumn]:
        return self.source.columns

    def column(self, field: NestedField) -> Bound:
        """A column of the table as a value; it will be read."""
        from bergsql.engine.plan.resolve import column_of

        found = next(c for f, c in zip(self.schema.fields, self.columns, strict=True) if f is field)
        bound = column_of(found, field.name)
        self._planner.note_read(bound)
        return bound

    def place(self, name: str) -> str:
        """SQL of a place column of its rows (``PLACE_FILE`` …), which will be read."""
        self._planner.slots[self.slot].columns.add(name)
        return f"{self.alias}.{identifier(name)}"

    @property
    def row_id(self) -> str:
        """SQL of what numbers its rows over their life, NULL in tables without row lineage."""
        from bergsql.engine.table.metadata_columns import PLACE_ROW_ID

        if self.relation.table.metadata.format_version < 3:
            return "CAST(NULL AS BIGINT)"
        return self.place(PLACE_ROW_ID)

    def refuse_deleted(self) -> None:
        """Refuse a statement that asks for ``_deleted``, by which rows that are gone would come."""
        if self._planner.slots[self.slot].gives_deleted:
            message = "'_deleted' shows rows that are gone: a statement that changes rows has no use for it."
            raise BergError(ErrorCode.INVALID, message)


def bind_target(
    relation: IcebergRelation, alias: str | None, scope: Scope, planner: Planner, span: Span | None
) -> Target:
    """The table that is changed as a relation of ``scope``, under its alias or its full name."""
    from bergsql.engine.plan.from_clause import bind_iceberg

    number = len(planner.slots)
    sql = bind_iceberg(relation, alias, scope, planner, span)
    return Target(relation, number, scope.sources[-1], sql, planner)


def place_columns(target: Target) -> tuple[str, str]:
    """SQL of where a row of the target lies: its file and its position."""
    from bergsql.engine.table.metadata_columns import PLACE_FILE, PLACE_POSITION

    return target.place(PLACE_FILE), target.place(PLACE_POSITION)


def change_query(
    sql: str,
    target: Target,
    planner: Planner,
    clauses: tuple[Clause, ...],
    *,
    schema: Schema | None = None,
    unique: bool = False,
) -> ChangeQuery:
    """The query ``sql`` of ``planner`` with its scans in their places.

    :raises BergError: where a scan cannot be read.
    """
    from bergsql.engine.plan.query import ready, variables_of
    from bergsql.engine.table.predicate import any_of

    target.refuse_deleted()
    planner.check_hints()
    ready_sql, scans = ready(sql, planner)
    scan = next(s for s in scans if s.slot == target.slot)
    read = any_of(*(s.predicate for s in scans if _reads(s, target.relation)))
    return ChangeQuery(
        ready_sql,
        variables_of(scans, planner),
        tuple(scans),
        scan,
        schema or target.schema,
        any(c.kind != "delete" for c in clauses),
        clauses,
        unique,
        read,
        scan.scan.whole,
    )


def _reads(scan: PlannedScan, target: IcebergRelation) -> bool:
    """Whether it is a scan of the target in the state that is changed: a subquery may read it, too."""
    relation = scan.relation
    return (
        relation is not None
        and relation.parts == target.parts
        and (relation.point is None or target.point is None or relation.point.snapshot == target.point.snapshot)
    )
