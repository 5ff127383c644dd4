"""Which connectors there are, and the way from a table's definition to its source or sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.options import check_value, resolve_env
from bergsql.engine.connector_names import CONNECTORS, unread
from bergsql.engine.connectors.base import Connector, ConnectorTable, LocalSink, LocalSource, TableColumn
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.sql.types import STAMPS

if TYPE_CHECKING:
    from bergsql.catalog.options import OptionSpec
    from bergsql.engine.sql.statements import ColumnDef, CreateTable, Option
    from bergsql.engine.sql.types import DataType

_MODULES: Final[Mapping[str, str]] = {
    "blackhole": "blackhole",
    "datagen": "datagen",
    "filesystem": "filesystem",
    "jdbc": "jdbc.connector",
    "kafka": "kafka.kafka",
    "mysql-cdc": "mysql.connector",
    "postgres-cdc": "postgres.connector",
    "print": "print_sink",
    "upsert-kafka": "kafka.upsert_kafka",
    "values": "values",
}
"""The module of each connector, whose CONNECTOR it is."""


def connector_named(name: str) -> Connector | None:
    """The connector of that name; None where there is none yet, or never was."""
    module = _MODULES.get(name)
    if module is None:
        return None
    found: Connector = import_module(f"bergsql.engine.connectors.{module}").CONNECTOR
    return found


def connector_names() -> list[str]:
    """The names of those that work."""
    return sorted(_MODULES)


def check_options(definition: CreateTable) -> None:
    """Refuse a table whose connector would refuse it when it is read or written, or that there is no connector for.

    :raises BergError: at the option, or the column.
    """
    check_watermark(definition)
    connector = _known(definition.properties)
    if connector is None:
        return
    _checked(connector, definition, definition.name.parts, (), resolve=False)


def check_watermark(definition: CreateTable) -> None:
    """Refuse a WATERMARK for a column that is no time. What a computed column is, is told when the table is read.

    :raises BergError: TYPE, at the WATERMARK.
    """
    mark = definition.watermark
    column = next((c for c in definition.columns if mark is not None and c.name == mark.column), None)
    if mark is None or column is None or column.computed is not None or column.type.kind in STAMPS:
        return
    raise BergError(
        ErrorCode.TYPE,
        f"A WATERMARK is for a TIMESTAMP or TIMESTAMP_LTZ, and '{column.name}' is {flink_name(column.type)}.",
        span=mark.span,
        hint="A computed column makes a time of it, such as ts AS TO_TIMESTAMP(text).",
    )


def check_changed(definition: CreateTable, options: Sequence[Option]) -> None:
    """Refuse options that an ALTER TABLE sets: unknown ones and wrong values.

    Whether the table is whole then is looked at when it is used: options may come one by one.

    :raises BergError: OPTION, at the option.
    """
    named = [o for o in options if o.key == "connector"]
    connector = _known(named) if named else connector_named(_name_of(definition.properties))
    if connector is None:
        return
    given = {o.key: o.value for o in (*definition.properties, *options) if o.key != "connector"}
    _check_each(connector, [o for o in options if o.key != "connector"], connector.options(given))


def metadata_types(definition: CreateTable) -> Mapping[str, DataType]:
    """The types of the metadata that the table's connector gives, by key."""
    if all(c.metadata is None for c in definition.columns):
        return {}
    connector = connector_named(_name_of(definition.properties))
    return connector.metadata if connector is not None else {}


def source_of(
    definition: CreateTable, parts: Sequence[str], hints: Sequence[Option] = (), span: Span | None = None
) -> LocalSource:
    """What is read of a connector table: its columns are the stored and the METADATA ones, in order.

    ``parts`` is its full name. ``hints`` are the options behind its name, which go before its own; ``span`` is where
    the name stands in the statement.

    :raises BergError: at the option of a hint, else at ``span``.
    """
    connector = _used(definition, parts, span, "Reading")
    if connector.source is None:
        raise BergError(
            ErrorCode.INVALID,
            f"{'.'.join(parts)} can only be written: connector '{connector.name}' is a sink.",
            span=span,
        )
    try:
        return connector.source(_checked(connector, definition, parts, hints))
    except BergError as error:
        raise _placed(error, span) from None


def sink_of(
    definition: CreateTable, parts: Sequence[str], hints: Sequence[Option] = (), span: Span | None = None
) -> LocalSink:
    """What is written of a connector table: its columns are the stored ones and METADATA that is
    not VIRTUAL. As :func:`source_of`."""
    connector = _used(definition, parts, span, "Writing")
    if connector.sink is None:
        raise BergError(
            ErrorCode.INVALID,
            f"{'.'.join(parts)} can only be read: connector '{connector.name}' is a source.",
            span=span,
        )
    unwritable = (c for c in definition.columns if c.metadata is not None and c.metadata not in connector.writable)
    kept = next((c for c in unwritable if not c.virtual), None)
    if kept is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"The metadata column '{kept.name}' of {'.'.join(parts)} cannot be written.",
            span=span,
            hint="Declared METADATA VIRTUAL, it is left out of what is written.",
        )
    _check_written(definition, connector, parts, span)
    try:
        return connector.sink(_checked(connector, definition, parts, hints))
    except BergError as error:
        raise _placed(error, span) from None


def _check_written(definition: CreateTable, connector: Connector, parts: Sequence[str], span: Span | None) -> None:
    """Refuse metadata that is written and of a type whose values are not stored in the connector's as they are."""
    for column in definition.columns:
        known = connector.metadata.get(column.metadata) if column.metadata is not None and not column.virtual else None
        if known is None or known.kind is column.type.kind or {known.kind, column.type.kind} <= STAMPS:
            continue
        raise BergError(
            ErrorCode.TYPE,
            f"The metadata column '{column.name}' of {'.'.join(parts)} is {flink_name(column.type)}, and what is "
            f"written is {flink_name(known)}.",
            span=span,
            hint=f"Declared {flink_name(known)} METADATA it can be written; METADATA VIRTUAL leaves it out.",
        )


class _AtOption(BergError):
    """An error with a place in the statement that is carried out."""


def _placed(error: BergError, span: Span | None) -> BergError:
    """The error at ``span``, unless it has a place in this statement: places of a definition are in another one."""
    if not isinstance(error, _AtOption):
        error.span = span
    return error


def _name_of(options: Iterable[Option]) -> str:
    return next(o.value for o in options if o.key == "connector")


def _known(options: Iterable[Option]) -> Connector | None:
    """The connector that options name; None for ``iceberg``, whose tables are not read and written here.

    :raises BergError: NOT_FOUND, at the option.
    """
    option = next(o for o in options if o.key == "connector")
    if option.value not in CONNECTORS:
        raise unread("", option.value, option.span)
    return connector_named(option.value)


def _used(definition: CreateTable, parts: Sequence[str], span: Span | None, verb: str) -> Connector:
    name = _name_of(definition.properties)
    connector = connector_named(name)
    if connector is None:
        raise unread(f"{verb} {'.'.join(parts)}, a table of connector '{name}',", name, span)
    return connector


def _checked(
    connector: Connector,
    definition: CreateTable,
    parts: Sequence[str],
    hints: Sequence[Option],
    *,
    resolve: bool = True,
) -> ConnectorTable:
    """The table with all options checked. Without ``resolve`` references to the environment stay and pass."""
    own = [o for o in definition.properties if o.key != "connector"]
    given = {o.key: o.value for o in own}
    _check_hints(connector, given, hints)
    given |= {o.key: o.value for o in hints}
    if resolve:
        given = {key: resolve_env(value) for key, value in given.items()}
    specs = tuple(connector.options(given))
    try:
        _check_each(
            connector, [o._replace(value=given[o.key]) for o in own if o.key not in {h.key for h in hints}], specs
        )
        for spec in specs:
            if spec.required and not given.get(spec.key):
                message = f"A table of connector '{connector.name}' needs the option '{spec.key}'."
                raise BergError(ErrorCode.OPTION, message, hint=spec.doc or None).at(_connector_span(definition))
        table = _table(connector, definition, parts, given)
        connector.check(table)
    except BergError as error:
        named = (o.span for o in own if f"'{o.key}'" in error.message)
        raise error.at(next(named, _connector_span(definition))) from None
    return table


def _connector_span(definition: CreateTable) -> Span:
    return next(o.span for o in definition.properties if o.key == "connector")


def _check_hints(connector: Connector, given: Mapping[str, str], hints: Sequence[Option]) -> None:
    """Refuse what a hint cannot say; the places are in this statement."""
    specs = tuple(connector.options({**given, **{o.key: o.value for o in hints}}))
    for option in hints:
        if option.key == "connector" or option.key in connector.fixed:
            message = f"A hint cannot change '{option.key}' of a table."
            raise _AtOption(ErrorCode.OPTION, message, span=option.span)
    try:
        _check_each(connector, hints, specs)
    except BergError as error:
        raise _AtOption(error.code, error.message, span=error.span, hint=error.hint) from None


def _check_each(connector: Connector, options: Sequence[Option], specs: Sequence[OptionSpec]) -> None:
    for option in options:
        spec = next((s for s in specs if s.matches(option.key)), None)
        if spec is None:
            known = [s.key for s in specs]
            raise BergError(
                ErrorCode.OPTION,
                f"A table of connector '{connector.name}' has no option '{option.key}'.",
                span=option.span,
                hint=did_you_mean(option.key, known) or (f"Its options are {', '.join(known)}." if known else None),
            )
        if "${env:" not in option.value:
            check_value(spec._replace(key=option.key), option.value, option.span)


def _table(
    connector: Connector, definition: CreateTable, parts: Sequence[str], given: Mapping[str, str]
) -> ConnectorTable:
    keys = definition.primary_key.columns if definition.primary_key is not None else ()
    columns = [_column(c, connector, c.name in keys) for c in definition.columns if c.computed is None]
    places = {c.name: i for i, c in enumerate(columns)}
    stored = {c.name for c in columns if c.metadata is None}
    partitioning = []
    for member in definition.partitioning:
        written = member.transform
        if not connector.partitioned:
            message = f"A table of connector '{connector.name}' has no partitions."
            raise BergError(ErrorCode.INVALID, message, span=written.span)
        if written.name != "identity" or member.column is not None:
            message = "A table of files is partitioned by columns as they are."
            raise BergError(ErrorCode.INVALID, message, span=written.span)
        if written.column not in stored:
            message = f"PARTITIONED BY names column '{written.column}', which the table does not store."
            raise BergError(ErrorCode.NOT_FOUND, message, span=written.span, hint=did_you_mean(written.column, stored))
        partitioning.append(written.column)
    key = tuple(places[name] for name in keys if name in places)
    return ConnectorTable(".".join(parts), tuple(columns), given, tuple(partitioning), key)


def _column(column: ColumnDef, connector: Connector, in_key: bool) -> TableColumn:
    """The column as the connector gives it: metadata of another type is cast where it is read, or written."""
    known = None
    if column.metadata is not None:
        known = connector.metadata.get(column.metadata)
        if known is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Connector '{connector.name}' has no metadata '{column.metadata}'.",
                span=column.span,
                hint=did_you_mean(column.metadata, connector.metadata)
                or (f"It has {', '.join(connector.metadata)}." if connector.metadata else None),
            )
    type_ = column.type if known is None or known.kind is column.type.kind else known
    return TableColumn(column.name, type_, column.nullable and not in_key, column.metadata, column.virtual)
