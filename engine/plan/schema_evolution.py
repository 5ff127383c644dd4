"""MERGE WITH SCHEMA EVOLUTION: the target takes in what the source has more.

As in Spark 4.1 with Iceberg: ``*`` brings all columns of the source, ``column = s.column`` (and the same in INSERT)
that one, and so it is with fields: ``s.field = q.s.field``. Columns, and fields of structs, that the target does not
have are added as nullable ones; numbers widen as Iceberg's types do. Types that do not widen stay: then values are
cast, or refused, as without evolution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.changes import AddSchema, SetCurrentSchema, TableUpdate
from bergsql.catalog.metadata.schema_rules import check_full_names
from bergsql.catalog.metadata.types import (
    DecimalType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from bergsql.catalog.metadata.updates import apply_updates
from bergsql.engine.plan.records import replace as replace_record
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import flink_name, from_iceberg, spark_name, to_iceberg
from bergsql.engine.sql.types import Kind
from bergsql.engine.table.properties import PropertyReader

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.plan.scope import Source, SourceColumn
    from bergsql.engine.sql.statements.merge import Merge
    from bergsql.engine.sql.statements.rowlevel import Assignment
    from bergsql.engine.sql.types import DataType

ALLOWED = "write.spark.auto-schema-evolution.enabled"
"""The table property that forbids it, when it is false."""


class Evolved(NamedTuple):
    """A table with a schema that is to come, the updates that give it to it, and what they change in words."""

    relation: IcebergRelation
    updates: tuple[TableUpdate, ...] = ()
    text: str = ""


def evolved(relation: IcebergRelation, statement: Merge, source: Source, flavour: Flavour) -> Evolved:
    """The target as it is when it has taken in the source's columns.

    :raises BergError: INVALID where the table does not allow it, OPTION where the property that says so has a wrong
        value; at the place of a column that cannot be added.
    """
    metadata = relation.table.metadata
    growth = _Growth(metadata, flavour)
    for column, span in _brought(statement, source, growth):
        growth.take_in(column, span)
    if growth.schema.same_columns(metadata.schema):
        return Evolved(relation)
    if not PropertyReader(metadata.properties).boolean(ALLOWED, True):
        raise BergError(
            ErrorCode.INVALID,
            f"Table {relation.table.full_name} does not let MERGE change its schema: '{ALLOWED}' is false.",
            span=statement.target.span,
            hint="Without WITH SCHEMA EVOLUTION, columns of the source that the table does not have are left out.",
        )
    check_full_names(growth.schema)
    updates = (AddSchema(growth.schema), SetCurrentSchema())
    grown = apply_updates(metadata, updates, metadata.last_updated_ms)
    point = relation.point._replace(schema=grown.schema) if relation.point is not None else None
    relation = relation._replace(table=replace(relation.table, metadata=grown), point=point)
    return Evolved(relation, updates, f"schema: {', '.join(growth.told)}")


class _Brought(NamedTuple):
    column: SourceColumn
    span: Span


def _brought(statement: Merge, source: Source, growth: _Growth) -> Iterator[_Brought]:
    """The source's columns that the statement stores under their own names."""
    for clause in statement.clauses:
        if clause.star is not None:
            yield from (_Brought(c, clause.star) for c in source.columns)
        for assignment in clause.assignments:
            column = _direct(assignment, statement, source, growth)
            if column is not None:
                yield _Brought(column, assignment.span)


def _direct(assignment: Assignment, statement: Merge, source: Source, growth: _Growth) -> SourceColumn | None:
    """What ``[target.]column[.field …] = [source.]column[.field …]`` stores, where both have the same names: the
    source's column, of its fields only the one that is stored."""
    parts = _names_of(assignment.value.ast) if assignment.value is not None else []
    target = [statement.alias] if statement.alias else list(statement.target.parts)
    own = [tuple(map(growth.fold, path)) for path in _paths(assignment.parts, target, growth)]
    for path in _paths(parts, source.names, growth):
        found = [c for c in source.columns if growth.fold(c.name) == growth.fold(path[0])]
        if tuple(map(growth.fold, path)) in own and len(found) == 1 and growth.has(path[:-1]):
            type_ = _only(found[0].type, path[1:], growth)
            return None if type_ is None else replace_record(found[0], type=type_)
    return None


def _names_of(node: exp.Expr) -> list[str]:
    """The parts of a name, first to last; none where it is no name."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = _names_of(node.this)
        return [*before, node.expression.name] if before else []
    return [part.name for part in node.parts] if isinstance(node, exp.Column) else []


def _paths(parts: Sequence[str], relation: Sequence[str], growth: _Growth) -> Iterator[tuple[str, ...]]:
    """What ``parts`` may be as a column of ``relation`` and fields of it; those that its name leads come first."""
    named = [growth.fold(n) for n in relation]
    for taken in range(min(len(parts) - 1, len(named)), -1, -1):
        if [growth.fold(p) for p in parts[:taken]] == named[len(named) - taken :]:
            yield tuple(parts[taken:])


def _only(type_: DataType, path: Sequence[str], growth: _Growth) -> DataType | None:
    """The type with no other fields than those on the way down ``path``; None where there is no such field."""
    if not path:
        return type_
    found = [c for c in type_.children if type_.kind is Kind.ROW and growth.fold(c.name) == growth.fold(path[0])]
    inner = _only(found[0].type, path[1:], growth) if len(found) == 1 else None
    return None if inner is None else type_._replace(children=(found[0]._replace(type=inner),))


class _Growth:
    """A schema that takes in columns."""

    def __init__(self, metadata: TableMetadata, flavour: Flavour) -> None:
        self.schema: Schema = metadata.schema
        self._version = metadata.format_version
        self._last_id = metadata.last_column_id
        self._flavour = flavour
        self.told: list[str] = []

    def fold(self, name: str) -> str:
        return name if self._flavour is Flavour.FLINK else name.casefold()

    def _name(self, type_: IcebergType) -> str:
        name = flink_name if self._flavour is Flavour.FLINK else spark_name
        return name(from_iceberg(type_))

    def has(self, path: Sequence[str]) -> bool:
        """Whether there is a struct at ``path``: the schema itself, where it is empty."""
        fields: Sequence[NestedField] = self.schema.fields
        for name in path:
            own = next((f for f in fields if self.fold(f.name) == self.fold(name)), None)
            if own is None or not isinstance(own.type, StructType):
                return False
            fields = own.type.fields
        return True

    def take_in(self, column: SourceColumn, span: Span) -> None:
        """Add the column, or what its type has more than that of the target's column of its name."""
        try:
            self._grow((), self.schema.fields, column.name, column.type)
        except BergError as error:
            raise error.at(span) from None

    def _grow(self, parent: tuple[str, ...], fields: Sequence[NestedField], name: str, type_: DataType) -> None:
        own = next((f for f in fields if self.fold(f.name) == self.fold(name)), None)
        if own is not None:
            self._widen((*parent, own.name), own.type, type_)
            return
        field = NestedField(1, name, to_iceberg(type_, count(2), self._version), required=False)
        self.schema = evolve.add_column(self.schema, field, self._last_id, parent=parent)
        self.told.append(f"{'.'.join((*parent, name))} added")
        self._last_id = max(self._last_id, self.schema.highest_field_id)

    def _widen(self, path: tuple[str, ...], own: IcebergType, type_: DataType) -> None:
        kind = type_.kind
        if isinstance(own, StructType) and kind is Kind.ROW:
            for child in type_.children:
                self._grow(path, own.fields, child.name, child.type)
        elif isinstance(own, ListType) and kind is Kind.ARRAY:
            self._widen((*path, "element"), own.element_field.type, type_.children[0].type)
        elif isinstance(own, MapType) and kind is Kind.MAP:
            self._widen((*path, "value"), own.value_field.type, type_.children[1].type)
        elif isinstance(own, IntegerType | FloatType | DecimalType) and type_.kind is not Kind.NULL:
            wider = to_iceberg(type_, count(2), self._version)
            if wider != own and evolve.can_promote(own, wider, self._version):
                self.schema = evolve.change_type(self.schema, path, wider, self._version)
                self.told.append(f"{'.'.join(path)} is {self._name(wider)} now")
