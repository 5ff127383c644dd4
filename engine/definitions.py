"""What a session knows by definition alone: views, connector tables, temporary ones; and how a name leads to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.base import TableIdent
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import Span
from bergsql.engine.names import Standpoint, TableName, table_name
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements.tables import CreateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bergsql.catalog.base import Catalog
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.duck import Duck
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.user_functions import SqlFunction

GLOBAL_TEMPORARY = "global_temp"
"""What a name of Spark's GLOBAL TEMPORARY views begins with."""

Key = tuple[str, ...]
"""What a temporary object is kept under: Flink's catalog, database and name; Spark's bare name, in lower case."""


@dataclass(frozen=True, slots=True)
class View:
    """A view as it was defined: its query means what it meant then and there."""

    flavour: Flavour
    query: Query
    text: str
    """The query, with the full names of its tables."""
    selected: tuple[str, ...]
    """The names of the query's columns when the view was made."""
    names: tuple[str, ...]
    """What the view calls them."""
    comments: tuple[str | None, ...]
    catalog: str
    """The catalog that was current when the view was made."""
    namespace: tuple[str, ...]
    comment: str | None
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A name for an Iceberg table that stands elsewhere: what is read and written is that table."""

    statement: CreateTable
    target: TableName
    """Where the table is, called by the pointer's name."""
    metadata: TableMetadata | None = None
    """What the table would be if the first INSERT made it; None where no columns are declared."""


Definition = View | CreateTable
"""What is no Iceberg table."""


class Found(NamedTuple):
    """A definition by its name: ``parts`` are the full name, or Spark's bare one of a temporary view."""

    parts: Key
    definition: Definition
    temporary: bool

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def database(self) -> str:
        """The database that it is listed under: ``global_temp`` too, empty for one that is in none."""
        return ".".join(self.parts[1:-1] if len(self.parts) > 2 else self.parts[:-1])


class ViewStandpoint:
    """A session seen from within a view or a function: names and words mean what they meant when it was made."""

    def __init__(self, session: Session | ViewStandpoint, view: View | SqlFunction, *, temporary: bool) -> None:
        self._session = session
        self.flavour = view.flavour
        self.current_catalog = view.catalog
        self.namespace = view.namespace
        # Spark's permanent views never read temporary ones, whatever there is when they are read.
        hidden = view.flavour is Flavour.SPARK and not temporary
        self.temporaries: dict[Key, object] = {} if hidden else session.temporaries
        self.functions: dict[Key, object] = session.functions

    @property
    def current_database(self) -> str:
        return ".".join(self.namespace)

    @property
    def time_zone(self) -> str:
        return self._session.time_zone

    @property
    def tell(self) -> Callable[[str], None]:
        return self._session.tell

    @property
    def duck(self) -> Duck:
        return self._session.duck

    def setting(self, key: str) -> str | None:
        return self._session.setting(key)

    def catalog(self, name: str, span: Span | None = None) -> Catalog:
        return self._session.catalog(name, span)

    def has_catalog(self, name: str) -> bool:
        return self._session.has_catalog(name)


def find(
    session: Standpoint, parts: tuple[str, ...], span: Span | None, *, reading: Iterable[Key] = ()
) -> Found | None:
    """The view or connector table that a name leads to; None where it is an Iceberg table, be it elsewhere, or nothing.

    A temporary object hides what else has its name, but for the view of that very name, which may read what it hides:
    ``reading`` are the names of the views that are being read.
    """
    found = _kept(session, parts, span, reading)
    return Found(found[0], found[1], found[2]) if found is not None and isinstance(found[1], Definition) else None


def pointer_named(
    session: Standpoint, parts: tuple[str, ...], span: Span | None, *, reading: Iterable[Key] = ()
) -> Pointer | None:
    """The pointer that a name leads to."""
    found = _kept(session, parts, span, reading)
    return found[1] if found is not None and isinstance(found[1], Pointer) else None


def _kept(
    session: Standpoint, parts: tuple[str, ...], span: Span | None, reading: Iterable[Key]
) -> tuple[Key, object, bool] | None:
    """What is kept under a name, with its full name and whether it is temporary."""
    temporary = _temporary(session, parts, span)
    if temporary is not None and temporary[0] not in reading:
        return temporary
    name = table_name(session, parts, span)
    kept = name.catalog.definition(name.ident) if isinstance(name.catalog, DefinitionCatalog) else None
    if kept is not None:
        return name.parts, kept, False
    return temporary if temporary is not None and not name.catalog.table_exists(name.ident) else None


def keep(session: Session, found: Found, definition: Definition) -> None:
    """Put a definition in the place of the one that was found."""
    if found.temporary:
        session.temporaries[found.parts] = definition
        return
    catalog = session.catalog(found.parts[0])
    if isinstance(catalog, DefinitionCatalog):
        catalog.put_definition(TableIdent(found.parts[1:-1], found.parts[-1]), definition, replace=True)


def temporary_named(session: Standpoint, parts: tuple[str, ...], span: Span | None) -> Found | None:
    """The temporary object that a name leads to; a pointer is told as the table with a connector that it is."""
    kept = _temporary(session, parts, span)
    if kept is None:
        return None
    definition = kept[1].statement if isinstance(kept[1], Pointer) else kept[1]
    return Found(kept[0], definition, True) if isinstance(definition, Definition) else None


def _temporary(session: Standpoint, parts: tuple[str, ...], span: Span | None) -> tuple[Key, object, bool] | None:
    if not session.temporaries:
        return None
    for key in _keys(session, parts, span):
        definition = session.temporaries.get(key)
        if definition is not None:
            return key, definition, True
    return None


def _keys(session: Standpoint, parts: tuple[str, ...], span: Span | None) -> Iterator[Key]:
    if len(parts) == 1 or (len(parts) == 2 and parts[0].casefold() == GLOBAL_TEMPORARY):
        yield tuple(p.casefold() for p in parts)
    yield table_name(session, parts, span).parts


def temporaries_in(session: Standpoint, catalog: str, namespace: tuple[str, ...]) -> list[Found]:
    """The temporary objects that are listed for a database: its own, and those without one."""
    place = (catalog, *namespace)
    listed = []
    for key, definition in session.temporaries.items():
        own = key[:-1] == place or len(key) == 1 or namespace == (GLOBAL_TEMPORARY,) == key[:-1]
        definition = definition.statement if isinstance(definition, Pointer) else definition
        if own and isinstance(definition, Definition):
            listed.append(Found(key, definition, True))
    return sorted(listed, key=lambda found: found.parts[-1])
