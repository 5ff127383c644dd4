"""Metadata tables in FROM (``db.t.snapshots``), and what else is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Origin
from bergsql.engine.plan.context import OutputColumn
from bergsql.engine.sql.type_names import from_iceberg

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.table.inspect.model import Fields


def fields_of(relation: IcebergRelation, span: Span | None) -> Fields:
    """The columns of the metadata table that ``relation`` is.

    :raises BergError: UNSUPPORTED at ``span`` for ``changes``.
    """
    from bergsql.engine.table.inspect.tables import metadata_table_fields

    try:
        return metadata_table_fields(name_of(relation), relation.table.metadata)
    except BergError as error:
        raise error.at(span) from None


def check_state(relation: IcebergRelation, span: Span | None) -> None:
    """Refuse any state of the table where its metadata table is of all snapshots.

    :raises BergError: INVALID, at ``span``.
    """
    from bergsql.engine.table.inspect.tables import check_point

    try:
        check_point(name_of(relation))
    except BergError as error:
        raise error.at(span) from None


def name_of(relation: IcebergRelation) -> str:
    """Its name without case, which does not matter."""
    return str(relation.suffix).casefold()


def output_columns(relation: IcebergRelation, number: int, span: Span | None) -> list[OutputColumn]:
    """Its columns, read by the scan ``number``."""
    return [
        OutputColumn(f.name, from_iceberg(f.type), not f.required, Origin(number, (f.name,)))
        for f in fields_of(relation, span)
    ]


def names_of(relation: IcebergRelation, written: str) -> tuple[str, ...]:
    """The dotted name that it answers to; ``written`` is its last part in the query."""
    if relation.reference == written:
        return (*relation.parts, str(relation.suffix), written)
    base = relation.parts[:-1] if "$" in written else relation.parts
    return (*base, written)


def only_read(relation: IcebergRelation, span: Span | None) -> BergError:
    """The error for a statement that would change it, or that is of tables alone."""
    table = ".".join(relation.parts)
    return BergError(
        ErrorCode.INVALID,
        f"'{name_of(relation)}' is a metadata table of {table}: it is only read.",
        span=span,
        hint=f"Name the table itself: {table}.",
    )
