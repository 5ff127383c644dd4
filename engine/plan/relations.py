"""What planning asks of a session: its flavour, its settings, and what a table's name stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bergsql.catalog.errors import Span
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog, LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.sql.functions.model import Special
    from bergsql.engine.sql.statements import ColumnDef, CreateTable, Option, Query
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.read_point import ReadPoint


METADATA_TABLES = frozenset(
    "history metadata_log_entries snapshots entries files data_files delete_files manifests partitions "
    "position_deletes all_data_files all_delete_files all_files all_entries all_manifests refs changes".split()
)
"""What may stand behind a table's name, as one of its parts or after ``$``, in any case."""


REFERENCE = re.compile(r"(?is)(?:(branch|tag)_(.+)|(snapshot_id|at_timestamp)_([0-9]+))\Z")
"""The last part of a table's name that asks for a state of it: kind and name of a reference, or word and number."""


def is_reference(name: str) -> bool:
    """Whether the last part of a table's name asks for a state of it: ``branch_b``, ``tag_t``, ``snapshot_id_1``,
    ``at_timestamp_1700000000000``."""
    return REFERENCE.match(name) is not None


def is_branch(name: str) -> bool:
    """Whether the last part of a table's name asks for a branch of it: ``branch_b``."""
    found = REFERENCE.match(name)
    return found is not None and found[1] is not None and found[1].lower() == "branch"


def is_metadata_table(suffix: str) -> bool:
    """Whether it is the name of a metadata table (and not of a reference)."""
    return suffix.casefold() in METADATA_TABLES


class IcebergRelation(NamedTuple):
    """An Iceberg table, or with ``suffix`` one of its metadata tables (``snapshots``)."""

    parts: tuple[str, ...]
    """The full name: catalog, namespace parts, table."""
    table: LoadedTable
    storage: Storage
    suffix: str | None = None
    point: ReadPoint | None = None
    """The state that is read; None: the current one."""
    reference: str | None = None
    """The last part of the name, where that asked for the state: ``branch_b``."""
    catalog: Catalog | None = None
    """Where the table is loaded again from: a stream reads on."""
    options: tuple[Option, ...] = ()
    """Read options that hold where no hint says else: those of a table of connector 'iceberg'."""

    @property
    def schema(self) -> Schema:
        """The schema that it is read with."""
        return self.point.schema if self.point is not None else self.table.metadata.schema


class ReadAtOnce(NamedTuple):
    """SQL of all rows of a connector table: its columns are c0 and on. ``variables`` are set before it runs."""

    sql: str
    variables: Mapping[str, object]


class ReadableSource(Protocol):
    """A connector table as it is read: a source of :mod:`bergsql.engine.connectors`.

    Its columns are the stored and the METADATA ones of the definition, in order.
    """

    bounded: bool

    def whole(self, prefix: str) -> ReadAtOnce:
        """All rows, where it is bounded; names of variables begin with ``prefix``.

        :raises BergError: where it cannot be read so.
        """

    def narrowed(self, columns: frozenset[str], predicate: Predicate) -> ReadableSource:
        """The same, of which only some columns are read (the others may be NULL), and rows that fulfil ``predicate``.

        More rows may come: they are looked at again.
        """

    def explain(self) -> str:
        """What is read and how, in one line."""


class ConnectorRelation(NamedTuple):
    """A table of a connector (Kafka, JDBC …)."""

    parts: tuple[str, ...]
    connector: str
    columns: tuple[ColumnDef, ...] = ()
    definition: CreateTable | None = None
    source: Callable[[Sequence[Option], Span | None], ReadableSource] | None = None
    """The source, with options of a hint behind its name, which stands there. Raises BergError where there is none."""
    metadata: Mapping[str, DataType] = {}
    """The types of what METADATA columns may be declared as the connector gives it, by key."""


class ViewRelation(NamedTuple):
    """A view: its query, and ``relations`` to plan it with, in which names mean what they meant when it was made."""

    parts: tuple[str, ...]
    query: Query
    selected: tuple[str, ...]
    """The names that the query's columns had when the view was made."""
    names: tuple[str, ...]
    """What the view calls them."""
    relations: Relations


Relation = IcebergRelation | ConnectorRelation | ViewRelation


class Relations(Protocol):
    """What a session tells planning."""

    @property
    def flavour(self) -> Flavour: ...

    @property
    def time_zone(self) -> str:
        """The session's time zone, by name."""

    @property
    def current_catalog(self) -> str: ...

    @property
    def current_database(self) -> str: ...

    def setting(self, key: str) -> str | None: ...

    def afresh(self) -> Relations:
        """The same, for a look at the tables as they are now."""

    def evaluate(self, sql: str, variables: Mapping[str, object] | None = None) -> object:
        """The value of DuckDB SQL that reads no columns, with ``variables`` set for its subqueries.

        :raises BergError: when it fails.
        """

    def function(self, parts: tuple[str, ...], span: Span | None, *, system: bool = False) -> Special | None:
        """The function of that name that was made in the session; ``system``: if it goes before what is built in."""

    def resolve(self, parts: tuple[str, ...], span: Span | None) -> Relation:
        """What the name stands for.

        :raises BergError: NOT_FOUND at ``span``.
        """
