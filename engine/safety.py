"""What a session that is safe refuses: every statement that names a place outside of the warehouses, or leads out.

The warehouses are those that the session starts with. Beside these rules, which tell by name and place, nothing gets
out by another way: the file system of the catalogs is fenced (:mod:`bergsql.catalog.storage.fenced`), and so is DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import Span
from bergsql.catalog.options import env_refused
from bergsql.catalog.storage.base import scheme_of
from bergsql.catalog.storage.fenced import is_inside, outside
from bergsql.engine.settings import CATALOG_PREFIX
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_PLACES = frozenset(
    {"location", "write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path"}
)
"""Properties that say where files go."""
_MEMORY = "generic_in_memory"
_LEADING_OUT = ("table.catalog-store.", CATALOG_PREFIX)
"""Settings that open catalogs."""


def check_safe(session: Session, statement: st.Statement) -> None:
    """Refuse ``statement`` if it leads out of the warehouses.

    :raises BergError: INVALID, with the place of the word.
    """
    match type(statement).__name__:
        case "CreateCatalog" | "AlterCatalog":
            _check_catalog(session, statement)
        case "CreateDatabase" | "AlterDatabase":
            _check_database(session, statement)
        case "CreateTable":
            _check_table(session, statement)
        case "AlterTable":
            _check_actions(session, statement)
        case "Set":
            key = getattr(statement, "key", None) or ""
            if getattr(statement, "value", None) is not None and key.startswith(_LEADING_OUT):
                session.refuse_when_safe(f"Setting '{key}'", getattr(statement, "key_span", None))
        case "CreateFunction" | "AlterFunction":
            _check_function(session, statement)


def place_of(statement: st.Statement) -> Span | None:
    """The word that names what a statement is about: its table or database, or the only table of its query."""
    names: tuple[str, ...] = type(statement).__slots__
    parts = [getattr(statement, name) for name in names]
    for part in parts:
        if isinstance(part, st.Name):
            return part.span
        if isinstance(part, st.Statement):
            return place_of(part)
    query = next((part for part in parts if isinstance(part, st.Query)), None)
    if query is None:
        return None
    from sqlglot import exp

    from bergsql.engine.sql.parser.query import span_of

    tables = list(query.ast.find_all(exp.Table))
    return span_of(tables[0]) if len(tables) == 1 else query.span


def _check_function(session: Session, statement: st.Statement) -> None:
    create = statement.create if isinstance(statement, st.AlterFunction) else statement
    assert isinstance(create, st.CreateFunction)
    if create.place is not None:
        session.refuse_when_safe(f"A function of {create.language.capitalize()}", create.place_span)


def _check_catalog(session: Session, statement: st.Statement) -> None:
    if isinstance(statement, st.CreateCatalog):
        options, span = statement.options, statement.span
        given = {o.key: o.value for o in options}
        if given.get("type") == _MEMORY:
            return
        kind = given.get("catalog-type")
        if kind not in (None, "hadoop"):
            session.refuse_when_safe(f"A {kind} catalog", next(o.span for o in options if o.key == "catalog-type"))
    else:
        assert isinstance(statement, st.AlterCatalog)
        options, span = statement.changed, statement.span
    for option in options:
        if "${env:" in option.value:  # made by escapes, or a variable: in a statement it was refused before
            raise env_refused("${env:…}", option.span)
        if option.key == "warehouse":
            _check_place(session, option.value, option.span)
        elif option.key in ("uri", "catalog-impl", "io-impl", "hadoop-conf-dir"):
            session.refuse_when_safe(f"The option '{option.key}'", option.span or span)


def _check_database(session: Session, statement: st.Statement) -> None:
    if isinstance(statement, st.CreateDatabase):
        if statement.location is not None:
            _check_place(session, statement.location, statement.location_span)
        _check_options(session, statement.properties)
    elif isinstance(statement, st.AlterDatabase):
        _check_options(session, statement.changed)


def _check_table(session: Session, statement: st.Statement) -> None:
    assert isinstance(statement, st.CreateTable)
    if statement.location is not None:
        _check_place(session, statement.location, statement.location_span)
    _check_options(session, statement.properties)


def _check_actions(session: Session, statement: st.Statement) -> None:
    assert isinstance(statement, st.AlterTable)
    for action in statement.actions:
        if isinstance(action, st.SetLocation):
            _check_place(session, action.location, action.span)
        elif isinstance(action, st.SetProperties):
            _check_options(session, action.options)


def _check_options(session: Session, options: Iterable[st.Option]) -> None:
    for option in options:
        if option.key == "connector":
            session.refuse_when_safe("A table with a connector", option.span)
        elif option.key in _PLACES:
            _check_place(session, option.value, option.span)


def _check_place(session: Session, location: str, span: Span | None) -> None:
    if scheme_of(location) != "file" or not is_inside(location, session.warehouses):
        raise outside(location).at(span)
