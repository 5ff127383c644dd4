"""Definitions that a catalog holds: connector tables and views, beside Iceberg tables or instead.

They last as long as the session, unless somebody keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from bergsql.catalog.base import Catalog, Namespace, TableIdent


class Keeper(Protocol):
    """Where definitions are kept from one session to the next."""

    def names(self) -> Iterable[TableIdent]:
        """What is kept."""

    def load(self, ident: TableIdent) -> object | None:
        """What is kept under a name."""

    def save(self, ident: TableIdent, definition: object) -> None:
        """Keep a definition, in the place of one of its name.

        :raises BergError: OPTION for one that holds a secret.
        """

    def remove(self, ident: TableIdent) -> bool:
        """Forget a definition; whether there was one."""


class DefinitionCatalog(Catalog):
    """A catalog that also holds definitions. They are kept as they come: whoever made them knows what they are."""

    def __init__(self) -> None:
        self._definitions: dict[TableIdent, object] = {}
        self.keeper: Callable[[], Keeper | None] = lambda: None
        """Who keeps definitions just now, if anybody does."""

    def put_definition(self, ident: TableIdent, definition: object, *, replace: bool = False) -> None:
        """Hold the definition of a connector table or view; ALREADY_EXISTS unless ``replace`` and it is one too."""
        if not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        if self.table_exists(ident) and not (replace and self.definition(ident) is not None):
            raise self.table_already_exists(ident)
        keeper = self.keeper()
        if keeper is None or (replace and ident in self._definitions):
            self._definitions[ident] = definition
        else:
            keeper.save(ident, definition)

    def hold_definition(self, ident: TableIdent, definition: object) -> None:
        """Hold a definition for this session, whatever else there is of its name."""
        self._definitions[ident] = definition

    def definition(self, ident: TableIdent) -> object | None:
        """What :meth:`put_definition` holds under this name; None when it is an Iceberg table or nothing."""
        held = self._definitions.get(ident)
        if held is not None:
            return held
        keeper = self.keeper()
        return keeper.load(ident) if keeper is not None else None

    def drop_definition(self, ident: TableIdent) -> bool:
        """Forget a definition; whether there was one."""
        if self._definitions.pop(ident, None) is not None:
            return True
        keeper = self.keeper()
        return keeper is not None and keeper.remove(ident)

    def definitions_in(self, namespace: Namespace) -> list[TableIdent]:
        """The names of the definitions in a namespace."""
        return [ident for ident in self._names() if ident.namespace == namespace]

    def definitions(self) -> dict[TableIdent, object]:
        """All of them: those of the session in the order in which they were made."""
        found = {ident: self.definition(ident) for ident in self._names()}
        return {ident: definition for ident, definition in found.items() if definition is not None}

    def _names(self) -> list[TableIdent]:
        keeper = self.keeper()
        kept = keeper.names() if keeper is not None else ()
        return list(dict.fromkeys((*self._definitions, *kept)))
