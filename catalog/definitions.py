"""Definitions that a catalog keeps for the session: connector tables and views, beside Iceberg tables or instead."""

from __future__ import annotations

from bergsql.catalog.base import Catalog, Namespace, TableIdent


class DefinitionCatalog(Catalog):
    """A catalog that also holds definitions. They are kept as they come: whoever made them knows what they are."""

    def __init__(self) -> None:
        self._definitions: dict[TableIdent, object] = {}

    def put_definition(self, ident: TableIdent, definition: object, *, replace: bool = False) -> None:
        """Keep the definition of a connector table or view; ALREADY_EXISTS unless ``replace`` and it is one too."""
        if not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        if self.table_exists(ident) and not (replace and ident in self._definitions):
            raise self.table_already_exists(ident)
        self._definitions[ident] = definition

    def definition(self, ident: TableIdent) -> object | None:
        """What :meth:`put_definition` keeps under this name; None when it is an Iceberg table or nothing."""
        return self._definitions.get(ident)

    def drop_definition(self, ident: TableIdent) -> bool:
        """Forget a definition; whether there was one."""
        return self._definitions.pop(ident, None) is not None

    def definitions_in(self, namespace: Namespace) -> list[TableIdent]:
        """The names of the definitions in a namespace."""
        return [ident for ident in self._definitions if ident.namespace == namespace]

    def definitions(self) -> dict[TableIdent, object]:
        """All of them, in the order in which they were made."""
        return dict(self._definitions)
