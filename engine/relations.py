"""What a session tells the planner: its flavour and what the names of a query stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.engine.connectors.base import LocalSource
    from bergsql.engine.definitions import Found, Key, View, ViewStandpoint
    from bergsql.engine.names import TableName
    from bergsql.engine.plan.relations import IcebergRelation, Relation, ViewRelation
    from bergsql.engine.session import Session
    from bergsql.engine.sql.functions.model import Special
    from bergsql.engine.sql.statements import Option


class SessionRelations:
    """:class:`bergsql.engine.plan.relations.Relations` of a session."""

    def __init__(
        self,
        session: Session | ViewStandpoint,
        reading: tuple[Key, ...] = (),
        loaded: dict[Key, LoadedTable] | None = None,
    ) -> None:
        """``reading``: the names of the views within which names are resolved, the outermost first. ``loaded``: the
        tables that the statement has met, by their full names."""
        self._session = session
        self._reading = reading
        self._loaded = {} if loaded is None else loaded

    @property
    def flavour(self) -> Flavour:
        return self._session.flavour

    @property
    def time_zone(self) -> str:
        return self._session.time_zone

    @property
    def current_catalog(self) -> str:
        return self._session.current_catalog

    @property
    def current_database(self) -> str:
        return self._session.current_database

    def setting(self, key: str) -> str | None:
        return self._session.setting(key)

    def afresh(self) -> SessionRelations:
        return SessionRelations(self._session, self._reading)

    def evaluate(self, sql: str, variables: Mapping[str, object] | None = None) -> object:
        from bergsql.engine.execute.constants import constants

        return constants(self._session, [sql], variables=variables)[0]

    def resolve(self, parts: tuple[str, ...], span: Span | None) -> Relation:
        """The table that ``parts`` name; a last part such as ``snapshots`` is kept as its suffix, ``branch_b`` is read.

        :raises BergError: NOT_FOUND at ``span``.
        """
        from bergsql.engine.definitions import View, find, pointer_named
        from bergsql.engine.names import connector_of, load_pointed, table_name
        from bergsql.engine.plan.relations import ConnectorRelation, IcebergRelation

        found = find(self._session, parts, span, reading=self._reading)
        if found is not None:
            if isinstance(found.definition, View):
                return self._view(found, found.definition, span)
            from bergsql.engine.connectors.registry import metadata_types, source_of

            definition = found.definition

            def source(hints: Sequence[Option], span: Span | None) -> LocalSource:
                made = source_of(definition, found.parts, hints, span)
                made.tell, made.time_zone = self._session.tell, self._session.time_zone
                return made

            types = metadata_types(definition)
            return ConnectorRelation(
                found.parts, connector_of(definition), definition.columns, definition, source, types
            )
        pointer = pointer_named(self._session, parts, span, reading=self._reading)
        if pointer is not None:
            target = pointer.target
            table = self._once(target, lambda: load_pointed(pointer, span, declared=True))
            from bergsql.engine.pointers import declared_reads

            options = declared_reads(pointer.statement)
            return self._as_audited(
                IcebergRelation(target.parts, table, target.catalog.storage(), catalog=target.catalog, options=options)
            )
        name = table_name(self._session, parts, span)
        try:
            table = self._once(name)
            return self._as_audited(IcebergRelation(name.parts, table, name.catalog.storage(), catalog=name.catalog))
        except BergError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise error.at(span) from None
            relation = self.part_of_table(parts, span)
            if relation is None:
                error.hint = self._nearest_part(parts, span) or error.hint
                raise error.at(span) from None
            return relation

    def _as_audited(self, relation: IcebergRelation) -> IcebergRelation:
        """The table at the branch that ``spark.wap.branch`` asks for, if it does and the branch is there."""
        metadata = relation.table.metadata
        if "write.wap.enabled" not in metadata.properties:
            return relation
        from bergsql.engine.wap import audited_point

        point = audited_point(self.setting, metadata)
        return relation if point is None else relation._replace(point=point)

    def _nearest_part(self, parts: tuple[str, ...], span: Span | None) -> str | None:
        """A hint on the metadata table that a last part may mean, when what is before it is a table."""
        base, dollar, suffix = parts[-1].rpartition("$")
        shorter = (*parts[:-1], base) if dollar else parts[:-1]
        from bergsql.engine.plan.relations import METADATA_TABLES

        near = did_you_mean(suffix or parts[-1], METADATA_TABLES)
        if not near or not shorter or self.part_of_table((*shorter, "snapshots"), span) is None:
            return None
        return near

    def _view(self, found: Found, view: View, span: Span | None) -> ViewRelation:
        from bergsql.engine.definitions import ViewStandpoint
        from bergsql.engine.plan.relations import ViewRelation

        if found.parts in self._reading:
            way = [*self._reading[self._reading.index(found.parts) :], found.parts]
            raise BergError(
                ErrorCode.INVALID,
                f"View {found} would read itself{': ' if len(way) > 2 else '.'}"
                + (" → ".join(key[-1] for key in way) + "." if len(way) > 2 else ""),
                span=span,
            )
        inside = ViewStandpoint(self._session, view, temporary=found.temporary)
        relations = SessionRelations(inside, (*self._reading, found.parts), self._loaded)
        return ViewRelation(found.parts, view.query, view.selected, view.names, relations)

    def function(self, parts: tuple[str, ...], span: Span | None, *, system: bool = False) -> Special | None:
        """The function of that name that was made in the session, ready to be bound."""
        if not self._session.functions:
            return None
        from bergsql.engine.definitions import ViewStandpoint
        from bergsql.engine.plan.user_functions import python_call, sql_call
        from bergsql.engine.user_functions import PythonFunction, user_function

        found = user_function(self._session, parts, span)
        if found is None or (system and len(found[0]) > 1):
            return None
        function = found[1]
        if isinstance(function, PythonFunction):
            signature = function.signature
            return python_call(function.name, function.sql_name, signature)
        inside = ViewStandpoint(self._session, function, temporary=function.temporary)
        return sql_call(function.name, function.statement, SessionRelations(inside, self._reading, self._loaded))

    def part_of_table(self, parts: tuple[str, ...], span: Span | None) -> IcebergRelation | None:
        """The table without the last of ``parts``, if that names a metadata table, branch, tag or snapshot of it.

        :raises BergError: NOT_FOUND at ``span`` for a branch, tag or snapshot that the table does not have.
        """
        from bergsql.engine.plan.relations import is_metadata_table, is_reference

        base, dollar, suffix = parts[-1].rpartition("$")
        if dollar and is_metadata_table(suffix):
            shorter = (*parts[:-1], base)
        elif len(parts) > 1 and (is_metadata_table(parts[-1]) or is_reference(parts[-1])):
            shorter, suffix = parts[:-1], parts[-1]
        else:
            return None
        table = self._iceberg_table(shorter, span)
        if table is None:
            return self._metadata_at_reference(shorter, suffix, span) if is_reference(suffix) else None
        return table._replace(suffix=suffix) if is_metadata_table(suffix) else self._at_reference(table, suffix, span)

    def _once(self, name: TableName, load: Callable[[], LoadedTable] | None = None) -> LoadedTable:
        """The table, loaded when the statement first meets it: however often it is read, in one state."""
        if name.parts not in self._loaded:
            self._loaded[name.parts] = load() if load is not None else name.catalog.load_table(name.ident)
        return self._loaded[name.parts]

    def _iceberg_table(self, parts: tuple[str, ...], span: Span | None) -> IcebergRelation | None:
        """The Iceberg table that ``parts`` name, itself or through a table of connector 'iceberg'; None without one."""
        from bergsql.engine.definitions import pointer_named
        from bergsql.engine.names import load_pointed, table_name
        from bergsql.engine.plan.relations import IcebergRelation

        pointer = pointer_named(self._session, parts, span, reading=self._reading)
        if pointer is not None:
            target = pointer.target
            table = self._once(target, lambda: load_pointed(pointer, span, declared=True))
            return IcebergRelation(target.parts, table, target.catalog.storage(), catalog=target.catalog)
        name = table_name(self._session, parts, span)
        if name.parts not in self._loaded and not name.catalog.table_exists(name.ident):
            return None
        try:
            return IcebergRelation(name.parts, self._once(name), name.catalog.storage(), catalog=name.catalog)
        except BergError as error:
            raise error.at(span) from None

    def _at_reference(self, relation: IcebergRelation, reference: str, span: Span | None) -> IcebergRelation:
        from bergsql.engine.plan.time_travel import reference_point

        try:
            point = reference_point(relation.table.metadata, reference, self.time_zone)
        except BergError as error:
            raise error.at(span) from None
        return relation._replace(point=point, reference=reference)

    def _metadata_at_reference(
        self, parts: tuple[str, ...], reference: str, span: Span | None
    ) -> IcebergRelation | None:
        """``t.files.branch_b``: a metadata table, ``parts``, of a state of its table."""
        from bergsql.engine.plan.relations import is_metadata_table

        if not is_metadata_table(parts[-1].rpartition("$")[2]):
            return None
        relation = self.part_of_table(parts, span)
        if relation is None:
            return None
        from bergsql.engine.plan.metadata_tables import check_state

        check_state(relation, span)
        return self._at_reference(relation, reference, span)
