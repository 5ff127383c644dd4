"""Whether another type of a column changed values of rows that are there, of which a binlog says nothing."""

from __future__ import annotations

from typing import Final

from bergsql.engine.connectors.mysql.shape import ColumnShape
from bergsql.engine.connectors.mysql.types import Family, family_of

_KEEPING: Final = {
    (Family.INTEGER, Family.UNSIGNED),
    (Family.UNSIGNED, Family.INTEGER),
    (Family.FLOAT, Family.DOUBLE),
}
"""Families whose values are the same in another one."""
_PADDED: Final = ("binary", "bit")
_LISTS: Final = ("enum", "set")
_WIDTHS: Final = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}


def changes_values(before: ColumnShape, after: ColumnShape, *, strict: bool) -> bool:
    """Whether a value may be another one now. A strict server refuses what would not fit, but it rounds in silence."""
    if before == after:
        return False
    families = family_of(before), family_of(after)
    if families[0] is not families[1] and families not in _KEEPING:
        return True
    if (after.scale or 0) < (before.scale or 0) or after.fraction < before.fraction:
        return True
    if before.kind in _PADDED and before.length != after.length:
        return True
    return not strict and not _holds(before, after)


def _holds(before: ColumnShape, after: ColumnShape) -> bool:
    """Whether a type has room for all values of another one."""
    if before.unsigned != after.unsigned or before.charset not in (after.charset, None):
        return False
    if before.kind in _LISTS or after.kind in _LISTS:
        return before.kind == after.kind and after.full.startswith(before.full.removesuffix(")"))
    whole = (before.precision or 0) - (before.scale or 0) <= (after.precision or 0) - (after.scale or 0)
    lengths = (before.length or 0) <= (after.length or 0)
    return whole and lengths and _WIDTHS.get(before.kind, 0) <= _WIDTHS.get(after.kind, 0)
