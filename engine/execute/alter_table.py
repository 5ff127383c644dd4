"""ALTER TABLE: properties, columns and partition fields, all the actions of a statement in one commit."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    RemoveProperties,
    SetCurrentSchema,
    SetDefaultSpec,
    SetProperties,
    TableUpdate,
    UpgradeFormatVersion,
)
from bergsql.catalog.metadata.new_table import FORMAT_VERSION, check_not_reserved
from bergsql.catalog.metadata.partition_evolve import AddField, DropField, SpecChange, evolve_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.table_definition import format_version_of, partition_by
from bergsql.engine.names import load, named_table
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import to_iceberg
from bergsql.engine.table.commit import commit_updates

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def alter(session: Session, statement: st.AlterTable) -> Result:
    """Change a table. Nothing is changed when one of the actions cannot be."""
    name = named_table(session, statement.name)
    if statement.if_exists and not name.catalog.table_exists(name.ident):
        return ok()
    name, table = load(session, statement.name)
    rename = next((a for a in statement.actions if isinstance(a, st.RenameTable)), None)
    if rename is not None:
        to = named_table(session, rename.to)
        if to.catalog is not name.catalog:
            raise BergError(ErrorCode.INVALID, "A table cannot move to another catalog.", span=rename.to.span)
        try:
            name.catalog.rename_table(name.ident, to.ident)
        except BergError as error:
            raise error.at(statement.name.span) from None
        return ok()
    case_sensitive = session.flavour is Flavour.FLINK

    def updates(current: LoadedTable) -> list[TableUpdate]:
        return _updates(statement, current.metadata, case_sensitive)

    try:
        commit_updates(name.catalog, table, updates)
    except BergError as error:
        raise error.at(statement.name.span) from None
    return ok()


def _updates(statement: st.AlterTable, metadata: TableMetadata, case_sensitive: bool) -> list[TableUpdate]:
    """The updates that carry out the statement's actions on ``metadata``."""
    out: list[TableUpdate] = []
    schema = metadata.schema
    spec_changes: list[SpecChange] = []
    last_column_id = metadata.last_column_id
    for action in statement.actions:
        span = _span(action) or statement.name.span
        try:
            match action:
                case st.SetProperties():
                    out += _set_properties(action, metadata)
                case st.UnsetProperties():
                    out += _unset_properties(action, metadata)
                case st.AddPartitionField():
                    spec_changes.append(_add_field(action.transform))
                case st.DropPartitionField():
                    spec_changes.append(_drop_field(action))
                case _:
                    schema = _column_change(action, schema, last_column_id, metadata, case_sensitive)
                    last_column_id = max(last_column_id, schema.highest_field_id)
        except BergError as error:
            raise error.at(span) from None
    if not schema.same_columns(metadata.schema):
        _check_partition_sources(metadata, schema)
        out += [AddSchema(schema), SetCurrentSchema()]
    if spec_changes:
        try:
            spec = evolve_spec(metadata, spec_changes, case_sensitive=case_sensitive)
        except BergError as error:
            spans = (_span(a) for a in statement.actions)
            raise error.at(next(s for s in spans if s is not None)) from None
        out += [AddPartitionSpec(spec), SetDefaultSpec()]
    return out


def _span(action: st.AlterAction) -> Span | None:
    """Where in the statement an action says what it changes."""
    match action:
        case st.AddColumn():
            return action.column.span
        case st.DropColumn() | st.RenameColumn() | st.DropPartitionField():
            return action.span
        case st.AddPartitionField():
            return action.transform.span
        case st.SetProperties():
            return action.options[0].span if action.options else None
        case _:
            return None


def _set_properties(action: st.SetProperties, metadata: TableMetadata) -> list[TableUpdate]:
    properties, spans = options_of(action.options)
    out: list[TableUpdate] = []
    if FORMAT_VERSION in properties:
        version = format_version_of(properties, spans, metadata.format_version)
        if version < metadata.format_version:
            raise BergError(
                ErrorCode.INVALID,
                f"A table of format version {metadata.format_version} cannot go back to {version}.",
                span=spans[FORMAT_VERSION],
            )
        if version > metadata.format_version:
            out.append(UpgradeFormatVersion(version))
        del properties[FORMAT_VERSION]
    check_not_reserved(properties)
    return [*out, SetProperties(properties)] if properties else out


def _unset_properties(action: st.UnsetProperties, metadata: TableMetadata) -> list[TableUpdate]:
    check_not_reserved(action.keys)
    return [RemoveProperties(tuple(k for k in action.keys if k in metadata.properties))]


def _add_field(transform: st.Transform) -> AddField:
    written = partition_by(transform)
    return AddField(written.source, written.transform, written.name)


def _drop_field(action: st.DropPartitionField) -> DropField:
    if action.transform is None:
        return DropField(action.name)
    written = partition_by(action.transform)
    return DropField(written.source, written.transform)


def _column_change(
    action: st.AlterAction, schema: Schema, last_column_id: int, metadata: TableMetadata, case_sensitive: bool
) -> Schema:
    """The schema after one action on a column."""
    match action:
        case st.AddColumn():
            return _with_column(action, schema, last_column_id, metadata, case_sensitive)
        case st.DropColumn():
            if action.if_exists and schema.find(".".join(action.path), case_sensitive) is None:
                return schema
            return evolve.drop_column(schema, action.path, case_sensitive=case_sensitive)
        case st.RenameColumn():
            return evolve.rename_column(schema, action.path, action.to, case_sensitive=case_sensitive)
        case _:
            raise not_supported(f"This action of ALTER TABLE ({type(action).__name__})")


def _with_column(
    action: st.AddColumn, schema: Schema, last_column_id: int, metadata: TableMetadata, case_sensitive: bool
) -> Schema:
    new = _new_column(action.column, metadata.format_version)
    try:
        return evolve.add_column(
            schema, new, last_column_id, parent=action.path, after=action.after, case_sensitive=case_sensitive
        )
    except BergError as error:
        has_parent = not action.path or schema.find(".".join(action.path), case_sensitive) is not None
        # What is not found then is the column that it shall stand behind.
        raise error.at(action.after_span if error.code is ErrorCode.NOT_FOUND and has_parent else None) from None


def _new_column(column: st.ColumnDef, format_version: int) -> NestedField:
    if column.default is not None:
        raise not_supported("DEFAULT of a column", column.span)
    if column.computed is not None or column.metadata is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{column.name}' is not stored, and an Iceberg table has stored columns only.",
            span=column.span,
        )
    ids = count(1)
    return NestedField(
        next(ids),
        column.name,
        to_iceberg(column.type, ids, format_version),
        required=not column.nullable,
        doc=column.comment,
    )


def _check_partition_sources(metadata: TableMetadata, schema: Schema) -> None:
    """Refuse to drop a column that the table is partitioned by: other engines could no longer read it."""
    for part in metadata.spec.fields:
        if part.transform.kind is not TransformKind.VOID and schema.field(part.source_id) is None:
            column = metadata.schema.name_of(part.source_id)
            raise BergError(
                ErrorCode.INVALID,
                f"Column '{column}' cannot be dropped: the table is partitioned by it.",
                hint=f"ALTER TABLE … DROP PARTITION FIELD {part.name}; first.",
            )
