"""How a table is laid out, as text: its partition fields and its sort order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, spark_identifier

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.sort import SortOrder


def partition_terms(schema: Schema, spec: PartitionSpec, flavour: Flavour) -> list[str]:
    """The members of PARTITIONED BY that would make ``spec`` again."""
    quote = flink_identifier if flavour is Flavour.FLINK else spark_identifier
    return [
        _term(schema, part.source_id, part.transform, quote)
        for part in spec.fields
        if part.transform.kind is not TransformKind.VOID
    ]


def order_text(schema: Schema, order: SortOrder) -> str:
    """A sort order as Spark lists it among the properties: ``id DESC NULLS LAST, truncate(s, 2) ASC NULLS FIRST``."""
    return ", ".join(
        f"{_term(schema, key.source_id, key.transform, spark_identifier, width_first=False)} "
        f"{key.direction.upper()} {key.null_order.upper().replace('-', ' ')}"
        for key in order.fields
    )


def _term(
    schema: Schema, source_id: int, transform: Transform, quote: Callable[[str], str], *, width_first: bool = True
) -> str:
    """A transform of a column. Spark lists the width of truncate behind the column in orders, else before it."""
    column = ".".join(map(quote, _path(schema, source_id)))
    match transform.kind:
        case TransformKind.IDENTITY:
            return column
        case TransformKind.TRUNCATE if not width_first:
            return f"truncate({column}, {transform.width})"
        case TransformKind.BUCKET | TransformKind.TRUNCATE:
            return f"{transform.kind}({transform.width}, {column})"
        case kind:
            return f"{kind}s({column})"


def _path(schema: Schema, field_id: int) -> list[str]:
    """The names of a column and of the fields in it, down to the one with this id: a name may hold dots."""
    field = schema.field(field_id)
    names: list[str] = []
    while field is not None:
        names.insert(0, field.name)
        field = schema.parent_of(field.field_id)
    return names or ["?"]
