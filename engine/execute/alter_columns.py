"""The actions of ALTER TABLE on the columns and the key of an Iceberg table: a schema from a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.metadata import evolve
from bergsql.catalog.metadata.schema_rules import check_key
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.metadata.types import DateType, IcebergType, NestedField
from bergsql.engine.execute.defaults import default_of
from bergsql.engine.execute.table_definition import check_key_change, check_stored, no_key
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import to_iceberg

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.session import Session

_DAY_OR_MORE = (TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY, TransformKind.VOID)


@dataclass(frozen=True, slots=True)
class SchemaChanger:
    """Carries out actions on the schema of a table that is ``metadata`` now."""

    session: Session
    metadata: TableMetadata

    @property
    def case_sensitive(self) -> bool:
        return self.session.flavour is Flavour.FLINK

    def change(self, action: st.AlterAction, schema: Schema, last_column_id: int) -> Schema:
        """The schema after one action; ``last_column_id`` is the greatest id that is taken.

        :raises BergError: at the place of what cannot be.
        """
        match action:
            case st.AddColumn():
                return self._add(action, schema, last_column_id)
            case st.DropColumn():
                return self._drop(action, schema)
            case st.RenameColumn():
                return evolve.rename_column(schema, action.path, action.to, case_sensitive=self.case_sensitive)
            case st.ChangeColumn():
                return self._alter(action, schema)
            case st.ModifyColumn():
                return self._modify(action, schema)
            case st.ReplaceColumns():
                return self._replace(action, schema, last_column_id)
            case st.SetKey():
                return self._set_key(action, schema)
            case st.DropKey():
                if not schema.identifier_field_ids:
                    raise no_key(action.span)
                return evolve.set_identifier_fields(schema, ())
            case st.SetIdentifierFields():
                return self._set_identifier(schema, [n.parts for n in action.fields], action.fields[0].span)
            case st.DropIdentifierFields():
                return self._drop_identifier(action, schema)
            case _:
                raise BergError(ErrorCode.INTERNAL, f"There is no way to carry out {type(action).__name__}.")

    # --- columns -----------------------------------------------------------------------------------------------------

    def _add(self, action: st.AddColumn, schema: Schema, last_column_id: int) -> Schema:
        new, path = action.column, (*action.path, action.column.name)
        if action.if_not_exists and self._find(schema, path) is not None:
            return schema
        field = self._declared(new)
        try:
            return evolve.add_column(
                schema,
                field,
                last_column_id,
                parent=action.path,
                after=action.after,
                case_sensitive=self.case_sensitive,
            )
        except BergError as error:
            raise error.at(self._place_span(error, action.after_span, schema, action.path)) from None

    def _place_span(
        self, error: BergError, after_span: Span | None, schema: Schema, path: Sequence[str]
    ) -> Span | None:
        """Where the column is that a column shall stand behind, if that is what was not found."""
        has_parent = not path or self._find(schema, path) is not None
        return after_span if error.code is ErrorCode.NOT_FOUND and has_parent else None

    def _drop(self, action: st.DropColumn, schema: Schema) -> Schema:
        if action.if_exists and self._find(schema, action.path) is None:
            return schema
        return evolve.drop_column(schema, action.path, case_sensitive=self.case_sensitive)

    def _alter(self, action: st.ChangeColumn, schema: Schema) -> Schema:
        path, case = action.path, self.case_sensitive
        field = evolve.field_at(schema, path, case_sensitive=case)
        type_ = field.type
        if action.type is not None:
            type_ = self._type(action.type, action.type_span or action.span)
            schema = self._with_type(schema, path, type_, action.type_span or action.span)
        if action.nullable is not None:
            change = evolve.set_nullable if action.nullable else evolve.set_required
            schema = change(schema, path, case_sensitive=case)
        if action.comment is not None:
            schema = evolve.set_doc(schema, path, action.comment, case_sensitive=case)
        if action.drop_default:
            schema = evolve.set_write_default(schema, path, None, case_sensitive=case)
        if action.default is not None:
            default = default_of(self.session, action.default, type_, self.metadata.format_version, path[-1])
            schema = evolve.set_write_default(schema, path, default, case_sensitive=case)
        schema = self._moved(schema, path, action.after, action.after_span)
        if action.to is None or action.to == field.name or (not case and action.to.casefold() == field.name.casefold()):
            return schema
        return evolve.rename_column(schema, path, action.to, case_sensitive=case)

    def _modify(self, action: st.ModifyColumn, schema: Schema) -> Schema:
        """Flink's MODIFY says all of the column but a comment and a place that are to stay."""
        new, path, case = action.column, (*action.path, action.column.name), self.case_sensitive
        check_stored(new)
        field = evolve.field_at(schema, path, case_sensitive=case)
        type_ = self._type(new.type, new.span)
        schema = self._with_type(schema, path, type_, new.span)
        if not new.nullable:
            schema = evolve.set_required(schema, path, case_sensitive=case)
        elif field.field_id not in schema.identifier_field_ids:  # a key stays NOT NULL without a word
            schema = evolve.set_nullable(schema, path, case_sensitive=case)
        if new.comment is not None:
            schema = evolve.set_doc(schema, path, new.comment, case_sensitive=case)
        if new.default is not None:
            default = default_of(self.session, new.default, type_, self.metadata.format_version, new.name)
            schema = evolve.set_write_default(schema, path, default, case_sensitive=case)
        return self._moved(schema, path, action.after, action.after_span)

    def _moved(self, schema: Schema, path: Sequence[str], after: str | None, after_span: Span | None) -> Schema:
        if after is None:
            return schema
        try:
            return evolve.move_column(schema, path, after, case_sensitive=self.case_sensitive)
        except BergError as error:
            raise error.at(after_span) from None

    def _replace(self, action: st.ReplaceColumns, schema: Schema, last_column_id: int) -> Schema:
        changed = evolve.replace_columns(
            schema,
            [self._declared(c) for c in action.columns],
            last_column_id,
            self.metadata.format_version,
            case_sensitive=self.case_sensitive,
        )
        for old, column in product(schema.fields, action.columns):
            new = changed.field(old.field_id)
            if new is not None and new.type != old.type and column.name.casefold() == new.name.casefold():
                self._check_partitions_of(old, column.span)
        return changed

    def _with_type(self, schema: Schema, path: Sequence[str], to: IcebergType, span: Span) -> Schema:
        field = evolve.field_at(schema, path, case_sensitive=self.case_sensitive)
        try:
            changed = evolve.change_type(
                schema, path, to, self.metadata.format_version, case_sensitive=self.case_sensitive
            )
        except BergError as error:
            raise error.at(span) from None
        if to != field.type:
            self._check_partitions_of(field, span)
        return changed

    def _check_partitions_of(self, field: NestedField, span: Span) -> None:
        """Refuse a date that becomes a timestamp where partition values were made of it that would be others then."""
        if not isinstance(field.type, DateType):
            return
        for spec in self.metadata.specs:
            for part in spec.fields:
                if part.source_id == field.field_id and part.transform.kind not in _DAY_OR_MORE:
                    raise BergError(
                        ErrorCode.INVALID,
                        f"Cannot change the type of '{field.name}': the partition field '{part.name}' was made of it.",
                        span=span,
                    )

    def _declared(self, column: st.ColumnDef) -> NestedField:
        """A new column as a field whose ids do not matter; the rows that there are have its DEFAULT too."""
        check_stored(column)
        type_ = self._type(column.type, column.span)
        version = self.metadata.format_version
        default = None
        if column.default is not None:
            default = default_of(self.session, column.default, type_, version, column.name)
        return NestedField(
            1,
            column.name,
            type_,
            required=not column.nullable,
            doc=column.comment,
            initial_default=default,
            write_default=default,
        )

    def _type(self, type_: st.DataType, span: Span) -> IcebergType:
        try:
            return to_iceberg(type_, count(2), self.metadata.format_version)
        except BergError as error:
            raise error.at(span) from None

    def _find(self, schema: Schema, path: Sequence[str]) -> NestedField | None:
        try:
            return evolve.field_at(schema, path, case_sensitive=self.case_sensitive)
        except BergError:
            return None

    # --- the key -----------------------------------------------------------------------------------------------------

    def _set_key(self, action: st.SetKey, schema: Schema) -> Schema:
        check_key_change(action, schema.identifier_names)
        key = action.key
        return self._set_identifier(schema, [(name,) for name in key.columns], key.span)

    def _set_identifier(self, schema: Schema, paths: Sequence[Sequence[str]], span: Span) -> Schema:
        try:
            keyed = evolve.set_identifier_fields(schema, paths, case_sensitive=self.case_sensitive)
            check_key(keyed)
        except BergError as error:
            raise error.at(span) from None
        return keyed

    def _drop_identifier(self, action: st.DropIdentifierFields, schema: Schema) -> Schema:
        left = {schema.name_of(i): i for i in schema.identifier_field_ids}
        for name in action.fields:
            field = evolve.field_at(schema, name.parts, case_sensitive=self.case_sensitive)
            if left.pop(schema.name_of(field.field_id), None) is None:
                known = [n for n in left if n is not None]
                raise BergError(
                    ErrorCode.INVALID,
                    f"Column '{name}' is not in the table's key.",
                    span=name.span,
                    hint=did_you_mean(str(name), known)
                    or (f"The key is ({', '.join(schema.identifier_names)})." if known else "The table has no key."),
                )
        paths = [(n,) for n in left if n is not None]
        return evolve.set_identifier_fields(schema, paths)
