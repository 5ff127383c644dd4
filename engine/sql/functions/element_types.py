"""The type of the elements where Spark wants two arrays, or an array and an element, of one type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.types import TEXTS, DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Maker


def tightest(a: DataType, b: DataType, context: Context) -> DataType | None:
    """The type that holds both without loss: text goes only with text, a decimal only with a whole number that fits."""
    common = context.common_type(a, b)
    if Kind.NULL in (a.kind, b.kind):
        return common
    if a.kind in TEXTS or b.kind in TEXTS:
        return common if {a.kind, b.kind} <= TEXTS else None
    if Kind.DECIMAL in (a.kind, b.kind) and a.kind is not b.kind:
        return common if common in (a, b) and common is not None and common.kind is Kind.DECIMAL else None
    return common


def element_of_one_type(name: str, array: Bound, element: DataType, context: Context) -> DataType:
    """The type of the elements of ``array`` when ``element`` is to be one of them.

    :raises BergError: TYPE
    """
    own = array.type.children[0].type
    common = tightest(own, element, context)
    if array.is_null and name in ("ARRAY_POSITION", "ARRAY_REMOVE"):
        raise BergError(ErrorCode.TYPE, f"{name} takes an array, not NULL.", hint="CAST(NULL AS ARRAY<…>) is one.")
    if common is None:
        from bergsql.engine.plan.casts import type_text

        kinds = f"{type_text(own, context.flavour)} and {type_text(element, context.flavour)}"
        raise BergError(ErrorCode.TYPE, f"The elements of {name} are of two types: {kinds}.", hint="CAST one of them.")
    return common


def of_two_arrays(name: str, made: Callable[[list[Bound], Context], str], result: DataType | None = None) -> Maker:
    """A function of two arrays, which gives an array of that type unless ``result`` says another."""

    def checked(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.casts import coerce

        element = element_of_one_type(name, arguments[0], arguments[1].type.children[0].type, context)
        type_ = DataType(Kind.ARRAY, children=(Field("element", element),))
        return Bound(made([coerce(a, type_, context) for a in arguments], context), result or type_, "")

    return checked
