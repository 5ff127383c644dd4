"""The columns of a connector table, which are known though it cannot be read yet: a view or an EXPLAIN needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.context import Context, OutputColumn
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.types import NULL, DataType

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.plan.relations import ConnectorRelation
    from bergsql.engine.sql.statements import ColumnDef


def connector_columns(relation: ConnectorRelation, planner: Planner) -> list[OutputColumn]:
    """Its columns in order, computed ones with the type of their expressions."""
    scope = Scope(planner.flavour)
    stored = [SourceColumn(c.name, "NULL", c.type, c.nullable) for c in relation.columns if c.computed is None]
    scope.add(Source((relation.parts[-1],), stored))
    return [OutputColumn(c.name, _type(c, scope, planner), c.nullable) for c in relation.columns]


def _type(column: ColumnDef, scope: Scope, planner: Planner) -> DataType:
    if column.computed is None:
        return column.type
    try:
        return bind(column.computed.ast, Context(planner, scope, "a computed column")).type
    except BergError:
        return NULL  # its definition was not checked when it was made; its use would be, were it read
