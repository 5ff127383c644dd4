"""What a dotted name means in a session: a catalog, a database, a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements import Name

if TYPE_CHECKING:
    from bergsql.engine.definitions import Pointer
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import CreateTable


class Standpoint(Protocol):
    """From where a name is looked up: a session, or a view's place in one."""

    @property
    def flavour(self) -> Flavour: ...

    @property
    def current_catalog(self) -> str: ...

    @property
    def namespace(self) -> tuple[str, ...]: ...

    @property
    def temporaries(self) -> dict[tuple[str, ...], object]: ...

    @property
    def functions(self) -> dict[tuple[str, ...], object]: ...

    def catalog(self, name: str, span: Span | None = None) -> Catalog: ...

    def has_catalog(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's full name: where it is, or would be."""

    catalog: Catalog
    ident: TableIdent
    called: tuple[str, ...] = ()
    """The name that it goes by, where that is another."""

    @property
    def parts(self) -> tuple[str, ...]:
        return self.called or (self.catalog.name, *self.ident.namespace, self.ident.name)

    def __str__(self) -> str:
        return ".".join(self.parts)


def table_name(session: Standpoint, parts: tuple[str, ...], span: Span | None = None) -> TableName:
    """The table that ``parts`` name: ``table``, ``database.table`` or ``catalog.database.table``.

    Two parts are a database and a table; in spark, as there, a catalog of the first name goes before.
    """
    if len(parts) == 1:
        return TableName(session.catalog(session.current_catalog, span), TableIdent(session.namespace, parts[0]))
    leads_with_catalog = session.has_catalog(parts[0]) and (len(parts) > 2 or session.flavour is Flavour.SPARK)
    if leads_with_catalog:
        return TableName(session.catalog(parts[0], span), TableIdent(parts[1:-1], parts[-1]))
    if len(parts) > 2 and session.flavour is Flavour.FLINK and len(_whole(parts)) > 2:
        session.catalog(parts[0], span)  # says that there is no such catalog
    return TableName(session.catalog(session.current_catalog, span), TableIdent(parts[:-1], parts[-1]))


def _whole(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The name without what names a part of the table: ``db.t`` of ``db.t.snapshots`` or ``db.t.files.branch_b``."""
    from bergsql.engine.plan.relations import is_metadata_table, is_reference

    if is_reference(parts[-1]):
        parts = parts[:-1]
    return parts[:-1] if len(parts) > 1 and is_metadata_table(parts[-1]) else parts


def named_table(session: Session, name: Name) -> TableName:
    """:func:`table_name` of a name in a statement."""
    return table_name(session, name.parts, name.span)


def renamed_table(session: Session, old: TableName, to: Name) -> TableName:
    """What ``RENAME TO`` names: a name without a database stays in the table's own, as in Flink and Spark.

    :raises BergError: INVALID for a name in another catalog.
    """
    if len(to.parts) == 1:
        return TableName(old.catalog, TableIdent(old.ident.namespace, to.parts[0]))
    named = named_table(session, to)
    if named.catalog is not old.catalog:
        raise BergError(ErrorCode.INVALID, "A table cannot move to another catalog.", span=to.span)
    return named


def load(
    session: Session, name: Name, *, declared: bool = False, states: bool = False
) -> tuple[TableName, LoadedTable]:
    """The table that ``name`` names, loaded; ``declared``: see :func:`load_pointed`.

    ``states``: a state of a table, ``t.branch_b``, too; its current schema is the one that it is read with.

    :raises BergError: NOT_FOUND, at the name; INVALID for a view; UNSUPPORTED for a connector table.
    """
    from bergsql.engine.definitions import View, find, pointer_named

    pointer = pointer_named(session, name.parts, name.span)
    if pointer is not None:
        return pointer.target, load_pointed(pointer, name.span, declared=declared)
    found = find(session, name.parts, name.span)
    if found is not None:
        if isinstance(found.definition, View):
            raise BergError(
                ErrorCode.INVALID,
                f"{found} is a view, not a table.",
                span=name.span,
                hint="A view is only read: name the table that it reads.",
            )
        from bergsql.engine.connector_names import unread
        from bergsql.engine.connectors.registry import connector_names

        connector = connector_of(found.definition)
        if connector in connector_names():
            raise BergError(
                ErrorCode.INVALID,
                f"{found} is a table of connector '{connector}', not an Iceberg table.",
                span=name.span,
                hint="SELECT reads it and INSERT writes to it, as its connector can.",
            )
        raise unread(f"A table with connector '{connector}'", connector, name.span)
    table = named_table(session, name)
    try:
        return table, table.catalog.load_table(table.ident)
    except BergError as error:
        if error.code is ErrorCode.NOT_FOUND:
            state = _state(session, name) if states else None
            if state is not None:
                of = state.ident
                return TableName(table.catalog, TableIdent((*of.namespace, of.name), name.parts[-1])), state
            _refuse_part(session, name)
        raise error.at(name.span) from None


def _state(session: Session, name: Name) -> LoadedTable | None:
    """The state of a table that ``name`` names, as a table whose current schema is that of the state."""
    from dataclasses import replace

    from bergsql.engine.relations import SessionRelations

    part = SessionRelations(session).part_of_table(name.parts, name.span)
    if part is None or part.point is None or part.suffix is not None:
        return None
    metadata = replace(part.table.metadata, current_schema_id=part.point.schema.schema_id)
    return replace(part.table, metadata=metadata)


def load_pointed(pointer: Pointer, span: Span | None, *, declared: bool = False) -> LoadedTable:
    """The table that a pointer leads to; where there is none yet, NOT_FOUND at ``span``, the pointer's name.

    ``declared``: in its place the empty table that the pointer declares, which is nowhere: its ``metadata_location``
    is empty.
    """
    target = pointer.target
    try:
        return target.catalog.load_table(target.ident)
    except BergError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise error.at(span) from None
        if declared and pointer.metadata is not None:
            return LoadedTable(target.ident, pointer.metadata, "", target.catalog.name)
        where = f"{target.catalog.name}.{target.ident}"
        hint = "The first INSERT makes it." if pointer.statement.columns else error.hint
        message = f"{target} stands for the table {where}, which was not found."
        raise BergError(error.code, message, span=span, hint=hint) from None


def metadata_table(session: Session, name: Name) -> IcebergRelation | None:
    """The metadata table of a table, or of a state of one, that ``name`` names, where no table has that name itself."""
    from bergsql.engine.plan.relations import is_metadata_table, is_reference
    from bergsql.engine.relations import SessionRelations

    last = name.parts[-2] if len(name.parts) > 1 and is_reference(name.parts[-1]) else name.parts[-1]
    if not is_metadata_table(last.rpartition("$")[2]):
        return None
    table = named_table(session, name)
    if table.catalog.table_exists(table.ident):
        return None
    return SessionRelations(session).part_of_table(name.parts, name.span)


def _refuse_part(session: Session, name: Name) -> None:
    from bergsql.engine.plan.relations import is_branch
    from bergsql.engine.relations import SessionRelations

    part = SessionRelations(session).part_of_table(name.parts, name.span)
    if part is None:
        return
    if metadata_table(session, name) is not None:
        from bergsql.engine.plan.metadata_tables import only_read

        raise only_read(part, name.span)
    if part.reference is not None and not is_branch(part.reference):
        table = ".".join(part.parts)
        message = f"'{part.reference}' is a state of {table} that was: it is only read."
        raise BergError(ErrorCode.INVALID, message, span=name.span, hint=f"Name the table itself: {table}.")
    raise not_supported(f"'{part.reference}' of a table in this statement", name.span)


def connector_of(definition: CreateTable) -> str:
    """The name of a connector table's connector."""
    return next(o.value for o in definition.properties if o.key == "connector")


def database_name(session: Session, parts: tuple[str, ...], span: Span | None) -> tuple[Catalog, tuple[str, ...]]:
    """The catalog and the namespace that ``parts`` name: ``database`` or ``catalog.database``."""
    if len(parts) > 1 and session.has_catalog(parts[0]):
        return session.catalog(parts[0], span), parts[1:]
    if len(parts) > 1 and session.flavour is Flavour.FLINK:
        session.catalog(parts[0], span)  # says that there is no such catalog
    return session.catalog(session.current_catalog, span), parts


def listed_database(session: Session, name: Name | None) -> tuple[Catalog, tuple[str, ...]]:
    """What ``IN name`` of a SHOW statement names; the current database without one.

    In spark a catalog alone stands for what is in none of its databases. ``global_temp`` is in every catalog.

    :raises BergError: NOT_FOUND, at the name.
    """
    from bergsql.engine.definitions import GLOBAL_TEMPORARY

    if name is None:
        catalog, namespace, span = session.catalog(session.current_catalog), session.namespace, None
    else:
        span = name.span
        catalog, namespace = database_name(session, name.parts, span)
        alone = session.flavour is Flavour.SPARK and len(name.parts) == 1 and session.has_catalog(name.parts[0])
        if alone and not catalog.namespace_exists(namespace):
            catalog, namespace = session.catalog(name.parts[0], span), ()
    if namespace != (GLOBAL_TEMPORARY,):
        require_database(catalog, namespace, span)
    return catalog, namespace


def require_database(catalog: Catalog, namespace: tuple[str, ...], span: Span | None) -> None:
    """Refuse a database that does not exist."""
    if namespace and not catalog.namespace_exists(namespace):
        name = ".".join(namespace)
        known = [".".join(n) for n in catalog.list_namespaces()]
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"Database {name} was not found in catalog {catalog.name}.",
            span=span,
            hint=did_you_mean(name, known) or f"CREATE DATABASE {catalog.name}.{name}; makes it.",
        )
