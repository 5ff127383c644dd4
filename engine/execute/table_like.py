"""``CREATE TABLE … LIKE source (INCLUDING … EXCLUDING … OVERWRITING …)``: what comes from the source, what is added.

The rules are Flink's: https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/sql/create/#like. Columns of
the source always come, first; of all else the clause tells, and by default everything comes, own options going before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.new_table import FORMAT_VERSION
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.definitions import Found, View, find
from bergsql.engine.execute.given_columns import view_columns
from bergsql.engine.names import load
from bergsql.engine.plan.relations import ViewRelation
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import from_iceberg

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.session import Session

_FEATURES = ("CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_OVERWRITABLE = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")

T = TypeVar("T")


class Merged(NamedTuple):
    """A CREATE TABLE without LIKE that says the same. ``schema``: that of the source, whose columns are taken as is."""

    statement: st.CreateTable
    schema: Schema | None


def merged(session: Session, statement: st.CreateTable, like: st.Like) -> Merged:
    """The statement with what LIKE brings in.

    :raises BergError: where both have what only one can, or the clause cannot be.
    """
    how = _strategies(like)
    source, schema = _source(session, like)
    own_names = {c.name for c in statement.columns}
    inherited = [c for c in source.columns if _comes(c, how, own_names)]
    for column in statement.columns:
        if any(c.name == column.name for c in inherited):
            raise BergError(
                ErrorCode.ALREADY_EXISTS,
                f"The table {like.source} has a column '{column.name}' already.",
                span=column.span,
                hint=_columns_hint(column),
            )
    options = _options(source.properties, statement.properties, how["OPTIONS"])
    constraints, partitions = how["CONSTRAINTS"], how["PARTITIONS"]
    return Merged(
        replace(
            statement,
            columns=(*inherited, *statement.columns),
            primary_key=_one(source.primary_key, statement.primary_key, constraints, like, "a primary key"),
            partitioning=_one(source.partitioning, statement.partitioning, partitions, like, "partitions") or (),
            watermark=_one(source.watermark, statement.watermark, how["WATERMARKS"], like, "a watermark"),
            comment=statement.comment or (source.comment if how["OPTIONS"] != "EXCLUDING" else None),
            properties=options,
            like=None,
        ),
        schema,
    )


def _strategies(like: st.Like) -> dict[str, str]:
    how = {feature: "OVERWRITING" if feature == "OPTIONS" else "INCLUDING" for feature in _FEATURES}
    seen: set[str] = set()
    spans = like.spans or (like.source.span,) * len(like.options)
    for (strategy, feature), span in sorted(zip(like.options, spans, strict=True), key=lambda o: o[0][1] != "ALL"):
        if feature in seen:
            raise BergError(ErrorCode.SYNTAX, f"LIKE says twice what becomes of {feature}.", span=span)
        seen.add(feature)
        if strategy == "OVERWRITING" and feature not in _OVERWRITABLE:
            raise BergError(
                ErrorCode.INVALID,
                f"LIKE cannot be OVERWRITING {feature}.",
                span=span,
                hint=f"It can be OVERWRITING {', '.join(_OVERWRITABLE)}; for {feature}, INCLUDING or EXCLUDING.",
            )
        how.update(dict.fromkeys(_FEATURES if feature == "ALL" else (feature,), strategy))
    return how


def _comes(column: st.ColumnDef, how: Mapping[str, str], own: set[str]) -> bool:
    """Whether a column of the source becomes one of the table."""
    feature = "GENERATED" if column.computed is not None else "METADATA" if column.metadata is not None else None
    if feature is None:
        return True
    return how[feature] != "EXCLUDING" and not (how[feature] == "OVERWRITING" and column.name in own)


def _columns_hint(column: st.ColumnDef) -> str | None:
    feature = "GENERATED" if column.computed is not None else "METADATA" if column.metadata is not None else None
    return (
        f"LIKE … (OVERWRITING {feature}) takes this one." if feature else "The columns of LIKE's table all come along."
    )


def _one(source: T, own: T, strategy: str, like: st.Like, what: str) -> T:
    """What the table has where it can have only one."""
    if not source or strategy == "EXCLUDING" or (own and strategy == "OVERWRITING"):
        return own
    if not own:
        return source
    feature = {"a primary key": "CONSTRAINTS", "partitions": "PARTITIONS"}.get(what, "WATERMARKS")
    raise BergError(
        ErrorCode.INVALID,
        f"The table {like.source} has {what} already.",
        span=like.source.span,
        hint=f"LIKE … (EXCLUDING {feature}) leaves them.",
    )


def _options(source: Sequence[st.Option], own: Sequence[st.Option], strategy: str) -> tuple[st.Option, ...]:
    if strategy == "EXCLUDING":
        return tuple(own)
    keys = {o.key for o in own}
    if strategy == "INCLUDING":
        both = next((o for o in own if any(s.key == o.key for s in source)), None)
        if both is not None:
            raise BergError(
                ErrorCode.INVALID,
                f"The table behind LIKE has the option '{both.key}' already.",
                span=both.span,
                hint="LIKE … (OVERWRITING OPTIONS) takes this one.",
            )
    return (*(o for o in source if o.key not in keys), *own)


# --- the source as a statement ----------------------------------------------------------------------------------------


def _source(session: Session, like: st.Like) -> tuple[st.CreateTable, Schema | None]:
    found = find(session, like.source.parts, like.source.span)
    if found is not None:
        if isinstance(found.definition, View):
            return _view(session, found, like), None
        return found.definition, None
    _, table = load(session, like.source)
    return table_statement(table.metadata, like.source), table.metadata.schema


def _view(session: Session, found: Found, like: st.Like) -> st.CreateTable:
    """Spark makes a table like a view, of its columns; Flink does not."""
    span = like.source.span
    if session.flavour is Flavour.FLINK:
        raise BergError(
            ErrorCode.INVALID,
            f"{found} is a view, and LIKE takes a table.",
            span=span,
            hint=f"CREATE TABLE … AS SELECT * FROM {like.source} WHERE FALSE makes a table of its columns.",
        )
    relation = SessionRelations(session).resolve(found.parts, span)
    columns = view_columns(relation, span) if isinstance(relation, ViewRelation) else ()
    declared = tuple(st.ColumnDef(c.name, c.type, span, c.nullable) for c in columns)
    return st.CreateTable(like.source, session.flavour, columns=declared)


def table_statement(metadata: TableMetadata, name: st.Name) -> st.CreateTable:
    """A CREATE TABLE of an Iceberg table; all its parts stand at ``name``."""
    schema, span = metadata.schema, name.span
    properties = {**metadata.properties, FORMAT_VERSION: str(metadata.format_version)}
    comment = properties.pop("comment", None)
    key = schema.identifier_names
    return st.CreateTable(
        name,
        Flavour.FLINK,
        columns=tuple(st.ColumnDef(f.name, from_iceberg(f.type), span, not f.required, f.doc) for f in schema.fields),
        primary_key=st.PrimaryKey(tuple(key), span) if key else None,
        partitioning=tuple(
            st.PartitionColumn(_transform(metadata, i, span))
            for i, field in enumerate(metadata.spec.fields)
            if field.transform.kind is not TransformKind.VOID
        ),
        comment=comment,
        properties=tuple(st.Option(k, v, span) for k, v in properties.items()),
    )


def _transform(metadata: TableMetadata, place: int, span: Span) -> st.Transform:
    field = metadata.spec.fields[place]
    column = metadata.schema.name_of(field.source_id) or ""
    return st.Transform(str(field.transform.kind), column, span, field.transform.width, field.name)
