"""ALTER TABLE on Iceberg tables: all the actions of a statement in one commit, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    RemoveProperties,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    TableUpdate,
    UpgradeFormatVersion,
)
from bergsql.catalog.metadata.new_table import FORMAT_VERSION, check_not_reserved
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.partition_evolve import AddField, DropField, SpecChange, evolve_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.schema_rules import check_full_names
from bergsql.catalog.metadata.sort import build_order
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.definitions import find
from bergsql.engine.execute.alter_columns import SchemaChanger
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.table_definition import format_version_of, partition_by, sort_by
from bergsql.engine.names import load, named_table, renamed_table
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_updates
from bergsql.engine.table.properties import PropertyError, check_switches

if TYPE_CHECKING:
    from bergsql.engine.session import Session


def alter(session: Session, statement: st.AlterTable) -> Result:
    """Change a table. Nothing is changed when one of the actions cannot be."""
    found = find(session, statement.name.parts, statement.name.span)
    if found is not None and isinstance(found.definition, st.CreateTable):
        from bergsql.engine.execute.alter_connector import alter_definition

        return alter_definition(session, statement, found, found.definition)
    if found is not None and found.temporary and session.flavour is Flavour.SPARK:
        renames = [a for a in statement.actions if isinstance(a, st.RenameTable)]
        if renames and len(statement.actions) == 1:  # Spark renames a temporary view so
            from bergsql.engine.execute.views import alter as alter_view

            return alter_view(session, st.AlterView(statement.name, renames[0]))
    name = named_table(session, statement.name)
    if statement.if_exists and not name.catalog.table_exists(name.ident):
        return ok()
    name, table = load(session, statement.name)
    rename = next((a for a in statement.actions if isinstance(a, st.RenameTable)), None)
    if rename is not None:
        to = renamed_table(session, name, rename.to)
        try:
            name.catalog.rename_table(name.ident, to.ident)
        except BergError as error:
            raise error.at(statement.name.span) from None
        return ok()
    notes: list[str] = []

    def updates(current: LoadedTable) -> list[TableUpdate]:
        change = _Change(session, statement, current.metadata)
        notes[:] = change.notes
        return change.updates()

    try:
        commit_updates(name.catalog, table, updates)
    except BergError as error:
        raise error.at(statement.name.span) from None
    return ok(*notes)


class _Change:
    """The updates that carry out a statement's actions on a table that is ``metadata`` now."""

    def __init__(self, session: Session, statement: st.AlterTable, metadata: TableMetadata) -> None:
        self.metadata = metadata
        self.flavour = session.flavour
        self.schema = metadata.schema
        self.notes: list[str] = []
        self._out: list[TableUpdate] = []
        self._spec_changes: list[SpecChange] = []
        self._spec: PartitionSpec | None = None
        columns = SchemaChanger(session, metadata)
        last_column_id = metadata.last_column_id
        for action in statement.actions:
            try:
                if not self._of_table(action):
                    changed = columns.change(action, self.schema, last_column_id)
                    _check_sources_stay(metadata, changed)
                    check_full_names(changed)
                    self.schema = changed
                    last_column_id = max(last_column_id, changed.highest_field_id)
            except BergError as error:
                raise error.at(_span(action)) from None

    def updates(self) -> list[TableUpdate]:
        out = self._out
        if not self.schema.same_columns(self.metadata.schema):
            out += [AddSchema(self.schema), SetCurrentSchema()]
        if self._spec is not None:
            out += [AddPartitionSpec(self._spec), SetDefaultSpec()]
        return out

    def _change_spec(self, change: SpecChange) -> None:
        self._spec_changes.append(change)
        case_sensitive = self.flavour is Flavour.FLINK
        self._spec = evolve_spec(self.metadata, self._spec_changes, case_sensitive=case_sensitive)

    def _of_table(self, action: st.AlterAction) -> bool:
        """Whether the action is on the table as a whole, which is taken up then."""
        match action:
            case st.SetProperties():
                self._out += self._set_properties(action)
            case st.UnsetProperties():
                self._out += self._unset_properties(action)
            case st.SetLocation():
                self._out.append(SetLocation(action.location.rstrip("/")))
            case st.AddPartitionField():
                written = partition_by(action.transform)
                self._change_spec(AddField(written.source, written.transform, written.name))
            case st.DropPartitionField():
                self._change_spec(_drop_field(action))
            case st.SetWriteOrder():
                self._out += self._write_order(action)
            case st.Inapplicable() | st.SetWatermark() | st.DropWatermark():
                raise _refusal(action)
            case _:
                return False
        return True

    def _set_properties(self, action: st.SetProperties) -> list[TableUpdate]:
        properties, spans = options_of(action.options)
        metadata = self.metadata
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
        if self.flavour is Flavour.FLINK and "location" in properties:  # as Flink's catalog takes it
            out.append(SetLocation(properties.pop("location").rstrip("/")))
        for key, statement in _SET_OTHERWISE.items():
            if key in properties:
                raise BergError(
                    ErrorCode.OPTION, f"'{key}' is not set among the properties.", span=spans[key], hint=statement
                )
        try:
            check_switches(properties)
        except PropertyError as error:
            raise error.at_options(spans) from None
        for key in properties:
            try:
                check_not_reserved([key])
            except BergError as error:
                raise error.at(spans[key]) from None
        return [*out, SetProperties(properties)] if properties else out

    def _unset_properties(self, action: st.UnsetProperties) -> list[TableUpdate]:
        check_not_reserved(action.keys)
        missing = [k for k in action.keys if k not in self.metadata.properties]
        if not action.if_exists:
            self.notes += [f"The table has no property '{k}': nothing changes there." for k in missing]
        return [RemoveProperties(tuple(k for k in action.keys if k not in missing))]

    def _write_order(self, action: st.SetWriteOrder) -> list[TableUpdate]:
        keys = [sort_by(k) for k in action.order]
        case_sensitive = self.flavour is Flavour.FLINK
        for key, written in zip(keys, action.order, strict=True):
            try:
                build_order(self.schema, [key], case_sensitive=case_sensitive)
            except BergError as error:
                raise error.at(written.transform.span) from None
        order = build_order(self.schema, keys, case_sensitive=case_sensitive)
        out: list[TableUpdate] = [AddSortOrder(order), SetDefaultSortOrder()]
        if action.distribution is not None:
            out.append(SetProperties({"write.distribution-mode": action.distribution}))
        return out


_SET_OTHERWISE = {
    "location": "ALTER TABLE … SET LOCATION '…'; moves a table.",
    "sort-order": "ALTER TABLE … WRITE ORDERED BY …; sets it.",
    "identifier-fields": "ALTER TABLE … SET IDENTIFIER FIELDS …; sets them.",
    "provider": "Every table here is an Iceberg table.",
}
"""What other engines list among the properties and set by statements of their own."""


def _drop_field(action: st.DropPartitionField) -> DropField:
    if action.transform is None:
        return DropField(action.name)
    written = partition_by(action.transform)
    return DropField(written.source, written.transform)


def _span(action: st.AlterAction) -> Span | None:
    """Where in the statement an action says what it changes."""
    match action:
        case st.AddColumn() | st.ModifyColumn():
            return action.column.span
        case st.AddPartitionField():
            return action.transform.span
        case st.SetProperties():
            return action.options[0].span if action.options else None
        case st.SetKey():
            return action.key.span
        case st.SetIdentifierFields() | st.DropIdentifierFields():
            return action.fields[0].span
        case st.SetWatermark():
            return action.watermark.span
        case st.UnsetProperties() | st.RenameTable():
            return None
        case _:
            span: Span | None = getattr(action, "span", None)
            return span


_PARTITIONS = (
    "The partitions of an Iceberg table follow from its rows: they are not {0}.",
    "INSERT makes them, INSERT OVERWRITE replaces them, ADD PARTITION FIELD changes how new rows are partitioned.",
)
_OF_HIVE = (
    "An Iceberg table has no {0}: its files' format is a property.",
    "ALTER TABLE … SET ('write.format.default'='…')",
)
_DISTRIBUTION = (
    "An Iceberg table has no distribution of its own.",
    "ADD PARTITION FIELD bucket(n, column) makes buckets, WRITE DISTRIBUTED BY PARTITION says how rows are written.",
)
_REFUSALS = {
    "ADD PARTITION": (_PARTITIONS[0].format("added"), _PARTITIONS[1]),
    "DROP PARTITION": (_PARTITIONS[0].format("dropped"), _PARTITIONS[1]),
    "RENAME PARTITION": (_PARTITIONS[0].format("renamed"), _PARTITIONS[1]),
    "RECOVER PARTITIONS": (_PARTITIONS[0].format("looked for in folders"), _PARTITIONS[1]),
    "PARTITION": (_PARTITIONS[0].format("changed one by one"), _PARTITIONS[1]),
    "SET SERDE": (_OF_HIVE[0].format("SERDE"), _OF_HIVE[1]),
    "SET SERDEPROPERTIES": (_OF_HIVE[0].format("SERDE"), _OF_HIVE[1]),
    "SET FILEFORMAT": (_OF_HIVE[0].format("FILEFORMAT"), _OF_HIVE[1]),
    "ADD DISTRIBUTION": _DISTRIBUTION,
    "MODIFY DISTRIBUTION": _DISTRIBUTION,
    "DROP DISTRIBUTION": _DISTRIBUTION,
}
"""By form: why an Iceberg table has no place for it, and what to do."""


def _refusal(action: st.AlterAction) -> BergError:
    if isinstance(action, st.Inapplicable):
        message, hint = _REFUSALS[action.form]
        return BergError(ErrorCode.INVALID, message, span=action.span, hint=hint)
    return BergError(
        ErrorCode.INVALID,
        "An Iceberg table has no watermark.",
        span=_span(action),
        hint="Name it where the table is read: the option 'watermark-column'.",
    )


def _check_sources_stay(metadata: TableMetadata, schema: Schema) -> None:
    """Refuse to drop a column that the table is partitioned or sorted by: other engines could no longer read it."""
    uses = [
        (f.source_id, "partitioned", f"ALTER TABLE … DROP PARTITION FIELD {f.name}; first.")
        for f in metadata.spec.fields
        if f.transform.kind is not TransformKind.VOID
    ]
    uses += [(f.source_id, "sorted", "ALTER TABLE … WRITE UNORDERED; first.") for f in metadata.sort_order.fields]
    for source_id, how, hint in uses:
        if schema.field(source_id) is None:
            column = metadata.schema.name_of(source_id)
            raise BergError(
                ErrorCode.INVALID, f"Column '{column}' cannot be dropped: the table is {how} by it.", hint=hint
            )
