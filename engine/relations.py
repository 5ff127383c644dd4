"""What a session tells the planner: its flavour and what the names of a query stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import IcebergRelation, Relation
    from bergsql.engine.session import Session

METADATA_TABLES = frozenset(
    "history metadata_log_entries snapshots entries files data_files delete_files manifests partitions "
    "position_deletes all_data_files all_delete_files all_files all_entries all_manifests refs changes".split()
)
_REFERENCE_PREFIXES = ("branch_", "tag_", "snapshot_id_", "at_timestamp_")


class SessionRelations:
    """:class:`bergsql.engine.plan.relations.Relations` of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

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

    def resolve(self, parts: tuple[str, ...], span: Span | None) -> Relation:
        """The table that ``parts`` name; a last part such as ``snapshots`` or ``branch_b`` is kept as its suffix.

        :raises BergError: NOT_FOUND at ``span``.
        """
        from bergsql.engine.names import connector_definition, connector_of, table_name
        from bergsql.engine.plan.relations import ConnectorRelation, IcebergRelation

        name = table_name(self._session, parts, span)
        definition = connector_definition(name)
        if definition is not None:
            return ConnectorRelation(name.parts, connector_of(definition))
        try:
            return IcebergRelation(name.parts, name.catalog.load_table(name.ident), name.catalog.storage(), None)
        except BergError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise error.at(span) from None
            relation = self.part_of_table(parts, span)
            if relation is None:
                raise error.at(span) from None
            return relation

    def part_of_table(self, parts: tuple[str, ...], span: Span | None) -> IcebergRelation | None:
        """The table without the last of ``parts``, if that names a metadata table, branch, tag or snapshot of it."""
        from bergsql.engine.names import table_name
        from bergsql.engine.plan.relations import IcebergRelation

        base, dollar, suffix = parts[-1].rpartition("$")
        if dollar and suffix.casefold() in METADATA_TABLES:
            shorter = (*parts[:-1], base)
        elif len(parts) > 1 and (
            parts[-1].casefold() in METADATA_TABLES or parts[-1].casefold().startswith(_REFERENCE_PREFIXES)
        ):
            shorter, suffix = parts[:-1], parts[-1]
        else:
            return None
        name = table_name(self._session, shorter, span)
        if not name.catalog.table_exists(name.ident):
            return None
        return IcebergRelation(name.parts, name.catalog.load_table(name.ident), name.catalog.storage(), suffix)
