"""The order of rows and arrays: a NULL within is the smallest value, as it is alone, in both flavours.

DuckDB puts NULLs within a nested value last. So where order matters a nested value stands with its ordering key: the
same value with each part as two, whether it is there and what it is. Equality needs none of this.

Source: Spark, SQL reference, "NULL Semantics", and its ``InterpretedOrdering``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.plan.sql_text import each, let
from bergsql.engine.sql.types import DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.bound import Bound


def has_key(type_: DataType) -> bool:
    """Whether values of the type are ordered by a key: rows and arrays."""
    return type_.kind in (Kind.ROW, Kind.ARRAY) and bool(type_.children)


def key_of(bound: Bound) -> str:
    """What orders the values of ``bound``, as SQL: itself if it is of no nested type, and NULL where it is NULL.

    Of a column of a table it is known which parts are never NULL; types of expressions are not certain of that.
    """
    return key_sql(bound.sql, bound.type, exact=bound.origin is not None)


def key_sql(sql: str, type_: DataType, *, exact: bool = False) -> str:
    """The ordering key of a value; ``exact`` when the parts that are not nullable never hold a NULL."""
    if not has_key(type_) or (exact and not _may_hold_null(type_)):
        return sql
    if type_.kind is Kind.ARRAY:
        element = type_.children[0]
        return each(sql, lambda e: f"struct_pack({_part(e, 0, element, exact)})")

    def packed(x: str) -> str:
        parts = (_part(f"struct_extract_at({x}, {i + 1})", i, f, exact) for i, f in enumerate(type_.children))
        return f"CASE WHEN {x} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"

    return let(sql, packed)


def _part(sql: str, position: int, field: Field, exact: bool) -> str:
    value = f"v{position} := {key_sql(sql, field.type, exact=exact)}"
    return value if exact and not field.nullable else f"n{position} := {sql} IS NOT NULL, {value}"


def _may_hold_null(type_: DataType) -> bool:
    return has_key(type_) and any(f.nullable or _may_hold_null(f.type) for f in type_.children)


# --- elements of lists ------------------------------------------------------------------------------------------------


def sorted_list(array: str, element: DataType, direction: str, nulls: str) -> str:
    """DuckDB's ``list_sort``; ``direction`` is ASC or DESC, ``nulls`` FIRST or LAST, of NULLs among the elements."""
    tail = f"'{direction}', 'NULLS {nulls}'"
    if not has_key(element):
        return f"list_sort({array}, {tail})"
    return f"list_transform(list_sort({_keyed(array, element)}, {tail}), lambda keyed: keyed.e)"


def extreme(word: str, array: str, element: DataType) -> str:
    """The least (``min``) or the greatest (``max``) element that is not NULL."""
    if not has_key(element):
        return f"list_{word}({array})"
    return f"struct_extract(list_{word}({_keyed(array, element)}), 'e')"


def _keyed(array: str, element: DataType) -> str:
    """Each element behind its key; NULL stays NULL."""
    return each(
        array, lambda e: f"CASE WHEN {e} IS NOT NULL THEN struct_pack(k := {key_sql(e, element)}, e := {e}) END"
    )
