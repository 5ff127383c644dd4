"""The word DEFAULT among the values of an INSERT: the default of the column that it goes to, or NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.type_names import from_iceberg
from bergsql.engine.table.projection import literal_sql

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.sql.statements import Query


def with_defaults(query: Query, targets: Sequence[NestedField]) -> Query:
    """The query with DEFAULT for what it means: a whole value of a row of VALUES, or a whole item of SELECT."""
    if "default" not in query.text.casefold():
        return query
    tree = query.ast.copy()
    rows = tree.expressions if isinstance(tree, exp.Values) else [tree] if isinstance(tree, exp.Select) else []
    for row in rows:
        items = row.expressions if isinstance(row, exp.Tuple | exp.Select) else [row.this]
        for item, target in zip(list(items), targets, strict=False):
            if _is_default(item):
                item.replace(_value(target))
    return query._replace(ast=tree)


def all_defaults(query: Query, targets: Sequence[NestedField]) -> Query:
    """One row of the columns' defaults, in place of the query."""
    return query._replace(ast=exp.Values(expressions=[exp.Tuple(expressions=[_value(t) for t in targets])]))


def _is_default(item: exp.Expr) -> bool:
    name = item.this if isinstance(item, exp.Column) and len(item.parts) == 1 else None
    return isinstance(name, exp.Identifier) and not name.quoted and name.name.casefold() == "default"


def _value(target: NestedField) -> exp.Expr:
    type_ = from_iceberg(target.type)
    node = exp.Placeholder()
    node.meta["bound"] = Bound(literal_sql(target.type, target.write_default), type_, "DEFAULT")
    return node
